import { declaredOf, isRefusal, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { actionMark, hookFactOf, nextCall } from '@fairlead/domain';
import { later, STATE_FACTS, type Task } from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { Follower } from '@fairlead/event-sourcing/simulation';
import { stored } from '@fairlead/event-sourcing/spec';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import type { Desired as DesiredOfAgent } from '../apps/node-agent/src/node/desired.state.js';
import { ModelHost } from '../apps/node-agent/src/change/change.fixtures.js';
import { actions, type RecordAction } from '../apps/upgrade-svc/src/actions/actions.decider.js';
import type { ActionFact } from '../apps/upgrade-svc/src/actions/actions.planner.js';
import {
  actionsReconciler,
  type ActionTask,
  type CallNodeActionHook,
} from '../apps/upgrade-svc/src/actions/actions.reconciler.js';
import type { Actions } from '../apps/upgrade-svc/src/actions/actions.state.js';
import { desired, type Desired, type DesiredCommand } from '../apps/upgrade-svc/src/desired/desired.decider.js';
import { rebootOf } from '../apps/upgrade-svc/src/desired/node.change.js';
import { clusterRequested, machineOf, planOf, uid } from '../apps/upgrade-svc/src/nodes/nodes.fixtures.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);
const START = '2026-11-23T10:00:00.000Z';
const MINUTE = 60_000;
const STORMY_STEPS = 60;
const QUIET_STEPS = 200;
const CUT_MAX = 14;
const NODES = ['w-1', 'w-2', 'w-3'];

const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;

/** A host with the agent's own code for changes; its agent crashes, its power fails, and it reboots spontaneously. */
class Machine {
  readonly host = new ModelHost();
  online = true;
  /** Times of unrequested boots. */
  readonly ownBoots: string[] = [];
  known: DesiredOfAgent | undefined;
  private done = 0;
  private reported = 1;

  constructor(
    readonly name: string,
    private readonly say: (fact: Fact) => void,
  ) {
    this.host.files.clear();
  }

  get ordered(): number {
    return this.host.commands.filter((line) => line === 'systemctl reboot').length;
  }

  bootAlone(now: string): void {
    this.host.boots += 1;
    this.host.bootedAt = new Date(now);
    this.ownBoots.push(now);
  }

  /** One life of its agent: until the change is done, the host goes down, or the agent crashes at the cut. */
  async live(now: string, cut: { readonly at: number; readonly when: 'before' | 'after' } | undefined): Promise<void> {
    if (!this.online || this.known === undefined) return;
    const { host, known } = this;
    const before = host.boots;
    host.powerOn(cut);
    const ended = host.changes().ensure(known, host.bootId, () => Promise.resolve());
    const isDone = await Promise.race([ended.then((failure) => failure === undefined), host.off.then(() => false)]);
    if (host.boots !== before) host.bootedAt = new Date(now);
    this.report();
    if (isDone) this.say(fact('NodeReady', { node: this.name, revision: known.revision, software: {} }));
  }

  /** The facts on its disk reach the log in order, once. */
  private report(): void {
    const { host, name: node } = this;
    const facts = host.facts.slice(this.done);
    this.done = host.facts.length;
    for (const { type, data } of facts) this.say(fact(type, { ...data, uid, node }));
    if (host.boots === this.reported) return;
    const bootedAt = host.bootedAt.toISOString();
    this.say(fact('NodeRebooted', { node, bootIdBefore: `boot-${this.reported}`, bootId: host.bootId, bootedAt }));
    this.reported = host.boots;
  }
}

/**
 * upgrade-svc's own code over one log; each of its tasks may crash before or after its effect, and be delivered twice.
 */
class World {
  readonly log: StoredEvent[] = [];
  readonly machines: ReadonlyMap<string, Machine>;
  /** The mark of each node's cordon. */
  readonly cordons = new Map<string, string>();
  now = START;
  private readonly follower = new Follower(actionsReconciler, 'upgrade-svc');
  private asked: QueuedTask[] = [];
  private readonly desired = new Map<string, Desired>();

  constructor(private readonly random: () => number) {
    this.machines = new Map(NODES.map((name) => [name, new Machine(name, (one) => this.append(one))]));
    this.append(clusterRequested());
    for (const name of NODES) {
      this.append(fact('VmsPlanned', { machines: [{ ...planOf(name), pool: 'web', role: 'worker' }] }));
      this.append(fact('VmCreated', { machine: { ...machineOf(name), pool: 'web', role: 'worker' } }));
      const seen = { revision: 1, software: {}, os: '', kernel: '', bootId: 'boot-1', changed: [] };
      this.append(fact('NodeInitialized', { node: name, ...seen }));
      this.append(fact('NodeReady', { node: name, revision: 1, software: {} }));
      const set = { uid, node: name as NodeName, software: {}, changesAllowed: false };
      this.decideFor(name, { type: 'SetDesiredVersions', data: set });
    }
    this.append(fact('ClusterReady', {}));
    if (this.random() < 0.5) this.declareHook();
  }

  private declareHook(): void {
    const begun = clusterRequested();
    if (begun.type !== 'ClusterRequested') throw new Error(begun.type);
    const hooks = [
      { name: 'traffic', points: ['BeforeNodeDrain', 'AfterNodeDrain'], url: 'https://hooks.example.com' },
    ];
    this.append(fact('ClusterSpecChanged', { revision: 1, spec: { ...declaredOf(begun.data.spec), hooks } }));
  }

  /** Nodes that were cordoned for a drain before the drain's hook allowed it. */
  get cordonedTooSoon(): readonly string[] {
    if (this.state.status === 'absent' || this.state.hooks === undefined) return [];
    return this.log.flatMap(({ type, data }, at) => {
      if (type !== 'NodeActionCordoned') return [];
      const isLetGo = this.log
        .slice(0, at)
        .some((event) => event.type === 'NodeActionHookSucceeded' && event.data.node === data.node);
      return isLetGo ? [] : [data.node];
    });
  }

  append(one: Fact): void {
    const event = stored(one, this.log.length + 1, { time: this.now });
    this.log.push(event);
    this.asked.push(...this.follower.read(event));
    if (event.type !== 'DesiredVersionsSet') return;
    const { node } = event.data;
    this.desired.set(node, desired.evolve(this.desired.get(node) ?? desired.initial, event));
  }

  request(requestId: string, nodes: readonly string[]): void {
    const how = {
      action: 'reboot',
      reason: '',
      drain: this.random() < 0.5,
      drainTimeoutSeconds: 900,
      maxUnavailable: 1,
    };
    const expiresAt = later(this.now, 100 * MINUTE);
    this.append(fact('NodeActionRequested', { requestId, nodes, expiresAt, ...how }));
  }

  get openRequests(): number {
    return this.state.status === 'absent' ? 0 : Object.keys(this.state.open).length;
  }

  private get state(): Actions {
    return this.follower.known().state;
  }

  /** What is still desired. */
  get tasks(): readonly Task[] {
    return actionsReconciler.tasks(this.state, this.now);
  }

  /** One of the tasks that are asked for. After a crash it is asked for again. */
  work(crashes: number): void {
    const { wakeAt } = this.follower;
    if (wakeAt !== null && wakeAt <= this.now) this.asked.push(...this.follower.wake());
    const [asked] = this.asked.splice(Math.floor(this.random() * this.asked.length), 1);
    if (asked !== undefined && !this.isDone(asked, crashes)) this.asked.push(asked);
  }

  /** False: the service crashed before that was recorded. */
  private isDone(asked: QueuedTask, crashes: number): boolean {
    if (asked.type === STATE_FACTS) {
      for (const one of this.follower.facts(this.now)) this.append(one);
      return true;
    }
    const task = this.follower.taskOf(asked, this.now);
    if (task === undefined) return true;
    if (this.random() < crashes) return false;
    const record = this.effect(
      task as unknown as { type: string; data: ActionTask & { cordonedBy?: string; unlessBooted?: never } },
    );
    if (record === undefined) return true;
    if (this.random() < crashes) return false;
    const command: RecordAction = { type: 'RecordAction', data: { uid, fact: record } };
    for (let times = this.random() < 0.2 ? 2 : 1; times > 0; times -= 1) {
      const news = actions.decide(this.state, command);
      if (!isRefusal(news)) for (const one of news) this.append(one);
    }
    return true;
  }

  private answer({ requestId, node, point, hook }: CallNodeActionHook): ActionFact | undefined {
    const moment = { point, node, operation: requestId };
    const call = this.state.status === 'absent' ? undefined : nextCall(this.state.hooks, moment)?.call;
    if (call === undefined) return undefined;
    const about = { uid, requestId, hook, point, node, attempt: call.attempt };
    const [chance, nextAttemptAt] = [this.random(), later(this.now, MINUTE)];
    if (chance < 0.5) return hookFactOf('NodeAction', about, { type: 'HookSucceeded', message: '' });
    const type = chance < 0.75 ? 'HookBlocked' : 'HookFailed';
    return hookFactOf('NodeAction', about, { type, message: 'not yet', nextAttemptAt });
  }

  private effect(task: {
    readonly type: string;
    readonly data: ActionTask & { readonly cordonedBy?: string; readonly unlessBooted?: never };
  }): ActionFact | undefined {
    const { requestId, node, action, cordonedBy = requestId, unlessBooted } = task.data;
    const about = { uid, requestId, node, action };
    const mark = actionMark(requestId);
    switch (task.type) {
      case 'CallNodeActionHook':
        return this.answer(task.data as never);
      case 'CordonNode':
        if (!this.cordons.has(node)) this.cordons.set(node, mark);
        return { type: 'NodeActionCordoned', data: { ...about, byRequest: this.cordons.get(node) === mark } };
      case 'DrainNode':
        return { type: 'NodeActionDrained', data: { ...about, evictedPods: 0, tookMs: 0 } };
      case 'UncordonNode':
        if (this.cordons.get(node) === actionMark(cordonedBy)) this.cordons.delete(node);
        return { type: 'NodeActionUncordoned', data: { ...about, cordonedBy } };
      case 'AllowChange':
        this.decideFor(node, { type: 'AskForChange', data: { uid, node, change: rebootOf(mark, unlessBooted) } });
        return undefined;
      case 'EndChange':
        this.decideFor(node, { type: 'WithdrawPermission', data: { uid, node, change: mark } });
        return undefined;
      default:
        throw new Error(`no handler for ${task.type}`);
    }
  }

  private decideFor(node: string, command: DesiredCommand): void {
    const news = desired.decide(this.desired.get(node) ?? desired.initial, command);
    if (!isRefusal(news)) for (const one of news) this.append(one);
  }

  /** The agent receives the desired state of its node. */
  sync(machine: Machine): void {
    const state = this.desired.get(machine.name);
    if (!machine.online || state?.status !== 'set') return;
    const { revision, software, changesAllowed, change } = state;
    machine.known = { revision, software, changesAllowed, event: null, ...(change === undefined ? {} : { change }) };
  }

  setOnline(machine: Machine, online: boolean): void {
    if (machine.online === online) return;
    machine.online = online;
    const { name: node } = machine;
    this.append(
      online
        ? fact('NodeRecovered', { node, lostForMs: 1 })
        : fact('NodeLost', { node, lastSeenAt: null, limitMs: 40_000 }),
    );
  }
}

const endsOf = ({ log }: World, node: string): readonly StoredEvent[] =>
  log.filter(
    ({ type, data }) =>
      ['NodeActionSucceeded', 'NodeActionFailed', 'NodeActionVoided'].includes(type) &&
      'node' in data &&
      data.node === node,
  );

const outcomeOf = (end: StoredEvent | undefined): string => {
  if (end?.type === 'NodeActionVoided') return end.data.reason;
  return end?.type ?? 'it never ended';
};

/**
 * An outcome, and the expected number of reboots. A boot between the record of the reboot and its call counts as the
 * requested one.
 */
const expectedOf = (outcome: string, ordered: number, bootedAlone: boolean): readonly [string, number] => {
  switch (outcome) {
    case 'BootedSince':
      return [bootedAlone ? 'BootedSince' : 'it has not booted since', 0];
    case 'EarlierFailed':
    // Its agent crashed too often between the record of the reboot and its call, and gave up.
    case 'Expired':
      return [outcome, 0];
    case 'NodeActionFailed':
      return [outcome, Math.min(ordered, 1)];
    case 'NodeActionSucceeded':
      return [outcome, bootedAlone ? Math.min(ordered, 1) : 1];
    default:
      return ['NodeActionSucceeded', 1];
  }
};

interface Lived {
  readonly world: World;
  readonly requestedAt: string;
}

const live = async (seed: number): Promise<Lived> => {
  const random = seededRandom(seed);
  const world = new World(random);
  const pick = (): Machine => [...world.machines.values()][Math.floor(random() * NODES.length)]!;
  let requestedAt = '';
  for (let step = 0; step < STORMY_STEPS + QUIET_STEPS; step += 1) {
    const isStormy = step < STORMY_STEPS;
    world.now = later(world.now, Math.ceil(random() * MINUTE));
    if (step === 10) {
      world.request('r1', NODES);
      requestedAt = world.now;
    }
    if (isStormy && random() < 0.15) world.setOnline(pick(), random() < 0.4);
    if (isStormy && random() < 0.04) pick().bootAlone(world.now);
    if (step === STORMY_STEPS) for (const machine of world.machines.values()) world.setOnline(machine, true);
    for (let turns = 0; turns < 3; turns += 1) world.work(isStormy ? 0.3 : 0);
    const machine = pick();
    world.sync(machine);
    const when = random() < 0.5 ? 'before' : 'after';
    const cut = isStormy && random() < 0.5 ? ({ at: 1 + Math.floor(random() * CUT_MAX), when } as const) : undefined;
    await machine.live(world.now, cut);
  }
  return { world, requestedAt };
};

describe('a reboot of nodes whose agents are unreachable, crash and reboot spontaneously, under a crashing service', () => {
  it(`happens exactly once per node, or not at all if the node has booted since the request (${SEEDS} seeds) [ORBITER 22]`, async () => {
    const seen: Record<string, number> = {};
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const { world, requestedAt } = await live(seed);
      const failed = NODES.filter((node) => endsOf(world, node)[0]?.type === 'NodeActionFailed');
      // Only a node that was not Ready in time stays cordoned.
      const left = [...world.cordons.keys()].filter((node) => !failed.includes(node));
      expect([seed, world.openRequests, world.tasks, left]).toEqual([seed, 0, [], []]);
      expect([seed, world.cordonedTooSoon]).toEqual([seed, []]);
      for (const machine of world.machines.values()) {
        const [end, ...more] = endsOf(world, machine.name);
        expect([seed, machine.name, more]).toEqual([seed, machine.name, []]);
        const bootedAlone = machine.ownBoots.some((at) => at > requestedAt);
        expect([seed, machine.name, outcomeOf(end), machine.ordered]).toEqual([
          ...[seed, machine.name],
          ...expectedOf(outcomeOf(end), machine.ordered, bootedAlone),
        ]);
        seen[end?.type ?? 'none'] = (seen[end?.type ?? 'none'] ?? 0) + 1;
        seen['ordered'] = (seen['ordered'] ?? 0) + machine.ordered;
      }
      for (const { type } of world.log) seen[type] = (seen[type] ?? 0) + 1;
    }
    // A simulation without activity proves nothing.
    for (const type of [
      ...['ordered', 'NodeActionPostponed', 'NodeActionVoided', 'NodeLost', 'NodeActionUncordoned'],
      'NodeActionHookBlocked',
    ])
      expect([type, (seen[type] ?? 0) > SEEDS / 4]).toEqual([type, true]);
  });
});
