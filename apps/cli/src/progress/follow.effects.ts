import type { Api } from '../api/api.js';
import type { ClusterAt, OperationView } from '../api/views.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { linesBetween } from './operation.lines.js';
import { treeOf, type ShownOperation } from './operation.tree.js';
import { courseOf, hasFailed, isOver } from './operation.words.js';
import { comeBack, commandAt, orContinues, stoppedWatching } from './stopped.watching.js';
import { linesOfTree } from './tree.text.js';
import type { Branch } from './tree.js';
import { watch, type WatchEnd } from './watch.effects.js';

export interface FollowOptions {
  /** Sequence of the request to wait for; 0: the latest one. */
  readonly requestSeq: number;
  /** undefined: no timeout. */
  readonly timeoutMs?: number | undefined;
  /** The work that continues on the server if watching ends early, for the message. */
  readonly what: string;
  /** What `cluster wait` waits for afterwards; absent: that it is Ready. */
  readonly goal?: 'deleted';
}

export interface Followed {
  readonly operation: OperationView;
  /** The sequence of the latest received event. */
  readonly seq: number;
}

/** Operations without upgrades, which have their own commands. */
export const operationsOf = (operations: readonly OperationView[]): readonly OperationView[] =>
  operations.filter(({ kind }) => kind !== 'upgrade');

/** If a request was made before and changed nothing, its operation is the latest one. */
const requestedAt = (operations: readonly OperationView[], seq: number): OperationView | undefined => {
  const known = operationsOf(operations);
  return (seq === 0 ? undefined : known.find((one) => one.seq >= seq)) ?? known.at(-1);
};

interface Following {
  /** The sequence of the latest event that the view must include. */
  readonly from: number;
  readonly version: string;
  readonly timeoutMs: number | undefined;
  /** The operation to follow; undefined if it does not exist yet. */
  readonly pick: (operations: readonly OperationView[]) => OperationView | undefined;
}

/** Displays an operation until it has ended. */
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
        const operation = pick(
          (await unlessUnknown(api.list('/ns/{namespace}/clusters/{cluster}/operations', at, { query: { minSeq } }))) ??
            [],
        );
        return operation && { at, version, operation, nodes: operation.nodes };
      },
      until: (shown) => shown !== undefined && isOver(shown.operation),
      lines: (before, after) => {
        if (after === undefined) return [];
        const isSame = before?.operation.id === after.operation.id;
        return linesBetween(isSame ? before.operation : undefined, after);
      },
      frame: (shown, options) => {
        const tree: Branch =
          shown === undefined
            ? { mark: 'waiting', label: `${at.namespace}/${at.cluster}`, children: [] }
            : treeOf(shown, { ...options, all: false });
        return linesOfTree(tree, options);
      },
    },
    { timeoutMs },
  );

/**
 * Displays an operation on a cluster until it has ended, and returns it. Throws a `CliFailure` if it failed, at the
 * timeout, or at Ctrl-C; in the last two cases the work on the server continues. If a failed creation is cleaned up,
 * waits for the end of the cleanup too.
 */
export const followOperation = async (api: Api, io: Io, at: ClusterAt, options: FollowOptions): Promise<Followed> => {
  const stopped = { what: options.what, help: comeBack(at, options.goal) };
  try {
    return await untilOver(api, io, at, options);
  } catch (error) {
    if (io.interrupts.first.aborted && !(error instanceof CliFailure)) throw stoppedWatching('interrupted', stopped);
    throw orContinues(error, stopped);
  }
};

const untilOver = async (api: Api, io: Io, at: ClusterAt, options: FollowOptions): Promise<Followed> => {
  const { requestSeq, timeoutMs, what } = options;
  const startedMs = io.now();
  const cluster = await unlessUnknown(
    api.get('/ns/{namespace}/clusters/{cluster}', at, { query: { minSeq: requestSeq } }),
  );
  const version = cluster?.k8sVersion ?? '';
  const pick = (operations: readonly OperationView[]) => requestedAt(operations, requestSeq);
  const ended = await follow(api, io, at, { from: requestSeq, version, timeoutMs, pick });
  if (ended.end !== 'reached') throw stoppedWatching(ended.end, { what, help: comeBack(at, options.goal) }, timeoutMs);
  const operation = ended.view?.operation;
  if (operation === undefined) throw new Error('the operation that was followed has ended, and there is none');
  if (!hasFailed(operation)) return { operation, seq: ended.seq };
  if (cluster?.onFailure !== 'cleanup' || courseOf(operation) !== 'create')
    throw failureOf(operation, helpAfter(operation));
  const cleanup = await follow(api, io, at, {
    from: ended.seq,
    version,
    timeoutMs: timeoutMs === undefined ? undefined : Math.max(0, timeoutMs - (io.now() - startedMs)),
    pick: (operations) => operations.find(({ kind, seq }) => kind === 'delete' && seq > operation.seq),
  });
  const deletion = cleanup.end === 'reached' ? cleanup.view?.operation : undefined;
  throw failureOf(operation, helpAfterCleanup(at, deletion));
};

/** undefined: there is no object with this name. */
export const unlessUnknown = async <T>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'not-found') return undefined;
    throw error;
  }
};

/** The server's advice. */
const helpAfter = ({ phase, nextActions }: OperationView): string | undefined => {
  const nothing = phase === 'Rejected' ? ['Nothing was created.'] : [];
  return [...nothing, ...nextActions].join('\n  ') || undefined;
};

/** undefined: the cleanup has not started. */
const helpAfterCleanup = (at: ClusterAt, cleanup: OperationView | undefined): string => {
  if (cleanup === undefined || !isOver(cleanup))
    return `What was created is being deleted (onFailure: cleanup). ${comeBack(at)}`;
  return hasFailed(cleanup)
    ? `What was created could not be deleted (onFailure: cleanup): ${cleanup.message}. Try again with "${commandAt('cluster retry', at)}".`
    : `Everything that was created has been deleted (onFailure: cleanup); "${commandAt('events', at)}" shows its history.`;
};

const failureOf = ({ reason, message }: OperationView, help: string | undefined): CliFailure =>
  new CliFailure('failed', { code: reason || 'cli.failed', message: message || 'the operation failed', help });
