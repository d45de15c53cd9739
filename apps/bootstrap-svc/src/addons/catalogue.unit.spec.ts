import { CNIS } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { NETWORKS, NFS_STORAGE, PRELOADED_NETWORKS, type NetworkSettings } from './catalogue.js';

const GOLDEN = fileURLToPath(new URL('golden/', import.meta.url));
const POD_CIDR = '10.244.0.0/16';
const SETTINGS: NetworkSettings = {
  podCidr: POD_CIDR,
  oneSegment: false,
  nftables: false,
  endpoint: { host: '198.18.7.1', port: 6443 },
};

/** What is applied to clusters is reviewed as text. Update with UPDATE_GOLDEN=1. */
const expectGolden = (name: string, manifests: readonly Manifest[]): void => {
  const text = manifests
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
  const file = `${GOLDEN}${name}.yaml.golden`;
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(GOLDEN, { recursive: true });
    writeFileSync(file, text);
  }
  expect(text).toBe(readFileSync(file, 'utf8'));
};

it.each(CNIS)('the network %s is the text that was reviewed', (cni) =>
  expectGolden(cni, NETWORKS[cni].manifests({ ...SETTINGS, oneSegment: cni === 'flannel' })),
);

it('flannel for hosts that pull no images is the text that was reviewed', () =>
  expectGolden(
    'flannel-preloaded',
    PRELOADED_NETWORKS.flannel?.manifests({ ...SETTINGS, oneSegment: true, nftables: true }) ?? [],
  ));

it('a network for hosts that pull no images has none pulled', () => {
  for (const entry of Object.values(PRELOADED_NETWORKS)) {
    const text = JSON.stringify(entry.manifests(SETTINGS));
    const images = [...text.matchAll(/"image":"([^"]+)","imagePullPolicy":"([^"]+)"/g)].map(([, ...found]) => found);
    expect(images).toHaveLength(text.split('"image":').length - 1);
    for (const [image, policy] of images)
      expect([image, policy]).toEqual([expect.stringMatching(/^localhost\//), 'Never']);
  }
});

it('the storage class is the text that was reviewed', () =>
  expectGolden('nfs-storage', NFS_STORAGE.manifests({ server: '198.18.7.9', path: '/export' })));

describe.each(CNIS)('the network %s', (cni) => {
  const manifests = NETWORKS[cni].manifests(SETTINGS);
  const text = JSON.stringify(manifests);

  it('runs on every node, also where nothing else may, and writes the configuration that kubelets wait for', () => {
    const daemons = manifests.filter(({ kind }) => kind === 'DaemonSet');
    expect(daemons).toHaveLength(1);
    const daemon = JSON.stringify(daemons);
    expect(daemon).toContain('"hostPath":{"path":"/etc/cni/net.d"');
    expect(daemon).toContain('{"operator":"Exists","effect":"NoSchedule"}');
  });

  it('names every object once, and namespaces before what is in them', () => {
    const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    const made = new Set(['kube-system', 'default']);
    for (const { kind, metadata } of manifests) {
      if (kind === 'Namespace') made.add(metadata.name);
      if (metadata.namespace !== undefined) expect(made).toContain(metadata.namespace);
    }
  });

  it('pins the version of every image', () => {
    const images = [...text.matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image);
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(image).toMatch(/:v?\d+\.\d+\.\d+/);
  });
});

it('flannel needs no tunnel where nodes share a segment', () => {
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

  it('needs no tunnel where nodes share a segment, and leaves services to kube-proxy everywhere', () => {
    const always = { ipam: 'kubernetes', 'kube-proxy-replacement': 'false' };
    expect(configOf(true)).toMatchObject({
      ...always,
      'routing-mode': 'native',
      'ipv4-native-routing-cidr': POD_CIDR,
      'auto-direct-node-routes': 'true',
    });
    expect(configOf(false)).toMatchObject({ ...always, 'routing-mode': 'tunnel', 'tunnel-protocol': 'vxlan' });
  });

  it('asks the API server by the balanced address wherever it asks it', () => {
    const text = JSON.stringify(manifests(true));
    const { host, port } = SETTINGS.endpoint;
    const address = `{"name":"KUBERNETES_SERVICE_HOST","value":"${host}"},{"name":"KUBERNETES_SERVICE_PORT","value":"${port}"}`;
    // The agent, what writes its configuration, what cleans up before it, and the operator.
    expect(text.split('"name":"K8S_NODE_NAME"')).toHaveLength(4 + 1);
    expect(text.split(address)).toHaveLength(4 + 1);
  });

  it('may change each kind that it may make, and no kind of others', () => {
    const rules = manifests(true)
      .filter(({ kind }) => kind === 'ClusterRole')
      .flatMap((role) => role['rules'] as readonly { resourceNames?: readonly string[]; verbs: readonly string[] }[]);
    const names = rules.flatMap(({ resourceNames, verbs }) => (verbs.includes('update') ? (resourceNames ?? []) : []));
    expect(names).toHaveLength(21);
    for (const name of names) expect(name).toMatch(/^cilium[a-z0-9]+\.cilium\.io$/);
  });
});

it('says honestly on what each entry was seen to work', () => {
  expect([...Object.values(NETWORKS), NFS_STORAGE].map(({ verifiedOn }) => verifiedOn)).toEqual(Array(6).fill('lab'));
  expect(Object.values(PRELOADED_NETWORKS).map(({ verifiedOn }) => verifiedOn)).toEqual(['real']);
});
