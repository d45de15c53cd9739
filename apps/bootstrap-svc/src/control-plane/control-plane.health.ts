import type { Machine } from '@fairlead/contracts';
import type { KubernetesCluster, StaticPodView } from '../kubernetes/kubernetes.ports.js';

/** What kubeadm runs on every control plane with stacked etcd. */
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

const podProblems = ({ name }: Machine, pods: readonly StaticPodView[]): readonly string[] =>
  COMPONENTS.filter(
    (component) => !pods.some((pod) => pod.node === name && pod.component === component && pod.ready),
  ).map((component) => `${component} on ${name} is not ready`);

/**
 * What is wrong with the control plane, one sentence each; empty: nothing. Gate of a control plane: the balanced address
 * answers `/readyz`, the kubelets' probes of API server, etcd, controller manager and scheduler succeed on each node, and
 * every API server has registered its own address (upgrade safety, C5).
 */
export const controlPlaneProblems = async (
  cluster: KubernetesCluster,
  machines: readonly Machine[],
): Promise<readonly string[]> => {
  // One question after the other: a cluster's first connection serves them all.
  const failing = await cluster.failingChecks();
  const pods = await cluster.staticPods();
  const addresses = await cluster.apiServerAddresses();
  return [
    ...failing.map((check) => `/readyz says that ${check} fails`),
    ...machines.flatMap((machine) => podProblems(machine, pods)),
    ...machines
      .filter(({ privateIp }) => !addresses.includes(privateIp))
      .map(({ name, privateIp }) => `the API server of ${name} does not advertise ${privateIp}`),
  ];
};
