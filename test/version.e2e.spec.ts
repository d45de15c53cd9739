import type { ClusterManifestView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const [OLD, BETWEEN, NEW] = ['v1.33.13', 'v1.34.4', 'v1.35.4'];
const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const PATH = '/ns/default/clusters/shop';

const manifest = (version: string, replicas = 1) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    version,
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas, ...machines }],
  },
});

/** The whole product in the lab: an agent on each host changes its software. */
describe('a manifest whose version is two minor versions later', () => {
  let system: System;
  const put = <Body = ClusterManifestView>(body: object, query = '') =>
    system.call<Body>('PUT', `${PATH}/manifest${query}`, body);
  const read = async (): Promise<ClusterManifestView> => {
    const minSeq = (await system.events('shop')).at(-1)?.meta.seq ?? 0;
    return (await system.call<ClusterManifestView>('GET', `${PATH}/manifest?minSeq=${minSeq}`)).body;
  };
  const isOver = ({ type }: StoredEvent): boolean =>
    ['UpgradeRejected', 'RolloutCompleted', 'RolloutHalted', 'RolloutAborted'].includes(type);

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    expect((await put(manifest(OLD))).status).toBe(202);
    await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it('is refused together with another size, and planned alone, with its path', async () => {
    const both = await put<{ readonly reason: string }>(manifest(NEW, 2));
    expect([both.status, both.body.reason]).toEqual([409, 'cluster.version-with-changes']);
    const planned = await put(manifest(NEW), '?dryRun=All');
    expect(planned.body.plan).toMatchObject([{ action: 'upgrade', count: 2 }]);
    expect(planned.body.plan?.[0]?.reason).toContain(`${OLD} → ${BETWEEN} → ${NEW}`);
  });

  it(
    'upgrades the cluster in one request, minor by minor, and the worker once [ORBITER 14, Cluster API 24]',
    async () => {
      const { status, body } = await put(manifest(NEW));
      expect([status, body.spec.version]).toEqual([202, NEW]);
      const end = await system.until('shop', isOver, 60_000);
      expect([end.type, end.data]).toMatchObject(['RolloutCompleted', { skipped: [] }]);
      const log = await system.events('shop');
      const plans = log.flatMap((event) => (event.type === 'UpgradePlanned' ? [event.data.plan] : []));
      expect(plans.map(({ path }) => path)).toEqual([[OLD, BETWEEN, NEW]]);
      const changes = plans.flatMap(({ operations }) =>
        operations.flatMap(({ kind, to }) =>
          kind === 'control-plane' || kind === 'worker' ? [[kind, to['kubelet']]] : [],
        ),
      );
      expect(changes).toEqual([
        ['control-plane', BETWEEN?.slice(1)],
        ['control-plane', NEW?.slice(1)],
        ['worker', NEW?.slice(1)],
      ]);
      const now = await read();
      expect([now.spec.version, now.status?.pools[0]?.updatedReplicas]).toEqual([NEW, 1]);
      const again = await put(manifest(NEW));
      expect([again.status, again.body.operations]).toEqual([200, []]);
    },
    TIMEOUT_MS,
  );
});
