import { describe, expect, it } from '@jest/globals';
import type { AuditView } from '../api/views.js';
import { traceOf } from './trace.js';
import { FOLLOWED_MAX, traceText } from './trace.text.js';

type Entry = AuditView['items'][number];

const entry = (seq: number, type: string, ...causes: readonly number[]): Entry => ({
  ...{ seq, id: `e${seq}`, time: '2026-11-21T08:00:00Z', type, actor: 'system/x', source: 'x', context: 'x' },
  sentence: `${type} happened`,
  because: causes.map((cause) => ({ seq: cause, type: '', id: `e${cause}` })),
});

const HISTORY: readonly Entry[] = [
  entry(1, 'ClusterRequested'),
  entry(2, 'ClusterAccepted', 1),
  entry(3, 'VmsPlanned', 2, 1),
  entry(4, 'KubeconfigRequested'),
  entry(5, 'VmCreated', 3, 2, 1),
  entry(6, 'VmCreated', 3, 2, 1),
  entry(7, 'VmsCreated', 6, 3, 2, 1),
];

const textOf = (history: readonly Entry[], seq: number): readonly string[] => {
  const trace = traceOf(history, seq);
  return trace === undefined
    ? []
    : traceText(trace)
        .split('\n')
        .map((line) => line.replace(/ {2}\w+ happened.*?\)/u, ''));
};

describe('the trace of an event', () => {
  it('starts with the first cause, and includes all consequences', () =>
    expect(textOf(HISTORY, 3)).toEqual([
      'CAUSES',
      '  1  ClusterRequested',
      '  2  ClusterAccepted',
      'EVENT',
      '  3  VmsPlanned',
      'CONSEQUENCES',
      '  ├─ 5  VmCreated',
      '  └─ 6  VmCreated',
      '     └─ 7  VmsCreated',
    ]));

  it('states if there is no cause or no consequence', () =>
    expect(textOf(HISTORY, 4)).toEqual([
      ...['CAUSES', '  none', 'EVENT', '  4  KubeconfigRequested', 'CONSEQUENCES', '  none'],
    ]));

  it('continues beyond the causes in one response', () => {
    const chain = Array.from({ length: 50 }, (_, at) =>
      entry(at + 1, 'Step', ...Array.from({ length: Math.min(at, 20) }, (__, back) => at - back)),
    );
    expect(traceOf(chain, 50)?.causes.map(({ seq }) => seq)).toEqual(Array.from({ length: 49 }, (_, at) => at + 1));
  });

  it('is undefined for an event outside the history', () => expect(traceOf(HISTORY, 8)).toBeUndefined());

  it('ends if a cause does not precede its effect', () =>
    expect(traceOf([entry(1, 'Odd', 2), entry(2, 'Odd', 1)], 2)).toMatchObject({ causes: [{ seq: 1 }], led: [] }));

  it('is limited as text, with the number of omitted events', () => {
    const many = [
      entry(1, 'Request'),
      ...Array.from({ length: FOLLOWED_MAX + 5 }, (_, at) => entry(at + 2, 'Step', 1)),
    ];
    const lines = textOf(many, 1);
    expect(lines).toHaveLength(FOLLOWED_MAX + 6);
    expect(lines.at(-1)).toBe('  ... and 5 more; --output json has all of them');
  });
});
