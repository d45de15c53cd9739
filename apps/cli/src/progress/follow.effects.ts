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
 * Shows an operation on a cluster until it has ended, and answers with it. Throws a `CliFailure` when it failed, when the time is over, or
 * at Ctrl-C; the server goes on in the last two cases. Where a creation that fails is cleaned up, the end of that is waited for, too.
 */
export const followOperation = async (api: Api, io: Io, at: ClusterAt, options: FollowOptions): Promise<Followed> => {
  const stopped = { what: options.what, help: comeBack(at) };
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
  if (ended.end !== 'reached') throw stoppedWatching(ended.end, { what, help: comeBack(at) }, timeoutMs);
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

/** undefined: there is none of this name, or none any more. */
export const unlessUnknown = async <T>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'not-found') return undefined;
    throw error;
  }
};

/** What the server says can be done. */
const helpAfter = ({ phase, nextActions }: OperationView): string | undefined => {
  const nothing = phase === 'Rejected' ? ['Nothing was created.'] : [];
  return [...nothing, ...nextActions].join('\n  ') || undefined;
};

/** undefined: the cleanup has not begun. */
const helpAfterCleanup = (at: ClusterAt, cleanup: OperationView | undefined): string => {
  if (cleanup === undefined || !isOver(cleanup))
    return `What was created is being deleted (onFailure: cleanup). ${comeBack(at)}`;
  return hasFailed(cleanup)
    ? `What was created could not be deleted (onFailure: cleanup): ${cleanup.message}. Try again with "${commandAt('cluster retry', at)}".`
    : `Everything that was created has been deleted (onFailure: cleanup); "${commandAt('events', at)}" shows its history.`;
};

const failureOf = ({ reason, message }: OperationView, help: string | undefined): CliFailure =>
  new CliFailure('failed', { code: reason || 'cli.failed', message: message || 'the operation failed', help });
