import { EXEC_LIMITS, type ClusterUid, type Executions } from '@fairlead/contracts';
import { later, type Reconciler, type Task } from '@fairlead/event-sourcing';
import {
  executions,
  openExecution,
  type ExecutionsCommand,
  type ExecutionsFact,
  type ExecutionsState,
} from './executions.decider.js';

/** Data of both tasks: the request. */
export interface ExecutionData {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
}

export const RUN = 'RunOnNode';
export const REMOVE_OUTPUT = 'RemoveOutput';

const MS_PER_SECOND = 1_000;

/** After it, a request that has not begun is given up. */
export const beginsBy = (requestedAt: string): string => later(requestedAt, EXEC_LIMITS.beginSeconds * MS_PER_SECOND);

const tasksOf = ({ uid, open, ended }: Executions, now: string): readonly Task[] => [
  // It stays desired while it runs: a later delivery states that the outcome is unknown.
  ...Object.keys(open).map((requestId): Task => {
    const data: ExecutionData = { uid, requestId };
    return { type: RUN, key: `${RUN}/${requestId}`, reason: 'an operator asked for it', data };
  }),
  ...Object.entries(ended).flatMap(([requestId, one]): readonly Task[] => {
    if (one.outcome === 'failed' || one.expiresAt > now) return [];
    const data: ExecutionData = { uid, requestId };
    return [{ type: REMOVE_OUTPUT, key: `${REMOVE_OUTPUT}/${requestId}`, reason: 'its time is over', data }];
  }),
];

/** Operators' commands run on nodes, and their outputs are deleted. Those of a cluster that is deleted go with its key. */
export const executionsReconciler: Reconciler<ExecutionsState, ExecutionsCommand, ExecutionsFact> = {
  name: 'executions',
  version: 3,
  context: 'access',
  worksInPause: true,
  decider: executions,
  generation: ({ executions: state }) => state?.uid ?? '',
  tasks: ({ executions: state }, now) => (state === undefined ? [] : tasksOf(state, now)),

  wakeAt: ({ executions: state }, now) => {
    const ends = Object.values(state?.ended ?? {}).flatMap((one) => (one.outcome === 'failed' ? [] : [one.expiresAt]));
    return ends.filter((end) => end > now).toSorted()[0] ?? null;
  },

  failed: (state, { type, data }, { cause, nextAttemptAt }) => {
    const { uid, requestId } = data as ExecutionData;
    const open = openExecution(state, { uid, requestId });
    if (type !== RUN || nextAttemptAt !== null || open === undefined) return [];
    return [{ type: 'NodeExecFailed', data: { uid, requestId, node: open.node, cause } }];
  },
};
