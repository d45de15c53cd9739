import { describe, expect, it } from '@jest/globals';
import {
  e1Meltdown,
  e2FailuresInARow,
  e3FailedShare,
  e4BlockedNodes,
  e5HealthRegressed,
  e6Freeze,
  e7EndsTheWay,
} from './stop.rules.js';

const NOW = '2026-11-21T10:00:00.000Z';

describe('E when to stop', () => {
  it("E1 more than 40 % look dead: nothing is done, because Fairlead's view is probably wrong", () =>
    expect([e1Meltdown(10, 5), e1Meltdown(10, 4), e1Meltdown(4, 3)]).toEqual([true, false, false]));
  it('E2 two failures in a row', () => expect([e2FailuresInARow(1, 2), e2FailuresInARow(2, 2)]).toEqual([false, true]));
  it('E3 more than a tenth of a pool has failed', () =>
    expect([
      e3FailedShare(1, 10, '10%'),
      e3FailedShare(2, 10, '10%'),
      e3FailedShare(1, 5, '10%'),
      e3FailedShare(0, 0, '10%'),
    ]).toEqual([false, true, true, false]));
  it('E4 more nodes than allowed could not be drained', () =>
    expect([e4BlockedNodes(1, 1), e4BlockedNodes(2, 1)]).toEqual([false, true]));
  it('E5 a healthy node becomes unhealthy for five minutes, or two are silent', () => {
    const since = (time: string, lost = false) => ({ since: time, lost });
    expect(e5HealthRegressed([since('2026-11-21T09:54:00.000Z')], NOW)).toBe(true);
    expect(e5HealthRegressed([since('2026-11-21T09:58:00.000Z')], NOW)).toBe(false);
    expect(
      e5HealthRegressed([since('2026-11-21T09:59:00.000Z', true), since('2026-11-21T09:59:00.000Z', true)], NOW),
    ).toBe(true);
  });
  it('E6 an API that does not respond stops everything', () =>
    expect([e6Freeze('api-answers'), e6Freeze('leases')]).toEqual([true, false]));
  it('E7 a failed control plane blocks everything after it', () =>
    expect([e7EndsTheWay('control-plane'), e7EndsTheWay('addons'), e7EndsTheWay('worker')]).toEqual([
      true,
      true,
      false,
    ]));
});
