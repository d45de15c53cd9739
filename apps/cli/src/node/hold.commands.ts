import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import {
  addSelectionOptions,
  unlessPoolUnknown,
  selectionOf,
  selectionWords,
  type SelectionOptions,
} from './action.options.js';

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
): Promise<CommandOutput> => {
  const select = selectionOf(nodes, options);
  const { reason } = options;
  const at = clusterAt(session, cluster);
  const { data } = await unlessPoolUnknown(
    session,
    at,
    options.pool,
    session.api.put('/ns/{namespace}/clusters/{cluster}/nodes/updates', at, { body: { select, disabled, reason } }),
  );
  const words = disabled ? `excluded from changes (${reason})` : 'included in changes again';
  const table =
    data.changed.length === 0
      ? `Nothing to do: ${selectionWords(cluster, nodes, options)} ${nodes.length === 1 ? 'is' : 'are'} ${disabled ? 'held' : 'not held'} already.`
      : `Now ${words}: ${data.changed.join(', ')} of ${cluster}.`;
  return { data, table, names: data.nodes };
};

/** `hold` and `unhold` for selected nodes. */
export const addNodeHoldCommands = (parent: Command, io: Io): void => {
  const hold = addCommand(parent, {
    usage: 'hold <cluster> [nodes...]',
    summary: 'Exclude nodes from upgrades and rollouts',
    description:
      'Exclude nodes from upgrades and rollouts until "fairlead node unhold". Other nodes continue. The selection is resolved once; to include nodes that join a pool later, use "fairlead pool hold".',
    examples: [
      ['fairlead node hold demo demo-w-2-k3x9q --reason "a long test runs"', 'Hold one node'],
      ['fairlead node hold demo -l tier=web --reason "the sale"', 'Nodes with a label'],
    ],
  });
  addSelectionOptions(hold)
    .requiredOption('--reason <text>', 'reason, recorded in the history')
    .action(
      runs(io, (session, cluster: string, nodes: readonly string[], options: HoldOptions) =>
        set(session, { cluster, nodes }, options, true),
      ),
    );
  const unhold = addCommand(parent, {
    usage: 'unhold <cluster> [nodes...]',
    summary: 'Include held nodes in upgrades again',
    description:
      'End the hold of nodes, so that upgrades include them again. The hold of a pool is ended by "fairlead pool unhold".',
    examples: [
      ['fairlead node unhold demo demo-w-2-k3x9q', 'The next upgrade includes it'],
      ['fairlead node unhold demo --all', 'All nodes that are held individually'],
    ],
  });
  addSelectionOptions(unhold)
    .option('--reason <text>', 'reason, recorded in the history', '')
    .action(
      runs(io, (session, cluster: string, nodes: readonly string[], options: HoldOptions) =>
        set(session, { cluster, nodes }, options, false),
      ),
    );
};
