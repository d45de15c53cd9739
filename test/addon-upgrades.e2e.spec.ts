import type { ClusterManifestView, EventType, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const TIMEOUT_MS = 240_000;
const PATH = '/ns/default/clusters/shop';
const machines = { connection: 'lab', machineType: 'lab.medium' };

interface Declared {
  readonly name: string;
  readonly [field: string]: unknown;
}

const objects = (name: string, text: string, others: object = {}): Declared => ({
  name,
  manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } }],
  ...others,
});

const manifest = (version: string, ...addons: readonly Declared[]) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    version,
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
    addons,
  },
});

/** The whole product in the lab, a simulation: an agent on each host changes its software. */
describe('add-ons and an upgrade of Kubernetes', () => {
  let system: System;
  const put = async (...declared: Parameters<typeof manifest>): Promise<number> => {
    const before = (await system.events('shop').catch(() => [])).at(-1)?.meta.seq ?? 0;
    const { status, body } = await system.call<ClusterManifestView>('PUT', `${PATH}/manifest`, manifest(...declared));
    expect([status < 300, body]).toMatchObject([true, {}]);
    return before;
  };
  const until = <T extends EventType>(type: T, after: number, addon?: string): Promise<StoredEvent<T>> =>
    system.until(
      'shop',
      ({ type: found, meta, data }) =>
        found === type && meta.seq > after && (addon === undefined || ('addon' in data && data.addon === addon)),
      TIMEOUT_MS,
    ) as Promise<StoredEvent<T>>;

  beforeAll(async () => {
    const intervals = { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100', ADDONS_INTERVAL_MS: '1000' };
    system = await startSystem({ light: false, env: { ...intervals } });
    await put(OLD, objects('guard', 'a', { kubernetes: { max: '1.33' } }), objects('later', 'a'));
    await until('AddonDeployed', 0, 'guard');
    await until('AddonDeployed', 0, 'later');
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'an add-on that does not support the target blocks the upgrade, which names it',
    async () => {
      const before = await put(NEW, objects('guard', 'a', { kubernetes: { max: '1.33' } }), objects('later', 'a'));
      const { findings } = (await until('UpgradeWaiting', before)).data;
      expect(findings.find(({ rule }) => rule === 'B14')).toMatchObject({
        sentence: `the add-on guard supports Kubernetes up to 1.33, and not ${NEW}`,
      });
    },
    TIMEOUT_MS,
  );

  it(
    'pre-upgrade add-ons are deployed before the control plane, and post-upgrade ones after the upgrade; a gate sees them before any worker',
    async () => {
      const guard = objects('guard', 'b', { kubernetes: { max: '1.34' } });
      const before = await put(NEW, guard, objects('later', 'b', { upgradeOrder: 'after' }));
      const completed = await until('RolloutCompleted', before);
      const later = await until('AddonDeployed', before, 'later');
      const events = (await system.events('shop')).filter(({ meta }) => meta.seq > before);
      const seqOf = (isIt: (event: StoredEvent) => boolean): number => events.find(isIt)?.meta.seq ?? -1;
      const order = [
        seqOf(({ type, data }) => type === 'AddonDeployed' && 'addon' in data && data.addon === 'guard'),
        seqOf(({ type }) => type === 'RolloutStarted'),
        seqOf(({ type, data }) => type === 'GatePassed' && 'gate' in data && data.gate === 'add-ons'),
        completed.meta.seq,
        later.meta.seq,
      ];
      expect(order).toEqual(order.toSorted((one, other) => one - other));
      expect(order).not.toContain(-1);
    },
    TIMEOUT_MS,
  );
});
