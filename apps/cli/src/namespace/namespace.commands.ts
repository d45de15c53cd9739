import type { Quota } from '@fairlead/contracts';
import type { Command } from 'commander';
import type { NamespaceView } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { limitsOf, quotaText, withQuota } from '../connection/grant.commands.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';

export const addNamespaceCommands = (program: Command, io: Io): void => {
  const namespace = addGroup(program, 'namespace', 'Namespaces hold clusters; roles are granted in them').aliases([
    'namespaces',
    'ns',
  ]);
  addList(namespace, io);
  addCreate(namespace, io);
  addQuota(namespace, io);
  addDelete(namespace, io);
};

const namespacesAnswer = (items: readonly NamespaceView[]): Answer => ({
  data: items,
  table: {
    columns: ['name', 'created', 'quota', 'description'],
    rows: items.map(({ name, createdTime, quota, description }) => [name, createdTime, quotaText(quota), description]),
    empty: 'There are no namespaces.',
  },
  names: items.map(({ name }) => name),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the namespaces',
    examples: [['fairlead namespace list', 'All that you may see']],
  })
    .alias('ls')
    .action(runs(io, async (session) => namespacesAnswer(await session.api.namespaces())));
};

const addCreate = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'create <namespace>',
    summary: 'Create a namespace',
    examples: [
      ['fairlead namespace create team-a --description "clusters of team A"', 'With a word on what it is for'],
    ],
  })
    .option('--description <text>', 'what it is for', '')
    .action(
      runs(io, async (session, name: string, { description }: { readonly description: string }) => {
        const item = await session.api.createNamespace(name, description);
        return { ...namespacesAnswer([item]), data: item };
      }),
    );
};

const addQuota = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'quota <namespace>',
    summary: 'Set the quota of the clusters of a namespace',
    description:
      'Set the quota of the clusters of a namespace together. It replaces what was set before; what there is already stays.',
    examples: [['fairlead namespace quota team-a --clusters 5 --nodes 40 --cores 160', 'Five clusters at most']],
  });
  withQuota(command).action(
    runs(io, async (session, name: string, quota: Quota) => {
      const item = await session.api.setNamespaceQuota(name, limitsOf(quota));
      const limits = quotaText(item.quota);
      return {
        data: item,
        table: limits === '' ? `The namespace ${name} has no quota.` : `The quota of namespace ${name}: ${limits}.`,
        names: [name],
      };
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'delete <namespace>',
    summary: 'Delete an empty namespace',
    examples: [['fairlead namespace delete team-a', 'It is refused while it holds clusters']],
  }).action(
    runs(io, async (session, name: string) => {
      await session.api.deleteNamespace(name);
      return { data: { name, deleted: true }, table: `The namespace ${name} is deleted.`, names: [name] };
    }),
  );
};
