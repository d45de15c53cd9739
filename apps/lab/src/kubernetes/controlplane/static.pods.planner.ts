import { EXTERNAL_ETCD, parseVersion } from '@fairlead/contracts';
import type { Node, Pod } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { internalAddress } from '../nodes/node.planner.js';
import { create, remove, type Operation } from '../operations/operation.js';
import { PODS } from '../resources/builtin.resources.js';

/** Which etcd and CoreDNS kubeadm installs with a minor version (kubeadm's constants; the newest listed one stands for later minors). */
const COMPANIONS: readonly {
  readonly minor: number;
  readonly etcd: string;
  /** What that etcd says of itself: on real hosts another patch stands in under kubeadm's tag where kubeadm's own cannot be built. */
  readonly etcdReports: string;
  readonly coredns: string;
  readonly pause: string;
}[] = [
  { minor: 31, etcd: '3.5.15-0', etcdReports: '3.5.15', coredns: 'v1.11.3', pause: '3.10' },
  { minor: 32, etcd: '3.5.16-0', etcdReports: '3.5.16', coredns: 'v1.11.3', pause: '3.10' },
  { minor: 33, etcd: '3.5.24-0', etcdReports: '3.5.35', coredns: 'v1.12.0', pause: '3.10' },
  { minor: 34, etcd: '3.6.5-0', etcdReports: '3.6.8', coredns: 'v1.12.1', pause: '3.10.1' },
  { minor: 35, etcd: '3.6.6-0', etcdReports: '3.6.8', coredns: 'v1.13.1', pause: '3.10.1' },
  { minor: 36, etcd: '3.6.8-0', etcdReports: '3.6.8', coredns: 'v1.14.2', pause: '3.10.2' },
];

const minorOf = (version: string): number => parseVersion(version)?.minor ?? 0;

export const companionsOf = (version: string): (typeof COMPANIONS)[number] => {
  const known = COMPANIONS.filter(({ minor }) => minor <= minorOf(version)).at(-1) ?? COMPANIONS[0];
  if (known === undefined) throw new Error('no companion versions are listed');
  return known;
};

/** What the server of an image of etcd reports of itself. */
export const etcdReportedBy = (image: string): string =>
  COMPANIONS.find(({ etcd }) => image.endsWith(`:${etcd}`))?.etcdReports ?? /:(\d+\.\d+\.\d+)/.exec(image)?.[1] ?? '';

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

/** What the manifests on a control plane say. */
interface Manifests {
  readonly version: string;
  readonly flags: ComponentFlags;
}

/** The mirror pod by which a control plane's kubelet shows one of its static pods. */
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

/** The pod of ours that has the tools of an external etcd; the rest is like kubeadm's own etcd. */
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
  /** etcd runs elsewhere: it has no static pod. */
  readonly externalEtcd: boolean;
  /** The image of the pod with its tools; undefined: there is no manifest of it. */
  readonly etcdctl: string | undefined;
  /** The pods that are on it. */
  readonly pods: readonly Pod[];
}

/** What a control plane's kubelet does about its static pods: missing ones are run, those of another version end first. */
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
