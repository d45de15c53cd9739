import type { NodeList, NodeView, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const [OLD, NEW] = ['v1.33.13', 'v1.36.3'];
const TIMEOUT_MS = 60_000;
const CREATE_TIMEOUT_MS = 90_000;
/** Three minor versions of six nodes. */
const UPGRADE_TIMEOUT_MS = 200_000;
/** Shorter, so that the wait then prints the story so far. */
const ROLLOUT_MS = 150_000;
const CLUSTER = '/ns/default/clusters/shop';
const machines = { connection: 'lab', machineType: 'lab.medium' };

const isEnd = ({ type }: StoredEvent): boolean =>
  type === 'RolloutCompleted' || type === 'RolloutHalted' || type === 'UpgradeRejected';

/** An operator's work on one cluster over its life, step by step. */
describe('a cluster of 3 control planes and 3 workers', () => {
  let system: System;

  const manifest = (controlPlanes: number, workers: number, version = OLD) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: {
      version,
      serviceType: 'single',
      controlPlane: { replicas: controlPlanes, ...machines },
      pools: [{ name: 'web', replicas: workers, ...machines }],
    },
  });
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const seqNow = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const nodes = async (): Promise<readonly NodeView[]> =>
    (await system.call<NodeList>('GET', `${CLUSTER}/nodes?minSeq=${await seqNow()}`)).body.items;
  const workers = async () => (await nodes()).filter(({ role }) => role === 'worker');
  const command = async (method: string, path: string, body?: object): Promise<number> => {
    const since = await seqNow();
    const answer = await system.call(method, `${CLUSTER}${path}`, body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([202, expect.anything()]);
    return since;
  };
  const after = (since: number, desired: (event: StoredEvent) => boolean, timeoutMs = TIMEOUT_MS) =>
    system.until('shop', (event) => event.meta.seq > since && desired(event), timeoutMs);
  const removed = (since: number, name: string | undefined) =>
    after(since, (event) => event.type === 'VmDeleted' && event.data.name === name);
  /** Plans the change, approves it by its hash, and waits for the end of its rollout. */
  const changed = async (request: object, timeoutMs: number): Promise<StoredEvent> => {
    const since = await seqNow();
    const asked = await system.call<UpgradeView>('POST', `${CLUSTER}/upgrades`, request, { prefer: 'wait=60' });
    expect([asked.body.phase, asked.body.findings]).toEqual(['Planned', expect.anything()]);
    const { id, planHash } = asked.body;
    await system.call('POST', `${CLUSTER}/upgrades/${id}/approve`, { planHash });
    return after(since, (event) => isEnd(event) && 'upgradeId' in event.data && event.data.upgradeId === id, timeoutMs);
  };
  /** Every node is Ready at the version, and there are no other machines. */
  const expectWhole = async (controlPlanes: number, count: number, version: string): Promise<void> => {
    const now = await nodes();
    expect(now.map(({ role, ready, software }) => [role, ready, `v${software['kubelet']}`]).toSorted()).toEqual([
      ...Array.from({ length: controlPlanes }, () => ['control-plane', true, version]),
      ...Array.from({ length: count }, () => ['worker', true, version]),
    ]);
    expect((await system.standing())['machines']).toBe(controlPlanes + count);
  };

  beforeAll(async () => {
    system = await startSystem({
      light: true,
      env: {
        AGENT_HEARTBEAT_INTERVAL_MS: '500',
        NODE_LOST_AFTER_MS: '5000',
        INFRA_WATCH_INTERVAL_MS: '3600000',
        UPGRADE_PASS_INTERVAL_MS: '200',
        UPGRADE_LOOK_EVERY_MS: '100',
      },
    });
  }, CREATE_TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'is created by its manifest [ORBITER 34]',
    async () => {
      const asked = await system.call('PUT', `${CLUSTER}/manifest`, manifest(3, 3));
      expect(asked.status).toBe(202);
      await after(0, ({ type }) => type === 'ClusterReady', CREATE_TIMEOUT_MS);
      await expectWhole(3, 3, OLD);
    },
    CREATE_TIMEOUT_MS,
  );

  it(
    'loses a worker, and a control plane with a dead host, and regains both [ORBITER 34]',
    async () => {
      const [worker] = await workers();
      await removed(await command('DELETE', `/nodes/${worker?.name}`), worker?.name);
      await expectWhole(3, 2, OLD);

      const dead = (await nodes()).findLast(({ role }) => role === 'control-plane')?.name;
      const made = (await log()).find((event) => event.type === 'VmCreated' && event.data.machine.name === dead);
      const id = made?.type === 'VmCreated' ? made.data.machine.providerId.replace('lab://', '') : '';
      expect((await system.lab('DELETE', `/v1/machines/${id}`)).status).toBeLessThan(300);
      await after(0, (event) => event.type === 'NodeLost' && event.data.node === dead);
      await removed(await command('DELETE', `/nodes/${dead}`), dead);
      await expectWhole(2, 2, OLD);

      const since = await command('PUT', '/manifest', manifest(3, 3));
      await after(since, ({ type }) => type === 'ClusterReady');
      await expectWhole(3, 3, OLD);
    },
    TIMEOUT_MS * 2,
  );

  it(
    'reboots its workers, one by one [ORBITER 34]',
    async () => {
      const since = await seqNow();
      const end = await changed({ reboot: true, controlPlane: false }, TIMEOUT_MS);
      expect(end.type).toBe('RolloutCompleted');
      const rebooted = (await log()).flatMap((event) =>
        event.meta.seq > since && event.type === 'NodeRebooted' ? [event.data.node as string] : [],
      );
      expect(rebooted.toSorted()).toEqual((await workers()).map(({ name }) => name).toSorted());
      await expectWhole(3, 3, OLD);
    },
    TIMEOUT_MS * 2,
  );

  it(
    'replaces a worker [ORBITER 34]',
    async () => {
      const before = (await workers()).map(({ name }) => name);
      await removed(await command('POST', `/nodes/${before[0]}/replace`, { reason: 'its disk fails' }), before[0]);
      const now = (await workers()).map(({ name }) => name);
      expect(now.filter((name) => !before.includes(name))).toHaveLength(1);
      await expectWhole(3, 3, OLD);
    },
    TIMEOUT_MS,
  );

  it(
    'is upgraded over three minor versions, through each of them [ORBITER 14, ORBITER 34]',
    async () => {
      const since = await seqNow();
      const end = await changed({ version: NEW }, ROLLOUT_MS);
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'RolloutCompleted', data: { skipped: [] } });
      const planned = (await log()).find(({ type, meta }) => type === 'UpgradePlanned' && meta.seq > since);
      const plan = planned?.type === 'UpgradePlanned' ? planned.data.plan : undefined;
      const versions = plan?.operations.flatMap(({ kind, change }) =>
        kind === 'control-plane' ? [change?.kubernetes] : [],
      );
      expect([...new Set(versions)]).toEqual(['v1.34.4', 'v1.35.4', NEW]);
      await expectWhole(3, 3, NEW);
    },
    UPGRADE_TIMEOUT_MS,
  );
});
