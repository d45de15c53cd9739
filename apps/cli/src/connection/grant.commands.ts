import type { Command } from 'commander';
import type { ConnectionChange } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import type { Io } from '../io/io.js';
import { quotaChangeOf, quotaSentence, withQuota, type QuotaOptions } from './quota.options.js';

export const addGrant = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'grant <connection> <namespaces...>',
    shared: 'installation',
    summary: 'Set which namespaces may use a connection',
    description:
      'Set the namespaces that can use a connection; "*" grants it to all. This replaces earlier grants; existing clusters stay.',
    examples: [
      ['fairlead connection grant site team-a team-b', 'Grant it to two namespaces'],
      ['fairlead connection grant lab "*"', 'Grant it to all namespaces'],
    ],
  }).action(
    runs(io, async (session, name: string, namespaces: string[]) => {
      const grant = { namespaces: namespaces as NonNullable<ConnectionChange['namespaces']> };
      const { data: item } = await session.api.patch(
        '/connections/{connection}',
        { connection: name },
        { body: grant },
      );
      const shown = item.namespaces?.join(', ') ?? '';
      return { data: item, table: `The connection ${name} is granted to ${shown}.`, names: [name] };
    }),
  );
};

export const addQuota = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'quota <connection>',
    shared: 'installation',
    summary: 'Show or change the quota of a connection for all clusters together',
    description:
      'Show the quota of a connection for all clusters together, or change the limits that are given. Others stay, and so do existing machines.',
    examples: [
      ['fairlead connection quota site', 'Show the quota of a connection'],
      ['fairlead connection quota site --nodes 40 --cores 160', 'Limit a connection to 40 machines with 160 CPUs'],
      ['fairlead connection quota site --cores none', 'Remove the limit of CPUs'],
      ['fairlead connection quota site --no-limits', 'Remove the quota'],
    ],
  });
  withQuota(command).action(
    runs(io, async (session, name: string, options: QuotaOptions) => {
      const quota = quotaChangeOf(options);
      const item =
        quota === undefined
          ? await session.api.get('/connections/{connection}', { connection: name })
          : (await session.api.patch('/connections/{connection}', { connection: name }, { body: { quota } })).data;
      return { data: item, table: quotaSentence(`connection ${name}`, item.quota), names: [name] };
    }),
  );
};
