import type { Colors } from 'picocolors/types.js';
import type { ClusterAt, EventView } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';
import type { Answer } from '../output/format.js';
import { noProgress, type Operation, type Progress } from '../progress/progress.js';
import { project } from '../progress/progress.projection.js';
import { summaryOf, treeOf } from '../progress/progress.tree.js';
import { linesOfTree } from '../progress/tree.text.js';
import { upgradeLine, upgradesIn, type UpgradeStory } from './cluster.upgrades.js';

export interface DescribeOptions {
  readonly all: boolean;
  readonly nowMs: number;
  readonly columns: number;
  readonly colors: Colors;
}

/** The cluster as its events tell it; the last incarnation when the name was used several times. */
export const describeAnswer = (at: ClusterAt, events: readonly EventView[], options: DescribeOptions): Answer => {
  const progress = events.reduce(project, noProgress(at));
  if (progress.operations.length === 0) {
    throw new CliFailure('not-found', {
      code: 'cluster.unknown',
      message: `There never was a cluster ${at.cluster} in the namespace ${at.namespace}`,
      help: 'List those that exist with "fairlead cluster list".',
    });
  }
  const upgrades = upgradesIn(events, progress.uid);
  const lines = [...treeText(progress, options), ...upgradesText(upgrades, options.all)];
  return { data: { ...progress, upgrades }, table: lines.join('\n'), names: [at.cluster] };
};

/** Of upgrades the latest; how far each node is, "fairlead upgrade status" shows. */
const upgradesText = (upgrades: readonly UpgradeStory[], all: boolean): readonly string[] => {
  const shown = all ? upgrades.toReversed() : upgrades.slice(-1);
  return shown.length === 0 ? [] : ['', 'Upgrades:', ...shown.map((upgrade) => `  ${upgradeLine(upgrade)}`)];
};

const treeText = (progress: Progress, { all, nowMs, columns, colors }: DescribeOptions): readonly string[] => {
  const lines = linesOfTree(treeOf(progress, { nowMs, all }), { columns, colors });
  const earlier = progress.operations.slice(0, -1);
  if (earlier.length === 0) return lines;
  if (all)
    return [
      ...lines,
      ...earlier
        .toReversed()
        .flatMap((_, index) => earlierTree(progress, earlier.length - index, { nowMs, columns, colors })),
    ];
  return [...lines, '', 'Before that:', ...earlier.toReversed().map((operation) => `  ${operationLine(operation)}`)];
};

/** The tree of an earlier operation, as it ended; the nodes are only known as they are now. */
const earlierTree = (progress: Progress, count: number, options: Omit<DescribeOptions, 'all'>): readonly string[] => {
  const then: Progress = { ...progress, operations: progress.operations.slice(0, count), nodes: [] };
  return ['', ...linesOfTree(treeOf(then, { nowMs: options.nowMs, all: true }), options)];
};

const operationLine = (operation: Operation): string => {
  const { kind, startedAtMs, state, actor } = operation;
  const took = state.status === 'running' ? '' : `, took ${formatDuration(state.endedAtMs - startedAtMs)}`;
  return `${new Date(startedAtMs).toISOString()}  ${kind}: ${summaryOf(operation)}${took}, asked for by ${actor}`;
};
