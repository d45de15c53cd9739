import type { ClusterUid, Fact, StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { machineHoursAfter, usedHours, type MachineHours } from './machine.hours.js';

const uid = '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10' as ClusterUid;
const at = (hour: number): string => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
const of = (type: string, data: object = {}): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;
const created = (name: string, connection = 'cloud', spec = 'm1.medium'): Fact =>
  of('VmCreated', { machine: { name, connection, spec } });
const deleted = (name: string): Fact => of('VmDeleted', { name });

const stored = (fact: Fact, hour: number): StoredEvent =>
  ({ ...fact, meta: { time: at(hour) } }) as unknown as StoredEvent;

const hoursAfter = (...facts: readonly (readonly [hour: number, fact: Fact])[]): MachineHours | undefined =>
  [[0, of('ClusterRequested')] as const, ...facts].reduce<MachineHours | undefined>(
    (hours, [hour, fact]) => machineHoursAfter(hours, stored(fact, hour)),
    undefined,
  );

describe('the hours of machines', () => {
  it('are counted from when a machine runs until it is deleted, by connection and machine type', () => {
    const hours = hoursAfter(
      [1, created('a')],
      [2, created('b')],
      [3, created('c', 'site', 'ssh.any')],
      [5, deleted('a')],
    );
    expect(usedHours(hours!, at(6))).toEqual([
      { connection: 'cloud', type: 'm1.medium', running: 1, hours: 4 + 4 },
      { connection: 'site', type: 'ssh.any', running: 1, hours: 3 },
    ]);
  });

  it('of a machine that is replaced are added to those of the new one', () => {
    const hours = hoursAfter([1, created('a')], [3, deleted('a')], [3, created('b')], [4, deleted('b')]);
    expect(usedHours(hours!, at(9))).toEqual([{ connection: 'cloud', type: 'm1.medium', running: 0, hours: 3 }]);
  });

  it('are the same if a fact is repeated, or is about a machine that never ran', () => {
    const once = hoursAfter([1, created('a')], [3, deleted('a')]);
    expect(
      hoursAfter([1, created('a')], [2, created('a')], [3, deleted('a')], [4, deleted('a')], [5, deleted('z')]),
    ).toEqual(once);
  });

  it('end with their cluster, and those of another one of its name are not added', () => {
    expect(hoursAfter([1, created('a')], [2, of('ClusterDeleted')])).toBeUndefined();
    const other = { ...created('x'), data: { ...(created('x').data as object), uid: 'another' } } as unknown as Fact;
    expect(hoursAfter([1, other])).toEqual(hoursAfter());
  });
});
