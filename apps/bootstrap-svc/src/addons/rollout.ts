import type { KubernetesCluster, Manifest, WorkloadView } from '../kubernetes/kubernetes.ports.js';

export type Named = Readonly<{ kind: WorkloadView['kind']; namespace: string; name: string }>;

/** The manifests that have pods. */
export const workloadsOf = (manifests: readonly Manifest[]): readonly Named[] =>
  manifests.flatMap(({ kind, metadata: { name, namespace = 'default' } }) =>
    kind === 'DaemonSet' || kind === 'Deployment' ? [{ kind, namespace, name }] : [],
  );

/** Nodes are Ready before their pods can communicate and resolve names: a cluster is ready when they can. */
export const rolloutProblems = async (
  cluster: Pick<KubernetesCluster, 'workload'>,
  desired: readonly Named[],
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
