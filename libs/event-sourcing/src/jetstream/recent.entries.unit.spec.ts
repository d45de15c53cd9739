import { describe, expect, it } from '@jest/globals';
import { RecentEntries } from './recent.entries.js';

const KEPT_AT_LEAST = 1_000;

const message = (seq: number, cluster: string, context = 'request') => ({
  seq,
  subject: `evt.3.default.${cluster}.${context}.ClusterRequested`,
  bytes: new TextEncoder().encode('{}'),
});

const seqsOf = (recent: RecentEntries, filter: string, afterSeq: number): readonly number[] | undefined =>
  recent.after(filter, afterSeq)?.map(({ seq }) => seq);

/** Messages `from` to `to`, alternating between clusters a and ab. */
const pushed = (from: number, to: number): RecentEntries => {
  const recent = new RecentEntries();
  for (let seq = from; seq <= to; seq += 1) recent.push(message(seq, seq % 2 === 0 ? 'a' : 'ab'), from);
  return recent;
};

describe('the recently pushed end of the log', () => {
  it('has only the messages of a cluster, oldest first, even if the name of another starts with its own', () => {
    const recent = pushed(11, 20);
    expect(seqsOf(recent, 'evt.3.default.a.>', 13)).toEqual([14, 16, 18, 20]);
    expect(seqsOf(recent, 'evt.3.default.ab.>', 10)).toEqual([11, 13, 15, 17, 19]);
    expect(seqsOf(recent, 'evt.3.default.b.>', 10)).toEqual([]);
    expect(seqsOf(recent, 'evt.3.>', 18)).toEqual([19, 20]);
  });

  it('has those of one stream of a cluster', () => {
    const recent = pushed(1, 4);
    recent.push(message(5, 'a', 'infra'), 1);
    expect(seqsOf(recent, 'evt.3.default.a.infra.>', 1)).toEqual([5]);
  });

  it('does not answer for messages that are older than pushed, forgotten, or known to be missing', () => {
    const recent = pushed(11, 20);
    expect(seqsOf(recent, 'evt.3.default.a.>', 9)).toBeUndefined();
    recent.knownUpTo(21);
    expect(seqsOf(recent, 'evt.3.default.a.>', 13)).toBeUndefined();
    recent.push(message(21, 'ab'), 11);
    expect(seqsOf(recent, 'evt.3.default.a.>', 18)).toEqual([20]);
    recent.forget();
    expect(seqsOf(recent, 'evt.3.default.a.>', 18)).toBeUndefined();
    recent.push(message(22, 'a'), 22);
    expect(seqsOf(recent, 'evt.3.default.a.>', 21)).toEqual([22]);
  });

  it('keeps the newest thousand, and knows that older ones are missing', () => {
    const last = 3 * KEPT_AT_LEAST;
    const recent = pushed(1, last);
    expect(seqsOf(recent, 'evt.3.default.a.>', 0)).toBeUndefined();
    expect(seqsOf(recent, 'evt.3.default.a.>', last - KEPT_AT_LEAST)).toHaveLength(KEPT_AT_LEAST / 2);
  });
});
