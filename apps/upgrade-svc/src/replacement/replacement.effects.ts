import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { kubeadmConfigAt, type KubeadmObjects } from '@fairlead/kubernetes/kubeadm';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { recordFacts, whereOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { ReplaceNodes } from '../rollout/rollout.tasks.js';
import { CLUSTER_ACCESS } from '../tokens.js';

const KUBE_SYSTEM = 'kube-system';

const configurationOf = async (cluster: UpgradeCluster): Promise<string> =>
  (await cluster.configMap(KUBE_SYSTEM, 'kubeadm-config'))?.['ClusterConfiguration'] ?? '';

/** The objects of kubeadm that a new version changes. */
export const kubeadmObjects = async (cluster: UpgradeCluster): Promise<KubeadmObjects> => {
  const [clusterConfiguration, kubeProxy, coreDns] = await Promise.all([
    configurationOf(cluster),
    cluster.workload('DaemonSet', KUBE_SYSTEM, 'kube-proxy'),
    cluster.workload('Deployment', KUBE_SYSTEM, 'coredns'),
  ]);
  return { clusterConfiguration, kubeProxy: kubeProxy !== undefined, coreDns: coreDns !== undefined };
};

/** Asks for new nodes of another version in the place of the nodes of a pool. */
@Controller()
export class ReplacementEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('ReplaceNodes', { attemptsMax: 10, backoffFirstMs: 1_000, timeoutMs: 2 * 60_000 })
  async replaceNodes(task: RolloutContext<ReplaceNodes>): Promise<void> {
    const { requestId, pool, nodes, version, software } = task.data;
    if (pool === CONTROL_PLANE_POOL) {
      const cluster = await this.clusters.of(task.data.uid, task.cluster);
      await cluster.apply([kubeadmConfigAt(version, await configurationOf(cluster))]);
    }
    const data = { ...whereOf(task), requestId, pool, nodes: [...nodes], version, software };
    await recordFacts(task, this.clock, { type: 'PoolReplacementRequested', data });
  }
}
