import type { Namespace } from '@fairlead/contracts';
import type { TaskContext, TaskPolicy } from '@fairlead/event-sourcing/jetstream';
import type { MachinesCommand, TaskData } from './machines.decider.js';
import type { ClusterRef } from '../providers/group.names.js';
import type { Cluster, Machines } from './machines.state.js';

/** A task of `machinesReconciler`, as its handler gets it. */
export type MachinesTask = TaskContext<Machines, MachinesCommand, TaskData>;

/** An attempt that only asks a provider. Tasks that touch the same wait for each other: locks.planner.ts says what each one touches. */
export const VALIDATE_POLICY: Partial<TaskPolicy> = {
  exclusive: true,
  attemptsMax: 6,
  backoffFirstMs: 1_000,
  backoffMaxMs: 30_000,
  timeoutMs: 120_000,
};

/** An attempt that may first have to ensure what the machines of a connection share. */
export const PLAN_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, timeoutMs: 30 * 60_000 };

/**
 * Longer than machines may take, so that their own deadline ends the attempt. Machines that were asked for are waited for although
 * they are given up meanwhile: a deletion that begins before the provider has answered could miss one.
 */
export const CREATE_POLICY: Partial<TaskPolicy> = { ...PLAN_POLICY, finishes: true };

/** A reservation that was asked for is waited for: one that a deletion does not know of would stay. */
export const RESERVE_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, finishes: true };

/** Tried for half a day: a control plane that leaves waits for it. */
export const BALANCE_POLICY: Partial<TaskPolicy> = { ...VALIDATE_POLICY, attemptsMax: 75, backoffMaxMs: 600_000 };

/** A deletion that fails is soon stated as such, and is then begun again, less and less often, until it succeeds. */
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
