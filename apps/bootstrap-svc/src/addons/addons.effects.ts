import { NFS_STORAGE_ADDON, ExternalFailure, type Cni } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import type { ClusterSettings } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { newHostsOf, storageOf, type Cluster, type Host } from '../bootstrap/bootstrap.state.js';
import { type RunningTask } from '../bootstrap/running.task.js';
import { CLUSTER_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import { clusterLabel, clusterSettings } from '../hosts/node.settings.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import type { KubernetesCluster, Manifest, NodeView } from '../kubernetes/kubernetes.ports.js';
import { untilSettled } from '../kubernetes/waiting.js';
import type { NetworkSettings } from './addon.settings.js';
import { KUBEADM_WORKLOADS, NETWORKS, NFS_STORAGE, PRELOADED_NETWORKS, type CatalogueEntry } from './catalogue.js';
import { daemonProblems, rolloutProblems, workloadsOf, type NamedWorkload } from './rollout.js';

const API_ANSWERS_WITHIN_MS = 3 * 60_000;
const NODES_AGREE_WITHIN_MS = 2 * 60_000;
const ROLLED_OUT_WITHIN_MS = 5 * 60_000;
const SEE_NETWORK = 'see the network and its names served';
const SEE_NODES = 'see every node Ready';

/** Installs the components inside a cluster: its network, then its bootstrap addons, after which it is ready. */
@Controller()
export class AddonsEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'lookEveryMs' | 'tuning'>,
  ) {}

  @OnTask('InstallNetwork', { attemptsMax: 4, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  async installNetwork(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid, spec } = cluster;
    const { networkCni: cni } = spec.kubernetes;
    const { version, manifests } = networkOf(cni, clusterSettings(cluster, this.settings.tuning));
    const api = await this.clusters.of(cluster);
    await this.settled(step, 'reach the Kubernetes API', API_ANSWERS_WITHIN_MS, () => api.failingChecks());
    await api.apply(manifests(this.networkSettings(cluster)));
    await step.record({ type: 'NetworkReady', data: { uid, cni, version } });
  }

  @OnTask('InstallAddons', { attemptsMax: 4, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  async installAddons(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid, spec } = cluster;
    const network = networkOf(spec.kubernetes.networkCni, clusterSettings(cluster, this.settings.tuning));
    const workloads = [...KUBEADM_WORKLOADS, ...workloadsOf(network.manifests(this.networkSettings(cluster)))];
    const api = await this.clusters.of(cluster);
    for (const { machine } of newHostsOf(cluster)) await api.label(machine.name, clusterLabel(spec.name));
    const addons = await this.kubeadmAddons(api, cluster);
    if (cluster.provisioned) await this.newNodesServe(step, api, workloads);
    else await this.clusterServes(step, api, workloads);
    await step.record({ type: 'FinishCluster', data: { uid, addons } });
  }

  /** Retried for hours, because the export may become available after the cluster. */
  @OnTask('InstallStorage', {
    attemptsMax: 40,
    backoffFirstMs: 1_000,
    backoffMaxMs: 600_000,
    timeoutMs: 2 * 60_000,
  })
  async installStorage(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid } = cluster;
    const nfs = storageOf(cluster);
    if (nfs === undefined) throw new Error('the plan installs no storage class without an export');
    const api = await this.clusters.of(cluster);
    const { version } = NFS_STORAGE;
    await this.applied(api, NFS_STORAGE.manifests(nfs));
    await step.record({ type: 'AddonInstalled', data: { uid, addon: NFS_STORAGE_ADDON, version } });
  }

  private async clusterServes(
    step: RunningTask,
    api: KubernetesCluster,
    workloads: readonly NamedWorkload[],
  ): Promise<void> {
    await this.settled(step, SEE_NETWORK, ROLLED_OUT_WITHIN_MS, () => rolloutProblems(api, workloads));
    await this.settled(step, SEE_NODES, NODES_AGREE_WITHIN_MS, async () => {
      const nodes = new Map((await api.nodes()).map((node) => [node.name, node]));
      return newHostsOf(step.state.cluster).flatMap((host) => nodeProblems(host, nodes.get(host.machine.name)));
    });
  }

  /**
   * In a cluster that is already ready, only the new nodes are checked: with many nodes some are always down, and so
   * are their pods.
   */
  private async newNodesServe(
    step: RunningTask,
    api: KubernetesCluster,
    workloads: readonly NamedWorkload[],
  ): Promise<void> {
    const hosts = newHostsOf(step.state.cluster);
    for (const { machine } of hosts)
      await this.settled(step, SEE_NETWORK, ROLLED_OUT_WITHIN_MS, () => daemonProblems(api, machine.name, workloads));
    for (const host of hosts)
      await this.settled(step, SEE_NODES, NODES_AGREE_WITHIN_MS, async () =>
        nodeProblems(host, await api.node(host.machine.name)),
      );
  }

  private networkSettings(cluster: Cluster): NetworkSettings {
    const { podCidr, endpoint, tuning } = clusterSettings(cluster, this.settings.tuning);
    const nftables = tuning.kubeProxyMode === 'nftables';
    return { podCidr, endpoint, nftables, oneSegment: cluster.spec.serviceType === 'single' };
  }

  private async applied(api: KubernetesCluster, manifests: readonly Manifest[]): Promise<void> {
    try {
      await api.apply(manifests);
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      const { target, message } = error;
      throw new ExternalFailure({ operation: 'install the storage class', target, message, cause: error });
    }
  }

  private async kubeadmAddons(api: KubernetesCluster, { spec }: Cluster): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const { addon, kind, namespace, name } of KUBEADM_WORKLOADS) {
      const workload = await api.workload(kind, namespace, name);
      if (workload === undefined)
        throw new ExternalFailure({
          operation: `look for the addon ${addon}`,
          target: spec.name,
          message: `kubeadm has installed no ${kind} ${namespace}/${name}`,
        });
      found[addon] = workload.version;
    }
    return found;
  }

  private async settled(
    step: RunningTask,
    operation: string,
    deadlineMs: number,
    look: () => Promise<readonly string[]>,
  ): Promise<void> {
    const problems = await untilSettled(look, { deadlineMs, everyMs: this.settings.lookEveryMs, signal: step.signal });
    if (problems.length === 0) return;
    throw new ExternalFailure({ operation, target: step.state.cluster.spec.name, message: problems.join('; ') });
  }
}

/** Hosts that do not pull images have only those of a mirror. */
const networkOf = (cni: Cni, { clusterName, tuning }: ClusterSettings): CatalogueEntry<NetworkSettings> => {
  if (tuning.imagePullPolicy !== 'Never') return NETWORKS[cni];
  const preloaded = PRELOADED_NETWORKS[cni];
  if (preloaded !== undefined) return preloaded;
  throw new ExternalFailure({
    operation: 'install the network',
    target: clusterName,
    message: `the hosts pull no images, and a mirror has none of ${cni}; use ${Object.keys(PRELOADED_NETWORKS).join(' or ')}`,
    retryable: false,
  });
};

/** The agents have already reported it; before a cluster becomes ready the API is checked as well. */
const nodeProblems = ({ machine: { name }, desired }: Host, node: NodeView | undefined): readonly string[] => {
  if (node === undefined) return [`Kubernetes has no node ${name}`];
  if (!node.ready) return [`${name} is not Ready: ${node.message}`];
  const kubelet = desired?.software['kubelet'];
  if (kubelet !== undefined && node.kubeletVersion !== `v${kubelet}`)
    return [`${name} runs kubelet ${node.kubeletVersion}, not v${kubelet}`];
  return [];
};
