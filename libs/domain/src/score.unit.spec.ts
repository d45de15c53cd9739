import { describe, expect, it } from '@jest/globals';
import { lanesOf, totalsOf, type ScoreEvent } from './score.js';

const START = Date.parse('2026-11-28T10:00:00Z');
const event = (second: number, type: string, data: ScoreEvent['data']): ScoreEvent => ({
  ...{ seq: second, type, sentence: type, data },
  time: new Date(START + second * 1_000).toISOString(),
});
const EVENTS = [
  event(1, 'VmsPlanned', { vms: [{ name: 'w-1' }, { name: 'w-2' }] }),
  event(3, 'VmCreated', { name: 'w-1' }),
  event(5, 'AgentStarted', { node: 'w-1' }),
  event(6, 'BootstrapStepFailed', { node: 'w-1' }),
  event(8, 'NodeReady', { node: 'w-1' }),
  event(9, 'WorkerJoined', { node: 'w-1' }),
];
const range = { fromMs: START, toMs: START + 10_000 };

describe('the score of an operation', () => {
  it('gives each second of each node to one cause, without a gap', () => {
    const [one, two] = lanesOf(EVENTS, ['w-1', 'w-2'], range);
    expect(
      one?.segments.map(({ cause, fromMs, toMs }) => [cause, (fromMs - START) / 1_000, (toMs - START) / 1_000]),
    ).toEqual([
      ['wait', 0, 1],
      ['machine', 1, 3],
      ['connect', 3, 5],
      ['install', 5, 6],
      ['failed', 6, 8],
      ['done', 8, 10],
    ]);
    expect(two?.segments.map(({ cause }) => cause)).toEqual(['wait', 'machine']);
    for (const { segments } of [one!, two!])
      expect(segments.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)).toBe(10_000);
  });

  it('adds the causes up, the longest first', () =>
    expect(totalsOf(lanesOf(EVENTS, ['w-1'], range))[0]).toEqual(['machine', 2_000]));
});
