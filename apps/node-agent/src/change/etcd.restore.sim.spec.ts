import { describe, expect, it } from '@jest/globals';
import type { EtcdChange } from '@fairlead/contracts';
import type { CommandResult, HostPort } from '../node/host.ports.js';
import {
  restoreMember,
  startControlPlane,
  stopControlPlane,
  stopForRestore,
  undoRestore,
  type RestoreParts,
} from './etcd.restore.js';

const MANIFESTS = '/etc/kubernetes/manifests';
const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const DATA = '/var/lib/etcd';
const PEER = 'https://10.0.0.1:2380';
const ETCD = [
  'spec:',
  '  containers:',
  '  - command:',
  '    - etcd',
  `    - --data-dir=${DATA}`,
  `    - --initial-advertise-peer-urls=${PEER}`,
  '    - --name=cp-1',
  '    image: registry.k8s.io/etcd:3.6.5-0',
].join('\n');

const change = (over: Partial<EtcdChange> = {}): EtcdChange => ({
  step: 'restore',
  restoreId: 'r1',
  snapshotFile: '/var/lib/fairlead/etcd-snapshot.db',
  peerUrl: PEER,
  initialCluster: `cp-1=${PEER},cp-2=https://10.0.0.2:2380`,
  token: 't',
  ...over,
});

class PowerCut extends Error {}

/**
 * A control plane reduced to a disk, a kubelet that runs pods with a manifest, and etcdutl. The power fails before an
 * operation.
 */
class ModelHost {
  readonly files = new Map<string, string>([
    ['/var/lib/etcd/member/snap/db', 'data from before'],
    [`${MANIFESTS}/etcd.yaml`, ETCD],
    ...NAMES.slice(1).map((name) => [`${MANIFESTS}/${name}.yaml`, name] as const),
  ]);
  readonly commands: string[] = [];
  operations = 0;
  cutAt = Infinity;
  help = '--bump-revision --mark-compacted';

  get running(): readonly string[] {
    return NAMES.filter((name) => this.files.has(`${MANIFESTS}/${name}.yaml`));
  }

  get data(): string | undefined {
    return this.files.get('/var/lib/etcd/member/snap/db');
  }

  readonly parts = (): RestoreParts => ({
    host: this.port,
    sleep: () => Promise.resolve(),
    removeFile: undefined,
    etcdutl: () => Promise.resolve(undefined),
  });

  private async operate<T>(effect: () => T): Promise<T> {
    this.operations += 1;
    if (this.operations >= this.cutAt) throw new PowerCut();
    return effect();
  }

  private readonly port: HostPort = {
    at: (path) => path,
    run: (command, args) => this.operate(() => this.execute([command, ...args])),
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

  private move(from: string, to: string): void {
    // A disk of its own is mounted there.
    if ([from, to].includes(DATA)) throw new Error(`rename: Device or resource busy: ${DATA}`);
    for (const [path, text] of [...this.files]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.files.delete(path);
      this.files.set(to + path.slice(from.length), text);
    }
  }

  private execute(words: readonly string[]): CommandResult {
    const line = words.join(' ');
    this.commands.push(line);
    const said = (stdout: string): CommandResult => ({ code: 0, stdout, stderr: '' });
    if (line.includes('containers ls'))
      return said(this.running.filter((name) => line.includes(`.name"==${name},`)).join('\n'));
    if (line.includes('tasks ls')) return said(this.running.map((name) => `${name} 1 RUNNING`).join('\n'));
    if (line.endsWith('--help')) return said(this.help);
    const folder = /--data-dir=(\S+)/.exec(line)?.[1];
    if ([...this.files.keys()].some((file) => file.startsWith(`${folder}/`)))
      return { code: 1, stdout: '', stderr: `Error: data-dir "${folder}" not empty or could not be read` };
    if (folder !== undefined) this.files.set(`${folder}/member/snap/db`, 'data of the snapshot');
    return said('');
  }
}

/** The power failure is intentional; any other error is a bug. */
const onlyPowerCut = (error: unknown): void => {
  if (!(error instanceof PowerCut)) throw error;
};

const stopped = async (): Promise<ModelHost> => {
  const host = new ModelHost();
  await stopControlPlane(host.parts());
  host.operations = 0;
  return host;
};

const whole = async (work: (host: ModelHost) => Promise<void>): Promise<number> => {
  const host = await stopped();
  await work(host);
  return host.operations;
};

describe('a restore of etcd on a control plane', () => {
  it("stops API servers before etcd, and keeps the manifests outside the kubelet's folder", async () => {
    const host = await stopped();
    expect(host.running).toEqual([]);
    expect(host.files.get('/etc/kubernetes/fairlead-restore-etcd.yaml')).toBe(ETCD);
  });

  it('keeps the former data next to the restored ones, wherever the power fails', async () => {
    const restore = (host: ModelHost): Promise<void> => restoreMember(host.parts(), change());
    const count = await whole(restore);
    expect(count).toBeGreaterThan(4);
    for (let cutAt = 1; cutAt <= count; cutAt += 1) {
      const host = await stopped();
      host.cutAt = cutAt;
      await expect(restore(host)).rejects.toThrow(PowerCut);
      host.cutAt = Infinity;
      await restore(host);
      await restore(host);
      expect([cutAt, host.data]).toEqual([cutAt, 'data of the snapshot']);
      expect(host.files.get('/var/lib/etcd/fairlead-before-r1/snap/db')).toBe('data from before');
      await startControlPlane(host.parts());
      expect(host.running).toEqual(NAMES);
    }
  });

  it('can be undone from any point, also with power failures', async () => {
    const count = await whole((host) => restoreMember(host.parts(), change()));
    for (let cutAt = 1; cutAt <= count + 1; cutAt += 1) {
      for (let undoCutAt = 1; undoCutAt <= 12; undoCutAt += 1) {
        const host = await stopped();
        host.cutAt = cutAt;
        await restoreMember(host.parts(), change()).catch(onlyPowerCut);
        host.operations = 0;
        host.cutAt = undoCutAt;
        await undoRestore(host.parts(), change()).catch(onlyPowerCut);
        host.cutAt = Infinity;
        await undoRestore(host.parts(), change());
        expect([cutAt, undoCutAt, host.data, host.running]).toEqual([cutAt, undoCutAt, 'data from before', NAMES]);
      }
    }
  });

  it('passes the same members to etcdutl on every node, and skips known revisions if etcdutl supports it', async () => {
    const commandOf = async (help: string): Promise<string> => {
      const host = await stopped();
      host.help = help;
      await restoreMember(host.parts(), change());
      return host.commands.find((line) => line.includes('--data-dir')) ?? '';
    };
    expect(await commandOf('--bump-revision --mark-compacted')).toBe(
      'etcdutl snapshot restore /var/lib/fairlead/etcd-snapshot.db --name=cp-1 ' +
        `--initial-cluster=cp-1=${PEER},cp-2=https://10.0.0.2:2380 --initial-cluster-token=t ` +
        `--initial-advertise-peer-urls=${PEER} --data-dir=/var/lib/etcd/fairlead-restored-r1-1 ` +
        '--bump-revision=1000000000 --mark-compacted',
    );
    expect(await commandOf('--data-dir')).not.toContain('revision');
  });

  it('works where the data folder is a disk of its own, which cannot be renamed and exists already', async () => {
    const host = await stopped();
    host.files.set(`${DATA}/lost+found/x`, '');
    await restoreMember(host.parts(), change());
    expect(host.data).toBe('data of the snapshot');
    await undoRestore(host.parts(), change());
    expect([host.data, host.running]).toEqual(['data from before', NAMES]);
  });

  it('is refused before anything is stopped if etcd keeps its log elsewhere, and says what to do', async () => {
    const host = new ModelHost();
    host.files.set(`${MANIFESTS}/etcd.yaml`, ETCD.replace('--name', '--wal-dir=/mnt/wal\n    - --name'));
    await expect(stopForRestore(host.parts())).rejects.toThrow(
      'etcd keeps its log in /mnt/wal (--wal-dir), which a restore would leave beside other data: move what is in it to /var/lib/etcd/member/wal, and take the flag out of the manifest',
    );
    expect(host.running).toEqual(NAMES);
  });

  it('is refused for a different member, and while etcd may be running', async () => {
    const host = await stopped();
    const other = change({ peerUrl: 'https://10.0.0.9:2380' });
    await expect(restoreMember(host.parts(), other)).rejects.toThrow('the manifest of etcd says cp-1=');
    await expect(restoreMember(new ModelHost().parts(), change())).rejects.toThrow('is where the kubelet runs it');
    expect(host.data).toBe('data from before');
  });
});
