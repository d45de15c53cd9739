import { randomInt, randomUUID } from 'node:crypto';
import { Deletion } from '../api/deletion.js';
import { ObjectApi } from '../api/object.api.js';
import { CertificateAuthority } from '../certificates/certificate.authority.js';
import { signedStatus } from '../certificates/signing.js';
import { Kubeconfigs, type KubeconfigRequest } from '../certificates/kubeconfigs.js';
import { timestamp, type Clock } from '../clock/clock.js';
import { systemClock } from '../clock/system.clock.js';
import { allControllers } from '../controllers/all.controllers.js';
import { LEADER_ELECTION, STATIC_PODS } from '../controllers/controlplane.controllers.js';
import { ControllerManager } from '../controllers/controller.manager.js';
import { EventRecorder } from '../controllers/event.recorder.js';
import { KUBELET, NODE_CONTROLLER, podKeysOnNode, nodeKeys } from '../controllers/node.controllers.js';
import { PodIndex, type World } from '../controllers/world.js';
import { listenApi, type ApiListener } from '../http/api.listener.js';
import type { TokenAuthentication } from '../http/identity.js';
import { DeprecatedRequests } from '../http/deprecated.requests.js';
import type { ServedCluster } from '../http/exchange.js';
import { Kubelets } from '../nodes/kubelets.js';
import { NODE_CIDR_MASK_DEFAULT, type PodNetwork } from '../nodes/pod.network.js';
import type { Node, Pod } from '../objects/core.types.js';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  DAEMON_SETS,
  DEPLOYMENTS,
  NODES,
  PODS,
} from '../resources/builtin.resources.js';
import { ResourceRegistry } from '../resources/resource.registry.js';
import { ObjectStore } from '../store/object.store.js';
import { BootstrapTokens } from './bootstrap.tokens.js';
import { DEFAULT_DELAYS } from '../clock/simulation.delays.js';
import type { NodeRegistration } from '../nodes/node.registration.js';
import type { SimulatedClusterOptions } from './cluster.options.js';
import type { ClusterChanges, ClusterSnapshot } from './cluster.snapshot.js';
import { SimulatedEtcd } from '../etcd/simulated.etcd.js';
import { ContainerFiles } from '../exec/container.files.js';
import { coreDns, kubeProxy, planKubeadmObjects } from './kubeadm.planner.js';
import { NodeFleet } from './node.fleet.js';
import { companionsOf, etcdReportedBy, type ComponentFlags } from '../controlplane/static.pods.planner.js';

/** How many changes a cluster keeps for watches that resume. */
const HISTORY_MAX = 2_000;
const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const KUBE_SYSTEM = 'kube-system';

const randomName = (length: number): string =>
  Array.from({ length }, () => NAME_ALPHABET[randomInt(NAME_ALPHABET.length)]).join('');

interface Identity extends PodNetwork {
  readonly name: string;
  readonly serviceCidr: string;
  readonly authority: CertificateAuthority;
}

export interface ListenRequest {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Names and addresses of the serving certificate, besides the host and the cluster's own service names. */
  readonly sans: readonly string[];
  /**
   * The control plane of this API server: `/version` shows the version of its static pods. If absent, the cluster's
   * version.
   */
  readonly node?: string;
  /** Authenticates tokens; if absent, only kubeadm's bootstrap tokens are accepted. */
  readonly authentication?: TokenAuthentication;
}

/** The state of a kubelet, as reported by its host. */
export interface KubeletChange {
  readonly running: boolean;
  readonly runtimeHangs?: boolean;
  /** The kubelet runs, but its container runtime does not. */
  readonly runtimeStopped?: boolean;
  /** The configuration of its pod network is missing. */
  readonly networkLost?: boolean;
  readonly diskFull?: boolean;
  readonly version?: string;
  /** The Node that the kubelet registers if it starts without one; absent: none. */
  readonly registration?: NodeRegistration;
}

/**
 * A simulated Kubernetes cluster: an in-process object, without containers, etcd or kubelets, that behaves to API
 * clients like a cluster created by kubeadm. All API servers of the cluster are listeners on this one state.
 */
export class SimulatedCluster {
  readonly name: string;
  readonly etcd: SimulatedEtcd;
  /** Whether etcd is external and so has members before there is a node. */
  readonly externalEtcd: boolean;
  private readonly store: ObjectStore;
  private readonly registry = new ResourceRegistry();
  private readonly api: ObjectApi;
  private readonly deletion: Deletion;
  private readonly world: World;
  private readonly manager: ControllerManager;
  private readonly fleet: NodeFleet;
  private readonly tokens: BootstrapTokens;
  private readonly deprecatedRequests = new DeprecatedRequests();
  private readonly listeners = new Map<ApiListener, string | undefined>();
  private readonly containerFiles = new ContainerFiles();
  private readonly kubeconfigs: Kubeconfigs;
  private readonly watchers = new Set<() => void>();
  private readonly controlPlaneVersions: Map<string, string>;
  private readonly controlPlaneFlags: Map<string, ComponentFlags>;
  private readonly etcdctlImages = new Map<string, string>();
  private version: string;
  private announcing = false;

  private constructor(
    private readonly identity: Identity,
    private readonly options: SimulatedClusterOptions,
    private readonly clock: Clock,
  ) {
    const { state } = options;
    this.name = identity.name;
    this.externalEtcd = state?.externalEtcd ?? options.etcdEndpoints !== undefined;
    this.version = state?.version ?? options.version;
    this.kubeconfigs = new Kubeconfigs({
      cluster: identity.name,
      authority: identity.authority,
      clock,
      certificateAgeMs: options.certificateAgeMs ?? 0,
    });
    this.controlPlaneVersions = new Map(Object.entries(state?.controlPlanes ?? {}));
    this.controlPlaneFlags = new Map(Object.entries(state?.controlPlaneFlags ?? {}));
    this.store = new ObjectStore({
      now: () => timestamp(clock.now()),
      newUid: randomUUID,
      historyMax: options.watchHistoryMax ?? HISTORY_MAX,
    });
    this.api = new ObjectApi({
      store: this.store,
      serviceCidr: identity.serviceCidr,
      random: randomName,
    });
    this.etcd = new SimulatedEtcd({
      name: identity.name,
      store: this.store,
      registry: this.registry,
      state,
      versionOf: (member) => etcdReportedBy(companionsOf(this.controlPlaneVersions.get(member) ?? this.version).etcd),
      onChange: ({ regained }) => {
        // Controllers catch up on changes missed while etcd rejected writes.
        if (regained) this.manager.resync();
        this.changed();
      },
    });
    this.deletion = new Deletion(this.store, () => clock.now(), timestamp);
    this.tokens = new BootstrapTokens(this.store, this.api, () => clock.now());
    if (state !== undefined) this.load(state);
    const kubelets = new Kubelets(state?.kubelets ?? { stopped: {}, networkDeclared: false, networkNodes: [] });
    this.world = {
      store: this.store,
      kubelets,
      clock,
      delays: { ...DEFAULT_DELAYS, ...options.delays },
      pods: new PodIndex(this.store),
      controlPlaneVersions: this.controlPlaneVersions,
      controlPlaneFlags: this.controlPlaneFlags,
      externalEtcd: this.externalEtcd,
      etcdctlImages: this.etcdctlImages,
    };
    this.fleet = new NodeFleet({
      store: this.store,
      api: this.api,
      kubelets,
      clock,
      podNetwork: identity,
      hasQuorum: () => this.etcd.hasQuorum(),
    });
    this.manager = this.newManager();
    this.store.subscribe(() => this.changed());
  }

  /** Creates a cluster without nodes, as after `kubeadm init`, or restores one from a snapshot. */
  static async create(options: SimulatedClusterOptions): Promise<SimulatedCluster> {
    const clock = options.clock ?? systemClock;
    const { state } = options;
    const pair = state?.ca ?? options.ca;
    const authority =
      pair === undefined ? await CertificateAuthority.create(clock.now()) : CertificateAuthority.load(pair);
    const { name, podCidr, nodeCidrMask = NODE_CIDR_MASK_DEFAULT, serviceCidr } = state ?? options;
    const identity = { name, podCidr, nodeCidrMask, serviceCidr, authority };
    const cluster = new SimulatedCluster(identity, options, clock);
    if (state === undefined) cluster.install();
    cluster.manager.resync();
    return cluster;
  }

  get caPem(): string {
    return this.identity.authority.pair.certPem;
  }

  /** `sha256:<hex>` of the authority's public key, for `kubeadm join --discovery-token-ca-cert-hash`. */
  get caHash(): string {
    return this.identity.authority.publicKeyHash;
  }

  /** Serves the API at an address over TLS. Listeners share the state. Rejects if the address cannot be bound. */
  async listen({ host, port, sans, node, authentication }: ListenRequest): Promise<ApiListener> {
    const names = [
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
      'localhost',
    ];
    const serving = await this.identity.authority.issue(
      { commonName: 'kube-apiserver', usage: 'server', sans: [...new Set([host, ...sans, ...names, '127.0.0.1'])] },
      this.clock.now(),
    );
    const listener = await listenApi(this.served(), {
      host,
      port,
      caPem: this.caPem,
      serving,
      version: () => (node === undefined ? undefined : this.controlPlaneVersions.get(node)) ?? this.version,
      ...(authentication === undefined ? {} : { authentication }),
    });
    const close = async (): Promise<void> => {
      this.listeners.delete(open);
      await listener.close();
    };
    const open: ApiListener = { ...listener, close };
    this.listeners.set(open, node);
    return open;
  }

  /** A kubeconfig with an embedded client certificate. */
  kubeconfig(request: KubeconfigRequest): Promise<string> {
    return this.kubeconfigs.write(request);
  }

  renewAdministrator(): void {
    this.kubeconfigs.renewAdministrator();
  }

  /** A `ttlMs` of 0 means no expiry. @throws {Error} if the requested token does not have kubeadm's format. */
  createBootstrapToken(nowMs: number, ttlMs: number, requested?: string): { readonly token: string } {
    return { token: this.tokens.create(nowMs, ttlMs, requested) };
  }

  checkToken(token: string): boolean {
    return this.tokens.check(token);
  }

  /** The key expires after two hours, or when the next one is created. */
  uploadCertificates(nowMs: number): { readonly certificateKey: string } {
    return { certificateKey: this.tokens.uploadCertificates(nowMs) };
  }

  checkCertificateKey(certificateKey: string): boolean {
    return this.tokens.checkCertificateKey(certificateKey);
  }

  /** The version in kubeadm's ConfigMap: control planes that join run it, whatever the others run. */
  get configuredVersion(): string {
    const config = this.store.get(CONFIG_MAPS, KUBE_SYSTEM, 'kubeadm-config');
    return /^kubernetesVersion: (\S+)$/m.exec(config?.data?.['ClusterConfiguration'] ?? '')?.[1] ?? this.version;
  }

  /** A kubelet joins. Its node is NotReady until it has a network. */
  registerNode(request: NodeRegistration): void {
    if (request.role === 'control-plane') this.controlPlaneVersions.set(request.name, this.configuredVersion);
    this.fleet.register(request);
    this.manager.enqueueKey(STATIC_PODS, request.name);
  }

  /**
   * A stopped kubelet sends no heartbeats: its node counts as lost after the grace period. `version` is the version
   * that a restarted kubelet reports.
   */
  setKubelet(node: string, change: KubeletChange): void {
    const { running, version, registration } = change;
    const { kubelets } = this.world;
    if (this.store.get(NODES, undefined, node) === undefined)
      return this.setKubeletWithoutNode(node, running, registration);
    const changed = kubelets.setRunning(node, running, this.clock.now());
    const lacksChanged = this.setLacks(node, change);
    if (changed && !running) this.fleet.keepLastHeartbeat(node);
    if (version !== undefined) this.fleet.setKubeletVersion(node, version);
    if (!changed && !lacksChanged) return;
    for (const controller of [NODE_CONTROLLER, STATIC_PODS]) this.manager.enqueueKey(controller, node);
    this.manager.enqueueKey(LEADER_ELECTION, 'all');
    for (const key of podKeysOnNode(this.world, node)) this.manager.enqueueKey(KUBELET, key);
    this.changed();
  }

  /** Records the conditions that keep a kubelet from being Ready. Returns whether any changed. */
  private setLacks(node: string, change: KubeletChange): boolean {
    const { runtimeHangs = false, runtimeStopped = false, networkLost = false, diskFull = false } = change;
    const { kubelets } = this.world;
    return [
      kubelets.setRuntimeHangs(node, runtimeHangs),
      kubelets.setRuntimeStopped(node, runtimeStopped, this.clock.now()),
      kubelets.setNetworkLost(node, networkLost),
      kubelets.setDiskFull(node, diskFull),
    ].includes(true);
  }

  /** A kubelet whose Node was deleted registers it again only when it starts; a running one only logs the error. */
  private setKubeletWithoutNode(node: string, running: boolean, registration: NodeRegistration | undefined): void {
    const { kubelets } = this.world;
    if (registration === undefined) return kubelets.forget(node);
    const started = kubelets.setRunning(node, running, this.clock.now()) && running;
    if (started) this.registerNode(registration);
    this.changed();
  }

  /**
   * Declares that the pod network works on every node. A node's network also becomes ready when a ready pod mounts
   * /etc/cni of the host, as network plugins do.
   */
  setNetworkReady(ready: boolean): void {
    this.world.kubelets.declareNetwork(ready);
    for (const key of nodeKeys(this.world)) this.manager.enqueueKey(NODE_CONTROLLER, key.slice(1));
    this.changed();
  }

  /** Deletes the Node object and everything on the node. */
  removeNode(name: string): void {
    this.controlPlaneVersions.delete(name);
    this.controlPlaneFlags.delete(name);
    this.fleet.remove(name);
  }

  /**
   * The version of kubeadm's ConfigMap, kube-proxy, CoreDNS and later control planes: the cluster-wide part of `kubeadm
   * upgrade apply`.
   */
  setVersion(version: string): void {
    this.version = version;
    const dns = this.store.get(DEPLOYMENTS, KUBE_SYSTEM, 'coredns');
    if (dns !== undefined)
      this.api.update(DEPLOYMENTS, { ...dns, spec: { ...dns.spec, template: coreDns(version).spec.template } });
    const proxy = this.store.get(DAEMON_SETS, KUBE_SYSTEM, 'kube-proxy');
    if (proxy !== undefined)
      this.api.update(DAEMON_SETS, { ...proxy, spec: { ...proxy.spec, template: kubeProxy(version).spec.template } });
    const config = this.store.get(CONFIG_MAPS, KUBE_SYSTEM, 'kubeadm-config');
    const text = config?.data?.['ClusterConfiguration']?.replace(
      /kubernetesVersion: .*/,
      `kubernetesVersion: ${version}`,
    );
    if (config !== undefined && text !== undefined)
      this.store.replace(CONFIG_MAPS, { ...config, data: { ClusterConfiguration: text } });
    this.changed();
  }

  /** Replaces the static pods of one control plane, as `kubeadm upgrade apply` and `upgrade node` do. */
  setControlPlaneVersion(node: string, version: string, flags: ComponentFlags = {}): void {
    this.controlPlaneVersions.set(node, version);
    this.controlPlaneFlags.set(node, flags);
    this.manager.enqueueKey(STATIC_PODS, node);
    this.changed();
  }

  /** Sets the image of the pod with the tools of an external etcd on a control plane; undefined removes the pod. */
  setEtcdctl(node: string, image: string | undefined): void {
    if (this.etcdctlImages.get(node) === image) return;
    if (image === undefined) this.etcdctlImages.delete(node);
    else this.etcdctlImages.set(node, image);
    this.manager.enqueueKey(STATIC_PODS, node);
  }

  snapshot(): ClusterSnapshot {
    return { ...this.snapshotWithoutObjects(), objects: this.store.export().objects };
  }

  /** Returns the changes since a version; all objects if it is undefined or too old. */
  changesSince(version: number | undefined): ClusterChanges {
    const written = version === undefined ? undefined : this.store.written(version);
    const entries = written ?? this.store.all();
    return { snapshot: this.snapshotWithoutObjects(), entries, isWhole: written === undefined };
  }

  private snapshotWithoutObjects(): ClusterSnapshot {
    return {
      format: 1,
      name: this.name,
      version: this.version,
      podCidr: this.identity.podCidr,
      nodeCidrMask: this.identity.nodeCidrMask,
      serviceCidr: this.identity.serviceCidr,
      ca: this.identity.authority.pair,
      resourceVersion: this.store.currentVersion(),
      objects: [],
      ...this.etcd.stored(),
      ...(this.externalEtcd ? { externalEtcd: true } : {}),
      kubelets: this.world.kubelets.stored(),
      controlPlanes: Object.fromEntries(this.controlPlaneVersions),
      controlPlaneFlags: Object.fromEntries(this.controlPlaneFlags),
    };
  }

  /** Calls back after changes, once for all changes in one turn of the event loop. */
  onChange(callback: () => void): () => void {
    this.watchers.add(callback);
    return () => this.watchers.delete(callback);
  }

  nodes(): readonly Node[] {
    return this.store.list(NODES);
  }

  pods(namespace?: string): readonly Pod[] {
    return this.store.list(PODS, namespace);
  }

  /** Runs now what the controllers would do in the next turns of the event loop. Timers are not advanced. */
  settle(): void {
    this.manager.settle();
  }

  /** Stops all listeners and controllers. The state remains readable. */
  async close(): Promise<void> {
    this.manager.close();
    await Promise.all([...this.listeners.keys()].map((listener) => listener.close()));
  }

  private load(state: ClusterSnapshot): void {
    // Definitions first: objects of a custom resource can be located only once it is registered.
    for (const object of state.objects) {
      if (object.kind === CUSTOM_RESOURCE_DEFINITIONS.kind) this.registry.define(object);
    }
    const stored = { version: state.resourceVersion, objects: state.objects };
    this.store.import(stored, ({ apiVersion, kind }) => this.registry.findKind(apiVersion, kind));
  }

  private install(): void {
    const planned = planKubeadmObjects({
      name: this.name,
      version: this.version,
      podCidr: this.identity.podCidr,
      nodeCidrMask: this.identity.nodeCidrMask,
      serviceCidr: this.identity.serviceCidr,
      controlPlaneEndpoint: this.options.controlPlaneEndpoint ?? 'localhost:6443',
      etcdEndpoints: this.options.etcdEndpoints,
      caPem: this.caPem,
    });
    for (const { resource, draft } of planned) this.api.create(resource, draft);
  }

  private newManager(): ControllerManager {
    const events = new EventRecorder(this.store, this.clock, randomName);
    return new ControllerManager({
      store: this.store,
      api: this.api,
      deletion: this.deletion,
      clock: this.clock,
      events,
      controllers: allControllers(this.world, this.registry, this.caPem),
      mayWrite: () => this.etcd.hasQuorum(),
    });
  }

  private served(): ServedCluster {
    return {
      deprecatedRequests: this.deprecatedRequests,
      name: this.name,
      store: this.store,
      registry: this.registry,
      api: this.api,
      deletion: this.deletion,
      clock: this.clock,
      heartbeats: this.fleet,
      checkToken: (token) => this.tokens.check(token),
      sign: (name) => void this.sign(name),
      evictionFault: (node) => this.options.evictionFault?.(node),
      hasQuorum: () => this.etcd.hasQuorum(),
      etcd: this.etcd.underTool(),
      filesOf: (pod) => this.containerFiles.of(pod),
      // A listener without a node serves for all nodes.
      servesApi: (node) => [...this.listeners.values()].some((known) => known === undefined || known === node),
    };
  }

  /** Signs shortly after the approval, as kube-controller-manager does, if the request still exists. */
  private async sign(name: string): Promise<void> {
    const asked = this.store.get(CERTIFICATE_SIGNING_REQUESTS, undefined, name);
    if (asked === undefined) return;
    const status = await signedStatus(asked, this.identity.authority, this.clock.now());
    const current = this.store.get(CERTIFICATE_SIGNING_REQUESTS, undefined, name);
    if (status === undefined || current?.metadata.uid !== asked.metadata.uid) return;
    this.api.updateStatus(CERTIFICATE_SIGNING_REQUESTS, { ...current, ...{ status } });
  }

  private changed(): void {
    if (this.announcing || this.watchers.size === 0) return;
    this.announcing = true;
    setImmediate(() => {
      this.announcing = false;
      for (const watcher of this.watchers) watcher();
    });
  }
}
