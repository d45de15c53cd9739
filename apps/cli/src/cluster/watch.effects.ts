import type { Api } from '../api/api.js';
import type { ClusterAt } from '../api/views.js';
import type { Io } from '../io/io.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { linesBetween } from '../progress/operation.lines.js';
import { isOver } from '../progress/operation.words.js';
import { watch, type WatchEnd } from '../progress/watch.effects.js';
import { describedOf, describeLines, type Described } from './cluster.describe.js';

export interface WatchClusterOptions {
  /** There is nothing more to wait for. */
  readonly until: (described: Described) => boolean;
  readonly all: boolean;
  readonly timeoutMs?: number | undefined;
}

/** Some conditions change by time alone. */
const AGAIN_MS = 10_000;

/** Shows a cluster, with what is done with it, until it is as asked. */
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

/** Of the latest event that is known to show. */
const seqOf = ({ cluster, operations }: Described): number =>
  Math.max(cluster?.lastSeq ?? 0, operations.at(-1)?.seq ?? 0);

/** Of the latest operation. */
const linesOf = (before: Described | undefined, { at, cluster, operations }: Described): readonly string[] => {
  const operation = operations.at(-1);
  if (operation === undefined) return [];
  // What had ended before is not what is waited for.
  if (before === undefined && isOver(operation))
    return cluster === null ? [] : [`${at.cluster}  ${cluster.status.state}: nothing is in progress`];
  const former = before?.operations.find(({ id }) => id === operation.id);
  const shown = { at, version: cluster?.k8sVersion ?? '', operation, nodes: operation.nodes };
  return linesBetween(former, shown);
};

/** It is gone, and its deletion has ended. */
export const isGone = ({ cluster, operations }: Described): boolean =>
  cluster === null && operations.every((operation) => isOver(operation));

/** Whether anything is known of a cluster of the name, also of one that is gone. */
export const isKnown = async (api: Api, at: ClusterAt): Promise<boolean> =>
  (await unlessUnknown(api.list('/ns/{namespace}/clusters/{cluster}/operations', at))) !== undefined;
