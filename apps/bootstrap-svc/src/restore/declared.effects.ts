import { releaseOf, UPGRADE_TAINT, UpgradeId, ExternalFailure, type NodeName } from '@fairlead/contracts';
import { actionMark, requestOfMark } from '@fairlead/domain';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { kubeadmManifests } from '@fairlead/kubernetes/kubeadm';
import { Controller, Inject } from '@nestjs/common';
import { hostsOf, initialControlPlane, type Cluster } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import { CLUSTER_ACCESS } from '../bootstrap/tokens.js';
import { clusterLabel, versionOn } from '../hosts/node.settings.js';
import { OPERATORS_BINDING } from '../kubeconfigs/operators.manifests.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { KubernetesCluster, NodeView } from '../kubernetes/kubernetes.ports.js';
import { REMOVAL } from '../removal/node-removal.effects.js';

const KUBE_SYSTEM = 'kube-system';

/** Marks of cordons that Fairlead ends itself. */
const isOwnMark = (mark: string): boolean =>
  mark === REMOVAL || UpgradeId.safeParse(mark).success || requestOfMark(mark) !== undefined;

/** After a restore of etcd, Kubernetes has the objects of the snapshot: the current declaration is applied again. */
@Controller()
export class DeclaredEffects {
  constructor(@Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess) {}

  /**
   * A snapshot of the middle of an upgrade, or of a removal that was cancelled since, has nodes that Fairlead cordoned then. No rollout is in
   * progress during a restore (B1). Cordons that operators requested are those of today; those of kubectl are those of the snapshot.
   * Answers which nodes have joined since the snapshot and are not there yet: their kubelets register them again, perhaps only when their hosts
   * are on again, and without what was set on them.
   */
  private async restoreNodes(
    api: KubernetesCluster,
    cluster: Cluster,
    nodes: readonly NodeView[],
  ): Promise<readonly NodeName[]> {
    const registered = new Map(nodes.map((node) => [node.name, node]));
    const staying = hostsOf(cluster).filter(({ joinedAt, removal }) => joinedAt !== null && removal === 'none');
    await api.untaint(
      staying.map(({ machine }) => machine.name).filter((name) => registered.has(name)),
      UPGRADE_TAINT,
    );
    for (const { machine, cordonedFor } of staying) {
      const node = registered.get(machine.name);
      if (node === undefined) continue;
      await api.label(node.name, clusterLabel(cluster.spec.name));
      const mark = node.cordonedBy;
      const desired = cordonedFor === undefined ? null : actionMark(cordonedFor);
      if (mark === desired) continue;
      if (mark !== null && isOwnMark(mark)) await api.uncordon(node.name, mark);
      if (desired !== null) await api.cordon(node.name, desired);
    }
    return staying.map(({ machine }) => machine.name).filter((name) => !registered.has(name));
  }

  /** Retried for half a day: until then the cluster is Degraded. */
  @OnTask('ReapplyDeclared', { attemptsMax: 75, backoffFirstMs: 1_000, backoffMaxMs: 600_000, timeoutMs: 2 * 60_000 })
  async reapplyDeclared(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid, reapply: requestId, spec } = cluster;
    const controlPlane = initialControlPlane(cluster);
    if (requestId === undefined || controlPlane === undefined)
      throw new Error('the plan reapplies nothing without a restore and a control plane');
    const version = versionOn(cluster, controlPlane);
    const release = releaseOf(version, cluster.releases);
    if (release === undefined)
      throw new ExternalFailure({
        operation: 'bring the addons of kubeadm to the version of the cluster',
        target: spec.name,
        message: `Kubernetes ${version} is not among the supported releases`,
      });
    const api = await this.clusters.of(cluster);
    const [config, kubeProxy, coreDns, nodes] = await Promise.all([
      api.configMap(KUBE_SYSTEM, 'kubeadm-config'),
      api.workload('DaemonSet', KUBE_SYSTEM, 'kube-proxy'),
      api.workload('Deployment', KUBE_SYSTEM, 'coredns'),
      api.nodes(),
    ]);
    const clusterConfiguration = config?.['ClusterConfiguration'] ?? '';
    const there = { clusterConfiguration, kubeProxy: kubeProxy !== undefined, coreDns: coreDns !== undefined };
    await api.apply([OPERATORS_BINDING, ...kubeadmManifests(release, there)]);
    const missing = await this.restoreNodes(api, cluster, nodes);
    const applied = { uid, requestId, kubernetesVersion: version, coreDns: release.coredns };
    await step.record({
      type: 'DeclaredStateReapplied',
      data: missing.length === 0 ? applied : { ...applied, missing: [...missing] },
    });
  }
}
