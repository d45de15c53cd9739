import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:https';
import { ClientNodeKubernetes } from '@fairlead/kubernetes/client-node';
import { KubernetesClient, type ClusterApi, type Manifest } from '@fairlead/kubernetes';
import { PatchStrategy, setHeaderOptions, type V1Pod } from '@kubernetes/client-node';
import { eventually } from '../../libs/kubernetes/test/workloads.js';
import { QUESTIONS } from '../recorded/questions.js';
import { recorded } from '../recorded/recorded.js';
import type { ControlPlane } from './control.plane.js';

export interface HollowNode {
  readonly name: string;
  readonly address: string;
  readonly controlPlane: boolean;
}

const KUBELET_PORT = 10250;
const TURN_MS = 100;
const LEASE_EVERY_MS = 1_000;
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

/** Recorded disk figures of a real kubelet of v1.34.4. */
const FIGURES = `{"node":{${recorded('v1.34.4', QUESTIONS.figures).trim().replace(/,$/, '')}}}`;

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

const conditionsOf = (hasNetwork: boolean): readonly object[] => {
  const condition = (type: string, status: string, reason: string, message: string) => ({
    ...{ type, status, reason, message, lastHeartbeatTime: now(), lastTransitionTime: now() },
  });
  const ready = hasNetwork
    ? condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status')
    : condition('Ready', 'False', 'KubeletNotReady', 'container runtime network not ready: NetworkReady=false');
  return [
    ...['Memory', 'Disk', 'PID'].map((of) => condition(`${of}Pressure`, 'False', 'KubeletHasEnough', 'enough')),
    ready,
  ];
};

const nodeObject = ({ name, address, controlPlane }: HollowNode, version: string, hasNetwork: boolean) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: {
      'kubernetes.io/hostname': name,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      ...(controlPlane ? { 'node-role.kubernetes.io/control-plane': '' } : {}),
    },
  },
  spec: controlPlane ? { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] } : {},
  status: {
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
    conditions: conditionsOf(hasNetwork),
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
    nodeInfo: {
      ...{ machineID: name, systemUUID: name, bootID: name, kernelVersion: '6.12.0', osImage: 'no system: a test' },
      ...{ containerRuntimeVersion: 'containerd://1.7.24', kubeletVersion: version, kubeProxyVersion: '' },
      ...{ operatingSystem: 'linux', architecture: 'amd64' },
    },
  },
});

const mirrorPod = (component: string, node: string, version: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `${component}-${node}`,
    namespace: 'kube-system',
    labels: { component, tier: 'control-plane' },
    annotations: { 'kubernetes.io/config.mirror': 'a-hash', 'kubernetes.io/config.source': 'file' },
  },
  spec: {
    nodeName: node,
    hostNetwork: true,
    priorityClassName: 'system-node-critical',
    tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    containers: [{ name: component, image: `registry.k8s.io/${component}:${version}`, command: [component] }],
  },
});

/** kubeadm's addons, as far as controllers need them. */
const addons = (version: string): readonly Manifest[] => {
  const workload = ([kind, name, image]: readonly [string, string, string], more: object, spec = {}): Manifest => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: { 'k8s-app': name } },
      template: {
        metadata: { labels: { 'k8s-app': name } },
        spec: { containers: [{ name, image }], ...more },
      },
      ...spec,
    },
  });
  const everywhere = {
    hostNetwork: true,
    priorityClassName: 'system-node-critical',
    tolerations: [{ operator: 'Exists' }],
  };
  const onControlPlanes = {
    priorityClassName: 'system-cluster-critical',
    tolerations: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
  };
  return [
    workload(['DaemonSet', 'kube-proxy', `registry.k8s.io/kube-proxy:${version}`], everywhere),
    workload(['Deployment', 'coredns', 'registry.k8s.io/coredns/coredns:v1.12.1'], onControlPlanes, { replicas: 2 }),
  ];
};

/** A network's pod writes its configuration where a runtime reads it. */
const isNetwork = ({ spec }: V1Pod): boolean =>
  (spec?.volumes ?? []).some(({ hostPath }) => hostPath?.path.startsWith('/etc/cni') === true);

const isOnHost = ({ spec }: V1Pod): boolean => spec?.hostNetwork === true;

/**
 * Stand-ins for kubelets, by the API alone: Node objects whose leases are renewed, pods that run as soon as they are
 * bound and end as soon as they are deleted, mirrors of static pods, a response to /stats/summary. No container runs.
 * Nodes are Ready from the start, or when a network's pod runs on them.
 */
export class HollowNodes {
  private readonly client: KubernetesClient;
  private readonly api = new ClientNodeKubernetes();
  private readonly alive = new Map<string, HollowNode>();
  private readonly networked = new Set<string>();
  private readonly servers: Server[] = [];
  private pods = 0;
  private turning: Promise<unknown> = Promise.resolve();
  private ended = false;

  constructor(
    private readonly controlPlane: ControlPlane,
    private readonly version: string,
    private readonly preset: { readonly network: boolean },
  ) {
    this.client = new KubernetesClient('demo', controlPlane.kubeconfig, () => undefined);
  }

  async start(nodes: readonly HollowNode[]): Promise<void> {
    for (const node of nodes) await this.join(node);
    const cluster = await this.api.of({ uid: 'hollow', cluster: 'demo', kubeconfig: this.controlPlane.kubeconfig });
    await cluster.apply(addons(this.version));
    // Pods must not delay leases: a node with a late lease becomes NotReady.
    this.turning = Promise.all([
      this.repeat(LEASE_EVERY_MS, () => this.renewLeases()),
      this.repeat(TURN_MS, () => this.keepPods()),
    ]);
    await eventually(
      () => this.problem(cluster, nodes),
      (problem) => problem === undefined,
      60_000,
    );
  }

  /** The node's pods and lease are no longer updated. */
  stopKubelet(name: string): void {
    this.alive.delete(name);
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.turning;
    for (const server of this.servers) {
      server.closeAllConnections();
      server.close();
    }
    this.api.close();
    this.client.close();
  }

  private async problem(cluster: ClusterApi, nodes: readonly HollowNode[]): Promise<string | undefined> {
    const proxy = await cluster.workload('DaemonSet', 'kube-system', 'kube-proxy');
    if (proxy?.ready !== nodes.length) return `${proxy?.ready} pods of kube-proxy are ready`;
    if (!this.preset.network) return undefined;
    const unready = (await cluster.pods()).filter(({ ready }) => !ready);
    return unready.length === 0 ? undefined : `${unready.map(({ name }) => name).join()} are not ready`;
  }

  private async join(node: HollowNode): Promise<void> {
    execFileSync('ip', ['address', 'replace', `${node.address}/32`, 'dev', 'lo']);
    await this.serveFigures(node.address);
    if (this.preset.network) this.networked.add(node.name);
    const { core } = this.client;
    await core.createNode({ body: nodeObject(node, this.version, this.preset.network) as never });
    this.alive.set(node.name, node);
    if (!node.controlPlane) return;
    for (const component of COMPONENTS)
      await core.createNamespacedPod({
        namespace: 'kube-system',
        body: mirrorPod(component, node.name, this.version) as never,
      });
  }

  private async serveFigures(address: string): Promise<void> {
    const request = { commonName: 'kubelet', usage: 'server', sans: [address] } as const;
    const { certPem, keyPem } = await this.controlPlane.authority.issue(request, Date.now());
    const server = createServer({ cert: certPem, key: keyPem }, ({ url }, response) => {
      if (url?.startsWith('/stats/summary') === true) response.end(FIGURES);
      else response.writeHead(404).end();
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(KUBELET_PORT, address, resolve));
  }

  private async repeat(everyMs: number, work: () => Promise<unknown>): Promise<void> {
    while (!this.ended) {
      // Some cases stop the API servers; objects may also change meanwhile.
      await work().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }

  private async keepPods(): Promise<void> {
    const { items } = await this.client.core.listPodForAllNamespaces();
    for (const pod of items) {
      const node = this.alive.get(pod.spec?.nodeName ?? '');
      if (node !== undefined) await this.keep(pod, node).catch(() => undefined);
    }
  }

  private async renewLeases(): Promise<void> {
    await Promise.all([...this.alive.keys()].map((name) => this.renewLease(name)));
  }

  private async renewLease(node: string): Promise<void> {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: node, namespace: 'kube-node-lease' },
      spec: {
        holderIdentity: node,
        leaseDurationSeconds: 40,
        renewTime: new Date().toISOString().replace('Z', '000Z'),
      },
    };
    await this.client.objects.patch(
      lease as never,
      ...([undefined, undefined, 'kubelet', true] as const),
      PatchStrategy.ServerSideApply,
    );
  }

  private async keep(pod: V1Pod, node: HollowNode): Promise<void> {
    const { name = '', namespace = '', uid, deletionTimestamp } = pod.metadata ?? {};
    const { core } = this.client;
    if (deletionTimestamp !== undefined) {
      const body = { gracePeriodSeconds: 0, preconditions: { uid } } as never;
      await core.deleteNamespacedPod({ name, namespace, body });
      return;
    }
    const isNew = pod.status?.startTime === undefined && pod.status?.phase === 'Pending';
    if (!isNew || !(this.networked.has(node.name) || isOnHost(pod))) return;
    await core.patchNamespacedPodStatus({ name, namespace, body: { status: this.statusOf(pod, node) } }, merge);
    if (isNetwork(pod)) await this.connect(node.name);
  }

  private statusOf(pod: V1Pod, { address }: HollowNode): object {
    const ends = pod.spec?.restartPolicy === 'Never';
    this.pods += 1;
    const podIP = isOnHost(pod) ? address : `10.244.${Math.floor(this.pods / 250)}.${(this.pods % 250) + 2}`;
    const condition = (type: string, status: boolean) => ({
      ...{ type, status: status ? 'True' : 'False', lastTransitionTime: now() },
    });
    return {
      phase: ends ? 'Succeeded' : 'Running',
      startTime: now(),
      hostIP: address,
      podIP,
      podIPs: [{ ip: podIP }],
      conditions: [
        condition('PodScheduled', true),
        condition('Initialized', true),
        condition('ContainersReady', !ends),
        condition('Ready', !ends),
      ],
    };
  }

  private async connect(name: string): Promise<void> {
    this.networked.add(name);
    await this.client.core.patchNodeStatus({ name, body: { status: { conditions: conditionsOf(true) } } }, merge);
  }
}
