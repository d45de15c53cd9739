import type { Schemas } from '@fairlead/api-client';
import type { Api } from '../api/api.js';
import type { TemplateAt, TemplateView } from '../api/views.js';
import { confirm, type ConfirmOptions } from '../command/confirm.js';
import type { Session } from '../command/session.js';
import type { ManifestDocument } from '../document/manifest.document.js';
import { shownText, type CommandOutput } from '../output/format.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { templateDiff } from './template.document.js';

/** A template as it would be, and as it is; undefined: there is none. */
export interface PlannedTemplate {
  readonly before: TemplateView | undefined;
  readonly planned: TemplateView;
}

export const planTemplate = async (
  { api }: Session,
  at: TemplateAt,
  manifest: ManifestDocument,
): Promise<PlannedTemplate> => {
  const before = await unlessUnknown(api.get('/ns/{namespace}/cluster-templates/{template}', at));
  const { data: planned } = await putTemplate(api, at, manifest, { dryRun: 'All' });
  return { before, planned };
};

/** Creates the template, or changes what may be changed of it. */
const putTemplate = (api: Api, at: TemplateAt, manifest: ManifestDocument, query: { readonly dryRun?: 'All' } = {}) =>
  api.put('/ns/{namespace}/cluster-templates/{template}', at, {
    body: manifest as unknown as Schemas['ClusterTemplateManifest'],
    query,
  });

export interface TemplateOptions {
  readonly dryRun?: true;
  readonly yes?: true;
}

const answerOf = ({ template }: TemplateAt, data: TemplateView, outcome: string): CommandOutput => ({
  data,
  table: `template/${template} ${outcome}`,
  names: [template],
});

/** What was shown is what is applied: if the template changes in between, the server refuses. */
const asShown = (manifest: ManifestDocument, before: TemplateView | undefined): ManifestDocument => ({
  ...manifest,
  metadata: { resourceVersion: before?.metadata.resourceVersion ?? '', ...manifest.metadata },
});

/** Shows what differs, asks, and applies it. */
export const applyTemplate = async (
  session: Session,
  at: TemplateAt,
  manifest: ManifestDocument,
  options: TemplateOptions,
): Promise<CommandOutput> => {
  const { io, api } = session;
  const { before, planned } = await planTemplate(session, at, manifest);
  const isChanged = templateDiff(before, planned, { colors: io.colors, columns: io.outColumns() }).length > 0;
  if (before !== undefined && !isChanged) return answerOf(at, before, 'unchanged');
  const changes = (columns: number): string =>
    [
      `Changes of template ${at.namespace}/${at.template}:`,
      ...templateDiff(before, planned, { colors: io.colors, columns: columns - 2 }).map((line) => `  ${line}`),
    ].join('\n');
  const outcome = before === undefined ? 'created' : 'configured';
  if (options.dryRun === true) {
    const answer = answerOf(at, planned, `${outcome} (dry run: nothing is changed)`);
    return { ...answer, table: (columns) => `${changes(columns)}\n${shownText(answer.table, columns)}` };
  }
  io.err(`${changes(io.errColumns())}\n`);
  await confirm(io, { question: 'Apply this?' }, options);
  return answerOf(at, (await putTemplate(api, at, asShown(manifest, before))).data, outcome);
};

export const deleteTemplate = async (
  { io, api }: Session,
  at: TemplateAt,
  options: ConfirmOptions,
): Promise<CommandOutput> => {
  const { template } = at;
  await confirm(io, { question: `Delete the template ${template}?` }, options);
  await api.delete('/ns/{namespace}/cluster-templates/{template}', at);
  return { data: { name: template, deleted: true }, table: `The template ${template} is deleted.`, names: [template] };
};
