import type { ClusterManifestView, ErrorView, EventType, NodeList, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProbes, type Probes } from './system/probes.js';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 180_000;
const READY_WITHIN_MS = 20_000;
const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const CLUSTER = '/ns/default/clusters/outside';
const machines = { connection: 'lab', machineType: 'lab.medium' };

/**
 * Hosts of the lab, with and without the real step scripts: units, certificates, etcdctl and kubeadm are used as on any
 * host.
 */
describe.each([{ light: true }, { light: false }])(
  'the members of an external etcd (light lab: $light)',
  ({ light }) => {
    let system: System;
    let probes: Probes | undefined;
    let kubernetes: KubernetesClient;
    let machineType = machines.machineType;

    const manifest = (replicas: number) => ({
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'outside' },
      spec: {
        version: OLD,
        controlPlane: { replicas, etcd: 'external', ...machines, machineType },
        pools: [{ name: 'web', replicas: 1, ...machines }],
      },
    });
    const apply = (replicas: number) =>
      system.call<ClusterManifestView & Omit<ErrorView, 'kind'>>('PUT', `${CLUSTER}/manifest`, manifest(replicas));
    const log = (): Promise<readonly StoredEvent[]> => system.events('outside');
    const seqOf = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
    const until = (desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
      system.until('outside', desired, TIMEOUT_MS / 3);
    const controlPlanes = async () => {
      const { body } = await system.call<NodeList>('GET', `${CLUSTER}/nodes?minSeq=${await seqOf()}`);
      return body.items.filter(({ role }) => role === 'control-plane');
    };
    const since = async (seq: number): Promise<readonly StoredEvent[]> =>
      (await log()).filter(({ meta }) => meta.seq > seq);

    /** etcd's own list, from a container on a control plane: names of started members, and votes. */
    const members = async (): Promise<readonly string[]> => {
      const [first] = await controlPlanes();
      const { stdout } = await kubernetes.exec({
        ...{ namespace: 'kube-system', pod: `etcdctl-${first?.name}`, container: 'etcdctl' },
        command: ['etcdctl', 'member', 'list'],
        signal: AbortSignal.timeout(10_000),
      });
      return stdout
        .trim()
        .split('\n')
        .map((line) => line.split(', '))
        .flatMap(([, state, name = '', , , learner]) => (state === 'started' && learner === 'false' ? [name] : []))
        .toSorted();
    };

    /** Every control plane is Ready and has a member, and etcd has no others. */
    const expectWhole = async (count: number): Promise<void> => {
      const whole = Array.from({ length: count }, () => true);
      const readiness = async () => (await controlPlanes()).map(({ ready }) => ready);
      const deadline = Date.now() + READY_WITHIN_MS;
      while ((await readiness()).join() !== whole.join() && Date.now() < deadline) await sleep(200);
      expect(await readiness()).toEqual(whole);
      expect(await members()).toEqual((await controlPlanes()).map(({ name }) => name).toSorted());
    };

    /** Applies it, and waits until every requested step is done. */
    const carryOut = async (replicas: number): Promise<void> => {
      const { status, body } = await apply(replicas);
      expect([status, body.message]).toEqual([202, undefined]);
      const changed = (await log()).findLast(({ type }) => type === 'ClusterSpecChanged')?.meta.seq ?? 0;
      const leaving = body.plan?.flatMap(({ action, nodes }) => (action === 'replace-nodes' ? [] : nodes)) ?? [];
      if (leaving.length === 0) await until(({ type, meta }) => type === 'ClusterReady' && meta.seq > changed);
      for (const { name } of leaving) await until((event) => event.type === 'VmDeleted' && event.data.name === name);
    };

    /** Its machine is deleted outside Fairlead. */
    const destroy = async (node: string): Promise<void> => {
      const created = (await log()).find((event) => event.type === 'VmCreated' && event.data.machine.name === node);
      const id = created?.type === 'VmCreated' ? created.data.machine.providerId.replace('lab://', '') : '';
      expect((await system.lab('DELETE', `/v1/machines/${id}`)).status).toBeLessThan(300);
      await until((event) => event.type === 'NodeLost' && event.data.node === node);
    };

    const make = (name: string): Promise<unknown> => kubernetes.core.createNamespace({ body: { metadata: { name } } });
    const namespaces = async (): Promise<readonly string[]> =>
      (await kubernetes.core.listNamespace()).items.map(({ metadata }) => metadata?.name ?? '');

    beforeAll(async () => {
      system = await startSystem({
        light,
        env: {
          ...{ AGENT_HEARTBEAT_INTERVAL_MS: '500', NODE_LOST_AFTER_MS: '5000', INFRA_WATCH_INTERVAL_MS: '3600000' },
          UPGRADE_PASS_INTERVAL_MS: '200',
        },
      });
      await carryOut(3);
      const { body } = await system.call<{ endpoint: string }>('GET', CLUSTER);
      probes = startProbes(body.endpoint);
      const { body: kubeconfig } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`);
      kubernetes = new KubernetesClient('outside', kubeconfig, () => undefined);
    }, TIMEOUT_MS);
    afterAll(async () => {
      await probes?.stop();
      kubernetes?.close();
      await system?.stop();
    }, 60_000);

    it(
      'are scaled from 3 to 5 by the manifest: each is a learner until it has all data, and its control plane joins afterwards',
      async () => {
        await expectWhole(3);
        const before = await controlPlanes();
        await carryOut(5);
        await expectWhole(5);
        const kinds: ReadonlySet<EventType> = new Set<EventType>([
          'EtcdMemberAdded',
          'ControlPlaneJoined',
          'ControlPlaneReady',
        ]);
        const added = (await log()).filter(
          (event) => 'node' in event.data && !before.some(({ name }) => name === event.data['node' as never]),
        );
        expect(added.flatMap(({ type }) => (kinds.has(type) ? [type] : []))).toEqual([
          ...['EtcdMemberAdded', 'ControlPlaneJoined'],
          ...['EtcdMemberAdded', 'ControlPlaneJoined'],
        ]);
        expect(added.flatMap((event) => (event.type === 'EtcdMemberAdded' ? [event.data.members] : []))).toEqual([
          4, 5,
        ]);
      },
      TIMEOUT_MS,
    );

    it(
      'are scaled down to 3, one after the other, each after a snapshot; other numbers are refused',
      async () => {
        for (const replicas of [1, 4]) {
          const { status, body } = await apply(replicas);
          expect([status, body.message]).toEqual([400, expect.stringContaining('3, 5 or 7')]);
        }
        const from = await seqOf();
        await carryOut(3);
        await expectWhole(3);
        const kinds: ReadonlySet<EventType> = new Set<EventType>([
          ...([
            'ControlPlaneRemovalStarted',
            'EtcdSnapshotTaken',
            'ControlPlaneRemovalPrepared',
            'NodeRemoved',
          ] as const),
        ]);
        const course = [
          'ControlPlaneRemovalStarted',
          'EtcdSnapshotTaken',
          'ControlPlaneRemovalPrepared',
          'NodeRemoved',
        ];
        expect((await since(from)).flatMap(({ type }) => (kinds.has(type) ? [type] : []))).toEqual([
          ...course,
          ...course,
        ]);
      },
      TIMEOUT_MS,
    );

    it(
      'are saved and restored like those of kubeadm',
      async () => {
        await make('before');
        const from = await seqOf();
        expect((await system.call('POST', `${CLUSTER}/etcd/snapshots`, {})).status).toBe(202);
        const taken = await until(({ type, meta }) => type === 'EtcdSnapshotTaken' && meta.seq > from);
        const { snapshot } = taken.data as { readonly snapshot: string };
        await make('after');
        probes?.pause();
        const { status } = await system.call('POST', `${CLUSTER}/etcd/restore`, { snapshot, confirm: 'outside' });
        expect(status).toBe(202);
        const end = await until(
          ({ type, meta }) => (type === 'EtcdRestored' || type === 'EtcdRestoreFailed') && meta.seq > from,
        );
        if (end.type === 'EtcdRestoreFailed') throw new Error(end.data.cause.message);
        probes?.resume();
        const found = await namespaces();
        expect(found).toContain('before');
        expect(found).not.toContain('after');
        await expectWhole(3);
      },
      TIMEOUT_MS,
    );

    it(
      'are replaced by command, including the initial one and one without a machine, which leaves first',
      async () => {
        const initial = (await controlPlanes()).find(({ leader }) => leader)?.name ?? '';
        expect((await system.call('POST', `${CLUSTER}/nodes/${initial}/replace`, {})).status).toBe(202);
        await until((event) => event.type === 'VmDeleted' && event.data.name === initial);
        await expectWhole(3);
        const victim = (await controlPlanes())[0]?.name ?? '';
        await destroy(victim);
        const from = await seqOf();
        const replacement = { order: 'remove-first', reason: 'its host is gone' };
        expect((await system.call('POST', `${CLUSTER}/nodes/${victim}/replace`, replacement)).status).toBe(202);
        await until(({ type, meta }) => type === 'NodeReplacementReady' && meta.seq > from);
        await expectWhole(3);
        expect(await members()).not.toContain(victim);
      },
      TIMEOUT_MS,
    );

    it(
      'are upgraded with Kubernetes, one at a time, the leader last, after a snapshot',
      async () => {
        const from = await seqOf();
        expect((await system.call('POST', `${CLUSTER}/upgrades`, { version: NEW })).status).toBe(202);
        const isAnswer = ({ type }: StoredEvent): boolean => type === 'UpgradePlanned' || type === 'UpgradeRejected';
        const answer = await until((event) => isAnswer(event) && event.meta.seq > from);
        expect([answer.type, answer.type === 'UpgradePlanned' ? {} : answer.data]).toEqual(['UpgradePlanned', {}]);
        const { upgradeId, planHash } = answer.data as { readonly upgradeId: string; readonly planHash: string };
        const approved = await system.call('POST', `${CLUSTER}/upgrades/${upgradeId}/approve`, { planHash });
        expect([approved.status, approved.status === 202 ? {} : approved.body]).toEqual([202, {}]);
        const isOver = ({ type }: StoredEvent): boolean =>
          ['UpgradeRejected', 'RolloutCompleted', 'RolloutHalted', 'RolloutAborted'].includes(type);
        const end = await until((event) => isOver(event) && event.meta.seq > from);
        expect([end.type, end.type === 'RolloutCompleted' ? {} : end.data]).toEqual(['RolloutCompleted', {}]);
        await expectWhole(3);
        const { stdout } = await kubernetes.exec({
          ...{ namespace: 'kube-system', pod: `etcdctl-${(await controlPlanes())[0]?.name}`, container: 'etcdctl' },
          command: ['etcdctl', 'endpoint', 'status', '--cluster', '-w', 'json'],
          signal: AbortSignal.timeout(10_000),
        });
        expect(stdout.match(/"version":"3\.6\.\d+"/g)).toHaveLength(3);
      },
      2 * TIMEOUT_MS,
    );

    it(
      'are all replaced after a change of the machine type; the API answered all the time',
      async () => {
        const from = await seqOf();
        machineType = 'lab.large';
        await system.call('PUT', `${CLUSTER}/manifest`, {
          ...manifest(3),
          spec: { ...manifest(3).spec, version: NEW },
        });
        await until(({ type, meta }) => type === 'PoolRolloutCompleted' && meta.seq > from);
        await expectWhole(3);
        expect([probes?.failures, (probes?.count() ?? 0) > 20]).toEqual([[], true]);
      },
      TIMEOUT_MS,
    );
  },
);
