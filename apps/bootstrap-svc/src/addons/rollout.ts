import type { AddonWorkload } from '@fairlead/contracts';
import type { KubernetesCluster, Manifest, PlacedPod } from '../kubernetes/kubernetes.ports.js';

export type NamedWorkload = AddonWorkload;

/** The manifests with pods. */
export const workloadsOf = (manifests: readonly Manifest[]): readonly NamedWorkload[] =>
  manifests.flatMap(({ kind, metadata: { name, namespace = 'default' } }) =>
    kind === 'DaemonSet' || kind === 'Deployment' ? [{ kind, namespace, name }] : [],
  );

/** Nodes are Ready before their pods can communicate and resolve names: a cluster is ready only once they can. */
export const rolloutProblems = async (
  cluster: Pick<KubernetesCluster, 'workload'>,
  desired: readonly NamedWorkload[],
): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const { kind, namespace, name } of desired) {
    const found = await cluster.workload(kind, namespace, name);
    if (found === undefined) problems.push(`there is no ${kind} ${namespace}/${name}`);
    else if (found.desired === 0 || found.ready < found.desired)
      problems.push(`${namespace}/${name} has ${found.ready} of ${found.desired} pods ready`);
  }
  return problems;
};

/**
 * The same for one node: the pods of these DaemonSets on it. A DaemonSet without a pod there does not target the node.
 */
export const daemonProblems = async (
  cluster: Pick<KubernetesCluster, 'podsOn'>,
  node: string,
  desired: readonly NamedWorkload[],
): Promise<readonly string[]> => {
  const isDesired = ({ namespace, controller }: PlacedPod): boolean =>
    controller?.kind === 'DaemonSet' &&
    desired.some((one) => one.kind === 'DaemonSet' && one.namespace === namespace && one.name === controller.name);
  const daemons = (await cluster.podsOn(node)).filter(isDesired);
  if (daemons.length === 0) return [`no pod of the network is on ${node}`];
  return daemons
    .filter(({ ready }) => !ready)
    .map(({ namespace, name }) => `${namespace}/${name} on ${node} is not ready`);
};
