import { changedFields, changedLabels, type DeclaredSpec } from '@fairlead/contracts';
import type { Colors } from 'picocolors/types.js';
import type { ManifestView } from '../api/api.ports.js';

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
} as const;

const PAINT = {
  '+': (text: string, colors: Colors) => colors.green(text),
  '-': (text: string, colors: Colors) => colors.red(text),
  '~': (text: string, colors: Colors) => colors.yellow(text),
} as const;

/** The fields that differ, each with its value before and after. */
export const diffLines = (before: ManifestView | undefined, after: ManifestView, colors: Colors): readonly string[] =>
  [
    ...changedLabels(before?.metadata.labels, after.metadata.labels),
    ...changedFields(before?.spec as DeclaredSpec | undefined, after.spec as DeclaredSpec),
  ].map(({ field, before: was, after: is }) => {
    if (was === null) return colors.green(`+ ${field}: ${is}`);
    if (is === null) return colors.red(`- ${field}: ${was}`);
    return colors.yellow(`~ ${field}: ${was} → ${is}`);
  });

const stepLines = (
  { action, pool, reason, nodes }: NonNullable<ManifestView['plan']>[number],
  colors: Colors,
): readonly string[] => {
  const sign = SIGNS[action];
  const subject = action === 'balance-addresses' ? 'virtual addresses' : 'cluster';
  const title = pool === null ? subject : `pool ${pool}`;
  const verb = action === 'replace-nodes' ? 'replace' : 'remove';
  return [
    `${PAINT[sign](sign, colors)} ${title}: ${reason}`,
    ...nodes.map(({ name, reason: why }) => `    ${verb} ${name}: ${why}`),
  ];
};

/** What is done for a change, with reasons. */
export const planLines = ({ plan = [] }: ManifestView, colors: Colors): readonly string[] =>
  plan.flatMap((step) => stepLines(step, colors));

/** Both, as a person is asked to confirm them. */
export const changeText = (before: ManifestView | undefined, after: ManifestView, colors: Colors): string => {
  const plan = planLines(after, colors);
  return [
    `Changes of ${after.metadata.namespace}/${after.metadata.name}:`,
    ...diffLines(before, after, colors).map((line) => `  ${line}`),
    plan.length === 0 ? 'No machines are created or deleted.' : 'Plan:',
    ...plan.map((line) => `  ${line}`),
    ...(after.warnings ?? []).map((warning) => colors.yellow(`Warning: ${warning}.`)),
  ].join('\n');
};
