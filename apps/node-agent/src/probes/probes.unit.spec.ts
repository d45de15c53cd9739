import { describe, expect, it } from '@jest/globals';
import { answered, WELL, type ProbeChange } from './probe.decider.js';

/** What is news of answers that come 500 ms apart; ! is a wrong one. */
const newsOf = (answers: string): readonly (ProbeChange | undefined)[] => {
  let state = WELL;
  return [...answers].map((answer, index) => {
    const after = answered(state, { isWell: answer === '.', message: 'refused', atMs: index * 500 });
    state = after.state;
    return after.news;
  });
};

const kinds = (answers: string): string =>
  newsOf(answers)
    .map((news) => (news === undefined ? '-' : news.kind === 'failed' ? 'F' : 'R'))
    .join('');

describe('a probe', () => {
  it.each([
    ['......', '------', 'that answers is no news'],
    ['..!...', '------', 'that fails once is no news'],
    ['.!.!.!', '------', 'that fails now and then, never twice in a row, is no news'],
    ['..!!!!', '---F--', 'that fails twice in a row is told, once'],
    ['.!!...', '--FR--', 'that answers again is told, once'],
    ['!!.!!.', '-FR-FR', 'is told each time'],
  ])('%s: %s (%s)', (answers, news) => expect(kinds(answers)).toBe(news));

  it('says for how long it failed, from the first wrong answer', () =>
    expect(newsOf('.!!!.')[4]).toEqual({ kind: 'recovered', failedForMs: 1_500 }));
});
