import {
  compareVersions,
  EXTERNAL_ETCD,
  KUBERNETES_RELEASES,
  releaseOf,
  type KubernetesRelease,
} from '@fairlead/contracts';
import type { Node, Pod } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { internalAddress } from '../nodes/node.planner.js';
import { create, remove, type Operation } from '../operations/operation.js';
import { PODS } from '../resources/builtin.resources.js';

/**
 * Image tags that this version's kubeadm installs. A patch release newer than all known ones of its minor uses the tags
 * of the latest known one.
 */
export const companionsOf = (version: string): Pick<KubernetesRelease, 'etcd' | 'coredns' | 'pause'> => {
  const known = releaseOf(version) ?? newestUpTo(version) ?? KUBERNETES_RELEASES[0];
  if (known === undefined) throw new Error('no releases are known');
  return known;
};

const newestUpTo = (version: string): KubernetesRelease | undefined =>
  KUBERNETES_RELEASES.findLast((release) => compareVersions(release.version, version) <= 0);

/**
 * Versions that etcd reports on real hosts where kubeadm's etcd cannot be built and another patch release is used under
 * the same tag.
 */
const STAND_INS: Readonly<Record<string, string>> = { '3.5.24-0': '3.5.35', '3.6.5-0': '3.6.8', '3.6.6-0': '3.6.8' };

/** The version that the server of an etcd image reports. */
export const etcdReportedBy = (image: string): string => {
  const tag = image.slice(image.lastIndexOf(':') + 1);
  return STAND_INS[tag] ?? /^(\d+\.\d+\.\d+)/.exec(tag)?.[1] ?? '';
};

const KUBE_SYSTEM = 'kube-system';
export const REGISTRY = 'registry.k8s.io';
export const CONTROL_PLANE_COMPONENTS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
] as const;
export type ControlPlaneComponent = (typeof CONTROL_PLANE_COMPONENTS)[number];

const imageOf = (component: ControlPlaneComponent, version: string): string =>
  component === 'etcd' ? `${REGISTRY}/etcd:${companionsOf(version).etcd}` : `${REGISTRY}/${component}:${version}`;

const ADVERTISED: Readonly<Record<ControlPlaneComponent, (address: string) => Readonly<Record<string, string>>>> = {
  etcd: (address) => ({ 'kubeadm.kubernetes.io/etcd.advertise-client-urls': `https://${address}:2379` }),
  'kube-apiserver': (address) => ({
    'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint': `${address}:6443`,
  }),
  'kube-controller-manager': () => ({}),
  'kube-scheduler': () => ({}),
};

/** Extra flags in kubeadm's configuration, by component. */
export type ComponentFlags = Readonly<Record<string, readonly string[]>>;

/** The settings of the manifests on a control plane. */
interface Manifests {
  readonly version: string;
  readonly flags: ComponentFlags;
}

/** The mirror pod of one of a control plane's static pods. */
const planStaticPod = (node: Node, component: ControlPlaneComponent, { version, flags }: Manifests): Draft<Pod> => {
  const own = flags[component] ?? [];
  const address = internalAddress(node);
  const hash = [component, version, ...own].join('-');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${component}-${node.metadata.name}`,
      namespace: KUBE_SYSTEM,
      labels: { component, tier: 'control-plane' },
      annotations: {
        'kubernetes.io/config.hash': hash,
        'kubernetes.io/config.mirror': hash,
        'kubernetes.io/config.source': 'file',
        ...ADVERTISED[component](address),
      },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name: node.metadata.name, uid: node.metadata.uid, controller: true },
      ],
    },
    spec: {
      nodeName: node.metadata.name,
      hostNetwork: true,
      priorityClassName: 'system-node-critical',
      restartPolicy: 'Always',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      containers: [
        {
          name: component,
          image: imageOf(component, version),
          command: [component, ...own],
          resources: {
            requests: component === 'etcd' ? { cpu: '100m', memory: '100Mi' } : { cpu: CPU_REQUESTS[component] },
          },
        },
      ],
    },
  };
};

const CPU_REQUESTS: Readonly<Record<Exclude<ControlPlaneComponent, 'etcd'>, string>> = {
  'kube-apiserver': '250m',
  'kube-controller-manager': '200m',
  'kube-scheduler': '100m',
};

/** Fairlead's pod with the tools of an external etcd, otherwise like kubeadm's etcd pod. */
const planEtcdctl = (node: Node, image: string): Draft<Pod> => {
  const { metadata, spec, ...rest } = planStaticPod(node, 'etcd', { version: '', flags: {} });
  const component = EXTERNAL_ETCD.component;
  const labels = { ...metadata.labels, component };
  const name = `${component}-${node.metadata.name}`;
  const container = { name: component, image, command: ['etcd', 'gateway', 'start'] };
  return { ...rest, metadata: { ...metadata, name, labels }, spec: { ...spec, containers: [container] } };
};

export const isMirrorPod = (pod: Pod): boolean =>
  pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;

export interface StaticPodsWorld extends Manifests {
  readonly node: Node;
  /** If true, etcd has no static pod. */
  readonly externalEtcd: boolean;
  /** The image of the pod with the etcd tools; undefined if it has no manifest. */
  readonly etcdctl: string | undefined;
  /** The pods on the node. */
  readonly pods: readonly Pod[];
}

/**
 * Operations of a control plane's kubelet on its static pods: it runs missing ones and first stops those of another
 * version.
 */
export const planStaticPods = (world: StaticPodsWorld): readonly Operation[] => {
  const { node, version, flags, pods, externalEtcd, etcdctl } = world;
  const components = CONTROL_PLANE_COMPONENTS.filter((component) => component !== 'etcd' || !externalEtcd);
  const drafts = components.map((component) => planStaticPod(node, component, { version, flags }));
  if (etcdctl !== undefined) drafts.push(planEtcdctl(node, etcdctl));
  return drafts.flatMap((draft) => {
    const running = pods.find(
      ({ metadata }) => metadata.name === draft.metadata.name && metadata.namespace === KUBE_SYSTEM,
    );
    if (running === undefined) return [create(PODS, draft, 'its manifest is there')];
    const [now, desired] = [running.spec.containers[0], draft.spec.containers[0]];
    const isSame = now?.image === desired?.image && now?.command?.join(' ') === desired?.command?.join(' ');
    return isSame ? [] : [remove(PODS, running, 'its manifest has changed', 0)];
  });
};
