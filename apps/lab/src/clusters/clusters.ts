import { evictionFault, type Faults } from '../faults/faults.js';
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Stats } from '../stats/stats.js';
import type { Host } from '../hosts/host.js';
import { KERNEL_VERSION, type Membership } from '../hosts/host.record.js';
import {
  EtcdMembers,
  SimulatedCluster,
  snapshotFrom,
  type ApiListener,
  type ClusterEntry,
  type ClusterSnapshot,
  type EtcdUnderTool,
  type KubeletChange,
  type NodeRegistration,
  type SimulationDelays,
  type Taint,
} from '../kubernetes/index.js';
import type { DocumentStore, Journaled } from '../persistence/document.store.js';
import { FileAuthentication } from './file.authentication.js';
import { unitEtcdOn, type UnitEtcdMember } from './unit.etcd.js';
import { ManifestWatches } from './manifest.watches.js';
import { etcdctlImageOn, manifestsOn, restoredEtcdOn, type StaticPod } from './static.pods.js';

export const API_PORT = 6443;
const KIND = 'clusters';
const EMPTY_ETCD_BYTES = 20 * 1024;
const NO_PODS: readonly StaticPod[] = [];

const StoredCluster = z.object({
  id: z.string(),
  endpoint: z.string(),
  sans: z.array(z.string()),
  version: z.string(),
  apiServerFlags: z.array(z.string()).default([]),
  kubernetes: z.custom<ClusterSnapshot>((value) => typeof value === 'object' && value !== null),
});

const StoredEntries = z.array(z.custom<ClusterEntry>((value) => typeof value === 'object' && value !== null));

export interface ClusterRequest {
  readonly name: string;
  readonly version: string;
  readonly podCidr: string;
  /** undefined: the default of Kubernetes. */
  readonly nodeCidrMask: number | undefined;
  readonly serviceCidr: string;
  /** The `host:port` in certificates and kubeconfigs. */
  readonly endpoint: string;
  readonly sans: readonly string[];
  /** The members of an external etcd; undefined if kubeadm runs etcd. */
  readonly etcd: readonly EtcdMemberPeer[] | undefined;
  /** Flags of all API servers in addition to those of kubeadm. */
  readonly apiServerFlags: readonly string[];
}

export interface EtcdMemberPeer {
  readonly name: string;
  readonly peerUrl: string;
  readonly clientUrl: string;
}

/** The etcd that a host's unit belongs to, as seen by tools on the host. */
export interface UnitEtcd {
  /** The name of the host's own member. */
  readonly self: string;
  readonly etcd: EtcdUnderTool;
}

/** The node's own part of the kubeadm configuration. */
export interface KubeadmNodeSpec {
  readonly name: string;
  readonly role: 'control-plane' | 'worker';
  readonly labels: Readonly<Record<string, string>>;
  readonly providerId?: string | undefined;
  /** Absent: the defaults of kubeadm. */
  readonly taints?: readonly Taint[] | undefined;
  readonly kubeletVersion: string;
  readonly containerRuntimeVersion: string;
}

/** A simulated Kubernetes cluster as created by kubeadm. */
export interface Cluster {
  readonly id: string;
  readonly endpoint: string;
  readonly sans: readonly string[];
  version: string;
  readonly apiServerFlags: readonly string[];
  readonly kubernetes: SimulatedCluster;
}

/** Resolves a TCP address to the targets behind a load balancer, or to the address itself. */
export type ResolveEndpoint = (
  host: string,
  port: number,
) => readonly { readonly host: string; readonly port: number }[];

export interface ClustersParts {
  readonly store: DocumentStore;
  readonly stats: Stats;
  readonly delays: Partial<SimulationDelays>;
  readonly certificateAgeMs: number;
  readonly faults: Faults;
  readonly resolve: ResolveEndpoint;
}

/** All simulated Kubernetes clusters of the lab, and which host serves which cluster. */
export class Clusters {
  private readonly clusters = new Map<string, Cluster>();
  /** API servers by the address of their host. */
  private readonly listeners = new Map<
    string,
    {
      readonly cluster: Cluster;
      readonly listener: Promise<ApiListener>;
      readonly authentication: FileAuthentication;
    }
  >();
  private readonly hosts = new Map<string, Host>();
  /** The static pods that run on each control plane, by its machine. */
  private readonly staticPods = new Map<string, readonly StaticPod[]>();
  /** Hosts whose manifests differed from their pods at the last check. */
  private readonly changedManifests = new Set<string>();
  /** The resource version up to which the objects of a cluster are in its journal, by cluster ID. */
  private readonly journaledTo = new Map<string, number>();
  private readonly watches = new ManifestWatches((host) => this.checkManifests(host));

  private readonly evictionFault = (node: string) => evictionFault(this.parts.faults, node);

  constructor(private readonly parts: ClustersParts) {}

  async load(): Promise<void> {
    for (const { document, entries } of await this.parts.store.readAllJournaled(KIND)) {
      const { kubernetes, ...stored } = StoredCluster.parse(document);
      const state = snapshotFrom(kubernetes, StoredEntries.parse(entries));
      const { name, podCidr, serviceCidr, version } = state;
      const { delays } = this.parts;
      const options = { name, podCidr, serviceCidr, version, delays, evictionFault: this.evictionFault };
      this.add({ ...stored, kubernetes: await SimulatedCluster.create({ ...options, state }) });
    }
  }

  /** Registers the host, so that its membership is restored after a restart of the lab. */
  addHost(host: Host): void {
    this.hosts.set(host.facts.machineId, host);
  }

  /** The name of the machine with the address; undefined: there is none. */
  machineAt(address: string): string | undefined {
    for (const { facts } of this.hosts.values()) if (facts.address === address) return facts.name;
    return undefined;
  }

  /**
   * Called when the host's machine is deleted: its etcd member counts as down, as in a real cluster. A cluster is
   * discarded with its last machine.
   */
  async removeHost(host: Host): Promise<void> {
    this.hosts.delete(host.facts.machineId);
    this.staticPods.delete(host.facts.machineId);
    this.watches.end(host);
    const cluster = this.of(host);
    await this.stopServing(host);
    if (cluster === undefined) return;
    await this.discardIfEmpty(cluster);
  }

  of(host: Host): Cluster | undefined {
    const { membership } = host.record;
    return membership === null ? undefined : this.clusters.get(membership.clusterId);
  }

  servesApi(host: Host): boolean {
    return this.listeners.has(host.facts.address);
  }

  async create(request: ClusterRequest): Promise<Cluster> {
    const { name, version, podCidr, nodeCidrMask, serviceCidr, endpoint, sans, etcd, apiServerFlags } = request;
    const { delays, stats, certificateAgeMs } = this.parts;
    const kubernetes = await SimulatedCluster.create({
      name,
      version,
      podCidr,
      nodeCidrMask,
      serviceCidr,
      delays,
      certificateAgeMs,
      evictionFault: this.evictionFault,
      controlPlaneEndpoint: endpoint,
      ...(etcd === undefined ? {} : { etcdEndpoints: etcd.map(({ clientUrl }) => clientUrl) }),
    });
    for (const member of etcd ?? []) kubernetes.etcd.add(member.name, member.peerUrl);
    const cluster: Cluster = { id: randomUUID(), endpoint, sans, version, apiServerFlags, kubernetes };
    stats.wasCreated('cluster', name);
    this.add(cluster);
    this.changed(cluster);
    return cluster;
  }

  /** The cluster whose API answers at `host:port`, or undefined if none does. */
  behind(host: string, port: number): Cluster | undefined {
    for (const target of this.parts.resolve(host, port)) {
      const cluster = target.port === API_PORT ? this.listeners.get(target.host)?.cluster : undefined;
      if (cluster !== undefined && cluster.kubernetes.etcd.hasQuorum()) return cluster;
    }
    return undefined;
  }

  /** Makes the host a node of the cluster: from now on its kubelet and its power affect the cluster. */
  join(host: Host, cluster: Cluster, request: KubeadmNodeSpec): void {
    const { name, role, ...registration } = request;
    host.record.membership = { clusterId: cluster.id, nodeName: name, role, registration };
    host.changed();
    cluster.kubernetes.registerNode(registrationOf(host, request));
  }

  addEtcdMember(host: Host, cluster: Cluster, nodeName: string): void {
    cluster.kubernetes.etcd.add(nodeName, `https://${host.facts.address}:2380`);
  }

  /** Returns undefined if no etcd runs as a unit of the host. */
  async unitEtcdOf(host: Host): Promise<UnitEtcd | undefined> {
    const own = await unitEtcdOn(host);
    if (own === undefined) return undefined;
    const cluster = this.using(own);
    if (cluster !== undefined) return { self: own.name, etcd: cluster.kubernetes.etcd.underTool() };
    const peers = await Promise.all([...this.hosts.values()].map(unitEtcdOn));
    const running = peers.filter((peer) => peer?.token === own.token && peer.running).map((peer) => peer?.name);
    const members = new EtcdMembers();
    for (const [name, url] of own.initialCluster) {
      members.add(name, url);
      members.set(name, { running: running.includes(name) });
    }
    return { self: own.name, etcd: emptyEtcd(own, members) };
  }

  /**
   * Starts the API server of a control plane unless it already runs. An API server with an invalid authentication file
   * exits at once.
   */
  async serve(host: Host, cluster: Cluster): Promise<void> {
    if (this.servesApi(host)) return;
    const { address, name } = host.facts;
    const authentication = await FileAuthentication.start(host.files);
    if (authentication === undefined || this.servesApi(host)) return;
    const listener = cluster.kubernetes.listen({
      host: address,
      port: API_PORT,
      sans: [...new Set([address, name, ...cluster.sans])],
      node: host.record.membership?.nodeName ?? name,
      authentication,
    });
    // Set before it listens, so that no concurrent call starts another one.
    this.listeners.set(address, { cluster, listener, authentication });
    await listener;
  }

  /** The metrics of the host's API server, or undefined if it does not run. */
  async metricsOf(host: Host): Promise<string | undefined> {
    return this.listeners.get(host.facts.address)?.authentication.metrics();
  }

  async stopServing(host: Host): Promise<void> {
    const serving = this.listeners.get(host.facts.address);
    this.listeners.delete(host.facts.address);
    await (await serving?.listener)?.close();
  }

  /** Removes the host's membership; its Node object is kept, as after `kubeadm reset`. */
  async leave(host: Host): Promise<void> {
    const cluster = this.of(host);
    const { membership } = host.record;
    await this.stopServing(host);
    if (cluster === undefined || membership === null) return;
    if (membership.role === 'control-plane' && !cluster.kubernetes.externalEtcd)
      cluster.kubernetes.etcd.remove(membership.nodeName);
    this.staticPods.delete(host.facts.machineId);
    this.watches.end(host);
    cluster.kubernetes.setKubelet(membership.nodeName, { running: false });
    host.record.membership = null;
    host.changed();
    await this.discardIfEmpty(cluster);
  }

  /** Updates the cluster from the state of the host: its kubelet, static pods and etcd vote. */
  async hostChanged(host: Host, kubeletVersion: string | undefined): Promise<void> {
    await this.unitEtcdChanged(host);
    const cluster = this.of(host);
    const { membership } = host.record;
    if (cluster === undefined || membership === null) return;
    const running = host.power === 'on' && (await host.services.isRunning('kubelet'));
    if (membership.role === 'control-plane') await this.runStaticPods(host, cluster, running);
    else if (host.power !== 'on') await this.stopServing(host);
    const version = kubeletVersion === undefined ? {} : { version: `v${kubeletVersion}` };
    cluster.kubernetes.setKubelet(membership.nodeName, {
      running,
      runtimeHangs: host.runtimeHangs,
      runtimeStopped: running && !(await host.services.isRunning('containerd')),
      networkLost: host.lacksNetwork,
      diskFull: host.isDiskFull,
      ...version,
      ...registeredAgain(host, membership, kubeletVersion),
    });
  }

  /**
   * The static pods that run on a control plane. Their containers keep running without the kubelet, but not without
   * power.
   */
  podsOn(host: Host): readonly StaticPod[] {
    return host.power === 'on' ? (this.staticPods.get(host.facts.machineId) ?? NO_PODS) : NO_PODS;
  }

  /** A running kubelet runs exactly the pods that have a manifest; without one, pods are left as they are. */
  private async runStaticPods(host: Host, cluster: Cluster, kubeletRuns: boolean): Promise<void> {
    const { machineId } = host.facts;
    const before = this.staticPods.get(machineId);
    await this.watches.begin(host);
    const pods = kubeletRuns || before === undefined ? await manifestsOn(host) : before;
    this.staticPods.set(machineId, pods);
    this.changedManifests.delete(machineId);
    const node = host.record.membership?.nodeName ?? host.facts.name;
    if (!cluster.kubernetes.externalEtcd) {
      if (host.power === 'on' && pods.includes('etcd'))
        cluster.kubernetes.etcd.start(node, await restoredEtcdOn(host.files));
      else cluster.kubernetes.etcd.stop(node);
    } else if (kubeletRuns) cluster.kubernetes.setEtcdctl(node, await etcdctlImageOn(host));
    const hasEtcd = !cluster.kubernetes.externalEtcd || (await this.hasUnitMember(host, cluster));
    if (host.power !== 'on' || !pods.includes('kube-apiserver') || !hasEtcd) await this.stopServing(host);
    else if (kubeletRuns) await this.serve(host, cluster);
  }

  /** The cluster that stores its objects in the etcd of this member. */
  private using({ name, initialCluster }: UnitEtcdMember): Cluster | undefined {
    const isOurs = (member: EtcdMemberPeer): boolean =>
      (member.name === name || member.name === '') && member.peerUrl === initialCluster.get(name);
    return [...this.clusters.values()].find(
      ({ kubernetes }) => kubernetes.externalEtcd && kubernetes.etcd.list().some(isOurs),
    );
  }

  /** Whether the etcd member that the host's API server uses is running and belongs to the cluster. */
  private async hasUnitMember(host: Host, cluster: Cluster): Promise<boolean> {
    const own = await unitEtcdOn(host);
    return own?.running === true && this.using(own) === cluster;
  }

  private async unitEtcdChanged(host: Host): Promise<void> {
    const own = await unitEtcdOn(host);
    if (own === undefined) return;
    const { name, version, initialCluster, running } = own;
    const etcd = this.using(own)?.kubernetes.etcd;
    if (!running) etcd?.stop(name);
    else etcd?.startUnit(name, initialCluster.get(name) ?? '', { version, restored: await restoredEtcdOn(host.files) });
  }

  /**
   * Acts on added or removed manifests only at the second check, because a manifest that is being replaced is briefly
   * absent.
   */
  private async checkManifests(host: Host): Promise<'again' | 'done'> {
    const { machineId } = host.facts;
    const before = this.staticPods.get(machineId);
    if (before === undefined || host.power !== 'on' || host.record.membership?.role !== 'control-plane') return 'done';
    const found = await manifestsOn(host);
    if (found.join() === before.join()) this.changedManifests.delete(machineId);
    else if (this.changedManifests.has(machineId)) await this.hostChanged(host, undefined);
    else {
      this.changedManifests.add(machineId);
      return 'again';
    }
    return 'done';
  }

  /** Must be called after a change of the cluster that was not made through its API. */
  changed(cluster: Cluster): void {
    if (!this.clusters.has(cluster.id)) return;
    this.parts.store.putJournaled(KIND, cluster.id, (mustBeWhole) => this.journaled(cluster, mustBeWhole));
  }

  private journaled(cluster: Cluster, mustBeWhole: boolean): Journaled {
    const since = mustBeWhole ? undefined : this.journaledTo.get(cluster.id);
    const { snapshot, entries, isWhole } = cluster.kubernetes.changesSince(since);
    this.journaledTo.set(cluster.id, snapshot.resourceVersion);
    return { document: { ...cluster, kubernetes: snapshot }, entries, isWhole };
  }

  count(): number {
    return this.clusters.size;
  }

  async close(): Promise<void> {
    this.watches.close();
    await Promise.all([...this.clusters.values()].map(({ kubernetes }) => kubernetes.close()));
    this.listeners.clear();
  }

  private add(cluster: Cluster): void {
    this.clusters.set(cluster.id, cluster);
    cluster.kubernetes.onChange(() => this.changed(cluster));
  }

  private async discardIfEmpty(cluster: Cluster): Promise<void> {
    const isUsed = [...this.hosts.values()].some(({ record }) => record.membership?.clusterId === cluster.id);
    if (isUsed) return;
    this.clusters.delete(cluster.id);
    this.journaledTo.delete(cluster.id);
    this.parts.store.remove(KIND, cluster.id);
    await cluster.kubernetes.close();
  }
}

const registrationOf = (host: Host, { providerId, ...node }: KubeadmNodeSpec): NodeRegistration => ({
  ...node,
  internalIP: host.facts.address,
  osImage: host.facts.osImage,
  kernelVersion: KERNEL_VERSION,
  cpu: host.facts.cpuCount,
  memory: `${host.facts.memoryGiB}Gi`,
  ...(providerId === undefined ? {} : { providerID: providerId }),
});

/**
 * The Node that a kubelet registers without kubeadm. The role and the taints of a control plane are not kubelet flags:
 * kubeadm sets them after the join, and a kubelet may not set the label of its own role.
 */
const registeredAgain = (
  host: Host,
  { nodeName, role, registration }: Membership,
  kubeletVersion: string | undefined,
): Pick<KubeletChange, 'registration'> => {
  if (registration === undefined) return {};
  const version = kubeletVersion === undefined ? registration.kubeletVersion : `v${kubeletVersion}`;
  const taints = role === 'control-plane' ? [] : (registration.taints ?? []);
  const request = { ...registration, name: nodeName, role: 'worker', taints, kubeletVersion: version } as const;
  return { registration: registrationOf(host, request) };
};

/** An etcd in which nothing is stored yet. */
const emptyEtcd = ({ token, version }: UnitEtcdMember, members: EtcdMembers): EtcdUnderTool => ({
  name: token,
  members: () => members.list({ versionOf: () => version, dbSizeBytes: EMPTY_ETCD_BYTES }),
  hasQuorum: () => members.hasQuorum(),
  revision: () => 1,
  keys: () => 0,
  contents: () => Buffer.from(JSON.stringify({ revision: 1, keys: 0, objects: [] })),
  moveLeader: (name) => members.moveLeader(name),
  removeMember: (name) => members.remove(name),
  announce: (url) => members.announce(url),
  promote: (name) => members.set(name, { learner: false }),
});
