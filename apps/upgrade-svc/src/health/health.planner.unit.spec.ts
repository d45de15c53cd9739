import { describe, expect, it } from '@jest/globals';
import { findingsOf, nextLookMs, outlookOf, type WatchedNode } from './health.planner.js';

const LIMIT_MS = 40_000;
const node = (over: Partial<WatchedNode> = {}): WatchedNode => ({
  key: 'hb.default.demo.w1',
  lost: false,
  expectedSinceMs: 0,
  heardAtMs: 0,
  ...over,
});
const found = (nodes: readonly WatchedNode[], nowMs: number, sinceMs: number | undefined = 0) =>
  findingsOf(nodes, { nowMs, sinceMs, limitMs: LIMIT_MS }).map(({ kind }) => kind);

describe('silence', () => {
  it('within the limit has no effect', () => expect(found([node()], LIMIT_MS)).toEqual([]));
  it('beyond the limit makes a node lost', () => expect(found([node()], LIMIT_MS + 1)).toEqual(['lost']));
  it('is not reported again for a lost node', () => expect(found([node({ lost: true })], 100_000)).toEqual([]));
  it('of a node without a heartbeat counts from when it was expected', () => {
    const silent = node({ heardAtMs: undefined, expectedSinceMs: 10_000 });
    expect(found([silent], LIMIT_MS + 10_000)).toEqual([]);
    expect(found([silent], LIMIT_MS + 10_001)).toEqual(['lost']);
  });
  it("counts from this replica's reconnect, not from before it", () => {
    expect(found([node()], 100_000, 60_001)).toEqual([]);
    expect(found([node()], 100_001, 60_000)).toEqual(['lost']);
  });
  it('is not reported while heartbeats cannot be received', () =>
    expect(findingsOf([node()], { nowMs: 1e9, sinceMs: undefined, limitMs: LIMIT_MS })).toEqual([]));
});

describe('the next check for silence', () => {
  const next = (nodes: readonly WatchedNode[], nowMs: number, sinceMs: number | undefined = 0) =>
    nextLookMs(nodes, { nowMs, sinceMs, limitMs: LIMIT_MS });

  it('is when the first node may be lost', () =>
    expect(next([node({ heardAtMs: 9_000 }), node({ heardAtMs: 4_000 }), node({ heardAtMs: 7_000 })], 10_000)).toBe(
      44_000,
    ));
  it('is not due while no node is watched', () => expect(next([], 10_000)).toBe(Infinity));
  it('is due at once while one is lost, because its heartbeat may arrive at any time', () =>
    expect(next([node({ heardAtMs: 9_000 }), node({ lost: true })], 10_000)).toBe(10_000));
  it('is never later than a detectable loss', () => {
    for (const heardAtMs of [undefined, 0, 5_000, 9_000])
      for (const expectedSinceMs of [0, 6_000])
        for (const sinceMs of [0, 8_000]) {
          const one = node({ heardAtMs, expectedSinceMs });
          const atMs = next([one], 10_000, sinceMs);
          expect(found([one], atMs, sinceMs)).toEqual([]);
          expect(found([one], atMs + 1, sinceMs)).toEqual(['lost']);
        }
  });
});

describe('a lost node', () => {
  it('recovers with a heartbeat', () =>
    expect(found([node({ lost: true, heardAtMs: 99_000 })], 100_000)).toEqual(['recovered']));
  it('does not recover only because of a reconnect', () =>
    expect(found([node({ lost: true, heardAtMs: 0 })], 100_000, 99_999)).toEqual([]));
  it('that never sent a heartbeat remains lost', () =>
    expect(found([node({ lost: true, heardAtMs: undefined })], 100_000)).toEqual([]));
});

describe('the outlook (rule E1)', () => {
  const nodes = (lost: number, watched: number) => Array.from({ length: watched }, (_, n) => node({ lost: n < lost }));
  it('is a meltdown above 40 %', () => {
    expect(outlookOf(nodes(4, 10)).meltdown).toBe(false);
    expect(outlookOf(nodes(5, 10)).meltdown).toBe(true);
  });
  it('is none among a few nodes', () => expect(outlookOf(nodes(3, 3)).meltdown).toBe(false));
});
