import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { formatDuration, parseDuration } from './duration.js';
import { answerText, type CommandOutput } from './format.js';
import { tableText } from './table.js';

describe('durations', () => {
  it.each([
    [-5, '0.0s'],
    [440, '0.4s'],
    [9_999, '9.9s'],
    [10_000, '10s'],
    [59_999, '59s'],
    [187_000, '3m07s'],
    [3_600_000, '1h00m'],
    [47 * 3_600_000, '47h00m'],
    [49 * 3_600_000, '2d'],
  ])('%d ms is printed as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  it.each([
    ['90s', 90_000],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1.5s', 1_500],
  ])('%s is valid', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', '10', 's', '10 m', 'soon', '5m!', '-3s'])('"%s" is invalid', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );
});

describe('a table', () => {
  it('has columns as wide as their widest cell, and a dash for an empty cell', () =>
    expect(
      tableText({
        columns: ['name', 'phase'],
        rows: [
          ['demo', 'Provisioned'],
          ['a-longer-name', ''],
        ],
        empty: '',
      }),
    ).toBe('NAME            PHASE\ndemo            Provisioned\na-longer-name   -'));

  it('prints a message if it is empty', () =>
    expect(tableText({ columns: ['name'], rows: [], empty: 'There is nothing.' })).toBe('There is nothing.'));

  it('prints a row in one line, whatever its cells contain', () =>
    expect(tableText({ columns: ['error'], rows: [['first\n  second']], empty: '' })).toBe('ERROR\nfirst second'));
});

describe('an answer', () => {
  const answer: CommandOutput = {
    data: [{ name: 'demo', phase: 'Failed' }],
    table: { columns: ['name'], rows: [['demo']], empty: '' },
    names: ['demo'],
  };

  it('is a table as text', () => expect(answerText(answer, 'table')).toBe('NAME\ndemo\n'));
  it('is complete as JSON and as YAML', () => {
    expect(JSON.parse(answerText(answer, 'json'))).toEqual(answer.data);
    expect(parse(answerText(answer, 'yaml'))).toEqual(answer.data);
  });
  it('is one name per line, and empty if there are none', () => {
    expect(answerText(answer, 'name')).toBe('demo\n');
    expect(answerText({ ...answer, names: [] }, 'name')).toBe('');
  });
});
