import type { KubernetesCluster, Manifest, WorkloadView } from '../kubernetes/kubernetes.ports.js';

export type Named = Readonly<{ kind: WorkloadView['kind']; namespace: string; name: string }>;

/** What of these manifests has pods. */
export const workloadsOf = (manifests: readonly Manifest[]): readonly Named[] =>
  manifests.flatMap(({ kind, metadata: { name, namespace = 'default' } }) =>
    kind === 'DaemonSet' || kind === 'Deployment' ? [{ kind, namespace, name }] : [],
  );

/** Nodes are Ready before their pods can talk and names are resolved: a cluster is ready when they can. */
export const rolloutProblems = async (
  cluster: Pick<KubernetesCluster, 'workload'>,
  wanted: readonly Named[],
): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const { kind, namespace, name } of wanted) {
    const found = await cluster.workload(kind, namespace, name);
    if (found === undefined) problems.push(`there is no ${kind} ${namespace}/${name}`);
    else if (found.wantedPods === 0 || found.readyPods < found.wantedPods)
      problems.push(`${namespace}/${name} has ${found.readyPods} of ${found.wantedPods} pods ready`);
  }
  return problems;
};
