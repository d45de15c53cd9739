import {
  type StoredEvent,
  type LogUnit,
  type Cause,
  type ClusterUid,
  type NodeName,
  type SecretRef,
  without,
} from '@fairlead/contracts';

export interface OpenExecution {
  readonly node: NodeName;
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
  /** RFC 3339. */
  readonly requestedAt: string;
  /** RFC 3339; null: not started. */
  readonly startedAt: string | null;
}

/** A log that a user follows. */
export interface OpenFollow {
  readonly node: NodeName;
  readonly unit: LogUnit;
  readonly lines: number;
  /** null: from the beginning. */
  readonly sinceSeconds: number | null;
  /** RFC 3339. */
  readonly requestedAt: string;
}

export type EndedExecution =
  | {
      readonly outcome: 'finished';
      readonly node: NodeName;
      readonly exitCode: number;
      readonly truncated: boolean;
      readonly tookMs: number;
      readonly outputRef: SecretRef;
      /** RFC 3339. */
      readonly expiresAt: string;
    }
  | { readonly outcome: 'failed'; readonly node: NodeName; readonly cause: Cause };

/** Commands on the nodes of a cluster, by request id. */
export interface Executions {
  readonly uid: ClusterUid;
  readonly open: Readonly<Record<string, OpenExecution>>;
  /** Latest finished commands; those with an output are kept until it is removed. */
  readonly ended: Readonly<Record<string, EndedExecution>>;
  /** Followed logs, by request id. */
  readonly follows: Readonly<Record<string, OpenFollow>>;
}

/** This many failures are kept, so that clients can query the outcome of their request. */
const FAILED_MAX = 20;

const withoutOldFailures = (ended: Executions['ended']): Executions['ended'] => {
  const failed = Object.entries(ended).filter(([, one]) => one.outcome === 'failed');
  const dropped = new Set(failed.slice(0, Math.max(0, failed.length - FAILED_MAX)).map(([requestId]) => requestId));
  return Object.fromEntries(Object.entries(ended).filter(([requestId]) => !dropped.has(requestId)));
};

const end = (state: Executions, requestId: string, one: EndedExecution): Executions => ({
  ...state,
  open: without(state.open, requestId),
  ended: withoutOldFailures({ ...state.ended, [requestId]: one }),
});

/** The commands on nodes after an event; undefined: no such cluster, or it is being deleted. */
export const executionsAfter = (state: Executions | undefined, event: StoredEvent): Executions | undefined => {
  if (event.type === 'ClusterRequested') return { uid: event.data.uid, open: {}, ended: {}, follows: {} };
  if (state === undefined || !('uid' in event.data) || event.data.uid !== state.uid) return state;
  switch (event.type) {
    case 'ClusterDeletionRequested':
      return undefined;
    case 'NodeExecRequested': {
      const { requestId, node, command, timeoutSeconds } = event.data;
      const one = { node, command, timeoutSeconds, requestedAt: event.meta.time, startedAt: null };
      return { ...state, open: { ...state.open, [requestId]: one } };
    }
    case 'NodeExecStarted': {
      const { requestId } = event.data;
      const one = state.open[requestId];
      if (one === undefined) return state;
      return { ...state, open: { ...state.open, [requestId]: { ...one, startedAt: event.meta.time } } };
    }
    case 'NodeExecFinished': {
      const { requestId, node, exitCode, truncated, tookMs, outputRef, expiresAt } = event.data;
      return end(state, requestId, { outcome: 'finished', node, exitCode, truncated, tookMs, outputRef, expiresAt });
    }
    case 'NodeExecFailed': {
      const { requestId, node, cause } = event.data;
      return end(state, requestId, { outcome: 'failed', node, cause });
    }
    case 'NodeLogsFollowRequested': {
      const { requestId, node, unit, lines, sinceSeconds = null } = event.data;
      const one = { node, unit, lines, sinceSeconds, requestedAt: event.meta.time };
      return { ...state, follows: { ...state.follows, [requestId]: one } };
    }
    case 'NodeLogsFollowEnded':
      return { ...state, follows: without(state.follows, event.data.requestId) };
    case 'NodeExecOutputRemoved':
      return { ...state, ended: without(state.ended, event.data.requestId) };
    default:
      return state;
  }
};
