import type { MachinePlan } from '@fairlead/contracts';
import type { Task } from '@fairlead/event-sourcing';
import { batchOfRequest } from './additions.js';
import type { TaskData } from './machines.decider.js';
import type { Cluster } from './machines.state.js';
import { surgeKey, surgeOf } from './surges.js';

/** Names are given, and quotas are counted, one request after the other. */
const PLAN = 'plan';
const BALANCER = 'balancer';

/** The machines that are made together, e.g. `machines request/r-1`; null: those of the cluster itself. */
const machinesLock = (batch: string | null): string => `machines ${batch ?? 'cluster'}`;

/** A machine keeps the lock that it is made under, also after its request is settled: it may still be in the making. */
const lockOf = ({ plannedFor = {} }: Cluster, plan: MachinePlan): string =>
  machinesLock(surgeOf(plan) ?? batchOfRequest(plannedFor[plan.name]));

const locksOfDeletion = (cluster: Cluster, { node }: TaskData): readonly string[] => {
  const plan = cluster.planned.find(({ name }) => name === node);
  if (plan === undefined) return [];
  // The balancer is changed first.
  return plan.role === 'control-plane' ? [lockOf(cluster, plan), BALANCER] : [lockOf(cluster, plan)];
};

/** undefined: the task waits for all others. */
const locksOf = (cluster: Cluster, { type, data }: Task): readonly string[] | undefined => {
  const { requestId, surge, reservation } = data as TaskData;
  const batch = surge === undefined ? batchOfRequest(requestId) : surgeKey(surge);
  switch (type) {
    case 'PlanNodes':
    case 'ReconsiderNodes':
      return [PLAN];
    case 'PlanSurge': // A surge that grows is planned before its machines are asked for, or after they run.
      return [PLAN, machinesLock(batch)];
    case 'EnsureMachines':
    case 'MakeMachinesAgain':
      return [machinesLock(batch)];
    case 'EnsureLoadBalancer':
    case 'UpdateLoadBalancer':
      return [BALANCER];
    case 'EnsureReservation':
    case 'AwaitReservation':
      return reservation === undefined ? undefined : [`reservation ${reservation.connection}`];
    case 'DeleteMachine':
      return locksOfDeletion(cluster, data);
    default:
      return undefined;
  }
};

/** The task with what it touches: a slow machine holds up what needs it, and nothing else of its cluster. */
export const withLocks =
  (cluster: Cluster) =>
  (task: Task): Task => {
    const locks = locksOf(cluster, task);
    return locks === undefined ? task : { ...task, locks };
  };
