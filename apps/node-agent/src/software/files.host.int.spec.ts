import {
  AGENT_PATHS,
  mirrorPaths,
  pinnedSha256,
  type AgentConfig,
  type MirrorTrust,
  type SoftwareVersions,
  NODE_BINARIES,
  releaseOf,
} from '@fairlead/contracts';
import { newSigningKey, signatureText } from '@fairlead/mirror/signatures';
import { eventuallyPasses } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KnownReleases } from '../node/known.releases.js';
import { FilesHost, TestMirror } from '../../test/files.host.js';
import { ensureAll, inspect } from './inspection.js';
import { openSource } from '../adapters/files/open.source.js';
import { hostSoftware, type HostSoftware } from './host.software.js';

const MIRROR = '/srv/mirror';
const desired = (version = '1.34.4'): SoftwareVersions => ({
  containerd: '1.7.24',
  kubelet: version,
  kubeadm: version,
  kubectl: version,
});

describe('a host with software from files', () => {
  let host: FilesHost;
  let mirror: TestMirror;
  let releases: KnownReleases;

  beforeEach(() => {
    releases = new KnownReleases();
    host = new FilesHost();
    mirror = new TestMirror(join(host.root, MIRROR)).addRelease('v1.34.4').addRelease('v1.34.5');
  });
  afterEach(() => host.remove());

  const software = (leader = true, trust: MirrorTrust = { unsigned: true }): HostSoftware =>
    hostSoftware({
      config: {
        role: 'control-plane',
        leader,
        profile: { source: { kind: 'files', location: MIRROR, ...trust } },
      } as AgentConfig,
      host: host.port,
      files: host.files,
      openSource,
      architecture: 'amd64',
      releases,
      log: () => undefined,
    });
  const options = (version?: string) => ({
    node: 'demo-cp-1-aaaaa',
    desired: desired(version),
    hasBeenReady: false,
    profile: { failSwapOn: false, cgroupDriver: 'cgroupfs' } as const,
  });
  const ensure = (by = software(), version?: string) => ensureAll(by.view(options(version)).stages);
  const mtimes = (): readonly number[] =>
    [
      '/usr/bin/kubelet',
      '/usr/bin/kubeadm',
      '/opt/cni/bin/bridge',
      '/usr/local/bin/etcdctl',
      '/etc/containerd/config.toml',
    ].map((path) => statSync(join(host.root, path)).mtimeMs);

  it('has the programs, plugins, images and units that kubeadm requires, and reports their versions', async () => {
    const by = software();
    expect((await ensure(by)).failed).toBeUndefined();
    expect(await inspect(by.view(options()).stages, by.packages, desired())).toEqual({
      kind: 'seen',
      differences: [],
      software: desired(),
    });
    expect(host.read('/opt/cni/bin/bridge')).toBe('bridge for v1.34.4');
    expect(host.read('/usr/local/bin/etcdctl')).toBe('etcdctl v1.34.4');
    expect(host.read('/etc/systemd/system/kubelet.service.d/10-kubeadm.conf')).toContain('$KUBELET_KUBEADM_ARGS');
    expect(host.read('/etc/containerd/config.toml')).toContain('SystemdCgroup = false');
    // Two at a time, in any order.
    expect([...host.images].sort()).toEqual([
      'registry.k8s.io/kube-apiserver:v1.34.4',
      'registry.k8s.io/pause:v1.34.4',
    ]);
    expect(host.changes).not.toContain('swapoff -a');
  });

  it('reports the versions of its source, including ones added later', async () => {
    const { source } = software();
    expect(await source?.releases()).toEqual(['v1.34.4', 'v1.34.5']);
    mirror.addRelease('v1.35.4');
    expect(await source?.releases()).toEqual(['v1.34.4', 'v1.34.5', 'v1.35.4']);
  });

  it('is not changed by a second run, nor by that of a new agent', async () => {
    await ensure();
    const before = { changes: host.changes.length, mtimes: mtimes() };
    expect(await ensure()).toEqual({ changed: [], failed: undefined });
    expect({ changes: host.changes.length, mtimes: mtimes() }).toEqual(before);
  });

  it('asks a program for its version once, and again after it changed', async () => {
    const by = software();
    await ensure(by);
    const asked: string[] = [];
    host.beforeRun = (line) => void (line.startsWith('/usr/bin/kube') && asked.push(line));
    await by.packages.installed(['kubelet']);
    expect(asked).toEqual([]);
    host.write('/usr/bin/kubelet', '#!/bin/sh\necho Kubernetes v1.33.0\n');
    expect((await by.packages.installed(['kubelet'])).get('kubelet')?.version).toBe('1.33.0');
    expect(asked).toEqual(['/usr/bin/kubelet --version']);
  });

  it('replaces versions by rename, with the kubelet stopped only for that', async () => {
    await ensure();
    host.memory.active.add('kubelet');
    const lines: string[] = [];
    host.beforeRun = (line) => void (/kubelet( |$|-v)/.test(line) && lines.push(line));
    expect((await ensure(software(), '1.34.5')).failed).toBeUndefined();
    const order = lines.filter((line) => /^(rename|systemctl (stop|start))/.test(line));
    expect(order).toEqual([
      'rename /usr/bin/.fairlead-kubelet-v1.34.5',
      'systemctl stop kubelet',
      'rename /usr/bin/kubelet',
      'systemctl start kubelet',
    ]);
  });

  it('installs nothing with a wrong checksum, and names the file', async () => {
    mirror.write('release/v1.34.4/bin/linux/amd64/kubelet', '#!/bin/sh\necho Kubernetes v1.34.4 and more\n');
    const { failed } = await ensure();
    expect(failed).toMatchObject({ item: 'kubernetes', command: 'verify' });
    expect(failed?.message).toMatch(/^its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}$/);
    expect(existsSync(join(host.root, 'usr/bin/kubelet'))).toBe(false);
  });

  it('imports no image with a wrong checksum', async () => {
    mirror.write('images/v1.34.4/pause.tar', 'image pause evil');
    expect((await ensure()).failed).toMatchObject({ item: 'images', command: 'verify' });
    expect(host.images).not.toContain('registry.k8s.io/pause:evil');
  });

  it('pins images against garbage collection by the kubelet: those of its version and of the staged one', async () => {
    const names = ['kube-apiserver', 'kube-proxy', 'pause'];
    const of = (...versions: readonly string[]): readonly string[] =>
      versions.flatMap((version) => names.map((name) => `registry.k8s.io/${name}:${version}`)).toSorted();
    mirror.addRelease('v1.34.6');
    const by = software(false);
    await ensure(by);
    await by.begin(desired());
    await eventuallyPasses(async () => expect([...host.pinned].toSorted()).toEqual(of('v1.34.4')));
    await by.stage(desired('1.34.5'));
    expect([...host.pinned].toSorted()).toEqual(of('v1.34.4', 'v1.34.5'));
    expect((await ensure(by, '1.34.5')).failed).toBeUndefined();
    await by.stage(desired('1.34.6'));
    const sandbox = 'registry.k8s.io/pause:v1.34.4';
    expect([...host.pinned].toSorted()).toEqual([...of('v1.34.5', 'v1.34.6'), sandbox].toSorted());
  });

  it('reports the versions of a mirror that lacks the desired one', async () =>
    expect((await ensure(software(), '1.35.0')).failed?.message).toBe('it has no v1.35.0, only v1.34.4, v1.34.5'));

  it('reinstalls the plugins after one was changed', async () => {
    await ensure();
    host.write('/opt/cni/bin/bridge', 'another');
    host.write('/opt/cni/bin/flannel', 'a plugin of its own');
    expect((await ensure()).changed).toEqual([expect.stringContaining('cni-plugins: ')]);
    expect(host.read('/opt/cni/bin/bridge')).toBe('bridge for v1.34.4');
    expect(host.read('/opt/cni/bin/flannel')).toBe('a plugin of its own');
  });

  it('is prepared before its images if it joins later, and reports that they are being pulled', async () => {
    const by = software(false);
    await ensure(by);
    expect([...host.images]).toEqual(['registry.k8s.io/pause:v1.34.4']);
    await by.begin(desired());
    expect(host.read(AGENT_PATHS.imagesPending)).toContain('registry.k8s.io/kube-apiserver:v1.34.4\n');
    await eventuallyPasses(async () => expect(existsSync(join(host.root, AGENT_PATHS.imagesPending))).toBe(false));
    expect(host.images.size).toBe(3);
  });

  it("keeps its distribution's runtime if there is no other version, and installs the desired one if there is", async () => {
    host.memory.packages.set('containerd', { version: '1.6.20~ds1-1', held: true });
    let offered = 'containerd | 1.6.20~ds1-1 | somewhere\n';
    host.memory.fault = (line) =>
      line === 'apt-cache madison containerd' ? { code: 0, stdout: offered, stderr: '' } : undefined;
    expect((await ensure()).failed).toBeUndefined();
    expect(host.memory.packages.get('containerd')?.version).toBe('1.6.20~ds1-1');
    offered = 'containerd | 1.7.24~ds1-6 | somewhere\n';
    expect((await ensure()).failed).toBeUndefined();
    expect(host.memory.packages.get('containerd')?.version).toBe('1.7.24-1.1');
  });

  it('is completed by the next agent wherever this one was killed, with the same result', async () => {
    const steps: string[] = [];
    host.beforeRun = (line) => void steps.push(line);
    await ensure();
    const whole = { images: [...host.images].toSorted(), kubelet: host.read('/usr/bin/kubelet') };
    expect(steps.length).toBeGreaterThan(30);
    for (let crashAt = 0; crashAt < steps.length; crashAt += 1) {
      host.remove();
      host = new FilesHost();
      new TestMirror(join(host.root, MIRROR)).addRelease('v1.34.4');
      let count = 0;
      // From here on the process is dead.
      host.beforeRun = () => {
        if (count++ >= crashAt) throw new Error('killed');
      };
      await ensure();
      host.beforeRun = () => undefined;
      expect((await ensure()).failed).toBeUndefined();
      expect({ images: [...host.images].toSorted(), kubelet: host.read('/usr/bin/kubelet') }).toEqual(whole);
      expect((await ensure()).changed).toEqual([]);
    }
  }, 120_000);

  describe('without a trusted catalogue', () => {
    it('installs files whose digests are in the connection, and no images', async () => {
      const digests = mirror.addOfficial();
      expect((await ensure(software(true, { digests }))).failed).toBeUndefined();
      expect(host.read('/usr/bin/kubelet')).toContain('v1.34.4');
      // Images are pulled from a registry in this case.
      expect(host.images.size).toBe(0);
      mirror.write('release/v1.34.5/bin/linux/amd64/kubelet', 'something else');
      const failed = (await ensure(software(true, { digests }), '1.34.5')).failed;
      expect(failed).toMatchObject({ item: 'kubernetes', command: 'verify' });
      expect(host.read('/usr/bin/kubelet')).toContain('v1.34.4');
    });

    it('installs nothing of a release without known digests, whatever is next to its files', async () => {
      mirror.addRelease('v1.34.99').addOfficial();
      const path = 'release/v1.34.99/bin/linux/amd64/kubeadm';
      mirror.write(`${path}.sha256`, createHash('sha256').update(mirror.read(path)).digest('hex'));
      const { failed } = await ensure(software(true, { digests: {} }), '1.34.99');
      expect(failed).toMatchObject({
        item: 'kubernetes',
        message: expect.stringContaining('no SHA-256 of it is known'),
      });
      expect(existsSync(join(host.root, 'usr/bin/kubeadm'))).toBe(false);
    });

    it('installs the programs of a release that the installation has added, by its digests', async () => {
      mirror.addRelease('v1.34.99').addOfficial();
      const digest = (path: string): string => createHash('sha256').update(mirror.read(path)).digest('hex');
      const [kubeadm, kubelet, kubectl] = NODE_BINARIES.map((name) => digest(mirrorPaths.binary('v1.34.99', name)));
      const cniPlugins = digest(mirrorPaths.cniPlugins('v1.9.1'));
      const sha256 = { amd64: { kubeadm: kubeadm!, kubelet: kubelet!, kubectl: kubectl!, cniPlugins } };
      releases.learn([{ ...releaseOf('v1.34.11')!, version: 'v1.34.99', sha256 }]);
      const { failed } = await ensure(software(true, { digests: {} }), '1.34.99');
      expect([failed, host.read('/usr/bin/kubelet')]).toEqual([undefined, expect.stringContaining('v1.34.99')]);
    });

    it('installs no program of a known release that differs from the released one', async () => {
      mirror.addOfficial();
      const { failed } = await ensure(software(true, { digests: {} }));
      expect(failed).toMatchObject({
        item: 'kubernetes',
        message: expect.stringContaining(`not ${pinnedSha256(mirrorPaths.binary('v1.34.4', 'kubeadm')) ?? ''}`),
      });
      expect(existsSync(join(host.root, 'usr/bin/kubeadm'))).toBe(false);
    });
  });

  describe('with a signed or pinned catalogue', () => {
    const key = newSigningKey();
    const sign = (by = key): void => {
      const sha256 = createHash('sha256').update(mirror.read('catalogue.json')).digest('hex');
      mirror.write('catalogue.json.sig', signatureText(by.privateKey, 'catalogue', sha256));
    };
    const signed = () => ensure(software(true, { signedBy: [key.publicKey] }));

    it('installs the software', async () => {
      sign();
      expect((await signed()).failed).toBeUndefined();
      expect(host.read('/usr/bin/kubelet')).toContain('v1.34.4');
    });

    it('refuses a changed catalogue, and installs nothing of it', async () => {
      sign();
      const evil = '#!/bin/sh\necho v1.34.4\n';
      mirror.replace('release/v1.34.4/bin/linux/amd64/kubeadm', evil);
      for (const failure of [
        (await signed()).failed,
        (await ensure(software(true, { catalogueSha256: 'a'.repeat(64) }))).failed,
      ])
        expect(failure).toMatchObject({ item: 'kubernetes', command: 'verify' });
      sign(newSigningKey());
      expect((await signed()).failed).toMatchObject({ message: expect.stringContaining('none of the keys') });
      expect(existsSync(join(host.root, 'usr/bin/kubeadm'))).toBe(false);
    });

    it('refuses a catalogue without its signature, or if no trust is configured', async () => {
      expect((await signed()).failed).toMatchObject({ message: expect.stringContaining('it is not signed') });
      expect((await ensure(software(true, {}))).failed).toMatchObject({
        message: expect.stringContaining('says nothing by which its files can be checked'),
      });
      expect(existsSync(join(host.root, 'usr/bin/kubeadm'))).toBe(false);
    });
  });

  it('installs missing tools from the packages of the mirror, without a network', async () => {
    host.write('/etc/os-release', 'ID=debian\nVERSION_ID="13"\n');
    mirror.addPackages('debian-13');
    host.memory.packages.delete('socat');
    const asked: string[] = [];
    host.beforeRun = (line) => void (line.startsWith('apt-get') && asked.push(line));
    await ensure();
    expect(host.read('/etc/apt/sources.list.d/fairlead.list')).toMatch(
      /^deb \[trusted=yes\] file:.*\/packages\/debian-13 \.\/$/m,
    );
    expect(asked[0]).toContain('Dir::Etc::sourcelist=/etc/apt/sources.list.d/fairlead.list');
    expect(asked[1]).toMatch(/^apt-get install .* socat$/);
  });

  it('refuses a package list with a wrong checksum', async () => {
    host.write('/etc/os-release', 'ID=debian\nVERSION_ID="13"\n');
    mirror.addPackages('debian-13').write('packages/debian-13/Packages', 'Package: evil\n');
    host.memory.packages.delete('socat');
    expect((await ensure()).failed).toMatchObject({ item: 'tools', command: 'verify' });
  });
});
