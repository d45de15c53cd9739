import { EXTERNAL_ETCD, type ClusterSpec, type Machine } from '@fairlead/contracts';
import type { KubernetesCluster, StaticPodView } from '../kubernetes/kubernetes.ports.js';

const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** Static pods of every control plane. */
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
 * The problems of the control plane, one sentence each; empty: none. The gate of a control plane: the load-balanced
 * address answers `/readyz`, the kubelets' probes of API server, etcd, controller manager and scheduler succeed on each
 * node, and every API server has registered its own address (upgrade safety, C5). An external etcd has only the pods of
 * its tools: `/readyz` covers it, and bootstrap has checked every member.
 */
export const controlPlaneProblems = async (
  cluster: KubernetesCluster,
  machines: readonly Machine[],
  etcd: ClusterSpec['kubernetes']['etcd'],
): Promise<readonly string[]> => {
  // Sequential, so that the cluster's first connection serves all requests.
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
