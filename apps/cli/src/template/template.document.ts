import { changedLeaves } from '@fairlead/domain';
import type { TemplateView } from '../api/views.js';
import { changeLines } from '../output/changes.text.js';
import type { TextOptions } from '../progress/tree.text.js';

/** Without what only the server knows: it can be applied again and, with another name, as a new template. */
export const exportedTemplate = ({ apiVersion, kind, metadata: { name, namespace }, spec }: TemplateView) => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
  spec,
});

/** The fields that differ, each with its value before and after. */
export const templateDiff = (
  before: TemplateView | undefined,
  after: TemplateView,
  options: TextOptions,
): readonly string[] => changeLines(changedLeaves(before?.spec, after.spec), options);

const HEADINGS = 12;
const line = (heading: string, value: string): string => `${`${heading}:`.padEnd(HEADINGS)} ${value}`;

/** A template for people: what it is, who has it, and each value. */
export const templateRows = ({ metadata, spec, status }: TemplateView): readonly string[] => {
  const clusters = status?.clusters ?? [];
  return [
    line('Template', `${metadata.namespace}/${metadata.name}`),
    ...(spec.description === '' ? [] : [line('For', spec.description)]),
    line('Deprecated', spec.deprecated ? 'yes' : 'no'),
    line('Revision', String(status?.revision ?? '')),
    line('Clusters', clusters.length === 0 ? 'none' : clusters.join(', ')),
    'Values:',
    ...changedLeaves(undefined, spec.cluster).map(({ field, after }) => `  ${field}: ${after}`),
  ];
};
