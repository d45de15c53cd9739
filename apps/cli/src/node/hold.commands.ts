import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { addSelectionOptions, selectionOf, selectionWords, type SelectionOptions } from './action.options.js';

type HoldOptions = SelectionOptions & { readonly reason: string };

interface Which {
  readonly cluster: string;
  readonly nodes: readonly string[];
}

const set = async (
  session: Session,
  { cluster, nodes }: Which,
  options: HoldOptions,
  disabled: boolean,
): Promise<Answer> => {
  const select = selectionOf(nodes, options);
  const { reason } = options;
  const data = await session.api.setNodeUpdates(clusterAt(session, cluster), { select, disabled, reason });
  const words = disabled ? `held out of changes (${reason})` : 'released from their hold';
  const table =
    data.changed.length === 0
      ? `Nothing to do: ${selectionWords(cluster, nodes, options)} ${nodes.length === 1 ? 'is' : 'are'} ${disabled ? 'held' : 'released'} already.`
      : `Now ${words}: ${data.changed.join(', ')} of ${cluster}.`;
  return { data, table, names: data.nodes };
};

/** `hold` and `release` of nodes that are selected. */
export const addNodeHoldCommands = (parent: Command, io: Io): void => {
  const hold = addCommand(parent, {
    usage: 'hold <cluster> [nodes...]',
    summary: 'Hold nodes out of every upgrade, without stalling others',
    description:
      'Hold nodes out of every upgrade and rollout until they are released. Others go on; what is held may fall behind. The selection is resolved once: "fairlead pool hold" also holds nodes that join a pool later.',
    examples: [
      ['fairlead node hold demo demo-w-2-k3x9q --reason "a long test runs"', 'One node, until it is released'],
      ['fairlead node hold demo -l tier=web --reason "the sale"', 'Nodes with a label'],
    ],
  });
  addSelectionOptions(hold)
    .requiredOption('--reason <text>', 'why; shown in the history')
    .action(
      runs(io, (session, cluster: string, nodes: readonly string[], options: HoldOptions) =>
        set(session, { cluster, nodes }, options, true),
      ),
    );
  const release = addCommand(parent, {
    usage: 'release <cluster> [nodes...]',
    summary: 'Let nodes take part in upgrades again',
    description: 'End holds of nodes. What holds their pool ends with "fairlead pool release".',
    examples: [
      ['fairlead node release demo demo-w-2-k3x9q', 'The next upgrade brings it along'],
      ['fairlead node release demo --all', 'Every node that is held for its own sake'],
    ],
  });
  addSelectionOptions(release)
    .option('--reason <text>', 'why; shown in the history', '')
    .action(
      runs(io, (session, cluster: string, nodes: readonly string[], options: HoldOptions) =>
        set(session, { cluster, nodes }, options, false),
      ),
    );
};
