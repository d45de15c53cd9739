import { describe, expect, it } from '@jest/globals';
import { answered, WELL, type ProbeChange } from './probe.decider.js';

/** The changes after responses at intervals of 500 ms; ! is a wrong one. */
const newsOf = (answers: string): readonly (ProbeChange | undefined)[] => {
  let state = WELL;
  return [...answers].map((answer, index) => {
    const after = answered(state, { isWell: answer === '.', message: 'refused', atMs: index * 500 });
    state = after.state;
    return after.change;
  });
};

const kinds = (answers: string): string =>
  newsOf(answers)
    .map((change) => (change === undefined ? '-' : change.kind === 'failed' ? 'F' : 'R'))
    .join('');

describe('a probe', () => {
  it.each([
    ['......', '------', 'that answers changes nothing'],
    ['..!...', '------', 'that fails once changes nothing'],
    ['.!.!.!', '------', 'that fails now and then, never twice in a row, changes nothing'],
    ['..!!!!', '---F--', 'that fails twice in a row is reported, once'],
    ['.!!...', '--FR--', 'that answers again is reported, once'],
    ['!!.!!.', '-FR-FR', 'is reported each time'],
  ])('%s: %s (%s)', (answers, changes) => expect(kinds(answers)).toBe(changes));

  it('reports how long it failed, from the first wrong response', () =>
    expect(newsOf('.!!!.')[4]).toEqual({ kind: 'recovered', failedForMs: 1_500 }));
});
