import type { Command } from 'commander';
import type { OrphanView } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';

export const addOrphans = (parent: Command, io: Io): void => {
  const orphans = addGroup(parent, 'orphans', 'Machines of a connection that no cluster has planned');
  addList(orphans, io);
  addDelete(orphans, io);
};

const stateOf = ({ deletion, reason }: OrphanView): string => {
  if (deletion === 'requested') return 'being deleted';
  return deletion === 'refused' ? `not deleted: ${reason}` : '';
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <connection>',
    summary: 'List the orphaned machines of a connection',
    description:
      'List the orphaned machines of a connection: the provider lists them with the marks of the connection, and no cluster has planned them. They are never deleted automatically.',
    examples: [['fairlead connection orphans list lab', 'What may cost money for nothing']],
    isDefault: true,
  }).action(
    runs(io, async (session, name: string) => {
      const items = await session.api.orphans(name);
      return {
        data: items,
        table: {
          columns: ['id', 'name', 'group', 'status', 'found', 'deletion'],
          rows: items.map((item) => [item.id, item.name, item.group, item.status, item.foundTime, stateOf(item)]),
          empty: `The connection ${name} has no orphaned machines.`,
        },
        names: items.map(({ id }) => id),
      };
    }),
  );
};

const confirm = async ({ io }: Session, name: string, id: string): Promise<void> => {
  if (io.ask === undefined)
    throw usageFailure(
      'There is no terminal to ask at, and nothing was deleted',
      'Give --yes to delete without being asked.',
    );
  const answer = await io.ask(`Delete machine ${id} of ${name}? Its data will be lost. [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CliFailure('failed', { code: 'cli.not-confirmed', message: 'It was not confirmed: nothing was deleted' });
};

const addDelete = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'delete <connection> <id>',
    summary: 'Delete an orphaned machine',
    description:
      'Delete an orphaned machine. The provider and the log are asked again first: a machine that a cluster has planned stays.',
    examples: [['fairlead connection orphans delete lab i-6b2026400daf --yes', 'Without being asked']],
  })
    .option('-y, --yes', 'delete without being asked')
    .action(
      runs(io, async (session, name: string, id: string, options: { readonly yes?: boolean }) => {
        if (options.yes !== true) await confirm(session, name, id);
        await session.api.deleteOrphan(name, id);
        const table = `Machine ${id} of connection ${name} will be checked again and deleted.`;
        return { data: { name, id, deleting: true }, table, names: [id] };
      }),
    );
};
