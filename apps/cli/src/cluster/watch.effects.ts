import type { Api } from '../api/api.js';
import type { ClusterAt } from '../api/views.js';
import type { Io } from '../io/io.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { linesBetween } from '../progress/operation.lines.js';
import { isOver } from '../progress/operation.words.js';
import { watch, type WatchEnd } from '../progress/watch.effects.js';
import { describedOf, describeLines, type Described } from './cluster.describe.js';

export interface WatchClusterOptions {
  /** Whether the goal is reached. */
  readonly until: (described: Described) => boolean;
  readonly all: boolean;
  readonly timeoutMs?: number | undefined;
}

/** Some conditions change without an event. */
const AGAIN_MS = 10_000;

/** Displays a cluster and its operations until `until` holds. */
export const watchCluster = (
  api: Api,
  io: Io,
  at: ClusterAt,
  { until, all, timeoutMs }: WatchClusterOptions,
): Promise<WatchEnd<Described>> =>
  watch<Described>(
    api,
    io,
    {
      at,
      from: 0,
      since: seqOf,
      read: (minSeq) => describedOf(api, at, minSeq),
      until,
      lines: linesOf,
      frame: (described, options) => describeLines(described, { ...options, all }),
    },
    { timeoutMs, againMs: AGAIN_MS },
  );

/** The sequence of the latest event in the views. */
const seqOf = ({ cluster, operations }: Described): number =>
  Math.max(cluster?.lastSeq ?? 0, operations.at(-1)?.seq ?? 0);

/** The new lines of the latest operation. */
const linesOf = (before: Described | undefined, { at, cluster, operations }: Described): readonly string[] => {
  const operation = operations.at(-1);
  if (operation === undefined) return [];
  // An operation that had ended before is not printed.
  if (before === undefined && isOver(operation))
    return cluster === null ? [] : [`${at.cluster}  ${cluster.status.state}: nothing is in progress`];
  const former = before?.operations.find(({ id }) => id === operation.id);
  const shown = { at, version: cluster?.k8sVersion ?? '', operation, nodes: operation.nodes };
  return linesBetween(former, shown);
};

/** The cluster is deleted, and its deletion operation has ended. */
export const isGone = ({ cluster, operations }: Described): boolean =>
  cluster === null && operations.every((operation) => isOver(operation));

/** Whether a cluster with this name exists or existed. */
export const isKnown = async (api: Api, at: ClusterAt): Promise<boolean> =>
  (await unlessUnknown(api.list('/ns/{namespace}/clusters/{cluster}/operations', at))) !== undefined;
