import type { Command } from 'commander';
import type { TemplateView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, type ConfirmOptions } from '../command/confirm.js';
import type { Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import { yamlOf } from '../document/manifest.document.js';
import type { CommandOutput } from '../output/format.js';
import { prose } from '../output/table.js';
import { deleteTemplate } from './template.effects.js';
import { exportedTemplate, templateRows } from './template.document.js';

export const addTemplateCommands = (program: Command, io: Io): void => {
  const template = addGroup(
    program,
    'template',
    'Manage cluster templates, which set fields of the clusters that use them',
  ).alias('templates');
  addList(template, io);
  addDescribe(template, io);
  addExport(template, io);
  addDeprecate(template, io);
  addDelete(template, io);
};

const templatesAnswer = (items: readonly TemplateView[]): CommandOutput => ({
  data: items,
  table: {
    columns: ['name', 'version', 'deprecated', 'clusters', prose('description')],
    rows: items.map(({ metadata, spec, status }) => [
      metadata.name,
      spec.cluster.version,
      spec.deprecated ? 'yes' : 'no',
      String(status?.clusters.length ?? 0),
      spec.description,
    ]),
    empty: 'There are no cluster templates.',
  },
  names: items.map(({ metadata }) => metadata.name),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the cluster templates of a namespace',
    examples: [['fairlead template list -n team-a', 'List the templates with how many clusters use each']],
  })
    .alias('ls')
    .action(
      runs(io, async ({ api, namespace }) =>
        templatesAnswer(await api.list('/ns/{namespace}/cluster-templates', { namespace })),
      ),
    );
};

const addDescribe = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <template>',
    summary: 'Show the values of a cluster template and the clusters that use it',
    examples: [['fairlead template describe small-1-34', 'Show its values field by field']],
  }).action(
    runs(io, async ({ api, namespace }, name: string) => {
      const item = await api.get('/ns/{namespace}/cluster-templates/{template}', { namespace, template: name });
      return { data: item, table: templateRows(item).join('\n'), names: [name] };
    }),
  );
};

const addExport = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'export <template>',
    summary: 'Print the manifest of a cluster template',
    examples: [['fairlead template export small-1-34 > template.yaml', 'Save a template as the start of the next one']],
  }).action(
    runs(io, async ({ api, namespace }, name: string) => {
      const manifest = exportedTemplate(
        await api.get('/ns/{namespace}/cluster-templates/{template}', { namespace, template: name }),
      );
      return { data: manifest, table: yamlOf(manifest), names: [name] };
    }),
  );
};

const setDeprecated = async (session: Session, template: string, deprecated: boolean): Promise<CommandOutput> => {
  const at = { namespace: session.namespace, template };
  const read = await session.api.get('/ns/{namespace}/cluster-templates/{template}', at);
  const { resourceVersion } = read.metadata;
  const { metadata, spec, ...others } = exportedTemplate(read);
  // What is read and changed is refused when someone else has changed it in between.
  const manifest = { ...others, metadata: { ...metadata, resourceVersion }, spec: { ...spec, deprecated } };
  const { data: item } = await session.api.put('/ns/{namespace}/cluster-templates/{template}', at, {
    body: manifest,
  });
  const words = deprecated ? 'is deprecated' : 'is not deprecated';
  return { data: item, table: `The template ${template} ${words}.`, names: [template] };
};

const addDeprecate = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'deprecate <template>',
    summary: 'Deprecate a cluster template: no other cluster can use it',
    description: 'Clusters that use the template keep it.',
    examples: [
      ['fairlead template deprecate small-1-33', 'Deprecate a template'],
      ['fairlead template deprecate small-1-33 --undo', 'Allow other clusters to use it again'],
    ],
  })
    .option('--undo', 'allow other clusters to use it again')
    .action(
      runs(io, (session, name: string, { undo }: { readonly undo?: true }) =>
        setDeprecated(session, name, undo !== true),
      ),
    );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <template>',
    summary: 'Delete a cluster template that no cluster uses',
    examples: [['fairlead template delete small-1-32', 'Delete a template that no cluster uses']],
  });
  addConfirmOption(command).action(
    runs(io, (session, template: string, options: ConfirmOptions) =>
      deleteTemplate(session, { namespace: session.namespace, template }, options),
    ),
  );
};
