import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { attemptWords, type Attempts } from './attempts.js';
import { PROVIDER_REFUSED } from '@fairlead/contracts';

const NEXT = '2026-11-28T13:48:00.000Z';

const attempts = (attempt: number, attemptsMax: number, nextAttemptAt: string | null = null): Attempts => ({
  attempt,
  attemptsMax,
  nextAttemptAt,
});

const anyAttempts = fc.record({
  cause: fc.option(
    fc.record({ reason: fc.constantFrom(PROVIDER_REFUSED, 'ssh.host-key-changed') }, { requiredKeys: [] }),
    {
      nil: {},
    },
  ),
  attempt: fc.integer({ min: 1, max: 100 }),
  attemptsMax: fc.integer({ min: 1, max: 100 }),
  nextAttemptAt: fc.constantFrom(null, NEXT),
});

describe('the words of attempts', () => {
  it('have the number of the attempt and the time of the next one', () => {
    expect(attemptWords(attempts(3, 6, NEXT))).toBe(`attempt 3 of 6, next at ${NEXT}`);
    expect(attemptWords(attempts(3, 6, NEXT), () => 'next in 10s')).toBe('attempt 3 of 6, next in 10s');
  });

  it('name no limit if another attempt follows the presumed last one', () =>
    expect(attemptWords(attempts(1, 1, NEXT))).toBe(`attempt 1, next at ${NEXT}`));

  it('state why there is no retry', () => {
    expect(attemptWords(attempts(6, 6))).toBe('all 6 attempts failed');
    expect(attemptWords(attempts(1, 1))).toBe('not retried');
    expect(attemptWords(attempts(1, 3))).toBe('not retried');
    expect(attemptWords(attempts(2, 6))).toBe('not retried after attempt 2');
    expect(attemptWords({ ...attempts(1, 6), cause: { reason: PROVIDER_REFUSED } })).toBe(
      'not retried: the provider refused it',
    );
  });

  it('never contradict themselves', () =>
    fc.assert(
      fc.property(anyAttempts, (given) => {
        const words = attemptWords(given);
        const [, attempt, max] = /^attempt (\d+)(?: of (\d+))?/.exec(words) ?? [];
        // The count continues, and never exceeds its limit.
        expect(words.includes('next')).toBe(given.nextAttemptAt !== null);
        expect(attempt !== undefined).toBe(given.nextAttemptAt !== null);
        if (max !== undefined) expect(Number(attempt)).toBeLessThan(Number(max));
        // "All" attempts failed only if none is left.
        if (words.startsWith('all ')) expect(given.attempt).toBeGreaterThanOrEqual(given.attemptsMax);
        expect(words).not.toMatch(/last attempt|\b1 attempts/);
      }),
    ));
});
