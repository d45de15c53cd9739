import type { StoreState } from '@fairlead/event-sourcing/jetstream';
import { describe, expect, it } from '@jest/globals';
import { changedLimits, replicasOf, storeWarnings } from './stores.metrics.js';

const state = (name: string, found: Partial<StoreState['found']>, inSync: number): StoreState => ({
  store: { name, kind: 'stream', stream: name, required: {}, limits: { max_bytes: -1 } },
  found: { num_replicas: 1, max_bytes: -1, ...found },
  inSync,
});

describe('the stores of the log, as metrics show them', () => {
  it('have as many replicas as were asked for, unless a line says what differs', () => {
    const metadata = { 'fairlead-replicas': '3' };
    const states = [
      state('EVENTS', { num_replicas: 3, metadata }, 3),
      state('DLQ', { num_replicas: 1 }, 1),
      state('DLQ', { num_replicas: 3 }, 2),
    ];
    expect(replicasOf(states)).toEqual([
      { store: 'EVENTS', asked: 3, configured: 3, inSync: 3 },
      { store: 'DLQ', asked: 3, configured: 1, inSync: 1 },
      { store: 'DLQ', asked: 3, configured: 3, inSync: 2 },
    ]);
    expect(storeWarnings(states)).toEqual([
      'DLQ is configured with 1 replica, and 3 were asked for',
      '2 of the 3 replicas of DLQ are in sync',
    ]);
  });

  it('are compared with those of the log where no number was ever asked for', () => {
    expect(storeWarnings([state('EVENTS', { num_replicas: 5 }, 5), state('DLQ', { num_replicas: 5 }, 5)])).toEqual([]);
  });

  it('say which limits an operator has changed', () => {
    const states = [state('EVENTS', {}, 1), state('DLQ', { max_bytes: 1024 }, 1)];
    expect(changedLimits(states)).toEqual([{ store: 'DLQ', setting: 'max_bytes' }]);
    expect(storeWarnings(states)).toEqual(['DLQ: max_bytes 1024 kept (default: unlimited)']);
  });
});
