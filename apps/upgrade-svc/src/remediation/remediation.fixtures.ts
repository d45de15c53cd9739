import {
  healthCheckOf,
  ManifestHealthCheck,
  type DeclaredSpec,
  type Fact,
  type MachinePlan,
  type StoredEvent,
} from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { clusterRequested, machineOf, planOf, uid } from '../nodes/nodes.fixtures.js';
import { remediation } from './remediation.decider.js';
import { candidatesOf, factsOf, requestFor } from './remediation.planner.js';
import { remediationReconciler } from './remediation.reconciler.js';
import type { Remediation } from './remediation.state.js';

export const START = '2026-11-23T10:00:00.000Z';
const CONTROL_PLANES = 3;

export const planFor = (name: string, pool: string): MachinePlan => ({
  ...planOf(name),
  pool,
  role: pool === 'control-plane' ? 'control-plane' : 'worker',
});

const specWith = (pools: Readonly<Record<string, object | undefined>>): DeclaredSpec => {
  const { 'control-plane': controlPlane, ...others } = pools;
  const health = (of: object | undefined) =>
    of === undefined ? {} : { health: healthCheckOf(ManifestHealthCheck.parse(of)) };
  return {
    controlPlane: health(controlPlane),
    pools: Object.entries(others).map(([name, of]) => ({ name, ...health(of) })),
  } as unknown as DeclaredSpec;
};

/** Events of a cluster with three control planes and worker pools, with explicit times. */
export class Story {
  readonly events: StoredEvent[] = [];
  now = START;
  state: Remediation = remediation.initial;

  constructor(
    workers: Readonly<Record<string, number>>,
    checks: Readonly<Record<string, object | undefined>>,
    etcd: 'local' | 'external' = 'local',
  ) {
    const { type, data } = clusterRequested();
    const kubernetes = { ...data.spec.kubernetes, etcd };
    this.say({ type, data: { ...data, spec: { ...data.spec, kubernetes } } });
    this.check(checks);
    const cp = Array.from({ length: CONTROL_PLANES }, (_, index) => `cp-${index + 1}`);
    for (const name of cp) this.join(name, 'control-plane');
    for (const [pool, count] of Object.entries(workers))
      for (let index = 1; index <= count; index += 1) this.join(`${pool}-${index}`, pool);
    this.say({ type: 'ClusterReady', data: { uid } });
  }

  check(checks: Readonly<Record<string, object | undefined>>): this {
    return this.say({ type: 'ClusterSpecChanged', data: { uid, revision: 1, spec: specWith(checks) } });
  }

  say(...facts: readonly Fact[]): this {
    for (const fact of facts) {
      const event = stored(fact, this.events.length + 1, { time: this.now });
      this.events.push(event);
      this.state = remediation.evolve(this.state, event);
    }
    return this;
  }

  after(seconds: number): this {
    this.now = later(this.now, seconds * 1_000);
    return this;
  }

  create(name: string, pool: string, requestId?: string): this {
    const machines = [planFor(name, pool)];
    this.say({ type: 'VmsPlanned', data: { uid, machines, ...(requestId === undefined ? {} : { requestId }) } });
    return this.say({ type: 'VmCreated', data: { uid, machine: { ...machineOf(name), pool } } } as unknown as Fact);
  }

  join(name: string, pool: string, requestId?: string): this {
    return this.create(name, pool, requestId).ready(name);
  }

  ready(...nodes: readonly string[]): this {
    return this.say(...nodes.map((node) => nodeFact('NodeReady', node, { revision: 1, software: {} })));
  }

  notReady(...nodes: readonly string[]): this {
    const why = { revision: 1, reason: 'KubernetesNotReady', message: 'kubelet stopped' };
    return this.say(...nodes.map((node) => nodeFact('NodeNotReady', node, why)));
  }

  lost(...nodes: readonly string[]): this {
    return this.say(...nodes.map((node) => nodeFact('NodeLost', node, { lastSeenAt: null, limitMs: 40_000 })));
  }

  recovered(...nodes: readonly string[]): this {
    return this.say(...nodes.map((node) => nodeFact('NodeRecovered', node, { lostForMs: 1 })));
  }

  gone(name: string): this {
    return this.say(nodeFact('NodeRemoved', name, {}), { type: 'VmDeleted', data: { uid, name } } as unknown as Fact);
  }

  get facts(): readonly Fact[] {
    return this.state.status === 'absent' ? [] : factsOf(this.state, this.now);
  }

  get candidates(): readonly string[] {
    return this.state.status === 'absent' ? [] : candidatesOf(this.state, this.now).map(({ member }) => member.name);
  }

  get wakeAt(): string | null {
    return remediationReconciler.wakeAt?.(this.state, this.now) ?? null;
  }

  get tasks(): readonly string[] {
    return remediationReconciler.tasks(this.state, this.now).map(({ key }) => key);
  }

  /** Records the resulting facts, and requests confirmed remediations, until nothing changes. */
  settle(): readonly Fact[] {
    const said: Fact[] = [];
    for (let turns = 0; turns < 100; turns += 1) {
      if (this.state.status === 'absent') return said;
      const [node] = this.candidates;
      const facts =
        this.facts.length > 0 ? this.facts : node === undefined ? [] : requestFor(this.state, node, this.now);
      if (facts.length === 0) return said;
      said.push(...facts);
      this.say(...facts);
    }
    throw new Error('facts without end');
  }
}

export const nodeFact = (type: string, node: string, data: object): Fact =>
  ({ type, data: { uid, node, ...data } }) as unknown as Fact;
