import type { UpgradeSummary, UpgradeView } from '../api/views.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';
import { linesOfTree } from '../progress/tree.text.js';
import { planText, targetText } from './plan.text.js';
import { upgradeTree } from './upgrade.tree.js';

/** Upgrades in the forms of `--output`. */

const timeOf = (ms: number | null): string => (ms === null ? '' : formatDuration(ms));

/** Of a rejection for many reasons, the first: all of them are what `upgrade status` shows. */
const statusOf = ({ phase, message }: UpgradeSummary): string => {
  const [first = '', ...others] = phase === 'Rejected' ? message.split('; ') : [message];
  return others.length === 0 ? first : `${first}; and ${others.length} more`;
};

export const upgradesAnswer = (upgrades: readonly UpgradeSummary[]): CommandOutput => ({
  data: upgrades,
  table: {
    columns: [
      ...['upgrade', 'state', prose('change'), 'nodes'],
      ...[optional('took', 2), optional('predicted', 4), optional('actor', 3), prose('message')],
    ],
    rows: upgrades.map((upgrade) => [
      upgrade.id,
      upgrade.mode === 'dry-run' ? `${upgrade.phase} (dry run)` : upgrade.phase,
      targetText(upgrade),
      `${upgrade.nodesDone}/${upgrade.nodesTotal}`,
      timeOf(upgrade.elapsedMs),
      timeOf(upgrade.predictedMs),
      upgrade.actor,
      statusOf(upgrade),
    ]),
    empty: 'The cluster was never upgraded.',
  },
  names: upgrades.map(({ id }) => id),
});

export const planAnswer = (upgrade: UpgradeView): CommandOutput => ({
  data: upgrade,
  table: (columns) => planText(upgrade, columns),
  names: [upgrade.id],
});

/** The upgrade as a tree; to a file or a pipe in full width. */
export const statusAnswer = (upgrade: UpgradeView, io: Io, all: boolean): CommandOutput => {
  const tree = upgradeTree(upgrade, { agoMs: 0, all });
  const shown = (columns: number): string => linesOfTree(tree, { columns, colors: io.colors }).join('\n');
  return { data: upgrade, table: shown, names: [upgrade.id] };
};

/** One line for what is left to say after everything was watched, or before anything can be seen. */
export const summaryAnswer = (upgrade: UpgradeView): CommandOutput => {
  const { phase, message, nodesDone, nodesTotal, elapsedMs } = upgrade;
  const time = elapsedMs === null ? '' : ` after ${formatDuration(elapsedMs)}`;
  const words = message === '' ? '' : `: ${message}`;
  return {
    data: upgrade,
    table: `The upgrade ${upgrade.id} of ${upgrade.cluster} is ${phase}${time}, ${nodesDone} of ${nodesTotal} nodes are done${words}.`,
    names: [upgrade.id],
  };
};

/** Many findings are a list, which was shown before: the sentence names their rules, and what to do once for each. */
const rejected = ({ id, cluster, message, findings }: UpgradeView): CliFailure => {
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  const why = findings.length > 1 ? `the rules ${rules.join(', ')}` : `a rule: ${message}`;
  return new CliFailure('refused', {
    code: 'upgrade.rejected',
    message: `The upgrade ${id} of ${cluster} would break ${why}`,
    help: [...new Set(findings.map(({ rule, help }) => `${rule}: ${help}`))].join(' '),
  });
};

/** Ends the command with the class of how the upgrade ended, unless it is well. */
export const orFail = (upgrade: UpgradeView): UpgradeView => {
  const { phase, message, cluster, id, nextActions } = upgrade;
  switch (phase) {
    case 'Rejected':
      throw rejected(upgrade);
    case 'Halted':
      throw new CliFailure('halted', {
        code: 'upgrade.halted',
        message: `The upgrade ${id} of ${cluster} has halted: ${message}`,
        help: nextActions.join('; '),
      });
    case 'Aborted':
      throw new CliFailure('failed', {
        code: 'upgrade.aborted',
        message: `The upgrade ${id} of ${cluster} was aborted: ${message}`,
      });
    default:
      return upgrade;
  }
};
