import type { Command } from 'commander';
import type { NamespaceView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { quotaChangeOf, quotaSentence, quotaText, withQuota, type QuotaOptions } from '../connection/quota.options.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';

export const addNamespaceCommands = (program: Command, io: Io): void => {
  const namespace = addGroup(
    program,
    'namespace',
    'Manage namespaces, which contain clusters, and their quotas',
  ).aliases(['namespaces', 'ns']);
  addList(namespace, io);
  addCreate(namespace, io);
  addQuota(namespace, io);
  addDelete(namespace, io);
};

const namespacesAnswer = (items: readonly NamespaceView[]): CommandOutput => ({
  data: items,
  table: {
    columns: ['name', optional('created', 1), prose('quota'), prose('description')],
    rows: items.map(({ name, createdTime, quota, description }) => [name, createdTime, quotaText(quota), description]),
    empty: 'There are no namespaces.',
  },
  names: items.map(({ name }) => name),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    shared: 'installation',
    summary: 'List the namespaces',
    examples: [['fairlead namespace list', 'List the namespaces that your token can read']],
  })
    .alias('ls')
    .action(runs(io, async (session) => namespacesAnswer(await session.api.list('/ns'))));
};

const addCreate = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'create <namespace>',
    shared: 'installation',
    summary: 'Create a namespace',
    examples: [
      ['fairlead namespace create team-a --description "clusters of team A"', 'Create a namespace with a description'],
    ],
  })
    .option('--description <text>', 'description of the namespace', '')
    .action(
      runs(io, async (session, name: string, { description }: { readonly description: string }) => {
        const { data: item } = await session.api.post('/ns', {}, { body: { name, description } });
        return { ...namespacesAnswer([item]), data: item };
      }),
    );
};

const addQuota = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'quota <namespace>',
    shared: 'installation',
    summary: 'Show or change the quota of the clusters of a namespace',
    description:
      'Show the quota of a namespace for all of its clusters together, or change the limits that are given. Others stay, and so do existing clusters.',
    examples: [
      ['fairlead namespace quota team-a', 'Show the quota of a namespace'],
      ['fairlead namespace quota team-a --clusters 5 --nodes 40 --cores 160', 'Limit a namespace to 5 clusters'],
      ['fairlead namespace quota team-a --nodes none', 'Remove the limit of machines'],
      ['fairlead namespace quota team-a --no-limits', 'Remove the quota'],
    ],
  });
  withQuota(command).action(
    runs(io, async (session, name: string, options: QuotaOptions) => {
      const change = quotaChangeOf(options);
      const { api } = session;
      const item =
        change === undefined
          ? await api.get('/ns/{namespace}', { namespace: name })
          : (await api.patch('/ns/{namespace}/quota', { namespace: name }, { body: change })).data;
      return { data: item, table: quotaSentence(`namespace ${name}`, item.quota), names: [name] };
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <namespace>',
    shared: 'installation',
    summary: 'Delete an empty namespace',
    examples: [['fairlead namespace delete team-a', 'Delete a namespace that has no clusters']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      const what = `The namespace ${name} will be deleted with its templates, realms and hook secrets`;
      await confirm(io, { what }, options);
      await session.api.delete('/ns/{namespace}', { namespace: name });
      return { data: { name, deleted: true }, table: `The namespace ${name} is deleted.`, names: [name] };
    }),
  );
};
