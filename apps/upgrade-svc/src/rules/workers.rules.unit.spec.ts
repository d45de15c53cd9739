import type { MaintenanceWindow } from '@fairlead/contracts';
import { d7Window } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { poolStrategy } from './rules.fixtures.js';
import {
  d1NeedsCanary,
  d2AtOnce,
  d2MayBegin,
  d2Surge,
  d3MarkWorkers,
  d4GatesAfter,
  d5ForceIsBounded,
  d5OnTimeout,
  d6MustDrain,
  d7UserGates,
} from './workers.rules.js';

const NOW = '2026-11-21T10:00:00.000Z'; // A Saturday.

describe('D1 a canary', () => {
  it('is first if no node of its pool is up to date', () => expect(d1NeedsCanary(poolStrategy(), 0, 5)).toBe(true));
  it('is not needed if one is, for a single node, or if it is disabled', () =>
    expect([
      d1NeedsCanary(poolStrategy(), 1, 4),
      d1NeedsCanary(poolStrategy(), 0, 1),
      d1NeedsCanary(poolStrategy({ canary: false }), 0, 5),
    ]).toEqual([false, false, false]));
});

describe('D2 the budget', () => {
  it.each([
    ['10%', 0, 1, 1],
    ['10%', 0, 3, 1],
    ['10%', 0, 9, 1],
    ['10%', 0, 10, 1],
    ['10%', 0, 11, 1],
    ['10%', 0, 100, 10],
    ['25%', 0, 10, 2],
    [0, '10%', 11, 2],
    [1, '10%', 10, 2],
    [0, 0, 10, 1],
    ['29%', 0, 100, 29],
  ])('of maxUnavailable %s and maxSurge %s with %i nodes is %i', (maxUnavailable, maxSurge, nodes, atOnce) =>
    expect(d2AtOnce(poolStrategy({ maxUnavailable, maxSurge }), nodes)).toBe(atOnce),
  );
  it('requests the number of surge nodes, rounded up', () =>
    expect(d2Surge(poolStrategy({ maxSurge: '10%' }), 11)).toBe(2));
  it('counts nodes that are unavailable for another reason', () =>
    expect(d2MayBegin('w-1', { atOnce: 2, inFlight: ['w-2'], unready: ['w-3'] })).toBe(false));
  it('lets a node start that is already unavailable, at no cost', () =>
    expect(d2MayBegin('w-3', { atOnce: 2, inFlight: ['w-2'], unready: ['w-3'] })).toBe(true));
  it('never has more in progress than allowed, however many are sick', () =>
    expect(d2MayBegin('w-3', { atOnce: 1, inFlight: ['w-2'], unready: ['w-3', 'w-4'] })).toBe(false));
});

describe('D3 the soft taint', () => {
  it('is useful for more than one drained node', () =>
    expect([
      d3MarkWorkers([{ drain: true }, { drain: true }]),
      d3MarkWorkers([{ drain: true }]),
      d3MarkWorkers([{ drain: false }, { drain: false }]),
    ]).toEqual([true, false, false]));
});

describe('D4 a worker is done', () => {
  it('when it and its DaemonSet pods are Ready at its version', () =>
    expect(d4GatesAfter).toEqual(['node-ready', 'daemonsets']));
});

describe('D5 a node that cannot be drained in time', () => {
  it('stops the rollout unless the pool configures otherwise', () =>
    expect(d5OnTimeout(poolStrategy(), NOW)).toBe('stop'));
  it('is skipped with quarantine', () =>
    expect(d5OnTimeout(poolStrategy({ onDrainTimeout: 'quarantine' }), NOW)).toBe('quarantine'));
  it('is forced only until the configured time', () => {
    const force = poolStrategy({ onDrainTimeout: 'force', forceUntil: '2026-11-21T12:00:00.000Z' });
    expect(d5OnTimeout(force, NOW)).toBe('force');
    expect(d5OnTimeout(force, '2026-11-21T12:00:00.000Z')).toBe('stop');
  });
  it('is never forced without an end', () =>
    expect(d5ForceIsBounded('w', poolStrategy({ onDrainTimeout: 'force' }))).toMatchObject([{ rule: 'D5' }]));
});

describe('D6 a node is drained', () => {
  const change = { from: '1.34.2', to: '1.34.4', runtime: false, reboot: false };
  const lenient = poolStrategy({ skipDrainForPatches: true });
  it('for a new kubelet minor, whatever the pool configures', () =>
    expect(d6MustDrain({ ...change, from: '1.33.13' }, lenient)).toBe(true));
  it('for a new runtime and for a reboot', () =>
    expect([
      d6MustDrain({ ...change, runtime: true }, lenient),
      d6MustDrain({ ...change, reboot: true }, lenient),
    ]).toEqual([true, true]));
  it('for a patch unless the pool skips it', () =>
    expect([d6MustDrain(change, lenient), d6MustDrain(change, poolStrategy())]).toEqual([false, true]));
});

describe('D7 user-defined gates and windows', () => {
  const nights: MaintenanceWindow = { days: ['sat', 'sun'], from: '22:00', to: '04:00' };
  it('each user-defined gate is evaluated before each node', () =>
    expect(d7UserGates([{ kind: 'http', name: 'shop', url: 'http://198.18.0.10/', status: 200 }])).toEqual([
      'user:shop',
    ]));
  it('without windows it is always open', () => expect(d7Window([], NOW)).toEqual({ open: true, changesAt: null }));
  it('a closed window returns when it opens', () =>
    expect(d7Window([nights], NOW)).toEqual({ open: false, changesAt: '2026-11-21T22:00:00.000Z' }));
  it('an open one returns when it closes, also over midnight', () => {
    expect(d7Window([nights], '2026-11-21T23:00:00.000Z')).toEqual({
      open: true,
      changesAt: '2026-11-22T04:00:00.000Z',
    });
    // Sunday's night window ends on Monday.
    expect(d7Window([nights], '2026-11-23T03:59:00.000Z').open).toBe(true);
    expect(d7Window([nights], '2026-11-23T04:00:00.000Z').open).toBe(false);
  });
});
