import { describe, expect, it } from '@jest/globals';
import { EXTERNAL_ETCD, etcdCheckFlags, type EtcdChange } from '@fairlead/contracts';
import type { CommandResult, HostPort } from '../node/host.ports.js';
import { restoreMember, startControlPlane, stopControlPlane, type RestoreParts } from './etcd.restore.js';
import { unitAt, unitEtcdUpgrade } from './unit.etcd.js';

const { programs, pod, unit } = EXTERNAL_ETCD;
const UNIT_FILE = `/etc/systemd/system/${unit}`;
const [OLD, NEW] = ['registry.k8s.io/etcd:3.5.24-0', 'registry.k8s.io/etcd:3.6.5-0'];
const PEER = 'https://10.0.0.1:2380';

const unitText = (version: string): string =>
  ['[Service]', 'Type=notify', `ExecStart=${programs}/etcd`]
    .concat(
      ...['--name=cp-1', '--data-dir=/var/lib/etcd', `--initial-advertise-peer-urls=${PEER}`, '--snapshot-count=10000'],
      ...etcdCheckFlags(version),
    )
    .map((line) => (line.startsWith('--') ? `  ${line} \\` : line))
    .join('\n');

class PowerCut extends Error {}

/**
 * A control plane reduced to a disk, systemd and containerd. The power fails before an operation and returns with the
 * same disk.
 */
class ModelHost {
  readonly files = new Map<string, string>([
    [UNIT_FILE, unitText('3.5.24')],
    ...['etcd', 'etcdctl', 'etcdutl'].map((name) => [`${programs}/${name}`, OLD] as const),
    [`${programs}/image`, OLD],
    [pod, `    - name: etcdctl\n      image: ${OLD}\n      command:\n`],
    ['/var/lib/etcd/member/wal/0.wal', 'entries'],
    ['/etc/kubernetes/manifests/kube-apiserver.yaml', 'kube-apiserver'],
  ]);
  readonly commands: string[] = [];
  /** Each start of the member: its program, and the minor version of its flags. */
  readonly starts: string[] = [];
  isRunning = true;
  isEnabled = true;
  operations = 0;
  cutAt = Infinity;

  readonly port: HostPort = {
    at: (path) => path,
    run: (command, args) => this.operate(() => this.execute([command, ...args].join(' '))),
    readFile: (path) => Promise.resolve(this.files.get(path)),
    writeFile: (path, text) => this.operate(() => void this.files.set(path, text)),
    rename: (from, to) => this.operate(() => this.move(from, to)),
    exists: (path) =>
      Promise.resolve([...this.files.keys()].some((file) => file === path || file.startsWith(`${path}/`))),
    bootId: () => Promise.resolve('boot'),
    watch: () => Promise.resolve(undefined),
    bootedAt: () => Promise.resolve(new Date(0)),
    osRelease: () => Promise.resolve('Debian'),
    kernel: () => Promise.resolve('6.1'),
  };

  readonly copyFile = (from: string, to: string): Promise<void> =>
    this.operate(() => void this.files.set(to, this.files.get(from) ?? ''));

  private async operate<T>(effect: () => T): Promise<T> {
    this.operations += 1;
    if (this.operations >= this.cutAt) throw new PowerCut();
    return effect();
  }

  private move(from: string, to: string): void {
    for (const [path, text] of [...this.files]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.files.delete(path);
      this.files.set(`${to}${path.slice(from.length)}`, text);
    }
  }

  private start(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    const text = this.files.get(UNIT_FILE) ?? '';
    this.starts.push(
      `${/:(3\.\d)/.exec(this.files.get(`${programs}/etcd`) ?? '')?.[1]} ${/count=(\d+)/.exec(text)?.[1]}`,
    );
    if (text.includes('--snapshot-count=10 ')) this.files.set('/var/lib/etcd/member/snap/0.snap', 'members');
  }

  /** Starts the enabled units. */
  boot(): void {
    this.cutAt = Infinity;
    this.isRunning = false;
    if (this.isEnabled) this.start();
  }

  private execute(line: string): CommandResult {
    this.commands.push(line);
    const done = (stdout = '', code = 0): CommandResult => ({ code, stdout, stderr: '' });
    const [program, ...args] = line.split(' ');
    if (program === 'etcdutl') return done('', 127);
    if (line.includes('images mount'))
      for (const name of ['etcd', 'etcdctl', 'etcdutl'])
        this.files.set(`${args[5]}/usr/local/bin/${name}`, args[4] ?? '');
    if (program === 'find') {
      const end = /-name \*(\S+)/.exec(line)?.[1] ?? '';
      return done([...this.files.keys()].find((path) => path.startsWith(`${args[0]}/`) && path.endsWith(end)));
    }
    if (line.includes('snapshot restore --help')) return done('--bump-revision');
    if (line.includes('snapshot restore'))
      this.files.set(`${/--data-dir=(\S+)/.exec(line)?.[1]}/member/snap/db`, 'restored');
    return program === 'systemctl' ? this.systemctl(line) : done();
  }

  private systemctl(line: string): CommandResult {
    if (line.includes('is-active')) return { code: this.isRunning ? 0 : 3, stdout: '', stderr: '' };
    if (line.includes('disable')) [this.isEnabled, this.isRunning] = [false, false];
    if (line.includes('enable --now')) this.isEnabled = true;
    if (line.includes(`restart ${unit}`)) this.isRunning = false;
    if (line.includes('enable --now') || line.includes(`restart ${unit}`)) this.start();
    return { code: 0, stdout: '', stderr: '' };
  }
}

const upgrade = async (host: ModelHost): Promise<void> => {
  const work = await unitEtcdUpgrade({ host: host.port, profile: {}, copyFile: host.copyFile }, 'v1.34.4');
  await work?.prepare();
  await work?.exchange();
};

const expectUpgraded = (host: ModelHost): void => {
  expect(host.files.get(UNIT_FILE)).toBe(unitText('3.6.5'));
  for (const name of ['etcd', 'etcdctl', 'etcdutl', 'image']) expect(host.files.get(`${programs}/${name}`)).toBe(NEW);
  expect(host.files.get(pod)).toContain(`image: ${NEW}\n`);
  expect([host.isRunning, host.isEnabled]).toEqual([true, true]);
};

describe('the member of an external etcd, as a unit of its host', () => {
  it('is upgraded to the etcd of a release after a first snapshot with 3.5 (ADR 25)', async () => {
    const host = new ModelHost();
    await upgrade(host);
    expectUpgraded(host);
    expect(host.starts).toEqual(['3.5 10', '3.6 10000']);
    const before = host.commands.length;
    await upgrade(host);
    expect(host.commands).toHaveLength(before);
  });

  it('is upgraded despite a power failure before any operation', async () => {
    const whole = new ModelHost();
    await upgrade(whole);
    for (let at = 1; at <= whole.operations; at += 1) {
      const host = new ModelHost();
      host.cutAt = at;
      await expect(upgrade(host)).rejects.toThrow(PowerCut);
      host.boot();
      await upgrade(host);
      expectUpgraded(host);
      expect(host.files.has('/var/lib/etcd/member/snap/0.snap')).toBe(true);
    }
  });

  it('keeps the flags of its own host', () => {
    expect(unitAt(unitText('3.5.24'), '3.5.24', '3.6.5')).toBe(unitText('3.6.5'));
    expect(unitAt(unitText('3.6.5'), '3.6.5', '3.6.8')).toBe(unitText('3.6.5'));
  });

  it('is stopped across boots, restored with its own etcdutl, and started again', async () => {
    const host = new ModelHost();
    host.files.set('/var/lib/etcd/member/snap/db', 'data from before');
    const parts: RestoreParts = {
      ...{ host: host.port, removeFile: undefined },
      sleep: () => Promise.resolve(),
      etcdutl: () => Promise.resolve(undefined),
    };
    const change: EtcdChange = {
      ...{ step: 'restore', restoreId: 'r1', snapshotFile: '/s.db', peerUrl: PEER, token: 't' },
      initialCluster: `cp-1=${PEER}`,
    };
    await expect(restoreMember(parts, change)).rejects.toThrow('its member still runs');
    // Its API server has no container in this model, so it counts as stopped.
    await stopControlPlane(parts);
    host.boot();
    expect([host.isRunning, host.files.has('/etc/kubernetes/manifests/kube-apiserver.yaml')]).toEqual([false, false]);
    await restoreMember(parts, change);
    expect(host.files.get('/var/lib/etcd/member/snap/db')).toBe('restored');
    expect(host.files.get('/var/lib/etcd/fairlead-before-r1/snap/db')).toBe('data from before');
    expect(host.commands.some((line) => line.startsWith(`${programs}/etcdutl snapshot restore`))).toBe(true);
    host.files.delete('/etc/kubernetes/fairlead-restore-kube-apiserver.yaml');
    await startControlPlane(parts);
    expect([host.isRunning, host.isEnabled]).toEqual([true, true]);
  });
});
