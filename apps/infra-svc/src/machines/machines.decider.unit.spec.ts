import { refuse, type Fact, type MachinePlan, type NodeName } from '@fairlead/contracts';
import { reconcilerDecider, type ReconcilerCommand, type TaskFailure } from '@fairlead/event-sourcing';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, requested, runningMachine, UID } from '../../test/fixtures.js';
import { machines, type MachinesFact } from './machines.decider.js';
import { planCluster, planNodes } from './machines.planner.js';
import { machinesReconciler } from './machines.reconciler.js';

const { given } = specification(machines);
const about = <Data extends object>(data: Data) => ({ uid: UID, ...data });

const noZones = () => [];
const plans = planCluster(UID, clusterSpec(), noZones);
const accepted: Fact = { type: 'ClusterAccepted', data: { uid: UID } };
const planned: Fact = { type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } };
const created = (plan: MachinePlan, at: number): Fact<'VmCreated'> => ({
  type: 'VmCreated',
  data: { uid: UID, machine: runningMachine(plan, at) },
});
const allCreated = plans.map((plan, at) => created(plan, at + 1));
const announced: Fact<'VmsCreated'> = {
  type: 'VmsCreated',
  data: { uid: UID, machines: plans.map((plan, at) => runningMachine(plan, at + 1)) },
};
const balanced: Fact = {
  type: 'LoadBalancerReady',
  data: { uid: UID, kind: 'haproxy', host: '127.2.0.1', port: 6443 },
};
const deletionRequested: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };
const dismantled: Fact = { type: 'ClusterDismantled', data: { uid: UID } };
const made = [requested(), accepted, planned, ...allCreated, announced, balanced];

const cause = { operation: 'create machines', target: 'demo-w-1', message: 'Quota exceeded' };
const NOW = '2026-01-01T00:10:00.000Z';
const failure: TaskFailure = { cause, attempt: 6, attemptsMax: 6, nextAttemptAt: null, now: NOW };
const failed: Fact<'InfrastructureFailed'> = {
  type: 'InfrastructureFailed',
  data: { uid: UID, step: 'create machines', reason: 'MachineCreationFailed', cause },
};
const retry: Fact = { type: 'ClusterRetryRequested', data: { uid: UID } };

describe('a requested cluster', () => {
  it('is accepted once', () => {
    given(requested())
      .when({ type: 'Accept', data: { uid: UID } })
      .then({ type: 'ClusterAccepted', data: { uid: UID } });
    given(requested(), accepted)
      .when({ type: 'Accept', data: { uid: UID } })
      .thenNothing();
  });

  it('is rejected with the code, message and field of the refusal', () => {
    const refusal = refuse('cluster.spec-memory', { spec: 'lab.tiny', provider: 'lab', memory: 1 }, 'worker[0].spec');
    given(requested())
      .when({ type: 'Reject', data: about({ refusal }) })
      .then({
        type: 'ClusterRejected',
        data: { uid: UID, code: 'cluster.spec-memory', message: refusal.message, field: 'worker[0].spec' },
      });
  });

  it('can be accepted after a rejection and a retry', () => {
    const rejected: Fact = { type: 'ClusterRejected', data: { uid: UID, code: 'cluster.spec-unknown', message: 'no' } };
    given(requested(), rejected)
      .when({ type: 'Accept', data: { uid: UID } })
      .thenNothing();
    given(requested(), rejected, retry)
      .when({ type: 'Accept', data: { uid: UID } })
      .then({ type: 'ClusterAccepted', data: { uid: UID } });
  });

  it('is neither accepted nor planned after its deletion was requested', () => {
    given(requested(), deletionRequested)
      .when({ type: 'Accept', data: { uid: UID } })
      .thenNothing();
    given(requested(), accepted, deletionRequested)
      .when({ type: 'Plan', data: about({ machines: plans }) })
      .thenNothing();
  });
});

describe('the machines of a cluster', () => {
  it('are planned once, however often the task runs', () => {
    const plan = { type: 'Plan', data: about({ machines: plans }) } as const;
    given(requested(), accepted)
      .when(plan)
      .then({ type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } });
    given(requested(), accepted, planned).when(plan).thenNothing();
  });

  it('are stated one by one, and the last one completes the set', () => {
    const [first, ...others] = allCreated;
    const last = allCreated.at(-1)!;
    given(requested(), accepted, planned)
      .when({ type: 'RecordMachine', data: about({ machine: first!.data.machine }) })
      .then(first!);
    given(requested(), accepted, planned, first!, ...others.slice(0, -1))
      .when({ type: 'RecordMachine', data: about({ machine: last.data.machine }) })
      .then(last, announced);
  });

  it('are stated once, however often the provider responds', () =>
    given(...made)
      .when({ type: 'RecordMachine', data: about({ machine: allCreated[0]!.data.machine }) })
      .thenNothing());

  it('that were not planned are not stated', () => {
    const stranger = { ...runningMachine(plans[0]!), name: 'demo-w-9-zzzzz' as NodeName };
    given(requested(), accepted, planned)
      .when({ type: 'RecordMachine', data: about({ machine: stranger }) })
      .thenNothing();
  });

  it('are stated even after the cluster has failed, because they exist', () =>
    given(requested(), accepted, planned, failed)
      .when({ type: 'RecordMachine', data: about({ machine: allCreated[0]!.data.machine }) })
      .then(allCreated[0]!));

  it('get one load balancer', () => {
    const record = {
      type: 'RecordLoadBalancer',
      data: about({ kind: 'haproxy', host: '127.2.0.1', port: 6443 } as const),
    } as const;
    given(...made.slice(0, -1))
      .when(record)
      .then(balanced as MachinesFact);
    given(...made)
      .when(record)
      .thenNothing();
  });

  it('state who balances, if it is not the provider', () => {
    const placed = { kind: 'haproxy', host: '10.0.0.100', port: 6443, placement: 'control-planes' } as const;
    given(...made.slice(0, -1))
      .when({ type: 'RecordLoadBalancer', data: about(placed) })
      .then({ type: 'LoadBalancerReady', data: about(placed) });
  });
});

describe('a failed attempt at a task', () => {
  const kernel = specification(reconcilerDecider(machinesReconciler));
  const { attempt, attemptsMax } = failure;
  const step = { step: 'create machines', cause, attempt, attemptsMax, nextAttemptAt: null };
  const stepFailed: Fact<'InfrastructureStepFailed'> = { type: 'InfrastructureStepFailed', data: about(step) };
  const record = (key: string, run = 1, changes: Partial<TaskFailure> = {}): ReconcilerCommand => {
    const ref = { reconciler: 'machines', generation: `${UID}/${run}`, key, seq: 1, now: NOW };
    return { type: 'RecordFailure', data: { ref, failure: { ...failure, ...changes } } };
  };

  it('is stated with the time of the next attempt', () => {
    const nextAttemptAt = '2026-01-01T00:11:00.000Z';
    kernel
      .given(requested(), accepted)
      .when(record('PlanMachines', 1, { nextAttemptAt }))
      .then({ type: 'InfrastructureStepFailed', data: about({ ...step, nextAttemptAt }) });
  });

  it("fails the cluster if it was the last one, with the provider's message, once", () => {
    const last = record('EnsureMachines');
    kernel.given(requested(), accepted, planned).when(last).then(stepFailed, failed);
    kernel.given(requested(), accepted, planned, failed).when(last).thenNothing();
  });

  it('is not stated if the task is withdrawn: the cluster is being deleted, or its machines run', () => {
    kernel.given(requested(), accepted, planned, deletionRequested).when(record('EnsureMachines')).thenNothing();
    kernel
      .given(...made)
      .when(record('EnsureMachines'))
      .thenNothing();
  });

  it('of the validation leads back to the validation', () =>
    given(requested(), failed, retry)
      .when({ type: 'Accept', data: { uid: UID } })
      .then({ type: 'ClusterAccepted', data: { uid: UID } }));

  it('to delete one machine is stated with the next one, whose delay doubles up to an hour', () => {
    const [{ name }] = plans as readonly [MachinePlan];
    const removed: Fact = { type: 'NodeRemoved', data: { uid: UID, node: name } };
    const notDeleted = (attempt: number, nextAttemptAt: string): Fact<'VmDeletionFailed'> => ({
      type: 'VmDeletionFailed',
      data: { uid: UID, machines: [name], reason: 'MachineDeletionFailed', cause, attempt, nextAttemptAt },
    });
    const last = record(`DeleteMachine/${name}`);
    kernel
      .given(...made, removed)
      .when(last)
      .then(stepFailed, notDeleted(1, '2026-01-01T00:10:30.000Z'));
    kernel
      .given(...made, removed, notDeleted(1, NOW))
      .when(last)
      .then(stepFailed, notDeleted(2, '2026-01-01T00:11:00.000Z'));
    kernel
      .given(...made, removed, notDeleted(9, NOW))
      .when(last)
      .then(stepFailed, notDeleted(10, '2026-01-01T01:10:00.000Z'));
  });

  it('to delete a cluster lists every machine that is left', () =>
    kernel
      .given(...made, deletionRequested, dismantled)
      .when(record('DeleteCluster', 2))
      .then(stepFailed, {
        type: 'VmDeletionFailed',
        data: {
          uid: UID,
          machines: plans.map(({ name }) => name),
          reason: 'MachineDeletionFailed',
          cause,
          attempt: 1,
          nextAttemptAt: '2026-01-01T00:10:30.000Z',
        },
      }));
});

describe('more workers', () => {
  const request: Fact = {
    type: 'NodesRequested',
    data: { uid: UID, requestId: 'r1', workers: [nodeSet(1)] },
  };
  const cluster = { uid: UID, spec: clusterSpec(), planned: plans, workersEver: 2, poolsEver: 1, controlPlanesEver: 3 };
  const more = planNodes(cluster, { workers: [nodeSet(1)] }, noZones);
  const plan = { type: 'PlanNodes', data: about({ requestId: 'r1', offered: { zones: {} } }) } as const;
  const morePlanned: Fact<'VmsPlanned'> = {
    type: 'VmsPlanned',
    data: { uid: UID, machines: [...more], requestId: 'r1' },
  };

  it('are planned once per request', () => {
    given(...made, request)
      .when(plan)
      .then(morePlanned);
    given(...made, request, morePlanned)
      .when(plan)
      .thenNothing();
  });

  it('get the next names by what is planned when they are, whatever was planned while providers were asked [ORBITER 35]', () => {
    const other = { ...request, data: { ...request.data, requestId: 'r2' } };
    const later = planNodes(
      { ...cluster, workersEver: 3, planned: [...plans, ...more] },
      { workers: [nodeSet(1)] },
      noZones,
    );
    expect(later[0]?.name).not.toBe(more[0]?.name);
    given(...made, request, other, morePlanned)
      .when({ type: 'PlanNodes', data: about({ requestId: 'r2', offered: { zones: {} } }) })
      .then({ type: 'VmsPlanned', data: { uid: UID, machines: [...later], requestId: 'r2' } });
  });

  it('are announced without the others, which other services already know', () => {
    const machine = runningMachine(more[0]!, 6);
    given(...made, request, morePlanned)
      .when({ type: 'RecordMachine', data: about({ machine }) })
      .then(
        { type: 'VmCreated', data: { uid: UID, machine } },
        { type: 'VmsCreated', data: { uid: UID, machines: [machine] } },
      );
  });

  it('that are not available are refused without changing the cluster', () => {
    const refusal = refuse('cluster.spec-unknown', { spec: 'x', connection: 'lab', provider: 'lab' });
    given(...made, request)
      .when({ type: 'RejectNodes', data: about({ requestId: 'r1', refusal }) })
      .then({
        type: 'NodesRejected',
        data: { uid: UID, requestId: 'r1', code: 'cluster.spec-unknown', message: refusal.message },
      });
  });

  it('do not wait for a machine that was removed before it ran', () => {
    const [gone] = more;
    const two = planNodes(cluster, { workers: [nodeSet(2)] }, noZones);
    const other = runningMachine(two[1]!, 7);
    given(
      ...made,
      request,
      { ...morePlanned, data: { ...morePlanned.data, machines: [...two] } },
      { type: 'VmCreated', data: { uid: UID, machine: other } },
    )
      .when({ type: 'RecordRemoval', data: about({ name: gone!.name }) })
      .then(
        { type: 'VmDeleted', data: { uid: UID, name: gone!.name } },
        { type: 'VmsCreated', data: { uid: UID, machines: [other] } },
      );
  });
});

describe('a deletion', () => {
  it('states every planned machine as gone, including ones that never ran, and then the cluster', () =>
    given(requested(), accepted, planned, allCreated[0]!, deletionRequested, dismantled)
      .when({ type: 'RecordDeletion', data: about({ gone: [], nothingLeft: true }) })
      .then(...plans.map(({ name }): MachinesFact => ({ type: 'VmDeleted', data: { uid: UID, name } })), {
        type: 'ClusterDeleted',
        data: { uid: UID },
      }));

  it('states the load balancer as gone first', () =>
    given(...made, deletionRequested, dismantled)
      .when({ type: 'RecordDeletion', data: about({ gone: [plans[0]!.name], nothingLeft: false }) })
      .then(
        { type: 'LoadBalancerDeleted', data: { uid: UID } },
        { type: 'VmDeleted', data: { uid: UID, name: plans[0]!.name } },
      ));

  it('is not recorded for a cluster whose deletion was not requested', () =>
    given(...made)
      .when({ type: 'RecordDeletion', data: about({ gone: [], nothingLeft: true }) })
      .thenNothing());

  it('is not undone by late reports of a provider about a machine, its node or the whole cluster [Cluster API 18]', () => {
    const { machine } = allCreated.at(-1)!.data;
    const late = { type: 'RecordMachine', data: about({ machine }) } as const;
    const begun = [requested(), accepted, planned, ...allCreated.slice(0, -1)];
    const gone: Fact = { type: 'VmDeleted', data: { uid: UID, name: machine.name } };
    const deleted: Fact = { type: 'ClusterDeleted', data: { uid: UID } };
    given(...begun, gone)
      .when(late)
      .thenNothing();
    given(...begun, deletionRequested)
      .when(late)
      .thenNothing();
    given(...begun, deletionRequested, dismantled, deleted)
      .when(late)
      .thenNothing();
    given(...begun, deletionRequested, dismantled, deleted, requested(clusterSpec(), LATER_UID))
      .when(late)
      .thenNothing();
  });

  it('releases the name for a new cluster, which the old one no longer affects', () => {
    const deleted: Fact = { type: 'ClusterDeleted', data: { uid: UID } };
    const again = requested(clusterSpec(), LATER_UID);
    given(...made, deletionRequested, dismantled, deleted, again, failed)
      .when({ type: 'Accept', data: { uid: LATER_UID } })
      .then({ type: 'ClusterAccepted', data: { uid: LATER_UID } });
    given(...made, deletionRequested, dismantled, deleted, again)
      .when({ type: 'Accept', data: { uid: UID } })
      .thenNothing();
  });
});
