import type { Node, Taint } from '../objects/core.types.js';
import type { Condition, Draft } from '../objects/kube.object.js';
import type { NodeRegistration, NodeRole } from './node.registration.js';

export const SIMULATED = 'lab.fairlead.dev/simulated';
export const CONTROL_PLANE_LABEL = 'node-role.kubernetes.io/control-plane';
const CONTROL_PLANE_TAINT: Taint = { key: CONTROL_PLANE_LABEL, effect: 'NoSchedule' };
/** kubeadm's, where it is given none. */
export const defaultTaints = (role: NodeRole): readonly Taint[] =>
  role === 'control-plane' ? [CONTROL_PLANE_TAINT] : [];
/** Of a kubelet with `--cloud-provider=external`. */
export const UNINITIALIZED: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};
/** kubelet's default (`--max-pods`). */
const PODS_MAX = '110';

/** The labels that kubelet and kubeadm set. */
const labelsOf = (node: NodeRegistration): Readonly<Record<string, string>> => ({
  'beta.kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/hostname': node.name,
  'kubernetes.io/os': 'linux',
  ...(node.role === 'control-plane'
    ? { [CONTROL_PLANE_LABEL]: '', 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
    : {}),
  ...node.labels,
});

const ok = (type: string, reason: string, message: string): Condition => ({ type, status: 'False', reason, message });

/** The initial conditions of a kubelet without a network. */
const CONDITIONS: readonly Condition[] = [
  ok('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
  ok('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
  ok('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
];

/** What a running kubelet can lack. */
export type Lack = 'network' | 'runtime';

const LACKS: Readonly<Record<Lack, string>> = {
  network:
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized',
  runtime: 'container runtime is down, PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s',
};

/** Ready is False with the kubelet's message while something is missing. */
export const readyCondition = (lack: Lack | undefined, now: string): Condition => ({
  type: 'Ready',
  status: lack === undefined ? 'True' : 'False',
  reason: lack === undefined ? 'KubeletReady' : 'KubeletNotReady',
  message: lack === undefined ? 'kubelet is posting ready status' : LACKS[lack],
  lastHeartbeatTime: now,
  lastTransitionTime: now,
});

export interface NodeContext {
  readonly now: string;
  readonly podCidr: string | undefined;
  readonly networkReady: boolean;
}

/** The Node object that a joining kubelet registers. */
export const planNode = (node: NodeRegistration, { now, podCidr, networkReady }: NodeContext): Draft<Node> => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: node.name,
    labels: labelsOf(node),
    annotations: {
      [SIMULATED]: 'true',
      'node.alpha.kubernetes.io/ttl': '0',
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      'kubeadm.alpha.kubernetes.io/cri-socket': 'unix:///run/containerd/containerd.sock',
    },
  },
  spec: {
    ...(podCidr === undefined ? {} : { podCIDR: podCidr, podCIDRs: [podCidr] }),
    ...(node.providerID === undefined ? {} : { providerID: node.providerID }),
    taints: node.taints ?? defaultTaints(node.role),
  },
  status: {
    ...resourcesOf(node),
    conditions: [
      ...CONDITIONS.map((condition) => ({ ...condition, lastHeartbeatTime: now, lastTransitionTime: now })),
      readyCondition(networkReady ? undefined : 'network', now),
    ],
    addresses: [
      { type: 'InternalIP', address: node.internalIP },
      { type: 'Hostname', address: node.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: nodeInfoOf(node),
    images: [],
  },
});

const resourcesOf = ({ cpu, memory }: NodeRegistration): object => {
  const capacity = { cpu: String(cpu), 'ephemeral-storage': '40Gi', memory, pods: PODS_MAX };
  return { capacity, allocatable: capacity };
};

const nodeInfoOf = (node: NodeRegistration): Readonly<Record<string, string>> => ({
  architecture: 'amd64',
  bootID: 'simulated',
  containerRuntimeVersion: node.containerRuntimeVersion,
  kernelVersion: node.kernelVersion,
  kubeProxyVersion: '',
  kubeletVersion: node.kubeletVersion,
  machineID: 'simulated',
  operatingSystem: 'linux',
  osImage: node.osImage,
  systemUUID: 'simulated',
});

export const roleOf = (node: Node): NodeRole =>
  node.metadata.labels?.[CONTROL_PLANE_LABEL] === undefined ? 'worker' : 'control-plane';

export const internalAddress = (node: Node): string =>
  node.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '127.0.0.1';
