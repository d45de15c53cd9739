import { describe, expect, it } from '@jest/globals';
import { ExternalFailure } from './failures.js';
import {
  imagesFor,
  MIRROR_FORMAT,
  mirrorLocation,
  mirrorPaths,
  OFFICIAL_RELEASES,
  parseCatalogue,
  partOf,
} from './mirror.js';
import { imagesOf, releaseOf } from './software.js';

const SHA = 'a'.repeat(64);
const VERSIONS = ['v1.33.13', 'v1.34.4'];

const releaseEntry = (version: string) => ({
  version,
  components: [{ name: 'etcd', version: '3.6.8', standsInFor: '3.6.5' }],
  binaries: [mirrorPaths.binary(version, 'kubelet')],
  cniPlugins: mirrorPaths.cniPlugins('v1.9.1'),
  images: [
    {
      name: 'etcd',
      reference: 'registry.k8s.io/etcd:3.6.5-0',
      path: mirrorPaths.image(version, 'etcd'),
      roles: ['control-plane'],
    },
  ],
  tools: [mirrorPaths.etcdTool('3.6.8', 'etcdctl')],
  conformance: [mirrorPaths.conformance(version, 'e2e.test')],
});

const catalogueJson = () => {
  const releases = VERSIONS.map(releaseEntry);
  const paths = releases.flatMap((release) => [
    ...release.binaries,
    release.cniPlugins,
    ...release.images.map(({ path }) => path),
    ...release.tools,
    ...release.conformance,
  ]);
  return {
    format: MIRROR_FORMAT,
    platform: 'linux/amd64',
    releases,
    images: [
      {
        name: 'busybox',
        reference: 'localhost/busybox:1',
        path: mirrorPaths.sharedImage('busybox', '1'),
        roles: ['control-plane', 'worker'],
      },
    ],
    packages: [],
    files: [...new Set([...paths, 'images/busybox-1.tar'])].map((path) => ({ path, size: 1, sha256: SHA })),
  };
};
const read = (json: unknown) => parseCatalogue(JSON.stringify(json), '/mirror');

describe('the paths of a mirror', () => {
  it('are those of the official release site', () => {
    expect(mirrorPaths.binary('v1.34.4', 'kubeadm')).toBe('release/v1.34.4/bin/linux/amd64/kubeadm');
    expect(mirrorPaths.cniPlugins('v1.9.1')).toBe('cni-plugins/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz');
  });

  it('are below the location, whether it is a URL or a folder', () => {
    expect(mirrorLocation('https://mirror.example/k8s/', 'catalogue.json')).toBe(
      'https://mirror.example/k8s/catalogue.json',
    );
    expect(mirrorLocation('/opt/fairlead/mirror', 'catalogue.json')).toBe('/opt/fairlead/mirror/catalogue.json');
  });

  it('lead to the upstream of the CNI plugins if the location is the official Kubernetes site', () => {
    expect(mirrorLocation(OFFICIAL_RELEASES, mirrorPaths.cniPlugins('v1.9.1'))).toBe(
      'https://github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz',
    );
  });
});

describe('a catalogue', () => {
  it('lists no control plane images for a worker', () => {
    const catalogue = read(catalogueJson());
    expect(imagesFor(catalogue, 'v1.34.4', 'worker').map(({ name }) => name)).toEqual(['busybox']);
    expect(imagesFor(catalogue, 'v1.34.4', 'control-plane').map(({ name }) => name)).toEqual(['etcd', 'busybox']);
  });

  it('may have fields that this reader does not know', () => {
    expect(read({ ...catalogueJson(), signedBy: 'somebody' }).releases).toHaveLength(2);
  });

  it.each(['../kubelet', '/etc/passwd', 'release/../../etc/passwd', 'release//kubelet'])(
    'cannot name a file outside its mirror: %s',
    (path) => {
      const json = catalogueJson();
      expect(() => read({ ...json, files: [...json.files, { path, size: 1, sha256: SHA }] })).toThrow(ExternalFailure);
    },
  );

  it('is refused when it names a file without its checksum', () => {
    const json = catalogueJson();
    expect(() => read({ ...json, files: json.files.slice(1) })).toThrow(/release\/v1\.33\.13.*without its checksum/);
  });

  it('is refused with the fault if it has another format, or is not JSON', () => {
    expect(() => read({ ...catalogueJson(), format: 'fairlead-mirror/2' })).toThrow(/^format: /);
    expect(() => parseCatalogue('<html>', 'https://mirror.example')).toThrow(/not JSON/);
  });
});

describe('the part of a mirror for a version', () => {
  it('has the files of that version and the shared ones, without conformance tools', () => {
    const part = partOf(read(catalogueJson()), ['v1.34.4'], '/mirror');
    expect(part.files.map(({ path }) => path)).toEqual([
      'cni-plugins/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz',
      'tools/etcd-3.6.8/etcdctl',
      'release/v1.34.4/bin/linux/amd64/kubelet',
      'images/v1.34.4/etcd.tar',
      'images/busybox-1.tar',
    ]);
    expect(read(part)).toEqual(part);
  });

  it('is refused for a missing version, with the versions that exist', () => {
    expect(() => partOf(read(catalogueJson()), ['v1.35.4'], '/mirror')).toThrow(
      'it has no v1.35.4, only v1.33.13, v1.34.4',
    );
  });
});

describe('the images of a release', () => {
  it('are those that its kubeadm lists', () => {
    const release = releaseOf('v1.34.4');
    if (release === undefined) throw new Error('v1.34.4 is a known release');
    // `kubeadm config images list --kubernetes-version v1.34.4` of kubeadm v1.34.4.
    expect(imagesOf(release).map(({ reference }) => reference)).toEqual([
      'registry.k8s.io/kube-apiserver:v1.34.4',
      'registry.k8s.io/kube-controller-manager:v1.34.4',
      'registry.k8s.io/kube-scheduler:v1.34.4',
      'registry.k8s.io/etcd:3.6.5-0',
      'registry.k8s.io/kube-proxy:v1.34.4',
      'registry.k8s.io/coredns/coredns:v1.12.1',
      'registry.k8s.io/pause:3.10.1',
    ]);
    expect(imagesOf(release, 'mirror.example/k8s')[5]?.reference).toBe('mirror.example/k8s/coredns:v1.12.1');
  });
});
