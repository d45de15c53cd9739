import { describe, expect, it } from '@jest/globals';
import { actorText, clockText, counted, durationText, hashText, relativeText } from './format.js';
import { keepOrder } from './fleet/order.js';
import { planDifference, type ComparedPlan } from './plan/plan.diff.js';
import { hashOf, placeOf } from './route.js';

describe('a place of the page', () => {
  it('stands in the fragment of its address, and is read as it was written', () => {
    const hash = hashOf(['clusters', 'default', 'a/b?c#d'], {
      at: '2026-11-28T10:00:00+01:00',
      state: 'Failed,Degraded',
    });
    expect(placeOf(hash)).toEqual({
      path: ['clusters', 'default', 'a/b?c#d'],
      query: { at: '2026-11-28T10:00:00+01:00', state: 'Failed,Degraded' },
    });
    expect(placeOf('')).toEqual({ path: [], query: {} });
    expect(placeOf('#/%E0%A4%A')).toEqual({ path: ['%E0%A4%A'], query: {} });
  });

  it('names only what is given', () => {
    expect(hashOf([], { at: undefined, search: '' })).toBe('#/');
    expect(hashOf(['fleet'], { at: 42 })).toBe('#/fleet?at=42');
  });
});

describe('durations and times', () => {
  it('are as exact as their size needs', () => {
    expect([850, 42_000, 187_000, 18_120_000, 1_051_200_000].map(durationText)).toEqual([
      ...['850 ms', '42 s', '3 m 07 s', '5 h 02 m', '12 d 4 h'],
    ]);
  });

  it('are relative to now', () => {
    const now = Date.parse('2026-11-28T12:00:00Z');
    expect([now - 500, now - 90_000, now + 3 * 86_400_000].map((at) => relativeText(at, now))).toEqual([
      ...['now', '1 m ago', 'in 3 d'],
    ]);
    expect(clockText(now, now)).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(clockText(now - 40 * 86_400_000, now)).toMatch(/^2026-10-19 /);
  });

  it('of people and services are short', () => {
    expect(['user/ada#00ff', 'system/upgrade-svc', 'node/demo-w-1'].map(actorText)).toEqual([
      'ada',
      'upgrade-svc',
      'demo-w-1',
    ]);
    expect([1, 2, 1_000].map((count) => counted(count, 'node'))).toEqual(['1 node', '2 nodes', '1,000 nodes']);
    expect(hashText('9c1fab12cd34ef56')).toBe('9c1f ab12 cd34');
  });
});

describe('a list under the pointer', () => {
  const key = (row: string): string => row;

  it('keeps the order of its rows: new ones follow, and those that are gone leave', () =>
    expect(keepOrder(['d', 'c', 'b', 'a'], ['a', 'b', 'x', 'c'], key)).toEqual(['a', 'b', 'c', 'd']));

  it('is as it came where nothing was shown before', () => expect(keepOrder(['b', 'a'], [], key)).toEqual(['b', 'a']));
});

describe('two plans', () => {
  const operation = (node: string, batch: number, drain = true) => ({
    kind: 'mark-workers',
    node,
    nodes: [],
    batch,
    drain,
  });
  const plan = (change: Partial<ComparedPlan> = {}): ComparedPlan => ({
    path: ['1.34.4', '1.35.4'],
    operations: [operation('w-1', 1), operation('w-2', 2)],
    findings: [],
    predictedSeconds: 100,
    ...change,
  });

  it('that are equal differ in nothing, whatever they predict', () =>
    expect(planDifference(plan(), plan({ predictedSeconds: 200 }))).toEqual([]));

  it('differ in their path, operations, batches, drains and findings', () =>
    expect(
      planDifference(
        plan(),
        plan({
          path: ['1.34.4', '1.35.5'],
          operations: [operation('w-2', 1, false), operation('w-3', 2)],
          findings: [{ rule: 'B7', sentence: 'The budget shop/web allows no disruption now' }],
        }),
      ),
    ).toEqual([
      'Path: 1.34.4 → 1.35.5 instead of 1.34.4 → 1.35.4',
      'New: mark-workers w-3',
      'No longer: mark-workers w-1',
      'mark-workers w-2: batch 1 instead of 2',
      'mark-workers w-2: is not drained any longer',
      'B7: The budget shop/web allows no disruption now',
    ]));
});
