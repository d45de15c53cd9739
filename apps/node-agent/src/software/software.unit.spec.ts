import { describe, expect, it } from '@jest/globals';
import { MemoryHost } from '../../test/memory.host.js';
import { ensureAll, inspect } from './inspection.js';
import { aptPackages, parseInstalled, upstreamOf } from './apt.packages.js';
import { pauseImageOf } from './containerd.config.js';
import { commandLine } from './item.js';
import { packagesList, type Stage } from './software.list.js';

const WANTED = { containerd: '1.7.24', kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' };
const itemsOf = (host: MemoryHost, desired = WANTED, hasBeenReady = false): readonly Stage[] =>
  packagesList({ node: 'demo-w-1-aaaaa', desired, hasBeenReady }, host, aptPackages(host));

/** Ensures everything and returns the commands that changed something. */
const ensured = async (host: MemoryHost, desired = WANTED): Promise<readonly string[]> => {
  const before = host.changes.length;
  expect((await ensureAll(itemsOf(host, desired))).failed).toBeUndefined();
  return host.changes.slice(before);
};

const prepared = async (): Promise<MemoryHost> => {
  const host = new MemoryHost();
  await ensured(host);
  return host;
};

const OPTIONS =
  '-y --no-install-recommends --allow-downgrades --allow-change-held-packages -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold';

describe('a fresh host', () => {
  it('is prepared by these commands, in this order [ORBITER 24]', async () => {
    expect(await ensured(new MemoryHost())).toEqual([
      'hostnamectl set-hostname demo-w-1-aaaaa',
      'write /etc/hostname',
      'write /etc/hosts',
      'swapoff -a',
      'write /etc/fstab',
      'modprobe overlay',
      'modprobe br_netfilter',
      'write /etc/modules-load.d/fairlead.conf',
      'sysctl -w net.ipv4.ip_forward=1',
      'sysctl -w net.bridge.bridge-nf-call-iptables=1',
      'sysctl -w net.bridge.bridge-nf-call-ip6tables=1',
      'write /etc/sysctl.d/99-fairlead.conf',
      `apt-get install ${OPTIONS} containerd=1.7.24* kubelet=1.34.4-* kubeadm=1.34.4-* kubectl=1.34.4-*`,
      'apt-mark hold containerd kubelet kubeadm kubectl',
      'systemctl stop containerd',
      'write /etc/containerd/config.toml',
      'systemctl enable containerd',
      'systemctl start containerd',
      'systemctl enable kubelet',
    ]);
  });

  it('has no swap line, its own name, and its settings in files afterwards', async () => {
    const { files } = await prepared();
    expect(files.get('/etc/fstab')).toBe(
      'UUID=1 / ext4 defaults 0 1\n# /swapfile none swap sw 0 0 # fairlead: swap off\n',
    );
    expect(files.get('/etc/hosts')).toBe('127.0.0.1\tlocalhost\n127.0.1.1 demo-w-1-aaaaa # fairlead\n');
    expect(files.get('/etc/modules-load.d/fairlead.conf')).toBe('# Written by Fairlead.\noverlay\nbr_netfilter\n');
    expect(files.get('/etc/containerd/config.toml')).toContain('SystemdCgroup = true');
    expect(files.get('/etc/containerd/config.toml')).toContain('registry.k8s.io/pause:3.10.1');
  });
});

describe('a prepared host', () => {
  it('is not changed [ORBITER 24]', async () => {
    const host = await prepared();
    expect(await ensured(host)).toEqual([]);
    expect(await inspect(itemsOf(host), aptPackages(host), WANTED)).toEqual({
      kind: 'seen',
      differences: [],
      software: WANTED,
    });
  });

  it.each<[string, (host: MemoryHost) => void, string, string[]]>([
    ['swap was turned on', (host) => void (host.swapOn = true), 'swap', ['swapoff -a']],
    [
      'a setting was changed',
      (host) => void host.sysctls.set('net.ipv4.ip_forward', '0'),
      'net.ipv4.ip_forward',
      ['sysctl -w net.ipv4.ip_forward=1'],
    ],
    ['a module was unloaded', (host) => void host.modules.delete('overlay'), 'overlay', ['modprobe overlay']],
    ['containerd stopped', (host) => void host.active.delete('containerd'), 'service', ['systemctl start containerd']],
    ['kubelet was disabled', (host) => void host.enabled.delete('kubelet'), 'boot', ['systemctl enable kubelet']],
    [
      'a hold was taken away',
      (host) => void (host.packages.get('kubelet')!.held = false),
      'kubelet',
      ['apt-mark hold kubelet'],
    ],
    [
      'its containerd configuration was edited',
      (host) => void host.files.set('/etc/containerd/config.toml', 'version = 2\n'),
      '/etc/containerd/config.toml',
      ['systemctl stop containerd', 'write /etc/containerd/config.toml', 'systemctl start containerd'],
    ],
    [
      'its hosts file was edited',
      (host) => void host.files.set('/etc/hosts', '127.0.0.1\tlocalhost\n10.0.0.1 other\n'),
      '/etc/hosts',
      ['write /etc/hosts'],
    ],
  ])('is repaired with minimal changes when %s [ORBITER 24]', async (_title, harm, what, commands) => {
    const host = await prepared();
    harm(host);
    const seen = await inspect(itemsOf(host), aptPackages(host), WANTED);
    expect(seen.kind === 'seen' && seen.differences.map((difference) => difference.what)).toEqual([what]);
    expect(await ensured(host)).toEqual(commands);
    expect(await ensured(host)).toEqual([]);
  });

  it('installs only packages whose versions change', async () => {
    const host = await prepared();
    const commands = await ensured(host, { ...WANTED, kubelet: '1.34.5', kubectl: '1.34.5' });
    expect(commands).toEqual([
      `apt-get install ${OPTIONS} kubelet=1.34.5-* kubectl=1.34.5-*`,
      'apt-mark hold kubelet kubectl',
    ]);
  });

  it('gets a different pause image with another minor version', async () => {
    const host = await prepared();
    const commands = await ensured(host, { ...WANTED, kubelet: '1.33.13' });
    expect(commands).toContain('write /etc/containerd/config.toml');
    expect(pauseImageOf('1.33.13')).toBe('registry.k8s.io/pause:3.10');
    expect(pauseImageOf('1.33.13-1.1')).toBe('registry.k8s.io/pause:3.10');
    expect(pauseImageOf('1.30.14')).toBe('registry.k8s.io/pause:3.9');
    expect(pauseImageOf('1.34.99', 'registry.example/k8s')).toBe('registry.example/k8s/pause:3.10.1');
    expect(pauseImageOf('')).toBe('registry.k8s.io/pause:3.9');
  });
});

describe('kubelet', () => {
  const joined = async (): Promise<MemoryHost> => {
    const host = await prepared();
    host.files.set('/etc/kubernetes/kubelet.conf', 'apiVersion: v1');
    host.active.add('kubelet');
    return host;
  };

  it('is stopped while its package changes, so that the running version is the installed one', async () => {
    const host = await joined();
    expect(await ensured(host, { ...WANTED, kubelet: '1.34.5' })).toEqual([
      `apt-get install ${OPTIONS} --download-only kubelet=1.34.5-*`,
      'systemctl stop kubelet',
      `apt-get install ${OPTIONS} kubelet=1.34.5-*`,
      'apt-mark hold kubelet',
      'systemctl start kubelet',
    ]);
  });

  it('is started again after a crash in between', async () => {
    const host = await joined();
    host.active.delete('kubelet');
    expect((await ensureAll(itemsOf(host, WANTED, true))).changed).toEqual(['service: running']);
    expect(host.active.has('kubelet')).toBe(true);
  });

  it('is left to kubeadm before the node was Ready, and on a reset host', async () => {
    const host = await joined();
    host.active.delete('kubelet');
    expect((await ensureAll(itemsOf(host, WANTED, false))).changed).toEqual([]);
    host.files.delete('/etc/kubernetes/kubelet.conf');
    expect((await ensureAll(itemsOf(host, WANTED, true))).changed).toEqual([]);
  });
});

describe('a host that has /proc', () => {
  it('is inspected through it rather than by commands', async () => {
    const host = await prepared();
    host.files.set('/proc/swaps', 'Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n');
    host.files.set('/proc/modules', 'br_netfilter 32768 0 - Live 0x0\n');
    host.files.set('/proc/filesystems', 'nodev\toverlay\n\text4\n');
    host.files.set('/proc/sys/net/ipv4/ip_forward', '0\n');
    const seen = await inspect(itemsOf(host), aptPackages(host), WANTED);
    // overlay is built into this kernel: there is no module, but the file system is supported.
    expect(seen.kind === 'seen' && seen.differences.map(({ what }) => what)).toEqual(['swap', 'net.ipv4.ip_forward']);
  });
});

describe('a command that fails', () => {
  it('stops the run, and is reported with its output and the changes before it', async () => {
    const host = new MemoryHost();
    host.fault = (line) =>
      line.startsWith('sysctl -w') ? { code: 255, stdout: '', stderr: 'sysctl: permission denied' } : undefined;
    const { changed, failed } = await ensureAll(itemsOf(host));
    expect(failed).toEqual({
      item: 'sysctl',
      command: 'sysctl -w net.ipv4.ip_forward=1',
      message: 'net.ipv4.ip_forward is 0 and cannot be set to 1 from here: exit code 255: sysctl: permission denied',
    });
    expect(changed).toContain('swap: off');
    expect(host.changes.some((line) => line.startsWith('apt-get'))).toBe(false);
  });

  it('includes one that succeeds but changes nothing', async () => {
    const host = new MemoryHost();
    host.fault = (line) => (line === 'swapoff -a' ? { code: 0, stdout: '', stderr: '' } : undefined);
    expect((await ensureAll(itemsOf(host))).failed).toEqual({
      item: 'swap',
      command: '',
      message: 'swap is still on, desired off',
    });
  });

  it('includes one that fails during an inspection', async () => {
    const host = new MemoryHost();
    host.fault = (line) =>
      line.startsWith('dpkg-query') ? { code: 127, stdout: '', stderr: 'spawn dpkg-query ENOENT' } : undefined;
    const seen = await inspect(itemsOf(host), aptPackages(host), WANTED);
    expect(seen).toMatchObject({
      kind: 'failed',
      at: { item: 'packages', message: 'exit code 127: spawn dpkg-query ENOENT' },
    });
  });

  it('is reported as timed out after its timeout', async () => {
    const host = new MemoryHost();
    host.fault = (line) => (line === 'swapoff -a' ? { code: null, stdout: '', stderr: '' } : undefined);
    expect((await ensureAll(itemsOf(host))).failed?.message).toBe('ended by a signal or after 30000 ms');
  });
});

describe('apt', () => {
  it('updates its lists only if they lack the version', async () => {
    const host = new MemoryHost();
    let isStale = true;
    host.fault = (line) => {
      if (line === 'apt-get update') isStale = false;
      if (!line.startsWith('apt-get install') || !isStale) return undefined;
      return { code: 100, stdout: '', stderr: "E: Version '1.34.4*' for 'kubelet' was not found" };
    };
    expect(
      (await ensured(host)).filter((line) => line.startsWith('apt-get')).map((line) => line.split(' ')[1]),
    ).toEqual(['update', 'install']);
  });

  // As apt 2.6.1 prints it, with exit code 0, while a firewall drops its packets.
  it('names the archive that it could not reach, although an update ends with success and only the package is missing', async () => {
    const host = new MemoryHost();
    const unreached =
      'Failed to fetch http://deb.example.org/debian/dists/trixie/InRelease  Could not connect to deb.example.org:80 (203.0.113.9), connection timed out';
    host.fault = (line) => {
      if (line === 'apt-get update')
        return {
          code: 0,
          stdout: '',
          stderr: `W: ${unreached}\nW: Some index files failed to download. They have been ignored, or old ones used instead.\n`,
        };
      if (!line.startsWith('apt-get install')) return undefined;
      return { code: 100, stdout: '', stderr: 'E: Unable to locate package containerd' };
    };
    expect((await ensureAll(itemsOf(host))).failed?.message).toBe(
      `${unreached}; exit code 100: E: Unable to locate package containerd`,
    );
  });

  it.each([
    ['1.34.4-1.1', '1.34.4'],
    ['1.7.24~ds1-6+deb13u1', '1.7.24'],
    ['1:2.3-4', '2.3'],
    ['1.7.24+b2', '1.7.24'],
  ])('version %s is upstream %s', (version, upstream) => expect(upstreamOf(version)).toBe(upstream));

  it('distinguishes installed packages from removed ones', () => {
    const output =
      'kubelet\t1.34.4-1.1\thold\tinstalled\nkubectl\t1.34.4-1.1\tdeinstall\tconfig-files\nkubeadm\t1.34.4-1.1\tinstall\tinstalled\n';
    expect([...parseInstalled(output)]).toEqual([
      ['kubelet', { version: '1.34.4', held: true }],
      ['kubeadm', { version: '1.34.4', held: false }],
    ]);
  });
});

it('a command is formatted as typed in a shell', () =>
  expect(commandLine('dpkg-query', ['-W', '-f=${Package}\\n', 'kubelet'])).toBe(
    "dpkg-query -W '-f=${Package}\\n' kubelet",
  ));
