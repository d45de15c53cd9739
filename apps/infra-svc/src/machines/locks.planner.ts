import type { MachinePlan } from '@fairlead/contracts';
import type { Task } from '@fairlead/event-sourcing';
import { batchOfRequest } from './node.requests.js';
import type { TaskData } from './machines.decider.js';
import type { Cluster } from './machines.state.js';
import { surgeKey, surgeOf } from './surges.js';

const BALANCER = 'balancer';

/** The lock of machines that are created together, e.g. `machines request/r-1`; null: those of the cluster itself. */
const machinesLock = (batch: string | null): string => `machines ${batch ?? 'cluster'}`;

/**
 * A machine keeps the lock of its batch even after its request is settled, because its creation may still be in
 * progress.
 */
const lockOf = ({ plannedFor = {} }: Cluster, plan: MachinePlan): string =>
  machinesLock(surgeOf(plan) ?? batchOfRequest(plannedFor[plan.name]));

const locksOfDeletion = (cluster: Cluster, { node }: TaskData): readonly string[] => {
  const plan = cluster.planned.find(({ name }) => name === node);
  if (plan === undefined) return [];
  // The load balancer is changed first.
  return plan.role === 'control-plane' ? [lockOf(cluster, plan), BALANCER] : [lockOf(cluster, plan)];
};

/** undefined: the task is exclusive. */
const locksOf = (cluster: Cluster, { type, data }: Task): readonly string[] | undefined => {
  const { requestId, surge, reservation } = data as TaskData;
  const batch = surge === undefined ? batchOfRequest(requestId) : surgeKey(surge);
  switch (type) {
    case 'PlanNodes':
    case 'ReconsiderNodes':
    case 'PlanSurge': // A growing surge is planned before its machines are requested, or after they run.
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

/** Adds the locks of the task: a slow machine blocks only tasks that need it. */
export const withLocks =
  (cluster: Cluster) =>
  (task: Task): Task => {
    const locks = locksOf(cluster, task);
    return locks === undefined ? task : { ...task, locks };
  };
