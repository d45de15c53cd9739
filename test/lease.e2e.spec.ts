import type { StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type ClusterView, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

interface Shown extends ClusterView {
  readonly status: ClusterView['status'] & { readonly message: string };
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[];
  readonly lease?: {
    readonly endsAt: string;
    readonly startsAt: string | null;
    readonly reservations: readonly object[];
  };
}

interface Declared {
  readonly metadata: object;
  readonly spec: { readonly lease: { readonly endsAt: string } };
}

const machines = { connection: 'lab', machineType: 'lab.medium' };
const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

const manifest = (name: string, lease: object | undefined): object => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name },
  spec: {
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
    ...(lease === undefined ? {} : { lease }),
  },
});

describe('a cluster with a limited lifetime', () => {
  let system: System;
  const pathOf = (name: string): string => `/ns/default/clusters/${name}`;
  const refusalOf = async (asked: Promise<{ readonly status: number; readonly body: unknown }>) => {
    const { status, body } = await asked;
    return [status, (body as { readonly reason: string }).reason];
  };
  const put = (name: string, lease: object | undefined) =>
    system.call('PUT', `${pathOf(name)}/manifest`, manifest(name, lease));
  const until = (name: string, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until(name, desired, TIMEOUT_MS);
  const view = async (name: string): Promise<Shown> => {
    const minSeq = (await system.events(name)).at(-1)?.meta.seq ?? 0;
    return (await system.call<Shown>('GET', `${pathOf(name)}?minSeq=${minSeq}`)).body;
  };
  const declared = async (name: string): Promise<Declared> => {
    const minSeq = (await system.events(name)).at(-1)?.meta.seq ?? 0;
    return (await system.call<Declared>('GET', `${pathOf(name)}/manifest?minSeq=${minSeq}`)).body;
  };
  const types = async (name: string): Promise<readonly string[]> => (await system.events(name)).map(({ type }) => type);
  const reservations = async (): Promise<readonly { readonly name: string; readonly endsAt: string }[]> =>
    (await system.lab<{ items: { name: string; endsAt: string }[] }>('GET', '/v1/reservations')).body.items;
  const sizes = async (): Promise<readonly string[]> =>
    (await system.lab<{ items: { spec: string }[] }>('GET', '/v1/machines')).body.items.map(({ spec }) => spec);
  const deny = (message: string) =>
    system.lab('PUT', '/v1/faults', { items: [{ kind: 'reservation-denied', message, times: 1 }] });

  beforeAll(async () => {
    system = await startSystem({ light: true });
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    "is Failed with the cloud's message if that denies its reservation, and leaves nothing behind [azimuth 8]",
    async () => {
      await deny('not enough capacity in lab-1 until Christmas');
      expect((await put('denied', { endsAt: fromNow(HOUR_MS) })).status).toBe(202);
      await until('denied', ({ type }) => type === 'ClusterFailed');
      const { status, conditions } = await view('denied');
      expect(status).toMatchObject({ phase: 'Failed', reason: 'ReserveMachinesFailed' });
      expect(status.message).toContain('not enough capacity in lab-1 until Christmas');
      expect(conditions.find(({ type }) => type === 'Reserved')?.message).toContain('not enough capacity');
      expect(await sizes()).toEqual([]);
      await system.call('DELETE', pathOf('denied'));
      await until('denied', ({ type }) => type === 'ClusterDeleted');
      expect(await types('denied')).toContain('ReservationReleased');
      expect(await reservations()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'is Pending with its start time until its reservation begins, and then gets machines of the reserved sizes [azimuth 9, azimuth 10]',
    async () => {
      const startsAt = fromNow(20 * SECOND_MS);
      const endsAt = fromNow(HOUR_MS);
      expect((await put('booked', { startsAt, endsAt, reservation: 'Required' })).status).toBe(202);
      await until('booked', ({ type }) => type === 'ReservationConfirmed');
      const waiting = await view('booked');
      expect(waiting.status).toMatchObject({ phase: 'Pending', message: '' });
      expect(waiting.lease).toMatchObject({
        startsAt,
        endsAt,
        reservations: [{ connection: 'lab', phase: 'Pending' }],
      });
      expect(await sizes()).toEqual([]);
      const planned = await until('booked', ({ type }) => type === 'VmsPlanned');
      expect(planned.meta.time >= startsAt).toBe(true);
      await until('booked', ({ type }) => type === 'ClusterReady');
      const order = ['ClusterAccepted', 'ReservationConfirmed', 'ReservationActivated', 'VmsPlanned', 'VmCreated'];
      const happened = await types('booked');
      const found = order.map((type) => happened.indexOf(type));
      expect(found).toEqual([...found].sort((one, other) => one - other));
      for (const size of await sizes()) expect(size).toMatch(/^lab\.medium\.r-[0-9a-f]{8}$/);
      const { body } = await system.call<{ nodes: { spec: string }[] }>('GET', pathOf('booked'));
      expect(new Set(body.nodes.map(({ spec }) => spec))).toEqual(new Set(['lab.medium']));
    },
    TIMEOUT_MS,
  );

  it(
    'keeps the end that it has when the cloud denies another one, and gets that by itself when the capacity is there [azimuth 13]',
    async () => {
      const before = (await declared('booked')).spec.lease;
      const endsAt = fromNow(2 * HOUR_MS);
      await deny('all machines are taken from three o’clock on');
      expect((await put('booked', { ...before, endsAt })).status).toBe(200);
      const denied = await until('booked', ({ type }) => type === 'ReservationDenied');
      expect(denied.data).toMatchObject({ endsAt, until: before.endsAt });
      expect((await declared('booked')).spec.lease.endsAt).toBe(endsAt);
      expect((await view('booked')).lease?.endsAt).toBe(before.endsAt);
      expect((await view('booked')).status.phase).toBe('Provisioned');
      await until(
        'booked',
        ({ type, data }) => type === 'ReservationConfirmed' && 'endsAt' in data && data.endsAt === endsAt,
      );
      expect((await view('booked')).lease?.endsAt).toBe(endsAt);
      expect((await reservations()).map((one) => one.endsAt)).toEqual([endsAt]);
    },
    TIMEOUT_MS,
  );

  it('cannot lose its end while machines are reserved, nor get one in the past', async () => {
    const over = { endsAt: fromNow(-HOUR_MS) };
    expect(await refusalOf(put('booked', undefined))).toEqual([409, 'cluster.lease-reserved']);
    expect(await refusalOf(put('late', over))).toEqual([422, 'cluster.lease-over']);
  });

  it(
    'is announced by warnings at the declared times, once each, despite a kill of the gateway, and then deleted: machines before the reservation, and that before its name is free [azimuth 12, azimuth 14]',
    async () => {
      const before = (await declared('booked')).spec.lease;
      const endsAt = fromNow(60 * SECOND_MS);
      const warnings = ['45s', '30s'];
      expect((await put('booked', { ...before, endsAt, gracePeriod: '15s', warnings })).status).toBe(200);
      const first = await until('booked', ({ type }) => type === 'ClusterExpiring');
      expect(first.data).toMatchObject({ warning: '45s', endsAt });
      system.kill('gateway');
      const deletion = await until('booked', ({ type }) => type === 'ClusterDeletionRequested');
      expect(deletion.meta.actor).toBe('system/lease');
      expect(deletion.data).toMatchObject({ lease: { endsAt, gracePeriod: '15s' } });
      await until('booked', ({ type }) => type === 'ClusterDeleted');
      const events = await system.events('booked');
      const given = events.flatMap(({ type, data }) =>
        type === 'ClusterExpiring' && 'warning' in data ? [data.warning] : [],
      );
      expect(given).toEqual(warnings);
      const names = events.map(({ type }) => type);
      expect(names.lastIndexOf('VmDeleted')).toBeLessThan(names.indexOf('ReservationReleased'));
      expect(names.indexOf('ReservationReleased')).toBeLessThan(names.indexOf('ClusterDeleted'));
      expect([await reservations(), await sizes()]).toEqual([[], []]);
    },
    TIMEOUT_MS,
  );
});
