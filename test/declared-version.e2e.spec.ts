import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterManifestView, EventType, NodeList, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const PATH = '/ns/default/clusters/shop';

const manifest = (version: string | undefined, replicas: number) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    version,
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas, ...machines }],
    // The agent does not restart the stopped kubelet.
    drift: 'report',
  },
});

/** The whole product in the lab, a simulation: an agent on each host changes its software. */
describe('a version that is declared while a node is not Ready', () => {
  let system: System;
  const put = (version: string | undefined, replicas: number) =>
    system.call<ClusterManifestView>('PUT', `${PATH}/manifest`, manifest(version, replicas));
  const lastSeq = async (): Promise<number> => (await system.events('shop')).at(-1)!.meta.seq;
  const read = async <Body>(path: string): Promise<Body> =>
    (await system.call<Body>('GET', `${PATH}${path}?minSeq=${await lastSeq()}`)).body;
  const until = <T extends EventType>(type: T, after: number): Promise<StoredEvent<T>> =>
    system.until('shop', ({ type: found, meta }) => found === type && meta.seq > after, TIMEOUT_MS) as Promise<
      StoredEvent<T>
    >;
  const workers = async (): Promise<readonly string[]> =>
    (await read<NodeList>('/nodes')).items.flatMap(({ name, pool }) => (pool === 'web' ? [name] : []));
  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const systemctl = (node: string, verb: string): Promise<string> =>
    fairlead('node', 'exec', 'shop', node, '--', 'systemctl', verb, 'kubelet');
  const types = async (after: number, ...wanted: readonly EventType[]): Promise<readonly EventType[]> =>
    (await system.events('shop')).flatMap(({ type, meta }) =>
      meta.seq > after && wanted.includes(type) ? [type] : [],
    );

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: {
        UPGRADE_PASS_INTERVAL_MS: '200',
        UPGRADE_LOOK_EVERY_MS: '100',
        NODES_WATCH_INTERVAL_MS: '400',
        LAB_NODE_MONITOR_GRACE_MS: '3000',
      },
    });
    expect((await put(OLD, 2)).status).toBe(202);
    await until('ClusterReady', 0);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'stays declared, waits with its reason, and is upgraded to without intervention when the node is Ready [Cluster API 23]',
    async () => {
      const [sick = ''] = await workers();
      const before = await lastSeq();
      await systemctl(sick, 'stop');
      await until('NodeNotReady', before);
      expect((await put(NEW, 2)).status).toBe(202);
      const waiting = await until('UpgradeWaiting', before);
      expect(waiting.data.findings[0]).toMatchObject({ rule: 'B2', facts: { nodes: [sick] } });

      const shown = await read<ClusterManifestView>('/manifest');
      expect(shown.spec.version).toBe(NEW);
      const upgrading = shown.status?.conditions.find(({ type }) => type === 'Upgrading');
      expect(upgrading).toMatchObject({ status: 'True', reason: 'UpgradeWaiting' });
      expect(upgrading?.message).toContain(sick);
      const upgrade = await read<UpgradeView>(`/upgrades/${waiting.data.upgradeId}`);
      expect([upgrade.phase, upgrade.findings[0]?.rule]).toEqual(['Waiting', 'B2']);
      expect(await fairlead('cluster', 'describe', 'shop')).toContain(
        `Kubernetes to ${NEW}: Waiting: nodes are not Ready: ${sick}`,
      );

      await systemctl(sick, 'start');
      await until('RolloutCompleted', before);
      expect(await types(before, 'UpgradeRejected', 'UpgradePlanned')).toEqual(['UpgradePlanned']);
      expect((await read<ClusterManifestView>('/manifest')).spec.version).toBe(NEW);
    },
    TIMEOUT_MS,
  );

  it(
    'is no exception: what is requested with --wait-for-checks waits with its reason, too, and runs when the node is Ready [Cluster API 23]',
    async () => {
      const [sick = ''] = await workers();
      const before = await lastSeq();
      await systemctl(sick, 'stop');
      await until('NodeNotReady', before);
      const asked = ['--reboot', '--pool', 'web', '--no-control-plane', '--wait-for-checks', '--yes', '--no-wait'];
      await fairlead('upgrade', 'start', 'shop', ...asked);
      const waiting = await until('UpgradeWaiting', before);
      expect(waiting.data.findings[0]).toMatchObject({ rule: 'B2', facts: { nodes: [sick] } });
      expect(await fairlead('cluster', 'describe', 'shop')).toContain(`Waiting: nodes are not Ready: ${sick}`);

      await systemctl(sick, 'start');
      await until('RolloutCompleted', before);
      expect(await types(before, 'UpgradeRejected', 'UpgradePlanned')).toEqual(['UpgradePlanned']);
      const booted = (await system.events('shop')).filter(
        ({ type, meta }) => type === 'NodeRebooted' && meta.seq > before,
      );
      expect(booted).toHaveLength(2);
    },
    TIMEOUT_MS,
  );
});
