import { ADDON_WORKLOADS, CNIS, NFS_STORAGE_ADDON } from '@fairlead/contracts';
import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NetworkSettings } from './addon.settings.js';
import { NETWORKS, NFS_STORAGE, PRELOADED_NETWORKS } from './catalogue.js';
import { WRITE_HOSTS } from './kilo.manifests.js';
import { workloadsOf } from './rollout.js';

const golden = goldenBeside(import.meta.url);
const POD_CIDR = '10.244.0.0/16';
const SETTINGS: NetworkSettings = {
  podCidr: POD_CIDR,
  oneSegment: false,
  nftables: false,
  endpoint: { host: '198.18.7.1', port: 6443 },
};

/** Long, and unchanged from upstream. */
const isVendoredDefinition = ({ kind, metadata: { name } }: Manifest): boolean =>
  kind === 'CustomResourceDefinition' && name.endsWith('.projectcalico.org');

/** Manifests for clusters are reviewed as text. Update with UPDATE_GOLDEN=1. */
const expectGolden = (name: string, manifests: readonly Manifest[]): void => {
  const text = manifests
    .filter((manifest) => !isVendoredDefinition(manifest))
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
  golden(`${name}.yaml.golden`, text);
};

interface Container {
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly args?: readonly string[];
  readonly env?: readonly unknown[];
  readonly volumeMounts?: readonly unknown[];
}
interface Pod {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly tolerations: readonly { readonly key?: string; readonly effect?: string; readonly operator?: string }[];
}
const podOf = (manifest: Manifest): Pod =>
  (manifest['spec'] as { readonly template: { readonly spec: Pod } }).template.spec;

const imagesOf = (manifests: readonly Manifest[]): readonly string[] =>
  [...JSON.stringify(manifests).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image ?? '');

it.each(CNIS)('the network %s matches the reviewed text', (cni) =>
  expectGolden(cni, NETWORKS[cni].manifests({ ...SETTINGS, oneSegment: cni === 'flannel' })),
);

it('flannel for hosts that do not pull images matches the reviewed text', () =>
  expectGolden(
    'flannel-preloaded',
    PRELOADED_NETWORKS.flannel?.manifests({ ...SETTINGS, oneSegment: true, nftables: true }) ?? [],
  ));

describe('every network uses the address configured for the kubelet, on hosts with several interfaces', () => {
  const containers = (manifests: readonly Manifest[]) =>
    manifests
      .filter(({ kind }) => kind === 'DaemonSet')
      .flatMap((daemon) => podOf(daemon).containers as readonly unknown[] as readonly Record<string, unknown>[]);
  const hostIp = (name: string) => ({ name, valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } });
  const flanneld = (manifests: readonly Manifest[]) =>
    containers(manifests).find(({ name }) => name === 'kube-flannel');

  it('flannel, from its registry and from a mirror', () => {
    const upstream = flanneld(NETWORKS.flannel.manifests(SETTINGS));
    const preloaded = flanneld(PRELOADED_NETWORKS.flannel?.manifests(SETTINGS) ?? []);
    expect(upstream?.['args']).toContain('--iface=$(NODE_IP)');
    expect(preloaded?.['command']).toContain('--iface=$(NODE_IP)');
    for (const container of [upstream, preloaded]) expect(container?.['env']).toContainEqual(hostIp('NODE_IP'));
  });

  it('canal', () => {
    expect(flanneld(NETWORKS.canal.manifests(SETTINGS))?.['env']).toContainEqual(hostIp('FLANNELD_IFACE'));
  });

  it('calico', () => {
    const [node] = containers(NETWORKS.calico.manifests(SETTINGS));
    expect(node?.['env']).toContainEqual({ name: 'IP_AUTODETECTION_METHOD', value: 'kubernetes-internal-ip' });
  });

  it("kilo, by the address to which the node's name resolves", () => {
    const daemon = NETWORKS.kilo.manifests(SETTINGS).find(({ kind }) => kind === 'DaemonSet');
    const { initContainers: [installed] = [], containers } = podOf(daemon!);
    const [running] = containers;
    expect(installed?.args?.join('')).toContain(WRITE_HOSTS);
    expect(installed?.env).toEqual(expect.arrayContaining([hostIp('NODE_IP')]));
    expect(installed?.volumeMounts).toContainEqual({ name: 'hosts', mountPath: '/hosts' });
    expect(running?.args).toContain('--hostname=$(NODE_NAME)');
    const mounted = { name: 'hosts', mountPath: '/etc/hosts', subPath: 'hosts', readOnly: true };
    expect(running?.volumeMounts).toContainEqual(mounted);
  });

  it('cilium, which takes the InternalIP of the Node: no setting replaces it', () => {
    const [settings] = NETWORKS.cilium.manifests(SETTINGS).filter(({ metadata: { name } }) => name === 'cilium-config');
    const { data = {} } = (settings ?? {}) as { readonly data?: Readonly<Record<string, string>> };
    expect(Object.keys(data)).toContain('cluster-id');
    for (const name of ['devices', 'direct-routing-device', 'ipv4-node'])
      expect([name, data[name] ?? '']).toEqual([name, '']);
  });

  it('names all networks', () =>
    expect([...CNIS].toSorted()).toEqual(['calico', 'canal', 'cilium', 'flannel', 'kilo']));
});

it('a network for hosts that do not pull images pulls none', () => {
  for (const entry of Object.values(PRELOADED_NETWORKS)) {
    const pods = entry
      .manifests(SETTINGS)
      .filter(({ kind }) => kind === 'DaemonSet')
      .map(podOf);
    const containers = pods.flatMap((pod) => [...(pod.initContainers ?? []), ...pod.containers]);
    expect(containers).toHaveLength(imagesOf(entry.manifests(SETTINGS)).length);
    for (const { image, imagePullPolicy } of containers)
      expect([image, imagePullPolicy]).toEqual([expect.stringMatching(/^localhost\//), 'Never']);
  }
});

it('the storage class matches the reviewed text', () =>
  expectGolden('nfs-storage', NFS_STORAGE.manifests({ server: '198.18.7.9', path: '/export' })));

it('the watched workloads of the storage class are those of its manifests', () =>
  expect(workloadsOf(NFS_STORAGE.manifests({ server: '198.18.7.9', path: '/export' }))).toEqual(
    ADDON_WORKLOADS[NFS_STORAGE_ADDON],
  ));

describe.each(CNIS)('the network %s', (cni) => {
  const manifests = NETWORKS[cni].manifests(SETTINGS);

  it('is watched by the workloads of its manifests, with or without pulled images', () => {
    const watched = new Set(ADDON_WORKLOADS[cni]);
    expect(new Set(workloadsOf(manifests))).toEqual(watched);
    const preloaded = PRELOADED_NETWORKS[cni]?.manifests(SETTINGS) ?? manifests;
    expect(new Set(workloadsOf(preloaded))).toEqual(watched);
  });

  it('runs on every node despite taints, and writes the configuration that kubelets wait for', () => {
    const pods = manifests.filter(({ kind }) => kind === 'DaemonSet').map(podOf);
    expect(pods).toEqual([
      expect.objectContaining({
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        volumes: expect.arrayContaining([
          expect.objectContaining({ hostPath: expect.objectContaining({ path: '/etc/cni/net.d' }) }),
        ]),
      }),
    ]);
    // Cilium tolerates every taint with any effect.
    expect(
      pods[0]?.tolerations.some(
        ({ key, effect = 'NoSchedule', operator }) =>
          key === undefined && effect === 'NoSchedule' && operator === 'Exists',
      ),
    ).toBe(true);
  });

  it('contains every object once, and namespaces before their objects', () => {
    const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const made = new Set(['kube-system', 'default']);
    for (const { kind, metadata } of manifests) {
      if (kind === 'Namespace') made.add(metadata.name);
      if (metadata.namespace !== undefined) expect(made).toContain(metadata.namespace);
    }
  });

  it('pins the version of every image', () => {
    const images = imagesOf(manifests);
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(image).toMatch(/:v?\d+\.\d+\.\d+/);
  });
});

it('flannel needs no tunnel if nodes share a segment', () => {
  const network = (oneSegment: boolean): string =>
    JSON.stringify(NETWORKS.flannel.manifests({ ...SETTINGS, oneSegment }).find(({ kind }) => kind === 'ConfigMap'));
  expect(network(true)).toContain('host-gw');
  expect(network(false)).toContain('vxlan');
  expect(network(false)).toContain(POD_CIDR);
});

describe('Cilium', () => {
  const manifests = (oneSegment: boolean): readonly Manifest[] =>
    NETWORKS.cilium.manifests({ ...SETTINGS, oneSegment });
  const configOf = (oneSegment: boolean): unknown =>
    manifests(oneSegment).find(({ metadata }) => metadata.name === 'cilium-config')?.['data'];

  it('needs no tunnel if nodes share a segment, and leaves services to kube-proxy', () => {
    const always = { ipam: 'kubernetes', 'kube-proxy-replacement': 'false' };
    expect(configOf(true)).toMatchObject({
      ...always,
      'routing-mode': 'native',
      'ipv4-native-routing-cidr': POD_CIDR,
      'auto-direct-node-routes': 'true',
    });
    expect(configOf(false)).toMatchObject({ ...always, 'routing-mode': 'tunnel', 'tunnel-protocol': 'vxlan' });
  });

  it('always uses the load-balanced address of the API server', () => {
    const text = JSON.stringify(manifests(true));
    const { host, port } = SETTINGS.endpoint;
    const address = `{"name":"KUBERNETES_SERVICE_HOST","value":"${host}"},{"name":"KUBERNETES_SERVICE_PORT","value":"${port}"}`;
    // The agent, the container that writes its configuration, the one that cleans up before it, and the operator.
    expect(text.split(address)).toHaveLength(4 + 1);
    expect(text.split('KUBERNETES_SERVICE_HOST')).toHaveLength(4 + 1);
    // No placeholder of the chart's values is left.
    expect(text).not.toContain('.invalid');
  });
});

it.each([
  [true, 'CrossSubnet'],
  [false, 'Always'],
])(
  'Calico has the pod CIDR of the cluster and needs a tunnel only between segments (one segment: %s)',
  (oneSegment, vxlan) => {
    const text = JSON.stringify(NETWORKS.calico.manifests({ ...SETTINGS, oneSegment }));
    expect(text).toContain(`{"name":"CALICO_IPV4POOL_CIDR","value":"${POD_CIDR}"}`);
    expect(text).toContain(`{"name":"CALICO_IPV4POOL_VXLAN","value":"${vxlan}"}`);
  },
);

it("Canal's flannel has the pod CIDR of the cluster", () => {
  const settings = NETWORKS.canal
    .manifests({ ...SETTINGS, podCidr: '10.9.0.0/16' })
    .find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'canal-config');
  expect(settings?.['data']).toMatchObject({ 'net-conf.json': expect.stringContaining('"Network":"10.9.0.0/16"') });
});

it('records where each entry was verified', () => {
  expect([...Object.values(NETWORKS), NFS_STORAGE].map(({ verifiedOn }) => verifiedOn)).toEqual(Array(6).fill('lab'));
  expect(Object.values(PRELOADED_NETWORKS).map(({ verifiedOn }) => verifiedOn)).toEqual(['real']);
});

it('every image is pinned by its digest, except those without a published digest', () => {
  const images = imagesOf([
    ...CNIS.flatMap((cni) => NETWORKS[cni].manifests(SETTINGS)),
    ...NFS_STORAGE.manifests({ server: '198.51.100.7', path: '/exports' }),
  ]);
  const byTag = [...new Set(images)].filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image));
  // Listed as such in docs/software.md.
  expect(byTag.toSorted()).toEqual([
    'docker.io/flannel/flannel:v0.24.3',
    'ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1',
    'ghcr.io/flannel-io/flannel:v0.28.4',
    'quay.io/calico/cni:v3.28.5',
    'quay.io/calico/kube-controllers:v3.28.5',
    'quay.io/calico/node:v3.28.5',
    'registry.k8s.io/sig-storage/nfs-subdir-external-provisioner:v4.0.2',
    'squat/kilo:0.6.0',
  ]);
  const { version } = NETWORKS.cilium;
  expect(new Set(images.filter((image) => image.includes('cilium')))).toEqual(
    new Set([
      // From the release notes of this version; a new version needs its own.
      `quay.io/cilium/cilium:${version}@sha256:2939231d0d3e3ebddcd80fffa168b7ddcc78fdf0dc864d1c8c126ff523c54f01`,
      `quay.io/cilium/operator-generic:${version}@sha256:64d8798350e8569b8e7622563fed6e44dce2625f311e4651b774816516c744fc`,
    ]),
  );
});
