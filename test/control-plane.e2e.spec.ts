import type { ClusterManifestView, ErrorView, EventType, NodeList, StatusView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProbes, type Probes } from './system/probes.js';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };

describe('the control planes of a cluster', () => {
  let system: System;
  const path = '/ns/default/clusters/shop';
  let probes: Probes | undefined;

  let machineType = machines.machineType;

  const manifest = (replicas: number) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: {
      serviceType: 'single',
      // Each step takes its own etcd snapshot, however soon it follows the previous one.
      etcdSnapshotMaxAge: '0s',
      controlPlane: { replicas, ...machines, machineType },
      pools: [{ name: 'web', replicas: 1, ...machines }],
    },
  });
  const apply = (replicas: number) =>
    system.call<ClusterManifestView & Omit<ErrorView, 'kind'>>('PUT', `${path}/manifest`, manifest(replicas));
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const seqOf = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const nodes = async () => {
    const { body } = await system.call<NodeList>('GET', `${path}/nodes?minSeq=${await seqOf()}`);
    return body.items.filter(({ role }) => role === 'control-plane');
  };
  const targets = async (): Promise<readonly string[]> =>
    (await log()).reduce<readonly string[]>(
      (before, event) => (event.type === 'LoadBalancerUpdated' ? event.data.targets : before),
      [],
    );

  /** Applies it, and waits until every requested step is done. */
  const carryOut = async (replicas: number): Promise<void> => {
    const { status, body } = await apply(replicas);
    expect([status, body.message]).toEqual([202, undefined]);
    const since = (await log()).findLast(({ type }) => type === 'ClusterSpecChanged')?.meta.seq ?? 0;
    const leaving = body.plan?.flatMap(({ nodes: victims }) => victims.map(({ name }) => name)) ?? [];
    if (leaving.length === 0)
      await system.until('shop', ({ type, meta }) => type === 'ClusterReady' && meta.seq > since, TIMEOUT_MS);
    for (const node of leaving)
      await system.until('shop', (event) => event.type === 'VmDeleted' && event.data.name === node, TIMEOUT_MS);
  };

  /** The events of one control plane's removal, in order. */
  const course = async (node: string): Promise<readonly EventType[]> => {
    const kinds: ReadonlySet<EventType> = new Set<EventType>([
      'ControlPlaneRemovalStarted',
      'EtcdSnapshotTaken',
      'ControlPlaneRemovalPrepared',
      'NodeDrained',
      'LoadBalancerUpdated',
      'NodeRemoved',
      'VmDeleted',
    ]);
    const all = await log();
    const from = all.findIndex((event) => event.type === 'ControlPlaneRemovalStarted' && event.data.node === node);
    const to = all.findIndex((event) => event.type === 'VmDeleted' && event.data.name === node);
    // The machine of the previous one may be deleted while this one leaves.
    const isOfAnother = ({ type, data }: StoredEvent): boolean =>
      (type === 'ControlPlaneRemovalStarted' && data.node !== node) || (type === 'VmDeleted' && data.name !== node);
    return all
      .slice(from, to + 1)
      .flatMap((event) => (kinds.has(event.type) && !isOfAnother(event) ? [event.type] : []));
  };

  beforeAll(async () => {
    system = await startSystem({
      light: true,
      env: { AGENT_HEARTBEAT_INTERVAL_MS: '500', NODE_LOST_AFTER_MS: '5000', INFRA_WATCH_INTERVAL_MS: '3600000' },
    });
    await carryOut(1);
    const { body } = await system.call<{ endpoint: string }>('GET', path);
    probes = startProbes(body.endpoint);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await probes?.stop();
    await system?.stop();
  }, 60_000);

  it(
    'are scaled from 1 to 3 and to 5 by the manifest, and the load balancer sends requests to all of them [ORBITER 3, CB-Ladybug 30]',
    async () => {
      for (const replicas of [3, 5]) {
        await carryOut(replicas);
        const now = await nodes();
        expect(now.map(({ ready }) => ready)).toEqual(Array.from({ length: replicas }, () => true));
        expect((await targets()).toSorted()).toEqual(now.map(({ name }) => name).toSorted());
      }
    },
    TIMEOUT_MS,
  );

  it(
    'are scaled down to 3, one after the other, each after an etcd snapshot, and leave the load balancer before etcd [ORBITER 3, ORBITER 33, Cluster API 22]',
    async () => {
      await carryOut(3);
      const gone = (await log()).flatMap((event) => (event.type === 'NodeRemoved' ? [event.data.node] : []));
      expect(gone).toHaveLength(2);
      for (const node of gone)
        expect(await course(node)).toEqual([
          'ControlPlaneRemovalStarted',
          'EtcdSnapshotTaken',
          'ControlPlaneRemovalPrepared',
          'NodeDrained',
          'LoadBalancerUpdated',
          'NodeRemoved',
          'VmDeleted',
        ]);
      expect(await nodes()).toHaveLength(3);
    },
    TIMEOUT_MS,
  );

  /** How often a node's replacement was completed, and its node and machine were deleted. */
  const completed = async (node: string): Promise<readonly number[]> => {
    const all = await log();
    return (['NodeReplacementReady', 'NodeRemoved', 'VmDeleted'] as const).map(
      (type) =>
        all.filter(
          ({ type: found, data }) =>
            found === type && (('node' in data && data.node === node) || ('name' in data && data.name === node)),
        ).length,
    );
  };

  it(
    'replace the initial one: the new one joins first, and another one takes its role before it leaves [ORBITER 21]',
    async () => {
      const before = await nodes();
      const initial = before.find(({ leader }) => leader)?.name ?? '';
      const { status } = await system.call('POST', `${path}/nodes/${initial}/replace`, {});
      expect(status).toBe(202);
      await system.until('shop', (event) => event.type === 'VmDeleted' && event.data.name === initial, TIMEOUT_MS);
      const now = await nodes();
      expect(now.filter(({ ready }) => ready)).toHaveLength(3);
      expect(now.filter(({ name }) => !before.some((one) => one.name === name))).toHaveLength(1);
      expect(now.filter(({ leader }) => leader)).toHaveLength(1);
      const steps = (await log()).flatMap(({ type, data }) =>
        (type === 'ControlPlaneJoined' && !before.some(({ name }) => name === data.node)) ||
        type === 'NodeReplacementReady' ||
        type === 'InitialControlPlaneChanged' ||
        ((type === 'NodeDrained' || type === 'NodeRemoved') && data.node === initial)
          ? [type]
          : [],
      );
      expect(steps.slice(-5)).toEqual([
        'ControlPlaneJoined',
        'NodeReplacementReady',
        'InitialControlPlaneChanged',
        'NodeDrained',
        'NodeRemoved',
      ]);
      expect(await completed(initial)).toEqual([1, 1, 1]);
      expect((await targets()).toSorted()).toEqual(now.map(({ name }) => name).toSorted());
    },
    TIMEOUT_MS,
  );

  it(
    'are not scaled to an even number by removing a healthy one; one with a dead machine is removed, even the first',
    async () => {
      const initial = (await nodes()).find(({ leader }) => leader)?.name ?? '';
      const refused = await system.call<ErrorView>('DELETE', `${path}/nodes/${initial}`);
      expect([refused.status, refused.body.reason]).toEqual([409, 'node.control-plane-even']);
      const ladybug = await system.call<ErrorView>('DELETE', `/ladybug${path}/nodes/${initial}`);
      expect(ladybug.body.message).toBe('Could not be delete a control-plane leader node.');
      const machine = (await log()).find((event) => event.type === 'VmCreated' && event.data.machine.name === initial);
      const id = machine?.type === 'VmCreated' ? machine.data.machine.providerId.replace('lab://', '') : '';
      expect((await system.lab('DELETE', `/v1/machines/${id}`)).status).toBeLessThan(300);
      await system.until('shop', (event) => event.type === 'NodeLost' && event.data.node === initial, TIMEOUT_MS);
      const removed = await system.call<StatusView>('DELETE', `${path}/nodes/${initial}`);
      expect([removed.status, removed.body.message]).toEqual([
        202,
        expect.stringContaining('then has 2 control planes, an even number'),
      ]);
      await system.until('shop', (event) => event.type === 'VmDeleted' && event.data.name === initial, TIMEOUT_MS);
      const now = await nodes();
      expect(now.filter(({ leader }) => leader)).toHaveLength(1);
      await carryOut(3);
      expect((await nodes()).filter(({ ready }) => ready)).toHaveLength(3);
    },
    TIMEOUT_MS,
  );

  it(
    'replace one with a dead machine, which leaves etcd and its pool first, once [ORBITER 21]',
    async () => {
      const [victim] = await nodes();
      const created = (await log()).find(
        (event) => event.type === 'VmCreated' && event.data.machine.name === victim?.name,
      );
      const id = created?.type === 'VmCreated' ? created.data.machine.providerId.replace('lab://', '') : '';
      expect((await system.lab('DELETE', `/v1/machines/${id}`)).status).toBeLessThan(300);
      await system.until('shop', (event) => event.type === 'NodeLost' && event.data.node === victim?.name, TIMEOUT_MS);
      const replacement = { order: 'remove-first', reason: 'its host is gone' };
      expect((await system.call('POST', `${path}/nodes/${victim?.name}/replace`, replacement)).status).toBe(202);
      const since = await seqOf();
      await system.until('shop', ({ type, meta }) => type === 'NodeReplacementReady' && meta.seq > since, TIMEOUT_MS);
      const now = await nodes();
      expect(now.map(({ ready }) => ready)).toEqual([true, true, true]);
      expect(now.map(({ name }) => name)).not.toContain(victim?.name);
      expect(await completed(victim?.name ?? '')).toEqual([1, 1, 1]);
    },
    TIMEOUT_MS,
  );

  it(
    'are all replaced after a change of their machine type, one after the other, the initial one last [Cluster API 21]',
    async () => {
      const before = await nodes();
      const since = await seqOf();
      machineType = 'lab.large';
      await carryOut(3);
      await system.until('shop', ({ type, meta }) => type === 'PoolRolloutCompleted' && meta.seq > since, TIMEOUT_MS);
      const now = await nodes();
      expect(now.map(({ ready, spec }) => [ready, spec])).toEqual(Array.from({ length: 3 }, () => [true, 'lab.large']));
      const rolled = (await log()).filter(({ meta }) => meta.seq > since);
      const planned = rolled.flatMap((event) => (event.type === 'NodeReplacementPlanned' ? [event.data.node] : []));
      expect([planned.length, planned.at(-1)]).toEqual([3, before.find(({ leader }) => leader)?.name]);
      const steps: ReadonlySet<EventType> = new Set<EventType>(['ControlPlaneJoined', 'NodeRemoved']);
      expect(rolled.flatMap(({ type }) => (steps.has(type) ? [type] : []))).toEqual(
        planned.flatMap(() => ['ControlPlaneJoined', 'NodeRemoved']),
      );
      expect((await targets()).toSorted()).toEqual(now.map(({ name }) => name).toSorted());
    },
    TIMEOUT_MS,
  );

  it(
    'are scaled down to 1, and the same manifest again records nothing; the API answered all the time [ORBITER 20]',
    async () => {
      await carryOut(1);
      expect(await nodes()).toHaveLength(1);
      const before = (await log()).length;
      expect((await apply(1)).status).toBe(200);
      expect((await log()).filter(({ meta }) => meta.context === 'request').at(-1)?.type).toBe('ClusterSpecChanged');
      expect((await log()).slice(before).filter(({ meta }) => meta.context === 'request')).toEqual([]);
      expect([probes?.failures, (probes?.count() ?? 0) > 20]).toEqual([[], true]);
      expect((await system.standing())['machines']).toBe(2);
    },
    TIMEOUT_MS,
  );
});
