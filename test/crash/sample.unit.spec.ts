import { describe, expect, it } from '@jest/globals';
import { sampleOf, seedOfDay } from './sample.js';

const LENGTH = 57;
const day = (offset: number): number => seedOfDay(new Date(Date.UTC(2026, 0, 1 + offset)));

describe('the sample of boundaries at which services are killed for real', () => {
  it('is the same for the same seed and service, and differs for another service', () => {
    const of = (name: string) => sampleOf(LENGTH, { seed: 20260131, name, count: 3 });
    expect(of('gateway')).toEqual(of('gateway'));
    expect(of('gateway')).not.toEqual(of('infra-svc'));
  });

  it('has an early, a middle and a late boundary', () => {
    for (let offset = 0; offset < 50; offset += 1) {
      const [early = 0, middle = 0, late = 0] = sampleOf(LENGTH, { seed: day(offset), name: 'gateway', count: 3 });
      expect([early >= 1, early <= 19, middle > 19, middle <= 38, late > 38, late <= LENGTH]).toEqual(
        Array.from({ length: 6 }, () => true),
      );
    }
  });

  it('covers every boundary of a service within some months of daily runs', () => {
    const met = new Set<number>();
    for (let offset = 0; offset < 200; offset += 1)
      for (const boundary of sampleOf(LENGTH, { seed: day(offset), name: 'upgrade-svc', count: 3 })) met.add(boundary);
    expect(met.size).toBe(LENGTH);
  });

  it('is all of them if as many are requested', () => {
    expect(sampleOf(4, { seed: 1, name: 'gateway', count: 99 })).toEqual([1, 2, 3, 4]);
  });

  it('has the day in UTC as its seed', () => {
    expect(seedOfDay(new Date('2026-01-31T23:59:59.000Z'))).toBe(20260131);
  });
});
