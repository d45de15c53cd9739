import {
  declaredOf,
  type ConnectionName,
  type DeclaredPool,
  type Fact,
  type MachinePlan,
  type NodeName,
  type PoolName,
  type SecretRef,
} from '@fairlead/contracts';
import { advance, reconcilerProcess, type Reaction } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, requested, runningMachine, UID } from '../../test/fixtures.js';
import { planCluster, planNodes } from './machines.planner.js';
import { machinesReconciler } from './machines.reconciler.js';

const process = reconcilerProcess(machinesReconciler);

const of = (type: 'ClusterAccepted' | 'ClusterRetryRequested' | 'ClusterDeletionRequested' | 'ClusterDismantled') =>
  ({ type, data: { uid: UID } }) as Fact;
const [accepted, retry, deletionRequested, dismantled] = [
  of('ClusterAccepted'),
  of('ClusterRetryRequested'),
  of('ClusterDeletionRequested'),
  of('ClusterDismantled'),
];
const cause = { operation: 'create machines', target: 'lab', message: 'no' };
const failed: Fact = { type: 'InfrastructureFailed', data: { uid: UID, step: 's', reason: 'r', cause } };
const plans = planCluster(UID, clusterSpec(), () => []);
const planned: Fact = { type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } };
const created = (plan: MachinePlan, at: number): Fact => ({
  type: 'VmCreated',
  data: { uid: UID, machine: runningMachine(plan, at + 1) },
});
const announced: Fact = { type: 'VmsCreated', data: { uid: UID, machines: plans.map(runningMachine) } };
const balanced: Fact = {
  type: 'LoadBalancerReady',
  data: { uid: UID, kind: 'haproxy', host: '127.2.0.1', port: 6443 },
};
const made = [requested(), accepted, planned, ...plans.map(created), announced, balanced];
const leaving = plans.at(-1)!.name;
const removed: Fact = { type: 'NodeRemoved', data: { uid: UID, node: leaving } };
const NEXT = '2026-01-01T01:00:00.000Z';
const notDeleted = (machines: readonly NodeName[]): Fact => ({
  type: 'VmDeletionFailed',
  data: { uid: UID, machines: [...machines], reason: 'r', cause, attempt: 1, nextAttemptAt: NEXT },
});

const nameOf = (reaction: Reaction): string =>
  reaction.kind === 'task' ? String(reaction.data['key']) : `${reaction.kind} ${reaction.key}`;

const eventsOf = (facts: readonly Fact[]) => facts.map((fact, at) => stored(fact, at + 1));

/** The tasks that the last fact makes desired, and the timers that it sets. */
const after = (...facts: readonly Fact[]): readonly string[] =>
  advance(process, () => undefined, eventsOf(facts))
    .reactions.filter(({ event }) => event.meta.seq === facts.length)
    .map(({ reaction }) => nameOf(reaction));

/** Every task that is desired after the facts. */
const desired = (...facts: readonly Fact[]): readonly string[] => {
  const state = eventsOf(facts).reduce(machinesReconciler.decider.evolve, machinesReconciler.decider.initial);
  return machinesReconciler.tasks(state, eventsOf(facts).at(-1)!.meta.time).map(({ key }) => key);
};

describe('the tasks of a cluster', () => {
  it('follow each other: validate, plan, create, balance', () => {
    expect(after(requested())).toEqual(['ValidateCluster']);
    expect(after(requested(), accepted)).toEqual(['PlanMachines']);
    expect(after(requested(), accepted, planned)).toEqual(['EnsureMachines']);
    expect(after(...made.slice(0, -2))).toEqual(['EnsureLoadBalancer']);
    expect(desired(...made)).toEqual([]);
  });

  it('are published once, however many of its machines respond', () =>
    expect(after(requested(), accepted, planned, created(plans[0]!, 0))).toEqual([]));

  it('have a reason', () => {
    const state = eventsOf([requested(), accepted, planned]).reduce(
      machinesReconciler.decider.evolve,
      machinesReconciler.decider.initial,
    );
    expect(machinesReconciler.tasks(state, NEXT)).toEqual([
      {
        type: 'EnsureMachines',
        key: 'EnsureMachines',
        reason: '5 machines are named and not running',
        data: {},
        groups: ['connection lab'],
        locks: ['machines cluster'],
      },
    ]);
  });

  it('validate a rejected cluster again after a retry', () => {
    const rejected: Fact = { type: 'ClusterRejected', data: { uid: UID, code: 'c', message: 'm' } };
    expect(after(requested(), rejected)).toEqual([]);
    expect(after(requested(), rejected, retry)).toEqual(['ValidateCluster']);
  });

  it('validate a corrected request, and plan the machines that it requests', () => {
    const rejected: Fact = { type: 'ClusterRejected', data: { uid: UID, code: 'c', message: 'm' } };
    const spec = { ...clusterSpec(), workers: [nodeSet(7)] };
    const corrected: Fact = {
      type: 'ClusterRetryRequested',
      data: { uid: UID, correction: { spec, requestHash: 'h' } },
    };
    for (const stop of [[rejected], [accepted, failed]]) {
      expect(after(requested(), ...stop, corrected)).toEqual(['ValidateCluster']);
      expect(after(requested(), ...stop, corrected, accepted)).toEqual(['PlanMachines']);
      const { evolve, initial } = machinesReconciler.decider;
      expect(eventsOf([requested(), ...stop, corrected]).reduce(evolve, initial)).toMatchObject({ cluster: { spec } });
    }
  });

  it('plan the machines of a request for more nodes, and then create them', () => {
    const request: Fact = { type: 'NodesRequested', data: { uid: UID, requestId: 'r1', workers: [nodeSet(1)] } };
    const cluster = {
      uid: UID,
      spec: clusterSpec(),
      planned: plans,
      workersEver: 2,
      poolsEver: 1,
      controlPlanesEver: 3,
    };
    const machines = [...planNodes(cluster, { workers: [nodeSet(1)] }, () => [])];
    expect(after(...made, request)).toEqual(['PlanNodes/r1']);
    const morePlanned: Fact = { type: 'VmsPlanned', data: { uid: UID, machines, requestId: 'r1' } };
    expect(after(...made, request, morePlanned)).toEqual(['EnsureMachines/request/r1']);
  });

  it('are all published again after a retry, those of a failed cluster and failed deletions', () => {
    const facts = [requested(), accepted, planned, removed, notDeleted([leaving]), failed];
    expect(desired(...facts)).toEqual([]);
    expect(after(...facts, retry)).toEqual(['EnsureMachines', `DeleteMachine/${leaving}`, 'cancel-timer wake']);
  });

  it('delete a machine whose node has left, even of a failed cluster', () => {
    expect(after(...made, removed)).toEqual([`DeleteMachine/${leaving}`]);
    expect(after(requested(), accepted, planned, failed, removed)).toEqual([`DeleteMachine/${leaving}`]);
  });

  it('retry a failed deletion when its next attempt is due, and not once the machine is gone', () => {
    const facts = [...made, removed, notDeleted([leaving])];
    expect(after(...facts)).toEqual(['timer wake']);
    const dueAfter = (...more: readonly Fact[]): readonly string[] => {
      const { states } = advance(process, () => undefined, eventsOf([...facts, ...more]));
      const state = states.get('default/demo')!.state!;
      return process.woken(state, { now: NEXT, eventId: 'e', correlationId: 'c' }).reactions.map(nameOf);
    };
    expect(dueAfter()).toEqual([`DeleteMachine/${leaving}`]);
    expect(dueAfter({ type: 'VmDeleted', data: { uid: UID, name: leaving } })).toEqual([]);
  });

  it('are withdrawn when its deletion is requested; the machines are deleted once it is dismantled', () => {
    const facts = [requested(), accepted, planned, deletionRequested];
    expect(desired(...facts)).toEqual([]);
    expect(after(...facts, dismantled)).toEqual(['DeleteCluster']);
    expect(after(...facts, dismantled, notDeleted([]))).toEqual(['timer wake']);
  });

  it('belong to one incarnation: the next cluster of the name begins from the start', () => {
    const deleted: Fact = { type: 'ClusterDeleted', data: { uid: UID } };
    const again = requested(clusterSpec(), LATER_UID);
    expect(after(requested(), deleted)).toEqual([]);
    expect(after(requested(), deleted, again)).toEqual(['ValidateCluster']);
    expect(after(requested(), deleted, again, accepted)).toEqual([]);
  });
});

describe('a pool whose machines join by themselves', () => {
  const web = {
    ...{ name: 'web' as PoolName, replicas: 1, connection: 'lab' as ConnectionName, machineType: 'lab.small' },
    ...{ rootDisk: { type: 'default', size: 'default' }, bootstrap: { by: 'userData' as const } },
  };
  const declaring = (pool: DeclaredPool): Fact => ({
    type: 'ClusterSpecChanged',
    data: { uid: UID, revision: 1, spec: { ...declaredOf(clusterSpec()), pools: [pool] } },
  });
  const generated: Fact = {
    type: 'BootstrapDataGenerated',
    data: {
      ...{ uid: UID, pool: web.name, connection: web.connection, admission: '0a1b2c3d4e5f' },
      keyRef: 'gateway.bootstrap.0a1b2c3d4e5f' as SecretRef,
    },
  };
  const { bootstrap: _none, ...bySsh } = web;
  const more: Fact = {
    type: 'NodesRequested',
    data: { uid: UID, requestId: 'r1', workers: [{ ...nodeSet(1), pool: web.name }] },
  };

  it('has no machine planned before its bootstrap data exist, and then at once [Cluster API 4]', () => {
    expect(desired(requested(), declaring(web), accepted)).toEqual([]);
    expect(after(requested(), declaring(web), accepted, generated)).toEqual(['PlanMachines']);
    expect(desired(requested(), declaring(bySsh), accepted)).toEqual(['PlanMachines']);
  });

  it('does not grow before they exist, and grows as soon as they do [Cluster API 4]', () => {
    const grown = [...made, declaring(web), more];
    expect(desired(...grown)).toEqual([]);
    expect(desired(...grown, generated)).toEqual(['PlanNodes/r1']);
    expect(desired(...made, declaring(bySsh), more)).toEqual(['PlanNodes/r1']);
  });
});

describe('a host that is registered before its pool', () => {
  const facts = {
    ...{ hostname: 'shed-1', machineId: '5a1c0e9f4b7d4d5e8a0f3c2b1d6e7f80', address: '192.168.1.20' },
    ...{ architecture: 'amd64' as const, cpus: 4, memoryMiB: 8192 },
  };
  const about = { uid: UID, admission: '0a1b2c3d4e5f', hostId: 'host-0a1b2c3d4e5f', user: `U${'A'.repeat(55)}`, facts };
  const registered: Fact = { type: 'HostRegistered', data: { ...about, labels: { site: 'shed' } } };
  const pool = { pool: 'web' as PoolName, connection: 'edge' as ConnectionName };
  const claimed: Fact = { type: 'HostAdmitted', data: { ...about, ...pool } };
  const asked: Fact = {
    type: 'NodesRequested',
    data: { uid: UID, requestId: 'r1', workers: [{ ...nodeSet(1), ...pool }], onFailure: 'keep', adopts: about.hostId },
  };

  it('is nothing to do, to record or to wake up for, until a pool owns it, and is provisioned then', () => {
    expect(after(...made, registered)).toEqual([]);
    expect(desired(...made, registered)).toEqual([]);
    expect(desired(...made, registered, claimed, asked)).toEqual(['PlanNodes/r1']);
  });
});
