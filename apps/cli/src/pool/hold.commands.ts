import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';

interface Request {
  readonly cluster: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly reason: string;
}

const set = async (session: Session, { cluster, name, ...request }: Request): Promise<CommandOutput> => {
  const { data: updates } = await session.api.put(
    '/ns/{namespace}/clusters/{cluster}/pools/{pool}/updates',
    { ...clusterAt(session, cluster), pool: name },
    { body: request },
  );
  const words = updates.disabled ? `is excluded from changes: ${updates.reason}` : 'is included in changes again';
  return { data: updates, table: `The pool ${name} of ${cluster} ${words}.`, names: [name] };
};

/** `hold` and `unhold` of a pool, which include nodes that join it later. */
export const addHoldCommands = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'hold <cluster> <pool>',
    summary: 'Exclude a pool from upgrades and rollouts',
    description:
      'Exclude a pool from upgrades and rollouts until it is released, including nodes that join it later. Other pools continue.',
    examples: [['fairlead pool hold demo worker-1 --reason "a long test runs"', 'Hold a pool']],
  })
    .requiredOption('--reason <text>', 'reason, recorded in the history')
    .action(
      runs(io, (session, cluster: string, name: string, { reason }: { readonly reason: string }) =>
        set(session, { cluster, name, disabled: true, reason }),
      ),
    );
  addCommand(parent, {
    usage: 'unhold <cluster> <pool>',
    summary: 'Include a held pool in upgrades again',
    examples: [['fairlead pool unhold demo worker-1', 'The next upgrade includes it']],
  })
    .option('--reason <text>', 'reason, recorded in the history', '')
    .action(
      runs(io, (session, cluster: string, name: string, { reason }: { readonly reason: string }) =>
        set(session, { cluster, name, disabled: false, reason }),
      ),
    );
};
