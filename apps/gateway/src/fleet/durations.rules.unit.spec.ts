import { describe, expect, it } from '@jest/globals';
import { causesOf, causeTimesOf, durationsOf, type Took } from './durations.rules.js';

const took = (kind: Took['kind'], seconds: number): Took => ({
  kind,
  startedAt: '2026-11-30T10:00:00.000Z',
  finishedAt: new Date(Date.parse('2026-11-30T10:00:00.000Z') + seconds * 1_000).toISOString(),
});

describe('the durations of operations', () => {
  it('are those of each kind: the median, and what nine of ten stay within', () => {
    const creations = Array.from({ length: 10 }, (_, index) => took('create', 100 - index * 10));
    expect(durationsOf([...creations, took('upgrade', 7)])).toEqual([
      { operation: 'create', count: 10, medianMs: 50_000, longMs: 90_000 },
      { operation: 'upgrade', count: 1, medianMs: 7_000, longMs: 7_000 },
    ]);
  });

  it('are none before anything succeeded', () => expect(durationsOf([])).toEqual([]));
});

describe('how long a node usually spends with each cause', () => {
  const START = Date.parse('2026-11-30T10:00:00.000Z');
  const at = (second: number): string => new Date(START + second * 1_000).toISOString();
  const event = (second: number, type: string, data: object) => ({
    ...{ seq: second, type, time: at(second), sentence: '' },
    data: data as Readonly<Record<string, unknown>>,
  });
  /** Two nodes whose installation takes so many seconds. */
  const history = (installs: number) => [
    event(1, 'VmsPlanned', { machines: [{ name: 'w-1' }, { name: 'w-2' }] }),
    ...['w-1', 'w-2'].flatMap((node) => [
      event(3, 'VmCreated', { name: node }),
      event(5, 'AgentStarted', { node }),
      event(5 + installs, 'NodeBootstrapped', { node }),
      event(6 + installs, 'WorkerJoined', { node }),
      event(8 + installs, 'NodeReady', { node }),
    ]),
    event(9 + installs, 'NodeReady', { node: 'another' }),
  ];
  const timesOf = (installs: number) =>
    causeTimesOf(history(installs), { startedAt: at(0), finishedAt: at(10 + installs) });

  it('is the median of all nodes of its operations, from their events', () => {
    const items = causesOf([timesOf(20), timesOf(40), timesOf(90)]);
    expect(items.map(({ cause }) => cause)).toEqual(['wait', 'machine', 'connect', 'install', 'join', 'verify']);
    expect(items.find(({ cause }) => cause === 'install')).toEqual({
      ...{ cause: 'install', count: 6, medianMs: 40_000, longMs: 90_000 },
    });
  });

  it('counts no event after the end of the operation', () => {
    const ended = causeTimesOf(history(20), { startedAt: at(0), finishedAt: at(10) });
    expect(causesOf([ended]).find(({ cause }) => cause === 'install')?.medianMs).toBe(5_000);
  });
});
