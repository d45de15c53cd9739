import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';

interface Request {
  readonly cluster: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly reason: string;
}

const set = async (session: Session, { cluster, name, ...request }: Request): Promise<Answer> => {
  const updates = await session.api.setPoolUpdates(clusterAt(session, cluster), name, request);
  const words = updates.disabled ? `is held out of changes: ${updates.reason}` : 'may be changed again';
  return { data: updates, table: `The pool ${name} of ${cluster} ${words}.`, names: [name] };
};

/** `hold` and `release` of a pool, also of nodes that join it later. */
export const addHoldCommands = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'hold <cluster> <pool>',
    summary: 'Hold a pool out of every upgrade, without stalling others',
    description:
      'Hold a pool out of every upgrade until it is released. Others go on; what is held may fall behind. Nodes that join the pool later are held, too.',
    examples: [['fairlead pool hold demo worker-1 --reason "a long test runs"', 'Until it is released']],
  })
    .requiredOption('--reason <text>', 'why; recorded in the history')
    .action(
      runs(io, (session, cluster: string, name: string, { reason }: { readonly reason: string }) =>
        set(session, { cluster, name, disabled: true, reason }),
      ),
    );
  addCommand(parent, {
    usage: 'release <cluster> <pool>',
    summary: 'Let a pool take part in upgrades again',
    examples: [['fairlead pool release demo worker-1', 'The next upgrade brings it along']],
  })
    .option('--reason <text>', 'why; recorded in the history', '')
    .action(
      runs(io, (session, cluster: string, name: string, { reason }: { readonly reason: string }) =>
        set(session, { cluster, name, disabled: false, reason }),
      ),
    );
};
