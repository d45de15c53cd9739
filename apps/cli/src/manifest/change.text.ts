import pc from 'picocolors';
import type { DeclaredSpec } from '@fairlead/contracts';
import { changedFields, changedLabels } from '@fairlead/domain';
import type { Manifest, ManifestView } from '../api/views.js';
import { changeLines, signed } from '../output/changes.text.js';
import { wrappedLines } from '../output/wrap.js';
import type { TextOptions } from '../progress/tree.text.js';

const SIGNS = {
  upgrade: '~',
  'create-cluster': '+',
  'create-pool': '+',
  'abandon-nodes': '-',
  'add-nodes': '+',
  'remove-nodes': '-',
  'replace-nodes': '~',
  'label-nodes': '~',
  'configure-network': '~',
  'configure-authentication': '~',
  'delete-pool': '-',
  'balance-addresses': '~',
  'change-addons': '~',
} as const;

/**
 * The changed fields, each with its old and new value; `declared`: the paths in the manifest, if a whole one was given.
 */
export const diffLines = (
  before: ManifestView | undefined,
  after: ManifestView,
  options: TextOptions,
  declared?: Manifest,
): readonly string[] => {
  const isDeclared = declaredIn(declared);
  const changes = [
    ...changedLabels(before?.metadata.labels, after.metadata.labels),
    ...changedFields(before?.spec as DeclaredSpec | undefined, after.spec as DeclaredSpec),
  ];
  const shown = changes.filter(({ field, before: was }) => was !== null || isDeclared(field));
  return [...changeLines(shown, options), ...defaultedLines(changes.length - shown.length)];
};

export const isChanged = (before: ManifestView | undefined, after: ManifestView): boolean =>
  diffLines(before, after, { colors: NO_COLOURS, columns: Number.POSITIVE_INFINITY }).length > 0;

const NO_COLOURS = pc.createColors(false);

const defaultedLines = (count: number): readonly string[] => {
  if (count === 0) return [];
  return [`  and ${count} ${count === 1 ? 'default' : 'defaults'}, which -o yaml shows`];
};

/** Whether the manifest contains the field of a path; without a manifest, always true. */
const declaredIn = (manifest: Manifest | undefined): ((field: string) => boolean) => {
  if (manifest === undefined) return () => true;
  const { metadata, spec } = manifest as { readonly metadata?: { readonly labels?: unknown }; readonly spec?: unknown };
  const paths = [...pathsOf(spec, ''), ...pathsOf(metadata?.labels, 'metadata.labels')];
  return (field) =>
    paths.some((path) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`));
};

/** The paths of values, and of lists whose items have no names. */
const pathsOf = (value: unknown, path: string): readonly string[] => {
  if (Array.isArray(value))
    return value.every((item) => typeof nameOf(item) === 'string')
      ? value.flatMap((item) => pathsOf(item, `${path}[${nameOf(item)}]`))
      : [path];
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, path === '' ? key : `${path}.${key}`));
};

const nameOf = (item: unknown): unknown =>
  typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;

/** The subjects of steps that concern neither a pool nor the whole cluster. */
const SUBJECTS: Readonly<Record<string, string>> = {
  'balance-addresses': 'virtual addresses: ',
  'change-addons': 'add-ons: ',
  'create-cluster': '',
};

const stepLines = (
  { action, pool, reason, nodes }: NonNullable<ManifestView['plan']>[number],
  options: TextOptions,
): readonly string[] => {
  const title = pool === null ? (SUBJECTS[action] ?? 'cluster: ') : `pool ${pool}: `;
  const verb = action === 'replace-nodes' ? 'replace' : 'remove';
  return [
    ...signed(SIGNS[action], `${title}${reason}`, options),
    ...wrappedLines(
      nodes.map(({ name, reason: why }) => `    ${verb} ${name}: ${why}`),
      options.columns,
    ),
  ];
};

/** The steps of a change, with reasons. */
const planLines = ({ plan = [] }: ManifestView, options: TextOptions): readonly string[] =>
  plan.flatMap((step) => stepLines(step, options));

const INDENT = '  ';

/** The diff and the plan, as displayed for confirmation. */
export const changeText = (
  before: ManifestView | undefined,
  after: ManifestView,
  options: TextOptions,
  declared?: Manifest,
): string => {
  const inner = { ...options, columns: options.columns - INDENT.length };
  const plan = planLines(after, inner);
  const warnings = wrappedLines(
    (after.warnings ?? []).map((warning) => `Warning: ${warning}.`),
    options.columns,
  );
  return [
    `Changes of ${after.metadata.namespace}/${after.metadata.name}:`,
    ...diffLines(before, after, inner, declared).map((line) => `${INDENT}${line}`),
    plan.length === 0 ? 'No machines are created or deleted.' : 'Plan:',
    ...plan.map((line) => `${INDENT}${line}`),
    ...warnings.map((line) => options.colors.yellow(line)),
  ].join('\n');
};
