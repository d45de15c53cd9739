import type { ConditionView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type ClusterView, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const HOUR_MS = 3_600_000;

const machines = { connection: 'lab', machineType: 'lab.medium' };
const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

interface Manifest {
  readonly spec: {
    readonly lease?: { readonly endsAt: string };
    readonly pools: readonly { readonly replicas: number }[];
  };
}

interface Shown extends ClusterView {
  readonly nodes: readonly object[];
  readonly conditions: readonly ConditionView[];
  readonly lease?: { readonly endsAt: string };
}

/** The lab's cloud is a simulation. */
describe('what a manifest declares and the cloud refuses', () => {
  let system: System;
  const path = '/ns/default/clusters/sized';
  const put = (replicas: number, lease: object) =>
    system.call('PUT', `${path}/manifest`, {
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'sized' },
      spec: {
        serviceType: 'single',
        controlPlane: { replicas: 1, ...machines },
        pools: [{ name: 'web', replicas, ...machines }],
        lease,
      },
    });
  const lastSeq = async (): Promise<number> => (await system.events('sized')).at(-1)?.meta.seq ?? 0;
  const after = (seq: number, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('sized', (event) => event.meta.seq > seq && desired(event), TIMEOUT_MS);
  const declared = async (): Promise<Manifest['spec']> =>
    (await system.call<Manifest>('GET', `${path}/manifest?minSeq=${await lastSeq()}`)).body.spec;
  const view = async () => (await system.call<Shown>('GET', `${path}?minSeq=${await lastSeq()}`)).body;
  const applied = async () => (await view()).conditions.find(({ type }) => type === 'DeclaredStateApplied');
  const faults = (...items: readonly object[]) => system.lab('PUT', '/v1/faults', { items });
  let lease: { endsAt: string };

  beforeAll(async () => {
    system = await startSystem({ light: true });
    lease = { endsAt: fromNow(HOUR_MS) };
    expect((await put(1, lease)).status).toBe(202);
    await after(0, ({ type }) => type === 'ClusterReady');
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'stays declared: the pool gets its size by itself once the cloud has room for its machines',
    async () => {
      await faults({ kind: 'quota', machine: 'sized-w-*', message: 'quota of 2 machines is used up' });
      const seq = await lastSeq();
      expect((await put(3, lease)).status).toBe(202);
      const failed = await after(seq, ({ type }) => type === 'VmsFailed' || type === 'NodesRejected');
      expect((await declared()).pools.map(({ replicas }) => replicas)).toEqual([3]);
      const condition = await applied();
      expect(condition).toMatchObject({ status: 'False', reason: 'DeclaredStateNotApplied' });
      expect(condition?.message).toMatch(
        /^pool web: 2 of 3 declared machines are missing: .*quota of 2 machines is used up/,
      );
      expect(condition?.message).toMatch(/\(attempt 1, next at 20/);
      await faults();
      const again = await after(failed.meta.seq, ({ type }) => type === 'NodesRequested');
      expect(again.meta.actor).toBe('system/manifest');
      expect(Date.parse(again.meta.time) - Date.parse(failed.meta.time)).toBeGreaterThanOrEqual(60_000);
      await after(again.meta.seq, ({ type }) => type === 'ClusterReady');
      const shown = await view();
      expect(shown.nodes).toHaveLength(4);
      expect(await applied()).toBeUndefined();
    },
    TIMEOUT_MS,
  );

  it(
    'does not wait for its pause when someone verifies the connection',
    async () => {
      await faults({ kind: 'quota', machine: 'sized-w-*', message: 'quota of 4 machines is used up' });
      const seq = await lastSeq();
      expect((await put(4, lease)).status).toBe(202);
      const failed = await after(seq, ({ type }) => type === 'VmsFailed' || type === 'NodesRejected');
      await faults();
      expect((await system.call('POST', '/connections/lab/verify')).status).toBe(202);
      const again = await after(failed.meta.seq, ({ type }) => type === 'NodesRequested');
      expect(Date.parse(again.meta.time) - Date.parse(failed.meta.time)).toBeLessThan(60_000);
      await after(again.meta.seq, ({ type }) => type === 'ClusterReady');
      expect((await view()).nodes).toHaveLength(5);
    },
    TIMEOUT_MS,
  );

  it(
    'keeps the end that it has while the cloud denies the declared one, and gets that by itself',
    async () => {
      const endsAt = fromNow(2 * HOUR_MS);
      await faults({ kind: 'reservation-denied', message: 'all machines are taken', times: 1 });
      const seq = await lastSeq();
      expect((await put(4, { endsAt })).status).toBe(200);
      const denied = await after(seq, ({ type }) => type === 'ReservationDenied');
      expect((await declared()).lease?.endsAt).toBe(endsAt);
      expect((await view()).lease?.endsAt).toBe(lease.endsAt);
      expect((await applied())?.message).toMatch(/^lease: .*all machines are taken \(attempt 1, next at 20/);
      await after(denied.meta.seq, ({ type }) => type === 'ReservationConfirmed');
      expect((await view()).lease?.endsAt).toBe(endsAt);
      expect(await applied()).toBeUndefined();
    },
    TIMEOUT_MS,
  );
});
