import { declaredOf, type Fact, type Hook, type NodeActionKind, type StoredEvent } from '@fairlead/contracts';
import { actionRequestedIn } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { clusterRequested, machineOf, planOf, uid } from '../nodes/nodes.fixtures.js';
import { actions } from './actions.decider.js';
import { factsOf } from './actions.planner.js';
import { actionsReconciler } from './actions.reconciler.js';
import type { Actions, KnownActions } from './actions.state.js';

export const START = '2026-11-23T10:00:00.000Z';
export const REQUEST = 'r1';

const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;

/** Events of a cluster with control planes and workers of the pool web, with timestamps. */
export class Story {
  readonly events: StoredEvent[] = [];
  now = START;
  state: Actions = actions.initial;
  private revision = 1;

  constructor({ controlPlanes = 1, workers = 3 } = {}) {
    this.say(clusterRequested());
    for (let index = 1; index <= controlPlanes; index += 1) this.join(`cp-${index}`, 'control-plane');
    for (let index = 1; index <= workers; index += 1) this.join(`w-${index}`, 'web');
    this.say(fact('ClusterReady', {}));
  }

  say(...facts: readonly Fact[]): this {
    for (const one of facts) {
      const event = stored(one, this.events.length + 1, { time: this.now });
      this.events.push(event);
      this.state = actions.evolve(this.state, event);
    }
    return this;
  }

  tell(type: string, data: object): this {
    return this.say(fact(type, data));
  }

  after(seconds: number): this {
    this.now = later(this.now, seconds * 1_000);
    return this;
  }

  join(name: string, pool: string): this {
    const role = pool === 'control-plane' ? 'control-plane' : 'worker';
    this.tell('VmsPlanned', { machines: [{ ...planOf(name), pool, role }] });
    this.tell('VmCreated', { machine: { ...machineOf(name), pool, role } });
    this.tell('NodeInitialized', {
      node: name,
      revision: 1,
      software: {},
      os: '',
      kernel: '',
      bootId: 'b1',
      changed: [],
    });
    return this.ready(name);
  }

  ready(node: string, revision = 1): this {
    return this.tell('NodeReady', { node, revision, software: {} });
  }

  ask(action: NodeActionKind, nodes: readonly string[], more: object = {}): this {
    return this.tell('NodeActionRequested', {
      ...{ requestId: REQUEST, action, nodes, reason: '', drain: true, drainTimeoutSeconds: 900, maxUnavailable: 1 },
      expiresAt: later(this.now, 24 * 3_600_000),
      ...more,
    });
  }

  /** Records a handler's result, if it is new. */
  record(type: string, node: string, data: object = {}, requestId = REQUEST): this {
    const open = this.known.open[requestId];
    const about = { requestId, action: open?.action ?? 'reboot', node };
    const outcome = actions.decide(this.state, {
      type: 'RecordAction',
      data: { uid, fact: fact(type, { ...about, ...data }) as never },
    });
    return this.say(...(outcome as readonly Fact[]));
  }

  cordoned(node: string, byRequest = true): this {
    return this.record('NodeActionCordoned', node, { byRequest }).settle();
  }

  /** Records the result of the nth call of a hook. */
  answered(node: string, outcome: 'Succeeded' | 'Blocked' | 'Failed', more: object = {}): this {
    const cause = { operation: 'call the hook', target: 'traffic', message: 'no answer' };
    const words = outcome === 'Failed' ? { cause } : { message: 'traffic moves away' };
    const about = { requestId: REQUEST, node, hook: 'traffic', point: 'BeforeNodeDrain', attempt: 1 };
    const outcomes = actions.decide(this.state, {
      type: 'RecordAction',
      data: { uid, fact: fact(`NodeActionHook${outcome}`, { ...about, ...words, ...more }) as never },
    });
    return this.say(...(outcomes as readonly Fact[])).settle();
  }

  /** Declares hooks. */
  declare(hooks: readonly Hook[], revision = 1): this {
    const begun = clusterRequested();
    if (begun.type !== 'ClusterRequested') throw new Error(begun.type);
    const spec = { ...declaredOf(begun.data.spec), ...(hooks.length === 0 ? {} : { hooks }) };
    return this.tell('ClusterSpecChanged', { revision, spec });
  }

  drained(node: string): this {
    return this.record('NodeActionDrained', node, { evictedPods: 1, tookMs: 1 }).settle();
  }

  uncordoned(node: string, cordonedBy = REQUEST): this {
    return this.record('NodeActionUncordoned', node, { cordonedBy }).settle();
  }

  /** Permits the node's agent to reboot it. */
  allow(node: string, requestId = REQUEST): this {
    this.revision += 1;
    const change = { id: `action-${requestId}` };
    return this.tell('DesiredVersionsSet', {
      node,
      revision: this.revision,
      software: {},
      changesAllowed: true,
      change,
    });
  }

  withdraw(node: string): this {
    this.revision += 1;
    return this.tell('DesiredVersionsSet', { node, revision: this.revision, software: {}, changesAllowed: false });
  }

  phase(node: string, status: 'started' | 'done' | 'failed', attempt = 1, name = 'reboot'): this {
    const phase = { change: `action-${REQUEST}`, phase: name, status, attempt };
    return this.tell('NodeChangeProgressed', { node, revision: this.revision, ...phase, command: null, message: 'no' });
  }

  /** The agent has rebooted the node, and it is Ready. */
  rebooted(node: string): this {
    return this.phase(node, 'started').phase(node, 'done').ready(node, this.revision).settle();
  }

  /** The agent has made the node as desired, and it is Ready. */
  repaired(node: string): this {
    for (const status of ['started', 'done'] as const) this.phase(node, status, 1, 'runtime');
    return this.ready(node, this.revision).settle();
  }

  get known(): KnownActions {
    if (this.state.status === 'absent') throw new Error('there is no cluster');
    return this.state;
  }

  get tasks(): readonly string[] {
    return actionsReconciler.tasks(this.state, this.now).map(({ key }) => key);
  }

  get wakeAt(): string | null {
    return actionsReconciler.wakeAt?.(this.state, this.now) ?? null;
  }

  /** Appends derived facts until there are none. */
  settle(): this {
    for (let turns = 0; turns < 100; turns += 1) {
      const facts = factsOf(this.known, this.now);
      if (facts.length === 0) return this;
      this.say(...facts);
    }
    throw new Error('facts without end');
  }

  /** The facts about nodes since the request, e.g. `Started w-1`. */
  get said(): readonly string[] {
    const from = this.events.findIndex((event) => actionRequestedIn(event) !== undefined);
    return this.events.slice(from + 1).flatMap(({ type, data }) => {
      if (!type.startsWith('NodeAction') || !('node' in data)) return [];
      const reason = 'reason' in data && typeof data.reason === 'string' ? ` ${data.reason}` : '';
      return [`${type.slice('NodeAction'.length)} ${data.node}${reason}`];
    });
  }
}
