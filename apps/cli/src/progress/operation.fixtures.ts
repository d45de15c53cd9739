import { readFileSync } from 'node:fs';
import type { ClusterView, OperationView } from '../api/views.js';
import type { ShownOperation } from './operation.tree.js';

/**
 * The gateway's responses at a moment in the life of the cluster demo
 * (`apps/gateway/src/operations/operations.samples.unit.spec.ts`).
 */
export interface Sample {
  readonly cluster: ClusterView | null;
  readonly operations: readonly OperationView[];
}

type Line = Pick<Sample, 'operations'> & Partial<Sample> & { readonly moment: string };

const SAMPLES = new Map(
  readFileSync(new URL('../../../../libs/contracts/src/views/samples/operations.ndjson', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
    .map((line) => [line.moment, line]),
);

/** If a sample omits the cluster, it is the one that is ready. */
export const sample = (moment: string): Sample => {
  const found = SAMPLES.get(moment);
  if (found === undefined) throw new Error(`there is no sample ${moment}`);
  const { cluster = SAMPLES.get('ready')?.cluster ?? null, operations } = found;
  return { cluster, operations };
};

export const shownAt = (moment: string): ShownOperation => {
  const { cluster, operations } = sample(moment);
  const operation = operations.at(-1);
  if (operation === undefined) throw new Error(`the sample ${moment} has no operation`);
  return {
    at: { namespace: 'default', cluster: 'demo' },
    version: cluster?.k8sVersion ?? '',
    operation,
    nodes: operation.nodes,
  };
};

export const endOf = ({ operation }: ShownOperation): number =>
  Date.parse(operation.finishedAt ?? operation.steps.findLast(({ startedAt }) => startedAt !== null)?.startedAt ?? '');
