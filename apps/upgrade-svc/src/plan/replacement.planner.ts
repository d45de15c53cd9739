import type { KubernetesVersion, NodeName, PlanOperation } from '@fairlead/contracts';
import type { Draft } from './plan.builder.js';
import { softwareTo, type PlanInput, type PlannedNode, type ReplacementLimits } from './plan.request.js';

/** The limits within which the nodes of a pool are replaced for another version; undefined: it is changed in place. */
export const limitsOf = ({ replaced }: PlanInput, pool: string): ReplacementLimits | undefined => replaced?.[pool];

const paceOf = ({ surge, unavailable }: ReplacementLimits): string =>
  `at most ${surge} extra and ${unavailable} unavailable`;

/** What is new on the nodes of a pool. */
export interface Replacing {
  readonly pool: string;
  readonly to: KubernetesVersion;
  /** Other packages that are requested with the version. */
  readonly others: Readonly<Record<string, string>>;
}

/**
 * New nodes of the version in place of these; infra-svc chooses the order. undefined: the pool is changed in place.
 */
export const replacementDraft = (
  input: PlanInput,
  nodes: readonly PlannedNode[],
  { pool, to, others }: Replacing,
): Draft | undefined => {
  const limits = limitsOf(input, pool);
  if (limits === undefined || nodes.length === 0) return undefined;
  const names = nodes.map(({ facts }) => facts.name);
  const what = names.length === 1 ? '1 node' : `${names.length} nodes`;
  return {
    kind: 'replace',
    node: null,
    nodes: names,
    pool,
    to: softwareTo({ software: {} }, to, others),
    reason: `${what} of ${pool} replaced by new nodes of ${to}, ${paceOf(limits)} (strategy Replace)`,
  };
};

/** The nodes that an operation changes or replaces. */
export const changedBy = ({ node, kind, nodes }: PlanOperation): readonly NodeName[] => {
  if (node !== null) return [node];
  return kind === 'replace' ? nodes : [];
};

/** The Kubernetes version of the new nodes; undefined: the operation replaces none. */
export const versionOfReplacement = (operation: PlanOperation | undefined): KubernetesVersion | undefined => {
  const kubelet = operation?.kind === 'replace' ? operation.to['kubelet'] : undefined;
  return kubelet === undefined ? undefined : (`v${kubelet}` as KubernetesVersion);
};
