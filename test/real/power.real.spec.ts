import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mirrorPaths, NODE_BINARIES, type Machine, type StoredEvent } from '@fairlead/contracts';
import { localMirror } from '@fairlead/mirror';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf } from './kubectl.js';
import { startRealSystem, VERSION, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'dark';
/** If systemd waits for a container until its own limit, a reboot takes twice as long. */
const REBOOT_MS = 45_000;

/** A point of an operation: a file that is written in the middle of it. */
interface Moment {
  readonly role: Machine['role'];
  /** Shell words: any of these files. */
  readonly files: string;
  /** Events of the host that must, and must not, exist before. */
  readonly said: StoredEvent['type'];
  readonly unsaid: StoredEvent['type'];
}

const MOMENTS: readonly Moment[] = [
  {
    role: 'control-plane',
    files: '/usr/bin/.fairlead-kube* /usr/bin/kubeadm',
    said: 'AgentStarted',
    unsaid: 'NodeInitialized',
  },
  {
    role: 'control-plane',
    files: '/etc/kubernetes/manifests/etcd.yaml',
    said: 'NodeBootstrapped',
    unsaid: 'ControlPlaneInitialized',
  },
  {
    role: 'worker',
    files: '/usr/bin/.fairlead-kube* /opt/cni/bin/*',
    said: 'AgentStarted',
    unsaid: 'NodeInitialized',
  },
  {
    role: 'worker',
    files: '/etc/kubernetes/bootstrap-kubelet.conf /etc/kubernetes/kubelet.conf',
    said: 'NodeBootstrapped',
    unsaid: 'WorkerJoined',
  },
];

describe('a real creation whose hosts lose power, during preparation and during kubeadm', () => {
  let system: RealSystem;
  let events: readonly StoredEvent[];
  const hosts = new Map<Machine['role'], { readonly node: string; readonly host: string }>();
  /** The host's events at its power failure. */
  const saidBefore = new Map<Moment, readonly StoredEvent['type'][]>();

  const saidOf = async (node: string): Promise<readonly StoredEvent['type'][]> =>
    (await system.events(CLUSTER)).filter(({ data }) => 'node' in data && data.node === node).map(({ type }) => type);

  const isThere = (host: string, files: string): Promise<boolean> =>
    system.local.hosts
      .execute(host, ['sh', '-c', `for f in ${files}; do [ ! -e "$f" ] || exit 0; done; exit 1`])
      .then(({ code }) => code === 0);

  const losePower = async (moment: Moment): Promise<void> => {
    const { node, host } = hosts.get(moment.role) ?? { node: '', host: '' };
    await eventually(moment.files, () => isThere(host, moment.files), Boolean, 5 * MINUTE_MS);
    await system.local.hosts.powerCut(host);
    saidBefore.set(moment, await saidOf(node));
    await system.local.hosts.start(host);
  };

  const losePowerEachTime = async (role: Machine['role']): Promise<void> => {
    const isMade = (event: StoredEvent): boolean => event.type === 'VmCreated' && event.data.machine.role === role;
    const made = await system.until(CLUSTER, isMade, 5 * MINUTE_MS);
    if (made.type !== 'VmCreated') throw new Error(`${made.type} makes no machine`);
    const { name: node, providerId } = made.data.machine;
    hosts.set(role, { node, host: providerId.split('/').at(-1) ?? '' });
    const isStarted = ({ type, data }: StoredEvent): boolean =>
      type === 'AgentStarted' && 'node' in data && data.node === node;
    await system.until(CLUSTER, isStarted, 5 * MINUTE_MS);
    for (const moment of MOMENTS.filter((each) => each.role === role)) await losePower(moment);
  };

  beforeAll(async () => {
    system = await startRealSystem();
    const created = system.create(CLUSTER, { controlPlanes: 1, workers: 1 });
    [events] = await Promise.all([created, losePowerEachTime('control-plane'), losePowerEachTime('worker')]);
  }, 20 * MINUTE_MS);

  afterAll(() => system?.stop(), 3 * MINUTE_MS);

  it.each(MOMENTS)('was interrupted between $said and $unsaid of its $role', (moment) => {
    const said = saidBefore.get(moment) ?? [];
    expect(said).toContain(moment.said);
    expect(said).not.toContain(moment.unsaid);
  });

  it(
    'ends with Ready nodes nevertheless',
    async () => {
      expect(events.at(-1)?.type).toBe('ClusterReady');
      expect([...hosts.values()].map(({ host }) => system.local.hosts.find(host)?.boots)).toEqual([3, 3]);
      const nodes = await nodesOf(await system.kubectl(CLUSTER));
      expect(nodes.map(({ ready, version }) => ({ ready, version }))).toEqual([
        { ready: true, version: VERSION },
        { ready: true, version: VERSION },
      ]);
    },
    MINUTE_MS,
  );

  it.each(['control-plane', 'worker'] as const)(
    'left no partially written program on its %s',
    async (role) => {
      const { host = '' } = hosts.get(role) ?? {};
      for (const name of NODE_BINARIES) {
        const desired = createHash('sha256')
          .update(readFileSync(join(localMirror(process.env), mirrorPaths.binary(VERSION, name))))
          .digest('hex');
        const found = (await system.onHost(host, 'sha256sum', `/usr/bin/${name}`)).split(' ')[0];
        expect({ name, found }).toEqual({ name, found: desired });
      }
      expect(await system.onHost(host, 'sh', '-c', 'ls -A /usr/bin | grep fairlead || true')).toBe('');
    },
    MINUTE_MS,
  );

  it.each(['worker', 'control-plane'] as const)(
    'has a %s that reboots without waiting for containers that ignore SIGTERM',
    async (role) => {
      const { host = '' } = hosts.get(role) ?? {};
      const boots = (): Promise<number> => Promise.resolve(system.local.hosts.find(host)?.boots ?? 0);
      const before = await boots();
      await system.onHost(host, 'systemctl', 'reboot', '--no-block');
      await eventually(`the next boot of ${host}`, boots, (count) => count > before, REBOOT_MS);
    },
    2 * MINUTE_MS,
  );
});
