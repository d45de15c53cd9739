import { compareVersions, minorsAhead, refuse, type Refusal } from '@fairlead/contracts';

/** A node with the version of its kubelet; empty: not reported yet. */
export interface Kubelet {
  readonly node: string;
  readonly version: string;
}

/** Another template of a cluster that there is. */
export interface TemplateChange {
  readonly template: string;
  readonly before: string;
  readonly after: string;
  readonly kubelets: readonly Kubelet[];
}

/** Nodes that are held out of upgrades may be older than their cluster. */
const oldestOf = (kubelets: readonly Kubelet[]): Kubelet | undefined =>
  kubelets
    .filter(({ version }) => version !== '')
    .toSorted((one, other) => compareVersions(one.version, other.version))[0];

/** Why the version of a template is not one that the cluster can be upgraded to by naming it. */
export const templateVersionFaults = ({ template, before, after, kubelets }: TemplateChange): readonly Refusal[] => {
  const field = 'spec.template';
  const words = { template, before, after };
  if (compareVersions(after, before) < 0) return [refuse('template.version-lower', words, field)];
  if (minorsAhead(before, after) > 1) return [refuse('template.version-step', words, field)];
  const oldest = oldestOf(kubelets);
  return oldest !== undefined && minorsAhead(oldest.version, after) > 1
    ? [refuse('template.kubelet-too-old', { ...words, kubelet: oldest.version, node: oldest.node }, field)]
    : [];
};
