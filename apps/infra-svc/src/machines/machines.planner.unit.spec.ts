import {
  ClusterName,
  NodeName,
  type ClusterUid,
  type ConnectionName,
  type MachinePlan,
  type SecretRef,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, UID } from '../../test/fixtures.js';
import { downZones, machineName, machineOf, planCluster, planNodes } from './machines.planner.js';
import { groupOf } from '../providers/group.names.js';

const ZONES = ['lab-1a', 'lab-1b', 'lab-1c'];
const threeZones = () => ZONES;
const noZones = () => [];

const countsByZone = (machines: readonly MachinePlan[]): number[] =>
  ZONES.map((zone) => machines.filter((machine) => machine.zone === zone).length);

describe('the name of a machine', () => {
  it('contains cluster, role and index, and ends with a suffix of the incarnation', () => {
    expect(machineName('demo', UID, 'control-plane', 1)).toMatch(/^demo-cp-1-[a-z0-9]{5}$/);
    expect(machineName('demo', UID, 'worker', 12)).toMatch(/^demo-w-12-[a-z0-9]{5}$/);
  });

  it('is deterministic, and different for another incarnation', () => {
    expect(machineName('demo', UID, 'worker', 1)).toBe(machineName('demo', UID, 'worker', 1));
    expect(machineName('demo', UID, 'worker', 1)).not.toBe(machineName('demo', LATER_UID, 'worker', 1));
  });

  it('contains the whole name of a cluster up to 40 characters, as it did before longer ones were accepted', () =>
    expect(machineName('c'.repeat(40), UID, 'worker', 500)).toMatch(/^c{40}-w-500-[a-z0-9]{5}$/));

  it.each([41, 50, 63])(
    'of a cluster whose name has %i characters is a DNS label of at most 63 [CB-Ladybug 5]',
    (length) => {
      const [one, other] = ['a', 'b'].map((last) => ClusterName.parse('c'.repeat(length - 1) + last));
      for (const index of [1, 500, 1_000_000])
        for (const role of ['control-plane', 'worker'] as const) {
          const name = machineName(one!, UID, role, index);
          expect(NodeName.safeParse(name)).toMatchObject({ success: true });
          expect(name.startsWith('c'.repeat(30))).toBe(true);
          expect(name).not.toBe(machineName(other!, UID, role, index));
        }
    },
  );
});

describe('the machines of a new cluster', () => {
  it('are the control planes, of which the first leads, and the workers numbered over all sets', () => {
    const machines = planCluster(UID, clusterSpec({ workers: [nodeSet(1), nodeSet(2)] }), noZones);
    expect(machines.map(({ name, role, pool, leader }) => [name.replace(/-[^-]+$/, ''), role, pool, leader])).toEqual([
      ['demo-cp-1', 'control-plane', 'control-plane', true],
      ['demo-cp-2', 'control-plane', 'control-plane', false],
      ['demo-cp-3', 'control-plane', 'control-plane', false],
      ['demo-w-1', 'worker', 'worker-1', false],
      ['demo-w-2', 'worker', 'worker-2', false],
      ['demo-w-3', 'worker', 'worker-2', false],
    ]);
  });

  it('have no zone if the provider has none', () =>
    expect(planCluster(UID, clusterSpec(), noZones).every((machine) => !('zone' in machine))).toBe(true));

  it.each([1, 2, 3, 5, 7])('spread %i control planes over zones that differ by at most one', (count) => {
    const machines = planCluster(
      UID,
      clusterSpec({ controlPlane: nodeSet(count), workers: [nodeSet(10)] }),
      threeZones,
    );
    for (const role of ['control-plane', 'worker'] as const) {
      const counts = countsByZone(machines.filter((machine) => machine.role === role));
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
  });

  it('keep control planes in the zones that are named for them, and workers anywhere', () => {
    const spec = clusterSpec({ controlPlane: nodeSet(3, { zones: ['lab-1a', 'lab-1c'] }), workers: [nodeSet(3)] });
    const machines = planCluster(UID, spec, threeZones);
    expect(countsByZone(machines.filter(({ role }) => role === 'control-plane'))).toEqual([2, 0, 1]);
    expect(countsByZone(machines.filter(({ role }) => role === 'worker'))).toEqual([1, 1, 1]);
  });

  it('spread over the zones of their own connection', () => {
    const other = 'other' as ConnectionName;
    const spec = clusterSpec({ workers: [nodeSet(3, { connection: other })] });
    const zonesOf = (connection: ConnectionName) => (connection === other ? ['x'] : ZONES);
    const workers = planCluster(UID, spec, zonesOf).filter(({ role }) => role === 'worker');
    expect(workers.map(({ zone }) => zone)).toEqual(['x', 'x', 'x']);
  });
});

describe('more workers', () => {
  const first = planCluster(UID, clusterSpec({ workers: [nodeSet(5)] }), threeZones);

  it('continue from the highest index ever used, even if that machine is gone [CB-Ladybug 29]', () => {
    const planned = first.filter(({ name }) => !name.startsWith('demo-w-5'));
    const cluster = { uid: UID, spec: clusterSpec(), planned, workersEver: 5, poolsEver: 1, controlPlanesEver: 3 };
    const [sixth] = planNodes(cluster, { workers: [nodeSet(1)] }, threeZones);
    expect(sixth?.name).toMatch(/^demo-w-6-/);
    expect(sixth?.pool).toBe('worker-2');
  });

  it('are in the requested pool; others start a pool with an unused number', () => {
    const cluster = {
      uid: UID,
      spec: clusterSpec(),
      planned: first,
      workersEver: 5,
      poolsEver: 1,
      controlPlanesEver: 3,
    };
    const named = planNodes(
      cluster,
      { workers: [nodeSet(2, { pool: 'web' }), nodeSet(1, { pool: 'worker-7' })] },
      noZones,
    );
    expect(named.map(({ pool }) => pool)).toEqual(['web', 'web', 'worker-7']);
    const [next] = planNodes(
      { ...cluster, planned: [...first, ...named], workersEver: 8 },
      { workers: [nodeSet(1)] },
      noZones,
    );
    expect([next?.pool, next?.name.replace(/-[^-]+$/, '')]).toEqual(['worker-8', 'demo-w-9']);
  });

  it('fill the zone with the fewest machines after removals [Cluster API 16]', () => {
    const planned = first.filter(({ role, zone }) => role !== 'worker' || zone !== 'lab-1b');
    const cluster = { uid: UID, spec: clusterSpec(), planned, workersEver: 5, poolsEver: 1, controlPlanesEver: 3 };
    const more = planNodes(cluster, { workers: [nodeSet(2, { pool: 'worker-1' })] }, threeZones);
    expect(more.map(({ zone }) => zone)).toEqual(['lab-1b', 'lab-1b']);
  });

  it('avoid a zone that is down, however few machines it has, unless there is no other [Cluster API 16]', () => {
    const there = first.filter(({ zone }) => zone === 'lab-1b').map(({ name }) => name);
    const planned = first.filter(({ name, zone }) => zone !== 'lab-1b' || name === there[0] || name === there[1]);
    const others = planned.filter(({ zone }) => zone !== 'lab-1b').map(({ name }) => name);
    const seen = (silent: readonly string[], ready: readonly string[] = others, gone: readonly string[] = []) =>
      downZones({ planned, ready: marked(ready), silent: marked(silent), gone: marked(gone) });
    const marked = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true as const]));
    const zones = (isDown: ReturnType<typeof seen>, more: object = {}) => {
      const cluster = { uid: UID, spec: clusterSpec(), planned, isDown };
      const ever = { workersEver: 5, poolsEver: 1, controlPlanesEver: 3 };
      return planNodes({ ...cluster, ...ever }, { workers: [nodeSet(2, { pool: 'web', ...more })] }, threeZones)
        .map(({ zone }) => zone)
        .toSorted();
    };
    expect(zones(seen(there))).toEqual(['lab-1a', 'lab-1c']);
    expect(zones(seen(there), { zones: ['lab-1b'] })).toEqual(['lab-1b', 'lab-1b']);
    // Not down: one of its machines responds, none responds anywhere, or the silent ones are gone.
    for (const isDown of [seen(there.slice(1)), seen(planned.map(({ name }) => name)), seen(there, others, there)])
      expect(zones(isDown)).toContain('lab-1b');
  });

  it('are spread pool by pool, over the zones of the pool [Cluster API 16]', () => {
    const cluster = {
      uid: UID,
      spec: clusterSpec(),
      planned: first,
      workersEver: 5,
      poolsEver: 1,
      controlPlanesEver: 3,
    };
    const sets = [nodeSet(3, { pool: 'web' }), nodeSet(4, { pool: 'gpu', zones: ['lab-1a', 'lab-1c'] })];
    const zones = planNodes(cluster, { workers: sets }, threeZones).map(({ pool, zone }) => `${pool}/${zone}`);
    const count = (place: string): number => zones.filter((one) => one === place).length;
    expect(['lab-1a', 'lab-1b', 'lab-1c'].map((zone) => count(`web/${zone}`))).toEqual([1, 1, 1]);
    expect(['lab-1a', 'lab-1b', 'lab-1c'].map((zone) => count(`gpu/${zone}`))).toEqual([2, 0, 2]);
  });

  it('are balanced without leaving machines [Cluster API 16]', () => {
    const staying = first.filter(({ role, zone }) => role !== 'worker' || zone !== 'lab-1c');
    const cluster = {
      uid: UID,
      spec: clusterSpec(),
      planned: first,
      staying,
      workersEver: 5,
      poolsEver: 1,
      controlPlanesEver: 3,
    };
    const [more] = planNodes(cluster, { workers: [nodeSet(1, { pool: 'worker-1' })] }, threeZones);
    expect(more?.zone).toBe('lab-1c');
  });
});

describe('a running machine', () => {
  const [plan] = planCluster(UID, clusterSpec(), noZones);
  const own = 'infra-svc.ssh-key.lab' as SecretRef;
  const answer = {
    id: 'm-1',
    name: plan!.name,
    uid: UID as ClusterUid,
    status: 'running' as const,
    publicIp: '',
    privateIp: '10.0.0.1',
    region: 'r',
    zone: 'z',
    ssh: { host: '10.0.0.1', port: 22, user: 'ops', hostKey: null },
  };
  const by = { provider: 'lab', keyRef: own };

  it("uses the connection's key and has no profile, unless its provider reports otherwise", () => {
    const machine = machineOf(plan!, answer, by);
    expect(machine.ssh).toEqual({ ...answer.ssh, keyRef: own });
    expect('profile' in machine).toBe(false);
    expect(machine.labels).toEqual({ 'fairlead.dev/pool': plan!.pool });
  });

  it("keeps its provider's key, jump host and profile", () => {
    const other = 'ssh.key' as SecretRef;
    const jump = { host: '10.0.0.254', port: 2222, user: 'jump', hostKey: 'SHA256:abc' };
    const profile = { cgroupDriver: 'cgroupfs', failSwapOn: false } as const;
    const machine = machineOf(plan!, { ...answer, ssh: { ...answer.ssh, keyRef: other, jump }, profile }, by);
    expect(machine.ssh).toEqual({ ...answer.ssh, keyRef: other, jump: { ...jump, keyRef: own } });
    expect(machine.profile).toEqual(profile);
  });
});

it('groups of different clusters never share a name', () => {
  const spec = clusterSpec();
  const of = (namespace: string, connection: string) =>
    groupOf({ namespace, uid: UID, spec } as Parameters<typeof groupOf>[0], connection as ConnectionName).name;
  expect(of('a', 'b-c')).not.toBe(of('a-demo', 'b-c'));
  expect(of('default', 'lab')).toBe('default.demo.lab');
});
