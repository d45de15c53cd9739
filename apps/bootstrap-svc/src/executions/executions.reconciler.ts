import { EXEC_LIMITS, type Cause, type ClusterUid } from '@fairlead/contracts';
import type { Executions } from '@fairlead/domain';
import { later, type Reconciler, type Task } from '@fairlead/event-sourcing';
import {
  executions,
  openExecution,
  openFollow,
  type ExecutionsCommand,
  type ExecutionsFact,
  type ExecutionsState,
} from './executions.decider.js';

/** Data of all tasks: the request. */
export interface ExecutionData {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
}

export const RUN = 'RunOnNode';
export const FOLLOW = 'FollowLog';
export const REMOVE_OUTPUT = 'RemoveOutput';

const MS_PER_SECOND = 1_000;
/** These tasks are long: their number is limited, so that they do not displace other tasks. */
const FOLLOWED_LOGS = 'followed logs';

/** After this time, a request that has not started is abandoned. */
export const beginsBy = (requestedAt: string): string => later(requestedAt, EXEC_LIMITS.beginSeconds * MS_PER_SECOND);

const tasksOf = ({ uid, open, ended, follows }: Executions, now: string): readonly Task[] => [
  // It remains desired while it runs: a later delivery records that the outcome is unknown.
  ...Object.keys(open).map((requestId): Task => {
    const data: ExecutionData = { uid, requestId };
    return { type: RUN, key: `${RUN}/${requestId}`, reason: 'an operator asked for it', data };
  }),
  // Its reader keeps it open: after a crash of this service it is resumed.
  ...Object.keys(follows).map((requestId): Task => {
    const data: ExecutionData = { uid, requestId };
    const reason = 'an operator follows it';
    return { type: FOLLOW, key: `${FOLLOW}/${requestId}`, reason, data, groups: [FOLLOWED_LOGS] };
  }),
  ...Object.entries(ended).flatMap(([requestId, one]): readonly Task[] => {
    if (one.outcome === 'failed' || one.expiresAt > now) return [];
    const data: ExecutionData = { uid, requestId };
    return [{ type: REMOVE_OUTPUT, key: `${REMOVE_OUTPUT}/${requestId}`, reason: 'its time is over', data }];
  }),
];

/** Its effect normally records failures itself, with the amount sent: this is one that it could not. */
const followFailed = (state: ExecutionsState, data: ExecutionData, cause: Cause): readonly ExecutionsFact[] => {
  const open = openFollow(state, data);
  if (open === undefined) return [];
  const unknown = { bytes: 0, skippedLines: 0, tookMs: 0 };
  return [{ type: 'NodeLogsFollowEnded', data: { ...data, node: open.node, reason: 'failed', cause, ...unknown } }];
};

/**
 * Runs operators' commands on nodes, follows logs, and deletes outputs. Those of a deleted cluster are deleted with its
 * key.
 */
export const executionsReconciler: Reconciler<ExecutionsState, ExecutionsCommand, ExecutionsFact> = {
  name: 'executions',
  version: 4,
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
    if (type === FOLLOW && nextAttemptAt === null) return followFailed(state, { uid, requestId }, cause);
    const open = openExecution(state, { uid, requestId });
    if (type !== RUN || nextAttemptAt !== null || open === undefined) return [];
    return [{ type: 'NodeExecFailed', data: { uid, requestId, node: open.node, cause } }];
  },
};
