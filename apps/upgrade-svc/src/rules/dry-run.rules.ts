import type { Finding } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding } from './finding.js';

/** B13: the target's kubeadm would upgrade this cluster, according to its own plan and dry run. */
export const b13KubeadmAccepts = ({ dryRun }: Pick<ClusterFacts, 'dryRun'>): readonly Finding[] => {
  if (dryRun === null || dryRun.refusal === null) return [];
  const { node, version, refusal } = dryRun;
  const { checks, words } = refusal;
  return checks.length > 0
    ? [finding('B13.refused', { node, version, checks, words })]
    : [finding('B13.fails', { node, version, words })];
};
