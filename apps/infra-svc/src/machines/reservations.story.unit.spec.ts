import {
  CONNECTIONS_STREAM,
  declaredOf,
  type ClusterLease,
  type ConnectionName,
  type Fact,
  type PoolName,
} from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { clusterSpec, nodeSet, registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, requestStream } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';

const END = '2099-01-08T00:00:00.000Z';
const LATER = '2099-01-15T00:00:00.000Z';
const RESERVED = `default.demo.lab.${UID}`;

const lease = (changes: Partial<ClusterLease> = {}): ClusterLease => ({
  endsAt: END,
  gracePeriod: '10m',
  warnings: ['24h'],
  reservation: 'IfSupported',
  ...changes,
});
const small = { spec: 'lab.thin' };
const spec = (changes: Partial<ClusterLease> = {}) =>
  clusterSpec({ workers: [nodeSet(2), nodeSet(1, { ...small, pool: 'thin' as PoolName })], lease: lease(changes) });
const declare = (changes: Partial<ClusterLease>, revision = 2): Fact => ({
  type: 'ClusterSpecChanged',
  data: { uid: UID, revision, spec: declaredOf(spec(changes)) },
});
const DELETION: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };

describe('the machines of a cluster with a lease', () => {
  let story: Story;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
  });

  const beginWithoutReservations = async (): Promise<void> => {
    story = new Story();
    story.cloud.reserves = false;
    await story.begin();
  };

  const sizes = (): readonly string[] =>
    [...new Set([...story.cloud.machines.values()].map((machine) => machine.spec))].toSorted();

  const dismantle = async (): Promise<void> => {
    await story.log.say(requestStream, DELETION);
    await story.log.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid: UID } });
    await story.settle();
  };

  it('are reserved by size and number before any of them is requested', async () => {
    await story.request(requested(spec()));
    const at = (type: string): number => story.types().indexOf(type);
    expect(story.last('ClusterAccepted').waits).toEqual({ reserves: ['lab'], startsAt: null });
    expect(story.last('ReservationConfirmed')).toMatchObject({
      connection: 'lab',
      startsAt: null,
      endsAt: END,
      machines: [
        { spec: 'lab.medium', count: 5 },
        { spec: 'lab.thin', count: 1 },
      ],
    });
    expect([at('ReservationActivated'), at('VmsPlanned')].toSorted((one, other) => one - other)).toEqual([
      at('ReservationActivated'),
      at('VmsPlanned'),
    ]);
    expect(story.cloud.creations.get(`reservation ${RESERVED}`)).toBe(1);
  });

  it('are requested by the sizes of their reservation, including those of later pools and replacements [azimuth 10]', async () => {
    await story.request(requested(spec()));
    expect(sizes()).toEqual(['lab.medium.reserved', 'lab.thin.reserved']);
    expect(story.last('VmsPlanned').machines.map((plan) => plan.spec)).not.toContain('lab.medium.reserved');
    const more = nodeSet(1, { pool: 'more' as PoolName });
    await story.request({
      type: 'NodesRequested',
      data: { uid: UID, requestId: 'r1', requestHash: 'hash', workers: [more], onFailure: 'keep' },
    } as Fact);
    const added = story.last('VmsPlanned').machines[0]!.name;
    expect(story.cloud.machines.get(added)?.spec).toBe('lab.medium.reserved');
    const old = [...story.cloud.machines.keys()].find((name) => name.includes('-w-'))!;
    await story.request({
      type: 'NodeReplacementRequested',
      data: { uid: UID, requestId: 'r2', node: old, order: 'create-first', reason: '' },
    } as Fact);
    const replacement = story.last('VmsPlanned').machines[0]!.name;
    expect(replacement).not.toBe(added);
    expect(story.cloud.machines.get(replacement)?.spec).toBe('lab.medium.reserved');
  });

  it('keep a size that the reservation does not map [azimuth 10]', async () => {
    story.cloud.mapped = ['lab.medium'];
    await story.request(requested(spec()));
    expect(sizes()).toEqual(['lab.medium.reserved', 'lab.thin']);
  });

  it('are not created if the cloud denies their reservation, whose message is the cause of the failure [azimuth 8]', async () => {
    story.cloud.denial = 'not enough capacity: 6 machines are asked for, and 2 are free';
    await story.request(requested(spec()));
    expect(story.types().slice(-3)).toEqual(['ClusterAccepted', 'ReservationDenied', 'InfrastructureFailed']);
    expect(story.last('InfrastructureFailed')).toMatchObject({
      step: 'reserve machines',
      reason: 'ReserveMachinesFailed',
      cause: { target: 'lab', message: story.cloud.denial },
    });
    expect(story.last('ReservationDenied')).not.toHaveProperty('until');
    expect(story.cloud.machines.size).toBe(0);
    story.cloud.denial = undefined;
    await story.request({ type: 'ClusterRetryRequested', data: { uid: UID } });
    expect(story.cloud.machines.size).toBe(6);
  });

  it('are not requested before their reservation is active, however long that takes [azimuth 9]', async () => {
    story.cloud.hasBegun = false;
    const startsAt = new Date(Date.now() + 10 * 60_000).toISOString();
    await story.request(requested(spec({ startsAt })));
    expect(story.types().at(-1)).toBe('ReservationConfirmed');
    expect(story.last('ClusterAccepted').waits).toEqual({ reserves: ['lab'], startsAt });
    await story.wait();
    expect([story.types().at(-1), story.cloud.machines.size, story.cloud.networks.size]).toEqual([
      'ReservationConfirmed',
      0,
      0,
    ]);
    story.cloud.hasBegun = true;
    await story.wait();
    expect(story.cloud.machines.size).toBe(6);
    expect(story.types().filter((type) => type.endsWith('Failed'))).toEqual([]);
  });

  it('are requested at their start time if no provider supports reservations', async () => {
    await beginWithoutReservations();
    const startsAt = new Date(Date.now() + 10 * 60_000).toISOString();
    await story.request(requested(spec({ startsAt })));
    expect(story.last('ClusterAccepted').waits).toEqual({ reserves: [], startsAt });
    expect(story.cloud.machines.size).toBe(0);
    await story.wait();
    expect(sizes()).toEqual(['lab.medium', 'lab.thin']);
    expect(story.types().filter((type) => type.startsWith('Reservation'))).toEqual([]);
  });

  it('are rejected if a reservation is required and the provider does not support it', async () => {
    await beginWithoutReservations();
    await story.request(requested(spec({ reservation: 'Required' })));
    expect(story.last('ClusterRejected')).toMatchObject({
      code: 'cluster.reservation-unsupported',
      field: 'controlPlane[0].connection',
    });
  });

  it('are reserved on each connection that supports it, and requested once all reservations are active', async () => {
    await story.log.say(CONNECTIONS_STREAM, registered({ name: 'other' as ConnectionName }));
    const workers = [nodeSet(2, { connection: 'other' as ConnectionName })];
    await story.request(requested(clusterSpec({ workers, lease: lease() })));
    expect(story.types().filter((type) => type === 'ReservationActivated')).toHaveLength(2);
    expect(story.cloud.machines.size).toBe(5);
  });

  it('of a cluster without a lease are never reserved [azimuth 11]', async () => {
    await story.request(requested(clusterSpec()));
    await dismantle();
    expect(story.last('ClusterAccepted')).not.toHaveProperty('waits');
    expect(story.types().filter((type) => type.startsWith('Reservation'))).toEqual([]);
    expect([story.cloud.reservations.size, story.cloud.released.size]).toEqual([0, 0]);
  });

  it('are not reserved if a lease is declared for an existing cluster', async () => {
    await story.request(requested(clusterSpec()));
    await story.request(declare({}));
    expect(story.cloud.reservations.size).toBe(0);
  });

  it('are reserved until a newly declared end, if capacity is available [azimuth 13]', async () => {
    await story.request(requested(spec()));
    await story.request(declare({ endsAt: LATER }));
    expect(story.last('ReservationConfirmed')).toMatchObject({ endsAt: LATER });
    expect(story.cloud.reservations.get(RESERVED)?.endsAt).toBe(LATER);
    expect(story.types().filter((type) => type === 'ReservationActivated')).toHaveLength(1);
  });

  it('are reserved until the former end if the cloud denies another one, and the cluster continues [azimuth 13]', async () => {
    await story.request(requested(spec()));
    story.cloud.denial = 'all machines are taken from 2099-01-08 on';
    await story.request(declare({ endsAt: LATER }));
    expect(story.last('ReservationDenied')).toMatchObject({
      endsAt: LATER,
      until: END,
      cause: { message: story.cloud.denial },
    });
    expect(story.types()).not.toContain('InfrastructureFailed');
    await story.settle();
    expect(story.types().filter((type) => type === 'ReservationDenied')).toHaveLength(1);
    expect(story.cloud.reservations.get(RESERVED)?.endsAt).toBe(END);
  });

  it('are reserved until the end that is declared once the cloud has the capacity, although it was denied before', async () => {
    await story.request(requested(spec()));
    story.cloud.denial = 'all machines are taken from 2099-01-08 on';
    await story.request(declare({ endsAt: LATER }));
    await story.wait();
    expect(story.types().filter((type) => type === 'ReservationDenied')).toHaveLength(2);
    expect(story.cloud.reservations.get(RESERVED)?.endsAt).toBe(END);
    story.cloud.denial = undefined;
    await story.wait();
    expect(story.last('ReservationConfirmed')).toMatchObject({ endsAt: LATER });
    expect(story.cloud.reservations.get(RESERVED)?.endsAt).toBe(LATER);
    const { length } = story.types();
    await story.wait();
    expect(story.types()).toHaveLength(length);
  });

  it('are reserved until the former end if the cloud is unreachable', async () => {
    await story.request(requested(spec()));
    story.outageOf = 'reserve machines';
    story.outage = 'connection refused';
    await story.request(declare({ endsAt: LATER }));
    expect(story.last('ReservationDenied')).toMatchObject({ endsAt: LATER, until: END });
    expect(story.types()).not.toContain('InfrastructureFailed');
  });

  it('are deleted before their reservation is released, as the events show [azimuth 12]', async () => {
    await story.request(requested(spec()));
    await dismantle();
    const types = story.types().slice(story.types().indexOf('ClusterDismantled'));
    expect(types.slice(-2)).toEqual(['ReservationReleased', 'ClusterDeleted']);
    expect(types.lastIndexOf('VmDeleted')).toBeLessThan(types.indexOf('ReservationReleased'));
    expect([story.cloud.machines.size, [...story.cloud.released]]).toEqual([0, [RESERVED]]);
  });

  it('are gone even if the cloud does not release their reservation, which is retried', async () => {
    await story.request(requested(spec()));
    story.outageOf = 'release reservation';
    story.outage = 'connection refused';
    await dismantle();
    expect(story.types().filter((type) => type === 'VmDeleted')).toHaveLength(6);
    expect(story.types()).not.toContain('ReservationReleased');
    expect(story.types().at(-1)).toBe('VmDeletionFailed');
    story.outage = undefined;
    await story.wait();
    expect(story.types().slice(-2)).toEqual(['ReservationReleased', 'ClusterDeleted']);
  });

  it('leave no reservation behind if they were never requested', async () => {
    story.cloud.hasBegun = false;
    await story.request(requested(spec({ startsAt: '2099-01-01T00:00:00.000Z' })));
    await dismantle();
    expect(story.types().slice(-2)).toEqual(['ReservationReleased', 'ClusterDeleted']);
    expect(story.cloud.reservations.size).toBe(0);
  });

  it('wait with their reservation while the cluster is paused', async () => {
    await story.log.say(requestStream, requested(spec()));
    await story.request({ type: 'ClusterPaused', data: { uid: UID, reason: '' } });
    expect(story.cloud.reservations.size).toBe(0);
    await story.request({ type: 'ClusterResumed', data: { uid: UID, reason: '' } });
    expect(story.cloud.machines.size).toBe(6);
  });
});
