import { describe, expect, it } from '@jest/globals';
import { eventually, eventuallyPasses, MemorySecrets, seededRandom } from './index.js';

const draws = (seed: number, count: number): readonly number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
};

describe('seeded randomness', () => {
  it('is the same on every machine for the same seed', () => {
    expect(draws(1, 3).map((draw) => Math.floor(draw * 2 ** 32))).toEqual([2693262067, 11749833, 2265367787]);
  });

  it('differs between neighbouring seeds, and stays at least 0 and below 1', () => {
    expect(draws(1, 100)).not.toEqual(draws(2, 100));
    expect(draws(7, 10_000).every((draw) => draw >= 0 && draw < 1)).toBe(true);
  });
});

describe('waiting', () => {
  it('returns the first result that is truthy, or that fits', async () => {
    let asked = 0;
    expect(await eventually(() => (++asked < 3 ? undefined : 'here'), { everyMs: 1 })).toBe('here');
    expect(
      await eventually(
        () => ++asked,
        (count) => count > 5,
        { everyMs: 1 },
      ),
    ).toBe(6);
  });

  it('rejects at the deadline with the condition and the last result', async () => {
    const never = eventually(
      () => ['joining'],
      () => false,
      { withinMs: 5, everyMs: 1, what: 'the worker is Ready' },
    );
    await expect(never).rejects.toThrow('not within 0.005 s: the worker is Ready; the last answer: ["joining"]');
  });

  it('ends at once if the poll itself fails', async () => {
    const broken = eventually(() => Promise.reject(new Error('connection refused')), { withinMs: 60_000 });
    await expect(broken).rejects.toThrow('connection refused');
  });

  it('repeats assertions until they pass, and rejects with the last failure', async () => {
    let seen = 0;
    await eventuallyPasses(() => expect(++seen).toBe(3), { everyMs: 1 });
    await expect(eventuallyPasses(() => expect(seen).toBe(0), { withinMs: 5, everyMs: 1 })).rejects.toThrow('Received');
  });
});

describe('secrets in memory', () => {
  it('lose those of an owner whose key is destroyed, and no others', async () => {
    const secrets = new MemorySecrets();
    await secrets.put('a', '1', 'cluster');
    await secrets.put('b', '2', 'shared');
    await secrets.destroyKey('cluster');
    expect([await secrets.get('a'), await secrets.get('b')]).toEqual([undefined, '2']);
  });
});
