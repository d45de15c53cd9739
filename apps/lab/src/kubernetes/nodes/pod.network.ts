import { addressRange } from '../admission/service.addresses.js';
import { isReady, type Node, type Pod } from '../objects/core.types.js';

/** kube-controller-manager's default for IPv4 (--node-cidr-mask-size). */
export const NODE_CIDR_MASK_DEFAULT = 24;

export interface PodNetwork {
  readonly podCidr: string;
  /** Prefix length of each node's range. */
  readonly nodeCidrMask: number;
}

/** The first free node range of the pod network, or undefined if all are in use or the network is smaller than one. */
export const freeNodeCidr = ({ podCidr, nodeCidrMask }: PodNetwork, nodes: readonly Node[]): string | undefined => {
  const used = new Set(nodes.map(({ spec }) => spec.podCIDR));
  const range = addressRange(podCidr);
  const size = 2 ** (32 - nodeCidrMask);
  for (let offset = 0; offset + size <= range.size; offset += size) {
    const cidr = `${range.at(offset)}/${nodeCidrMask}`;
    if (!used.has(cidr)) return cidr;
  }
  return undefined;
};

/** The first free address of a node's range; the first two are the network and its bridge. */
export const freePodAddress = (nodeCidr: string, pods: readonly Pod[]): string => {
  const used = new Set(pods.map(({ status }) => status?.podIP));
  const range = addressRange(nodeCidr);
  for (let offset = 2; offset < range.size - 1; offset += 1) {
    if (!used.has(range.at(offset))) return range.at(offset);
  }
  throw new Error(`the pod range ${nodeCidr} has no free address left`);
};

const CNI_FOLDER = '/etc/cni';

/** Whether the pod is a network plugin: it mounts the host's CNI folder to write its configuration. */
export const isNetworkPlugin = (pod: Pod): boolean =>
  (pod.spec.volumes ?? []).some(({ hostPath }) => hostPath?.path.startsWith(CNI_FOLDER));

/** Whether a network plugin is ready on the node of these pods. */
export const runsNetworkPlugin = (podsOfNode: readonly Pod[]): boolean =>
  podsOfNode.some((pod) => isNetworkPlugin(pod) && isReady(pod));
