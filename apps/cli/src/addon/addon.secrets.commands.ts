import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import type { Io } from '../io/io.js';
import { valuesIn } from './values.file.js';

export const addAddonSecretCommands = (addon: Command, io: Io): void => {
  addListSecrets(addon, io);
  addSetSecret(addon, io);
  addDeleteSecret(addon, io);
};

const addListSecrets = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list-secrets',
    summary: 'List the sealed values of add-ons of a namespace, without what they are',
    examples: [['fairlead addon list-secrets -n team-a', 'List the secrets that add-ons of team-a can name']],
  }).action(
    runs(io, async (session) => {
      const items = await session.api.list('/ns/{namespace}/addon-secrets', { namespace: session.namespace });
      const rows = items.map(({ name, setTime }) => [name, setTime]);
      const table = { columns: ['name', 'changed'], rows, empty: 'There are no add-on secrets.' };
      return { data: items, table, names: items.map(({ name }) => name) };
    }),
  );
};

const addSetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'set-secret <secret>',
    summary: 'Seal values of add-ons',
    description:
      'Seal values of charts that add-ons name in valuesFrom, or the username and password of a chart repository that they name in credentialsSecretName. They are sealed by the server and never shown again. Releases that use them are upgraded when they are looked at next.',
    examples: [
      ['fairlead addon set-secret database --values-file database.yaml', 'Replace all values of the secret'],
      ['fairlead addon set-secret registry --values-file - -n team-a', 'Read them from standard input'],
    ],
  })
    .requiredOption('--values-file <file>', 'YAML or JSON file with the values; - reads standard input')
    .action(
      runs(io, async (session, name: string, { valuesFile }: { readonly valuesFile: string }) => {
        const values = await valuesIn(valuesFile, io);
        const { data: set } = await session.api.put(
          '/ns/{namespace}/addon-secrets/{addonSecret}',
          { namespace: session.namespace, addonSecret: name },
          { body: { values } },
        );
        return { data: set, table: `The add-on secret ${name} is set.`, names: [name] };
      }),
    );
};

const addDeleteSecret = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete-secret <secret>',
    summary: 'Delete sealed values of add-ons',
    description: 'Delete sealed values. Releases that use them stay as they are, and their next change fails.',
    examples: [['fairlead addon delete-secret database', 'Delete values that no manifest uses']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      const what = `The add-on secret ${name} of namespace ${session.namespace} will be deleted; changes of add-ons that refer to it will fail`;
      await confirm(io, { what }, options);
      await session.api.delete('/ns/{namespace}/addon-secrets/{addonSecret}', {
        namespace: session.namespace,
        addonSecret: name,
      });
      return { data: { name, deleted: true }, table: `The add-on secret ${name} is deleted.`, names: [name] };
    }),
  );
};
