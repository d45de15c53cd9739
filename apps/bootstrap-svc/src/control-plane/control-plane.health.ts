import { EXTERNAL_ETCD, type ClusterSpec, type Machine } from '@fairlead/contracts';
import type { KubernetesCluster, StaticPodView } from '../kubernetes/kubernetes.ports.js';

const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** What runs on every control plane as a static pod. */
const componentsOf = (etcd: ClusterSpec['kubernetes']['etcd']): readonly string[] => [
  etcd === 'local' ? 'etcd' : EXTERNAL_ETCD.component,
  ...COMPONENTS,
];

const podProblems = (
  components: readonly string[],
  { name }: Machine,
  pods: readonly StaticPodView[],
): readonly string[] =>
  components
    .filter((component) => !pods.some((pod) => pod.node === name && pod.labels['component'] === component && pod.ready))
    .map((component) => `${component} on ${name} is not ready`);

/**
 * What is wrong with the control plane, one sentence each; empty: nothing. Gate of a control plane: the balanced address
 * answers `/readyz`, the kubelets' probes of API server, etcd, controller manager and scheduler succeed on each node, and
 * every API server has registered its own address (upgrade safety, C5). An external etcd
 * has no pods, only those of its tools: `/readyz` asks it, and bootstrap has asked every member.
 */
export const controlPlaneProblems = async (
  cluster: KubernetesCluster,
  machines: readonly Machine[],
  etcd: ClusterSpec['kubernetes']['etcd'],
): Promise<readonly string[]> => {
  // One question after the other: a cluster's first connection serves them all.
  const failing = await cluster.failingChecks();
  const pods = await cluster.staticPods();
  const addresses = await cluster.apiServerAddresses();
  return [
    ...failing.map((check) => `/readyz says that ${check} fails`),
    ...machines.flatMap((machine) => podProblems(componentsOf(etcd), machine, pods)),
    ...machines
      .filter(({ privateIp }) => !addresses.includes(privateIp))
      .map(({ name, privateIp }) => `the API server of ${name} does not advertise ${privateIp}`),
  ];
};
