import {
  imagesOf,
  ExternalFailure,
  type KubernetesRelease,
  type NodeRole,
  type ReleaseImage,
  type StoredEvent,
} from '@fairlead/contracts';
import { leaves } from '@fairlead/kubernetes/drain';
import type { NodeView, PodView } from '../kubernetes/kubernetes.ports.js';
import { versionOfImage } from '../kubernetes/image.version.js';
import type { BudgetFacts, EtcdFacts, PodFacts, StaticPodFacts } from '../rules/cluster.facts.js';
import type { BudgetView } from '../kubernetes/kubernetes.ports.js';

const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'] as const;

export const staticPodFacts = (pods: readonly PodView[], node: string): readonly StaticPodFacts[] =>
  pods.flatMap((pod) => {
    const component = COMPONENTS.find((name) => name === pod.labels['component']);
    if (pod.node !== node || !pod.mirror || component === undefined) return [];
    const { image, ready, args, volumes, sidecars, environment, requests, limits } = pod;
    const seen = { args, volumes, sidecars, environment, requests, limits };
    return [{ component, version: versionOfImage(image), image, ready, ...seen }];
  });

/** The kube-proxy version on a node; null: none. */
export const kubeProxyOn = (pods: readonly PodView[], node: string): string | null => {
  const pod = pods.find((one) => one.node === node && one.labels['k8s-app'] === 'kube-proxy');
  return pod === undefined ? null : versionOfImage(pod.image);
};

export const podFacts = (pods: readonly PodView[], nodes: ReadonlySet<string>): readonly PodFacts[] =>
  pods
    .filter((pod) => leaves(pod) && nodes.has(pod.node))
    .map(({ namespace, name, node, requests, controller, emptyDir }) => ({
      name: `${namespace}/${name}`,
      node: node as PodFacts['node'],
      requests,
      bare: controller === null,
      emptyDir,
    }));

/** Limit of comparisons between budgets and pods of the same namespace; they block the event loop. */
const COMPARISONS_MAX = 1_000_000;

const byNamespace = (pods: readonly PodView[]): ReadonlyMap<string, readonly PodView[]> => {
  const grouped = new Map<string, PodView[]>();
  for (const pod of pods) {
    const known = grouped.get(pod.namespace);
    if (known === undefined) grouped.set(pod.namespace, [pod]);
    else known.push(pod);
  }
  return grouped;
};

/** Throws ExternalFailure if a hostile API server lists more budgets and pods than this limit allows. */
export const budgetFacts = (budgets: readonly BudgetView[], pods: readonly PodView[]): readonly BudgetFacts[] => {
  const grouped = byNamespace(pods);
  const near = budgets.map((budget) => ({ budget, candidates: grouped.get(budget.namespace) ?? [] }));
  if (near.reduce((sum, { candidates }) => sum + candidates.length, 0) > COMPARISONS_MAX)
    throw new ExternalFailure({
      operation: 'compare disruption budgets with pods',
      target: 'the cluster',
      message: `there are too many in the same namespaces: more than ${COMPARISONS_MAX} comparisons`,
    });
  return near.map(({ budget, candidates }) => ({
    name: `${budget.namespace}/${budget.name}`,
    disruptionsAllowed: budget.disruptionsAllowed,
    pods: candidates.filter((pod) => budget.covers(pod)).map(({ namespace, name }) => `${namespace}/${name}`),
  }));
};

/**
 * Assumed size of an image of which the node has no version yet: kube-apiserver, the largest Kubernetes image, unpacked
 * and rounded up.
 */
const IMAGE_BYTES_UNKNOWN = 150 * 1024 ** 2;
/** B9: twice the etcd data, because kubeadm keeps a copy while it upgrades etcd. */
const ETCD_DATA_TIMES = 2;

const repositoryOf = (reference: string): string => reference.replace(/@.*/, '').replace(/:[^:/]*$/, '');

const bytesOf = ({ images }: NodeView, { reference }: ReleaseImage): number => {
  if (images.some(({ names }) => names.includes(reference))) return 0;
  const known = images.filter(({ names }) => names.some((name) => repositoryOf(name) === repositoryOf(reference)));
  return known.length === 0 ? IMAGE_BYTES_UNKNOWN : Math.max(...known.map(({ bytes }) => bytes));
};

export interface Needs {
  readonly release: KubernetesRelease | undefined;
  readonly role: NodeRole;
  readonly etcd: EtcdFacts | null;
}

/** Disk space that the node needs for this release. An image present in another version is assumed to keep its size. */
export const neededBytes = (node: NodeView, { release, role, etcd }: Needs): number => {
  const images = release === undefined ? [] : imagesOf(release).filter(({ roles }) => roles.includes(role));
  const member = etcd?.members.find(({ name }) => name === node.name);
  return images.reduce((sum, image) => sum + bytesOf(node, image), (member?.dbBytes ?? 0) * ETCD_DATA_TIMES);
};

/**
 * Since 1.33, kubeadm points a control plane's kubelet to the local API server on init, join and upgrade
 * (ControlPlaneKubeletLocalMode).
 */
const LOCAL_MODE_MINOR = 33;

export const kubeletTalksToLocalApi = (role: NodeRole, kubeletVersion: string): boolean | null => {
  const minor = Number(/^v?1\.(\d+)/.exec(kubeletVersion)?.[1] ?? NaN);
  return role === 'worker' || Number.isNaN(minor) ? null : minor >= LOCAL_MODE_MINOR ? true : null;
};

/** The latest report of each node. */
export const certificatesIn = (
  events: readonly StoredEvent[],
  uid: string,
): ReadonlyMap<string, readonly { readonly name: string; readonly expiresAt: string }[]> =>
  new Map(
    events.flatMap((event) =>
      event.type === 'CertificatesReported' && event.data.uid === uid
        ? [[event.data.node, event.data.certificates] as const]
        : [],
    ),
  );

/** The latest snapshot of this incarnation of the cluster. */
export const lastSnapshotIn = (
  events: readonly StoredEvent[],
  uid: string,
): { readonly at: string; readonly name: string } | null => {
  const taken = events.findLast((event) => event.type === 'EtcdSnapshotTaken' && event.data.uid === uid);
  return taken?.type === 'EtcdSnapshotTaken' ? { at: taken.meta.time, name: taken.data.snapshot } : null;
};
