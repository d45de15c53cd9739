import { describe, expect, it } from '@jest/globals';
import { NODE_BINARIES, releaseOf } from '@fairlead/contracts';
import { QUESTIONS, type Question } from '../../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS, recordedOfApt } from '../../../../test/recorded/recorded.js';
import { MemoryHost } from '../../test/memory.host.js';
import { certificatesOn, type SeenCertificates } from '../certificates/certificates.js';
import { imageOf, memberIn } from '../change/etcd.manifest.js';
import { writeNewManifests } from '../change/kubeadm.manifests.js';
import { serverIn } from '../change/kubelet.server.js';
import { runningOf } from '../change/running.containers.js';
import { aptPackages, NEEDS_UPDATE, parseInstalled, parseMadison } from './apt.packages.js';
import { containerdConfig, pauseImageOf } from './containerd.config.js';
import { containerdItem } from './containerd.item.js';
import { distributionIds, distributionOf } from './distribution.js';
import { missingImages } from './images.js';
import { versionIn } from './kubernetes.binaries.js';
import { swapItem } from './swap.item.js';

describe.each(RECORDED_VERSIONS)('the output of real tools on a control plane of %s', (kubernetes) => {
  const said = (question: Question): string => recorded(kubernetes, QUESTIONS[question]);

  it('contains the version of each of Kubernetes own programs', () => {
    for (const name of NODE_BINARIES) expect(`v${versionIn(name, said(name))}`).toBe(kubernetes);
  });

  it('contains which packages are installed, at which upstream version, and held', () => {
    expect([...parseInstalled(said('installed'))]).toEqual([
      ['conntrack', { version: '1.4.8', held: false }],
      ['containerd', { version: '1.7.24', held: true }],
      ['runc', { version: '1.1.15', held: false }],
    ]);
  });

  it('contains which versions the repositories offer', () => expect(parseMadison(said('offered'))).toContain('1.7.24'));

  it('contains whether the lists of apt lack a version', () => {
    expect(said('unknownPackage')).toMatch(NEEDS_UPDATE);
    expect(said('unknownVersion')).toMatch(NEEDS_UPDATE);
  });

  it('contains which images are missing', () => {
    const image = (reference: string) => ({ name: reference, reference, path: 'x', roles: [] });
    const desired = [image(pauseImageOf(kubernetes.slice(1))), image('registry.k8s.io/pause:0.1')];
    expect(missingImages(desired, said('importedImages'))).toEqual([desired[1]]);
  });

  it('contains which container of a static pod is running', () =>
    expect(runningOf(said('etcdContainers'), said('tasks'))).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]));

  it('contains the distribution', () => expect(distributionIds(said('osRelease'))).toEqual(['debian']));

  it("contains its etcd member, in kubeadm's manifest", () => {
    const manifest = said('etcdManifest');
    expect(memberIn(manifest)).toEqual({
      name: 'cp-1',
      peerUrl: expect.stringMatching(/^https:\/\/198\.18\.64\.\d+:2380$/),
      dataFolder: '/var/lib/etcd',
      walFolder: null,
    });
    expect(imageOf(manifest)).toBe(`registry.k8s.io/etcd:${releaseOf(kubernetes)?.etcd}`);
  });

  it('contains the API server of a kubelet, and when the certificate in a kubeconfig expires', async () => {
    expect(serverIn(said('kubeletServer'))).toMatch(/^https:\/\/198\.18\.64\.\d+:6443$/);
    const host = new MemoryHost();
    host.files.set('/etc/kubernetes/admin.conf', said('adminCertificate'));
    const seen: SeenCertificates = new Map();
    const certificates = await certificatesOn(host, 'control-plane', seen);
    expect(certificates).toEqual([{ name: 'admin.conf', expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) }]);
    expect(await certificatesOn(host, 'control-plane', seen)).toEqual(certificates);
    host.files.set('/etc/kubernetes/admin.conf', 'no certificate');
    expect(await certificatesOn(host, 'control-plane', seen)).toEqual([]);
  });

  it('contains when the certificate of its kubelet expires, on every node, and its key is not kept', async () => {
    const config = said('adminCertificate');
    const pem = Buffer.from(/client-certificate-data: (\S+)/u.exec(config)?.[1] ?? '', 'base64').toString('utf8');
    const key = '-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n';
    const host = new MemoryHost();
    host.files.set('/var/lib/kubelet/pki/kubelet-client-current.pem', `${pem}${key}`);
    host.files.set('/etc/kubernetes/admin.conf', config);
    const seen: SeenCertificates = new Map();
    const worker = await certificatesOn(host, 'worker', seen);
    expect(worker).toEqual([{ name: 'kubelet', expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) }]);
    expect([...seen.values()].map(({ pem: kept }) => kept.includes('KEY'))).toEqual([false]);
    expect((await certificatesOn(host, 'control-plane')).map(({ name }) => name)).toEqual(['kubelet', 'admin.conf']);
  });

  it('shows that containerd reads the configuration that Fairlead writes', () => {
    const settings = {
      pauseImage: pauseImageOf(kubernetes.slice(1)),
      cgroupDriver: 'cgroupfs',
      restrictOomScore: true,
    } as const;
    const written = containerdConfig('1.7.24', settings);
    const read = said('containerdReads')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
    expect(read).toHaveLength(4);
    for (const line of read) expect(written).toContain(line);
  });

  it('yields the configuration from which the next kubeadm generates its manifests', async () => {
    const host = new MemoryHost();
    const folder = '/etc/kubernetes/fairlead-manifests';
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
      host.files.set(`${folder}/${name}.yaml`, `a new ${name}`);
    host.files.set('/etc/kubernetes/manifests/etcd.yaml', said('etcdManifest'));
    host.files.set('/etc/kubernetes/manifests/kube-apiserver.yaml', said('apiServerManifest'));
    const answer = (stdout: string) => ({ code: 0, stdout, stderr: '' });
    host.fault = (line) => answer(line.startsWith('kubectl ') ? said('clusterConfiguration') : '');
    expect((await writeNewManifests(host, { version: 'v1.35.4', patches: null })).get('etcd')).toBe('a new etcd');
    const written = host.files.get('/etc/kubernetes/fairlead-kubeadm.yaml') ?? '';
    expect(written).toMatch(/advertiseAddress: "198\.18\.64\.\d+"\n {2}bindPort: 6443/);
    expect(written).toMatch(/^kubernetesVersion: v1\.35\.4$/m);
    expect(written).toContain('name: cp-1');
  });

  it('contains whether systemd has loaded a unit as it is on disk', () => {
    expect(said('unit')).toBe('LoadState=loaded\nNeedDaemonReload=no\n');
    expect(said('noUnit')).toContain('LoadState=not-found');
  });

  it('contains the settings of the kernel, and that swap is off', async () => {
    const host = new MemoryHost();
    host.files.set('/proc/swaps', said('swaps'));
    const differing = await swapItem(host).inspect();
    expect(differing.filter(({ what }) => what === 'swap')).toEqual([]);
    expect(said('forwarding').trim()).toBe('1');
  });

  it('contains whether etcdutl can skip revisions in a restore', () =>
    expect(said('restoreHelp')).toContain('--data-dir'));
});

it('the output of apt for three releases contains which versions they offer', () =>
  expect(parseMadison(recordedOfApt('apt-cache madison containerd'))).toEqual(['2.1.9', '1.7.24', '1.6.20']));

describe('a distribution', () => {
  const named = (osRelease: string): MemoryHost => {
    const host = new MemoryHost();
    host.files.set('/etc/os-release', osRelease);
    return host;
  };

  it('uses the package manager of a distribution that it is like', async () =>
    expect((await distributionOf(named('ID=linuxmint\nID_LIKE="ubuntu debian"\n'))).tools).toContain('conntrack'));

  it('is reported by its name if its package manager is not supported', async () =>
    await expect(distributionOf(named('ID=fedora\n'))).rejects.toMatchObject({
      message: 'fedora is none of debian, ubuntu',
    }));
});

describe('the configuration of containerd', () => {
  const settings = {
    pauseImage: 'registry.k8s.io/pause:3.10.1',
    cgroupDriver: 'cgroupfs',
    restrictOomScore: true,
  } as const;

  it('has format 2 up to version 1.7, and format 3 from 2.0 on', () => {
    expect(containerdConfig('1.6.20', settings)).toContain('version = 2\n');
    expect(containerdConfig('1.7.24', settings)).toContain(
      '[plugins."io.containerd.grpc.v1.cri".cni]\n  bin_dir = "/opt/cni/bin"',
    );
    expect(containerdConfig('2.1.9', settings)).toContain('version = 3\n');
    expect(containerdConfig('2.1.9', settings)).toContain("[plugins.'io.containerd.cri.v1.images'.pinned_images]");
  });

  it('has the cgroup driver of the host and the pause image of the Kubernetes version', () => {
    for (const version of ['1.7.24', '2.1.9']) {
      expect(containerdConfig(version, settings)).toContain('SystemdCgroup = false');
      expect(containerdConfig(version, { ...settings, cgroupDriver: 'systemd' })).toContain('SystemdCgroup = true');
      expect(containerdConfig(version, settings)).toContain('registry.k8s.io/pause:3.10.1');
    }
    expect(pauseImageOf('1.36.3')).toBe('registry.k8s.io/pause:3.10.2');
  });

  it.each([
    ['where the right to lower an OOM score is missing for good', recorded('v1.34.4', QUESTIONS.capabilities), 'true'],
    ['where everything is allowed', 'CapBnd:\t000001ffffffffff\n', 'false'],
    ['where it does not show them', '', 'false'],
  ])('matches %s', async (_title, status, restricted) => {
    const host = new MemoryHost();
    host.files.set('/proc/1/status', `Name:\tsystemd\n${status}`);
    const { pauseImage, cgroupDriver } = settings;
    await containerdItem({ host, packages: aptPackages(host), pauseImage, cgroupDriver }).ensure([
      { item: 'container-runtime', what: '/etc/containerd/config.toml', observed: 'missing', desired: '' },
    ]);
    expect(host.files.get('/etc/containerd/config.toml')).toContain(`restrict_oom_score_adj = ${restricted}`);
  });
});
