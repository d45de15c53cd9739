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
  /** What goes on at the server when the watching ends early, for the sentence that says so. */
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

/**
 * Shows an operation on a cluster until it has ended, and answers with it. Throws a `CliFailure` when it failed, when the time is over, or
 * at Ctrl-C; the server goes on in the last two cases.
 */
export const followOperation = async (api: Api, io: Io, at: ClusterAt, options: FollowOptions): Promise<Followed> => {
  const { requestSeq, timeoutMs } = options;
  const cluster = await unlessUnknown(api.cluster(at, requestSeq));
  const version = cluster?.k8sVersion ?? '';
  const ended = await watch<ShownOperation | undefined>(
    api,
    io,
    {
      at,
      from: requestSeq,
      since: () => requestSeq,
      read: async (minSeq) => {
        const operation = requestedAt((await unlessUnknown(api.operations(at, minSeq))) ?? [], requestSeq);
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
  return endOf(at, { ...options, isCleanedUp: cluster?.onFailure === 'cleanup' }, ended);
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

interface EndOptions extends FollowOptions {
  /** A creation that fails is followed by a deletion. */
  readonly isCleanedUp: boolean;
}

const endOf = (
  at: ClusterAt,
  options: EndOptions,
  { view, seq, end }: WatchEnd<ShownOperation | undefined>,
): Followed => {
  const operation = view?.operation;
  if (operation !== undefined && isOver(operation)) {
    if (hasFailed(operation)) throw failureOf(at, operation, options);
    return { operation, seq };
  }
  const { what, timeoutMs = 0 } = options;
  if (end === 'interrupted') throw stillGoing('interrupted', `Stopped watching: ${what} goes on at the server`, at);
  throw stillGoing('timed-out', `Not done within ${formatDuration(timeoutMs)}: ${what} goes on at the server`, at);
};

/** A request that was rejected has created nothing, and its manifest cannot be changed. */
const helpAfterCreate = (cluster: string, { phase }: OperationView, { isCleanedUp }: EndOptions): string => {
  if (isCleanedUp)
    return `What was created is being deleted (onFailure: cleanup): "fairlead cluster describe ${cluster}" shows it.`;
  return phase === 'Rejected'
    ? `Nothing was created. "fairlead cluster retry ${cluster}" checks the request again; to change it, delete the cluster first: "fairlead cluster delete ${cluster}".`
    : `"fairlead cluster retry ${cluster}" goes on from that step; "fairlead cluster delete ${cluster}" cleans up.`;
};

const failureOf = ({ cluster }: ClusterAt, operation: OperationView, options: EndOptions): CliFailure =>
  new CliFailure('failed', {
    code: operation.reason || 'cli.failed',
    message: operation.message || `${cluster} failed`,
    help: courseOf(operation) === 'create' ? helpAfterCreate(cluster, operation, options) : undefined,
  });

const stillGoing = (exit: 'interrupted' | 'timed-out', message: string, { cluster }: ClusterAt): CliFailure =>
  new CliFailure(exit, {
    code: `cli.${exit}`,
    message,
    help: `Look again with "fairlead cluster describe ${cluster}" or "fairlead events ${cluster} --follow".`,
  });
