import type { Namespace } from '@fairlead/contracts';
import type { TaskContext, TaskPolicy } from '@fairlead/event-sourcing/jetstream';
import type { MachinesCommand, TaskData } from './machines.decider.js';
import type { ClusterRef } from '../providers/group.names.js';
import type { Cluster, Machines } from './machines.state.js';

/** A task of `machinesReconciler`, as passed to its handler. */
export type MachinesTask = TaskContext<Machines, MachinesCommand, TaskData>;

/**
 * For attempts that only query a provider. Tasks with the same lock wait for each other: locks.planner.ts defines the
 * locks.
 */
export const VALIDATE_POLICY: Partial<TaskPolicy> = {
  exclusive: true,
  attemptsMax: 6,
  backoffFirstMs: 1_000,
  backoffMaxMs: 30_000,
  timeoutMs: 120_000,
};

/** For attempts that may first have to ensure the shared resources of a connection. */
export const PLAN_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, timeoutMs: 30 * 60_000 };

/**
 * Longer than the machines' own deadline, which ends the attempt. Requested machines are waited for even if they are
 * abandoned in the meantime: a deletion that begins before the provider has responded could miss one.
 */
export const CREATE_POLICY: Partial<TaskPolicy> = { ...PLAN_POLICY, finishes: true };

/** A requested reservation is waited for: one that a deletion does not know of would remain. */
export const RESERVE_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, finishes: true };

/** Retried for half a day, because a leaving control plane waits for it. */
export const BALANCE_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, attemptsMax: 75, backoffMaxMs: 600_000 };

/** A failed deletion is soon stated as failed, and then retried with increasing backoff until it succeeds. */
export const DELETE_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, attemptsMax: 4, timeoutMs: 10 * 60_000 };

/** A task is only desired while there is a cluster. */
export const clusterOf = ({ state, key }: Pick<MachinesTask, 'state' | 'key'>): Cluster => {
  if (state.status === 'absent') throw new Error(`${key} is desired without a cluster`);
  return state.cluster;
};

export const refOf = (task: Pick<MachinesTask, 'state' | 'key' | 'namespace'>): ClusterRef => {
  const { uid, spec } = clusterOf(task);
  return { namespace: task.namespace as Namespace, uid, spec };
};
