import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { yamlOf } from '../document/manifest.document.js';
import type { Io } from '../io/io.js';
import { valuesIn } from './values.file.js';

export const addAddonSecretCommands = (addon: Command, io: Io): void => {
  addListSecrets(addon, io);
  addGetSecret(addon, io);
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

const addGetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get-secret <secret>',
    summary: 'Print sealed values of add-ons, as YAML',
    description:
      'Print the values as they were set. It needs the role admin in the namespace, and the history records who read them.',
    examples: [['fairlead addon get-secret database > database.yaml', 'Write the values to a file, to change one']],
  }).action(
    runs(io, async (session, name: string) => {
      const at = { namespace: session.namespace, addonSecret: name };
      const { values } = await session.api.get('/ns/{namespace}/addon-secrets/{addonSecret}/values', at);
      return { data: { name, values }, table: yamlOf(values).trimEnd(), names: [name] };
    }),
  );
};

const addSetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'set-secret <secret>',
    summary: 'Seal values of add-ons',
    description:
      'Seal values of charts that add-ons name in valuesFrom, or the username and password of a chart repository that they name in credentialsSecretName. They are sealed by the server; only administrators of the namespace can read them back. Releases that use them are upgraded when they are looked at next.',
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
