import { POOL_LABEL, type ClusterUid, type Machine, type MachinePlan, type NodeName } from '@fairlead/contracts';
import type { Task } from '@fairlead/event-sourcing';
import type { QueuedTask } from '@fairlead/event-sourcing/jetstream';
import { UID } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import { batchOfRequest } from '../../apps/infra-svc/src/machines/node.requests.js';
import { machines, type MachinesCommand, type TaskData } from '../../apps/infra-svc/src/machines/machines.decider.js';
import { planCluster } from '../../apps/infra-svc/src/machines/machines.planner.js';
import { missingOf, targetsOf, type Cluster } from '../../apps/infra-svc/src/machines/machines.state.js';
import { surgeKey, surgeLacks } from '../../apps/infra-svc/src/machines/surges.js';
import { SURGE, type Failed, type ServiceWorld } from './growth.parts.js';

const noZones = (): readonly string[] => [];

const machineOf = ({ rootDisk: _disk, zone: _zone, ...plan }: MachinePlan): Machine =>
  ({
    ...plan,
    providerId: `lab://${plan.name}`,
    publicIp: '127.0.0.9',
    privateIp: '10.0.0.9',
    ssh: { host: '127.0.0.9', port: 22, user: 'root', keyRef: 'infra-svc.key', hostKey: null },
    csp: 'lab',
    region: 'lab-1',
    zone: 'lab-1a',
    labels: { [POOL_LABEL]: plan.pool },
  }) as unknown as Machine;

/** A task of infra-svc. The provider is played. */
export const infraTask = (world: ServiceWorld, { type, data }: Task, asked: QueuedTask): Failed => {
  if (world.infra.status === 'absent') return undefined;
  if (type === 'MakeMachinesAgain') {
    makeAgain(world, asked, world.infra.cluster, data as TaskData);
    return undefined;
  }
  const operation = machinesTaskDone(world, type, world.infra.cluster, data as TaskData);
  return operation === undefined ? undefined : { cause: { operation, target: 'lab', message: 'no' }, attempt: 6 };
};

/** The operation of the provider that failed; undefined: none. */
const machinesTaskDone = (world: ServiceWorld, type: string, cluster: Cluster, data: TaskData): string | undefined => {
  const { uid } = cluster;
  switch (type) {
    case 'ValidateCluster':
      machinesDecide(world, { type: 'Accept', data: { uid } });
      return undefined;
    case 'PlanMachines':
      machinesDecide(world, { type: 'Plan', data: { uid, machines: planCluster(uid, cluster.spec, noZones) } });
      return undefined;
    case 'PlanNodes':
      machinesDecide(world, { type: 'PlanNodes', data: { uid, requestId: data.requestId!, offered: { zones: {} } } });
      return undefined;
    case 'PlanSurge': {
      const count = surgeLacks(cluster.planned, cluster.surges, SURGE);
      machinesDecide(world, { type: 'PlanSurge', data: { ...SURGE, count, offered: { zones: {} } } });
      return undefined;
    }
    case 'EnsureMachines':
      return makeBatch(world, cluster, data.surge === undefined ? batchOfRequest(data.requestId) : surgeKey(SURGE));
    case 'EnsureLoadBalancer': {
      const balancer = { uid, kind: 'haproxy', host: '198.18.7.1', port: 6443 } as const;
      machinesDecide(world, { type: 'RecordLoadBalancer', data: balancer });
      return undefined;
    }
    case 'UpdateLoadBalancer': {
      const targets = targetsOf(cluster).map(({ name }) => name);
      machinesDecide(world, { type: 'RecordTargets', data: { uid, targets } });
      return undefined;
    }
    case 'DeleteMachine':
      return deleteMachine(world, uid, data.node!);
    case 'DeleteCluster':
      return deleteCluster(world, cluster);
    default:
      throw new Error(`no such task: ${type}`);
  }
};

const makeBatch = (world: ServiceWorld, cluster: Cluster, batch: string | null): string | undefined => {
  const missing = missingOf(cluster, batch);
  // The first one is created, so that there is something to roll back.
  missing.forEach((plan, at) => {
    if (world.has('create') && at > 0) return;
    world.provider.add(plan.name);
    if (!(world.has('create') && missing.length === 1))
      machinesDecide(world, { type: 'RecordMachine', data: { uid: UID, machine: machineOf(plan) } });
  });
  return world.has('create') ? 'create machines' : undefined;
};

const makeAgain = (world: ServiceWorld, asked: QueuedTask, cluster: Cluster, { requestId = '' }: TaskData): void => {
  const operation = makeBatch(world, cluster, batchOfRequest(requestId));
  if (operation === undefined) return;
  const cause = { operation, target: 'lab', message: 'no' };
  machinesDecide(world, { type: 'FailNodes', data: { uid: cluster.uid, requestId, cause } });
  world.tryLater(asked);
};

const deleteMachine = (world: ServiceWorld, uid: ClusterUid, name: NodeName): string | undefined => {
  if (world.has('delete')) return 'delete machine';
  world.provider.delete(name);
  machinesDecide(world, { type: 'RecordRemoval', data: { uid, name } });
  return undefined;
};

const deleteCluster = (world: ServiceWorld, { uid, planned }: Cluster): string | undefined => {
  if (world.has('delete') && planned.length > 0) return 'delete machines';
  world.provider.clear();
  machinesDecide(world, { type: 'RecordDeletion', data: { uid, gone: [], nothingLeft: true } });
  return undefined;
};

const machinesDecide = (world: ServiceWorld, command: MachinesCommand): void => {
  world.decide(machines, world.infra, command);
};
