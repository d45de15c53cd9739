import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newFolder } from '@fairlead/testing';
import { Faults } from '../faults/faults.js';
import { DocumentStore } from '../persistence/document.store.js';
import { Stats } from '../stats/stats.js';
import { Reservations, sizeBehind, type ReservationRequest } from './reservations.js';

const day = (at: number): string => new Date(Date.UTC(2026, 0, 1 + at)).toISOString();
const asked = (from: number, until: number, count: number): ReservationRequest => ({
  startsAt: day(from),
  endsAt: day(until),
  machines: [{ spec: 'lab.medium', count }],
});

describe('reservations of the lab', () => {
  let now = day(0);
  let store: DocumentStore;
  let cloud: Reservations;
  const open = (): Reservations =>
    new Reservations({
      store,
      stats: new Stats(),
      faults: new Faults([], () => undefined),
      reservableMax: 10,
      now: () => new Date(now),
    });

  beforeEach(async () => {
    now = day(0);
    store = new DocumentStore(newFolder('reservations'), 0, (error) => {
      throw error;
    });
    cloud = open();
    await cloud.load();
  });
  afterEach(() => store.flush());

  it('are created if capacity is available during their whole period, and otherwise denied with the numbers', () => {
    cloud.put('a', asked(1, 5, 6));
    cloud.put('b', asked(5, 9, 6)); // Begins when the other ends.
    expect(() => cloud.put('c', asked(4, 6, 5))).toThrow(
      `not enough capacity from ${day(4)} until ${day(6)}: 5 machines are asked for, and 4 are free`,
    );
    expect(cloud.put('c', asked(4, 6, 4)).status).toBe('pending');
  });

  it('are unique by name, and are extended if capacity is available', () => {
    cloud.put('a', asked(1, 5, 6));
    cloud.put('b', asked(6, 9, 6));
    expect(cloud.put('a', asked(1, 6, 6)).endsAt).toBe(day(6));
    expect(() => cloud.put('a', asked(1, 7, 6))).toThrow('not enough capacity');
    expect(cloud.get('a').endsAt).toBe(day(6));
    expect(cloud.list()).toHaveLength(2);
  });

  it('have private sizes that can be requested while the reservation is active', () => {
    const { sizes } = cloud.put('a', asked(1, 5, 2));
    const size = sizes['lab.medium'] ?? '';
    expect(sizeBehind(size)?.name).toBe('lab.medium');
    const faults = [0, 1, 5].map((at) => {
      now = day(at);
      return cloud.faultOf(size)?.message;
    });
    const words = (is: string): string => `the reservation for ${size} is ${is}`;
    expect(faults).toEqual([words('pending'), undefined, words('ended')]);
    expect(cloud.faultOf('lab.medium')).toBeUndefined();
    expect(cloud.faultOf('lab.medium.r-00000000')?.code).toBe('reservation-unknown');
  });

  it('are not recreated by a late request after their release, even across a restart', async () => {
    cloud.put('a', asked(1, 5, 10));
    cloud.release('a');
    cloud.release('never');
    await store.flush();
    cloud = open();
    await cloud.load();
    expect(() => cloud.put('a', asked(1, 5, 1))).toThrow('reservation a was released');
    expect(() => cloud.put('never', asked(1, 5, 1))).toThrow('reservation never was released');
    expect(() => cloud.get('a')).toThrow('there is no reservation a');
    expect(cloud.put('b', asked(1, 5, 10)).status).toBe('pending');
  });
});
