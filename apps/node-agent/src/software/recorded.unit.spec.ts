import { describe, expect, it } from '@jest/globals';
import { recorded } from '../../test/recorded/recorded.js';
import { MemoryHost } from '../../test/memory.host.js';
import { aptPackages, parseInstalled, parseMadison } from './apt.packages.js';
import { containerdConfig, pauseImageOf } from './containerd.config.js';
import { containerdItem } from './containerd.item.js';
import { distributionIds, distributionOf } from './distribution.js';
import { missingImages } from './images.js';
import { versionIn } from './kubernetes.binaries.js';
import { compareVersions } from './versions.js';

const debian13 = (command: string): string => recorded('debian-13.txt', command);

describe('what the real tools printed', () => {
  it('tells the version of each of Kubernetes own programs', () => {
    expect(versionIn('kubeadm', debian13('kubeadm version -o short'))).toBe('1.34.4');
    expect(versionIn('kubelet', debian13('kubelet --version'))).toBe('1.34.4');
    expect(versionIn('kubectl', debian13('kubectl version --client'))).toBe('1.34.4');
  });

  it('tells which packages are installed, at which upstream version, and held', () => {
    expect([...parseInstalled(debian13('dpkg-query'))]).toEqual([
      ['conntrack', { version: '1.4.8', held: false }],
      ['containerd', { version: '1.7.24', held: true }],
      ['runc', { version: '1.1.15', held: false }],
    ]);
  });

  it('tells which versions the repositories offer', () =>
    expect(parseMadison(recorded('apt-2.6.txt', 'apt-cache madison containerd'))).toEqual([
      '2.1.9',
      '1.7.24',
      '1.6.20',
    ]));

  it('tells which images are missing', () => {
    const image = (reference: string) => ({ name: reference, reference, path: 'x', roles: [] });
    const wanted = [image('registry.k8s.io/pause:3.10.1'), image('registry.k8s.io/pause:3.10')];
    expect(missingImages(wanted, debian13('ctr -n k8s.io images ls -q'))).toEqual([wanted[1]]);
  });

  it('tells what distribution it is', () =>
    expect(distributionIds(debian13('cat /etc/os-release'))).toEqual(['debian']));
});

describe('a distribution', () => {
  const named = (osRelease: string): MemoryHost => {
    const host = new MemoryHost();
    host.files.set('/etc/os-release', osRelease);
    return host;
  };

  it('is served by the package manager of what it is like', async () =>
    expect((await distributionOf(named('ID=linuxmint\nID_LIKE="ubuntu debian"\n'))).tools).toContain('conntrack'));

  it('whose package manager nobody knows is told by its name', async () =>
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

  it('is of the second format up to 1.7, of the third from 2.0 on', () => {
    expect(containerdConfig('1.6.20', settings)).toContain('version = 2\n');
    expect(containerdConfig('1.7.24', settings)).toContain(
      '[plugins."io.containerd.grpc.v1.cri".cni]\n  bin_dir = "/opt/cni/bin"',
    );
    expect(containerdConfig('2.1.9', settings)).toContain('version = 3\n');
    expect(containerdConfig('2.1.9', settings)).toContain("[plugins.'io.containerd.cri.v1.images'.pinned_images]");
  });

  it('has the cgroup driver of the host and the pause image of the version of Kubernetes', () => {
    for (const version of ['1.7.24', '2.1.9']) {
      expect(containerdConfig(version, settings)).toContain('SystemdCgroup = false');
      expect(containerdConfig(version, { ...settings, cgroupDriver: 'systemd' })).toContain('SystemdCgroup = true');
      expect(containerdConfig(version, settings)).toContain('registry.k8s.io/pause:3.10.1');
    }
    expect(pauseImageOf('1.36.3')).toBe('registry.k8s.io/pause:3.10.2');
  });

  it.each([
    ['where the right to lower an OOM score is missing for good', debian13('grep CapBnd /proc/1/status'), 'true'],
    ['where everything is allowed', 'CapBnd:\t000001ffffffffff\n', 'false'],
    ['where nobody can tell', '', 'false'],
  ])('%s asks containers accordingly', async (_title, status, restricted) => {
    const host = new MemoryHost();
    host.files.set('/proc/1/status', `Name:\tsystemd\n${status}`);
    const { pauseImage, cgroupDriver } = settings;
    await containerdItem({ host, packages: aptPackages(host), pauseImage, cgroupDriver }).ensure([
      { item: 'container-runtime', what: '/etc/containerd/config.toml', observed: 'missing', wanted: '' },
    ]);
    expect(host.files.get('/etc/containerd/config.toml')).toContain(`restrict_oom_score_adj = ${restricted}`);
  });
});

it.each([
  ['1.7.24', '1.7.24', 0],
  ['1.6.20', '1.7.24', -1],
  ['2.0.0', '1.7.24', 1],
  ['1.10.0', '1.9.9', 1],
])('%s compared with %s', (one, other, sign) => expect(Math.sign(compareVersions(one, other))).toBe(sign));
