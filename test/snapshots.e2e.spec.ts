import type { ClusterManifestView, NodeActionView, NodeList, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 400_000;
const PATH = '/ns/default/clusters/shop';
const [OLD, NEW] = ['v1.34.4', 'v1.35.4'];
const machines = { connection: 'lab', machineType: 'lab.medium' };

interface Declared {
  readonly replicas: number;
  readonly version: string;
  readonly age?: string;
}

const manifest = ({ replicas, version, age }: Declared) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    version,
    serviceType: 'single',
    controlPlane: { replicas, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
    ...(age === undefined ? {} : { etcdSnapshotMaxAge: age }),
  },
});

/** The whole product in the lab, a simulation: a cluster's etcd is saved by its own tools. */
describe('the etcd snapshots of a cluster', () => {
  let system: System;
  let declared: Declared = { replicas: 1, version: OLD, age: '0s' };

  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const lastSeq = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const until = (after: number, ...types: readonly StoredEvent['type'][]): Promise<StoredEvent> =>
    system.until('shop', ({ type, meta }) => types.includes(type) && meta.seq > after, TIMEOUT_MS);
  const declare = async (change: Partial<Declared>): Promise<number> => {
    const before = await lastSeq();
    declared = { ...declared, ...change };
    const { status, body } = await system.call<ClusterManifestView>('PUT', `${PATH}/manifest`, manifest(declared));
    // 200: no work is requested.
    expect([[200, 202].includes(status), (body as { message?: string }).message]).toEqual([true, undefined]);
    return before;
  };
  const post = async <Body>(path: string, body: object): Promise<Body> => {
    const answer = await system.call<Body>('POST', `${PATH}${path}`, body);
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const controlPlanes = async (): Promise<readonly string[]> => {
    const { body } = await system.call<NodeList>('GET', `${PATH}/nodes?minSeq=${await lastSeq()}`);
    return body.items.flatMap(({ name, role }) => (role === 'control-plane' ? [name] : []));
  };
  const reboot = async (node: string): Promise<string> => {
    const before = await lastSeq();
    await post<NodeActionView>('/nodes/actions', { action: 'reboot', select: { nodes: [node] }, drain: false });
    await until(before, 'NodeActionSucceeded');
    return course(before);
  };

  /** The events of control planes from there, in order: s for an etcd snapshot, otherwise the change that begins. */
  const course = async (from: number, to = Infinity): Promise<string> => {
    const all = await log();
    const names: ReadonlySet<string> = new Set(
      all.flatMap((event) =>
        event.type === 'VmsPlanned'
          ? event.data.machines.flatMap(({ name, role }) => (role === 'control-plane' ? [name] : []))
          : [],
      ),
    );
    const letterOf = (event: StoredEvent): string => {
      if (event.type === 'EtcdSnapshotTaken') return 's';
      if (!('node' in event.data) || typeof event.data.node !== 'string' || !names.has(event.data.node)) return '';
      switch (event.type) {
        case 'ControlPlaneJoined':
          return 'j';
        case 'UpgradeAllowed':
          return 'u';
        case 'NodeDrained':
          return 'd';
        case 'NodeChangeProgressed': {
          const { change, phase, status } = event.data;
          return change.startsWith('action-') && phase === 'reboot' && status === 'started' ? 'r' : '';
        }
        default:
          return '';
      }
    };
    return all
      .filter(({ meta }) => meta.seq > from && meta.seq <= to)
      .map(letterOf)
      .join('');
  };

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    await declare({});
    await until(0, 'ClusterReady');
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'are taken before every step that changes a control plane, if the maximum age is 0 [ORBITER 33]',
    async () => {
      const created = await lastSeq();
      expect(await course(0, created)).toBe('');

      // Two are added.
      await until(await declare({ replicas: 3 }), 'ClusterReady');
      expect(await course(created)).toMatch(/^(s+j){2}$/);

      // Another version: the first, the second and the third.
      let before = await declare({ version: NEW });
      await until(before, 'RolloutCompleted', 'RolloutHalted', 'UpgradeRejected');
      expect(await course(before)).toMatch(/^(s+u){3}$/);

      // Certificates.
      before = await lastSeq();
      await post<UpgradeView>('/upgrades', { renewCertificates: true, pools: [], approved: true });
      await until(before, 'RolloutCompleted', 'RolloutHalted', 'UpgradeRejected');
      expect(await course(before)).toMatch(/^(s+u){3}$/);

      // A reboot.
      const [first = '', second = ''] = await controlPlanes();
      expect(await reboot(first)).toMatch(/^s+r$/);

      // A replacement: one joins, then the other leaves.
      before = await lastSeq();
      await post('/nodes/replacements', { select: { nodes: [second] } });
      await system.until('shop', (event) => event.type === 'VmDeleted' && event.data.name === second, TIMEOUT_MS);
      expect(await course(before)).toMatch(/^s+js+d$/);
    },
    TIMEOUT_MS,
  );

  it(
    'are not taken again while one is within the maximum age',
    async () => {
      await declare({ age: '1h' });
      const [first = ''] = await controlPlanes();
      expect(await reboot(first)).toBe('r');
      const before = await declare({ replicas: 1 });
      const gone = new Set<string>();
      await system.until(
        'shop',
        ({ type, data, meta }) => {
          if (type === 'VmDeleted' && meta.seq > before) gone.add(data.name);
          return gone.size === 2;
        },
        TIMEOUT_MS,
      );
      expect(await course(before)).toBe('dd');
    },
    TIMEOUT_MS,
  );
});
