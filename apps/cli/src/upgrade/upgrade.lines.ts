import type { UpgradeView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';
import { TITLES } from './plan.text.js';
import { nodeWords, type UpgradeNode } from './upgrade.tree.js';

const withTime = ({ phase, elapsedMs, predictedMs }: UpgradeNode): string =>
  phase === 'Done' && elapsedMs !== null
    ? `, took ${formatDuration(elapsedMs)} (predicted ${formatDuration(predictedMs)})`
    : '';

const nodeLine = (node: UpgradeNode): string =>
  `${node.name}: ${nodeWords(node)}${withTime(node)}${node.failure === '' || node.phase === 'Done' ? '' : `; ${node.failure}`}`;

/** Nodes that wait for their turn wait for whatever is under way: these lines show it. */
const isWorthALine = (before: UpgradeNode | undefined, after: UpgradeNode): boolean =>
  before === undefined
    ? after.phase !== 'Waiting' && after.phase !== 'Held'
    : before.phase !== after.phase || (after.phase !== 'Waiting' && nodeLine(before) !== nodeLine(after));

const phaseLine = ({ phase, message, nextActions }: UpgradeView): readonly string[] => [
  message === '' ? phase : `${phase}: ${message}`,
  ...nextActions.map((action) => `next: ${action}`),
];

const isSamePhase = (before: UpgradeView | undefined, after: UpgradeView): boolean =>
  before?.phase === after.phase && before.message === after.message;

type Operation = UpgradeView['operations'][number];

const operationLines = (before: UpgradeView | undefined, after: UpgradeView): readonly string[] => {
  const known = new Map(before?.operations.map((operation) => [operation.id, operation]));
  const isChange = (one: Operation): boolean =>
    one.node === null && one.state !== 'waiting' && known.get(one.id)?.state !== one.state;
  return after.operations
    .filter(isChange)
    .map(({ kind, state, failure }) => `${TITLES[kind] ?? kind}: ${state}${failure === '' ? '' : `; ${failure}`}`);
};

/** What changed from one view to the next, as whole lines for a log. */
export const linesBetweenUpgrades = (before: UpgradeView | undefined, after: UpgradeView): readonly string[] => {
  const known = new Map(before?.nodes.map((node) => [node.name, node]));
  const stamp = `${formatDuration(after.elapsedMs ?? 0).padStart(7)}  ${after.cluster}  `;
  return [
    ...(isSamePhase(before, after) ? [] : phaseLine(after)),
    ...operationLines(before, after),
    ...after.nodes.filter((node) => isWorthALine(known.get(node.name), node)).map(nodeLine),
  ].map((line) => stamp + line.replaceAll(/\s+/g, ' '));
};
