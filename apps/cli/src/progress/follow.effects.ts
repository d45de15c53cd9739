import type { Api, ClusterAt, OperationView } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import { linesBetween } from './operation.lines.js';
import { treeOf, type ShownOperation } from './operation.tree.js';
import { courseOf, hasFailed, isOver } from './operation.words.js';
import { watch, type WatchEnd } from './watch.effects.js';

export interface FollowOptions {
  /** Sequence of the request that is waited for; 0: whatever the latest one is. */
  readonly requestSeq: number;
  /** undefined: no limit. */
  readonly timeoutMs?: number | undefined;
  /** What continues on the server when the watching ends early, for the sentence that says so. */
  readonly what: string;
}

export interface Followed {
  readonly operation: OperationView;
  /** Of the latest event that was received. */
  readonly seq: number;
}

/** Operations without upgrades, which have commands of their own. */
export const operationsOf = (operations: readonly OperationView[]): readonly OperationView[] =>
  operations.filter(({ kind }) => kind !== 'upgrade');

/** Of a request that changed nothing, because it was made before, the latest operation is the one. */
const requestedAt = (operations: readonly OperationView[], seq: number): OperationView | undefined => {
  const known = operationsOf(operations);
  return (seq === 0 ? undefined : known.find((one) => one.seq >= seq)) ?? known.at(-1);
};

interface Following {
  /** Of the latest event that may be known already. */
  readonly from: number;
  readonly version: string;
  readonly timeoutMs: number | undefined;
  /** The operation that is followed; undefined: it is not there yet. */
  readonly pick: (operations: readonly OperationView[]) => OperationView | undefined;
}

/** Shows an operation until it has ended. */
const follow = (
  api: Api,
  io: Io,
  at: ClusterAt,
  { from, version, timeoutMs, pick }: Following,
): Promise<WatchEnd<ShownOperation | undefined>> =>
  watch<ShownOperation | undefined>(
    api,
    io,
    {
      at,
      from,
      since: () => from,
      read: async (minSeq) => {
        const operation = pick((await unlessUnknown(api.operations(at, minSeq))) ?? []);
        return operation && { at, version, operation, nodes: operation.nodes };
      },
      until: (shown) => shown !== undefined && isOver(shown.operation),
      lines: (before, after) => {
        if (after === undefined) return [];
        const isSame = before?.operation.id === after.operation.id;
        return linesBetween(isSame ? before.operation : undefined, after);
      },
      tree: (shown, { nowMs }) =>
        shown === undefined
          ? { mark: 'waiting', label: `${at.namespace}/${at.cluster}`, children: [] }
          : treeOf(shown, { nowMs, all: false }),
    },
    { timeoutMs },
  );

/**
 * Shows an operation on a cluster until it has ended, and answers with it. Throws a `CliFailure` when it failed, when the time is over, or
 * at Ctrl-C; the server goes on in the last two cases. Where a creation that fails is cleaned up, the end of that is waited for, too.
 */
export const followOperation = async (api: Api, io: Io, at: ClusterAt, options: FollowOptions): Promise<Followed> => {
  const { requestSeq, timeoutMs } = options;
  const startedMs = io.now();
  const cluster = await unlessUnknown(api.cluster(at, requestSeq));
  const version = cluster?.k8sVersion ?? '';
  const pick = (operations: readonly OperationView[]) => requestedAt(operations, requestSeq);
  const ended = await follow(api, io, at, { from: requestSeq, version, timeoutMs, pick });
  const failed = ended.view?.operation;
  if (cluster?.onFailure !== 'cleanup' || failed === undefined || !hasFailed(failed) || courseOf(failed) !== 'create')
    return endOf(at, options, ended);
  const cleanup = await follow(api, io, at, {
    from: ended.seq,
    version,
    timeoutMs: timeoutMs === undefined ? undefined : Math.max(0, timeoutMs - (io.now() - startedMs)),
    pick: (operations) => operations.find(({ kind, seq }) => kind === 'delete' && seq > failed.seq),
  });
  throw failureOf(failed, helpAfterCleanup(at.cluster, cleanup.view?.operation));
};

/** undefined: there is none of this name, or none any more. */
export const unlessUnknown = async <T>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'not-found') return undefined;
    throw error;
  }
};

const endOf = (
  at: ClusterAt,
  options: FollowOptions,
  { view, seq, end }: WatchEnd<ShownOperation | undefined>,
): Followed => {
  const operation = view?.operation;
  if (operation !== undefined && isOver(operation)) {
    if (!hasFailed(operation)) return { operation, seq };
    throw failureOf(operation, courseOf(operation) === 'create' ? helpAfterCreate(at.cluster, operation) : undefined);
  }
  const { what, timeoutMs = 0 } = options;
  if (end === 'interrupted') throw stillGoing('interrupted', `Stopped watching: ${what} continues on the server`, at);
  throw stillGoing('timed-out', `Not done within ${formatDuration(timeoutMs)}: ${what} continues on the server`, at);
};

/** A request that was rejected has created nothing, and its manifest cannot be changed. */
const helpAfterCreate = (cluster: string, { phase }: OperationView): string =>
  phase === 'Rejected'
    ? `Nothing was created. "fairlead cluster retry ${cluster}" checks the request again; to change it, delete the cluster first: "fairlead cluster delete ${cluster}".`
    : `"fairlead cluster retry ${cluster}" goes on from that step; "fairlead cluster delete ${cluster}" cleans up.`;

/** undefined: the cleanup has not begun. */
const helpAfterCleanup = (cluster: string, cleanup: OperationView | undefined): string => {
  if (cleanup === undefined || !isOver(cleanup))
    return `What was created is being deleted (onFailure: cleanup): "fairlead cluster describe ${cluster}" shows it.`;
  return hasFailed(cleanup)
    ? `What was created could not be deleted (onFailure: cleanup): ${cleanup.message}. Try again with "fairlead cluster retry ${cluster}".`
    : `Everything that was created has been deleted (onFailure: cleanup); "fairlead events ${cluster}" shows its history.`;
};

const failureOf = ({ reason, message }: OperationView, help: string | undefined): CliFailure =>
  new CliFailure('failed', { code: reason || 'cli.failed', message: message || 'the operation failed', help });

const stillGoing = (exit: 'interrupted' | 'timed-out', message: string, { cluster }: ClusterAt): CliFailure =>
  new CliFailure(exit, {
    code: `cli.${exit}`,
    message,
    help: `Look again with "fairlead cluster describe ${cluster}" or "fairlead events ${cluster} --follow".`,
  });
