import { describe, expect, it } from '@jest/globals';
import { describeExit, quoteLines } from './child.js';

describe('the last output of a process', () => {
  it('consists of its last lines without empty ones and stack frames', () =>
    expect(quoteLines(['booting', '', 'Error: no database', '    at connect (db.js:1:1)'])).toBe(
      ' Its last words:\n  booting\n  Error: no database',
    ));

  it('leaves space for the sentence before it', () => {
    const quoted = quoteLines(Array.from({ length: 80 }, (_, index) => `${index} ${'x'.repeat(900)}`));
    expect(quoted.length).toBeLessThan(3_100);
    expect(quoted).toContain('  79 xxx');
  });

  it('is empty if it printed nothing', () => expect(quoteLines(['', '    at main (a.js:1:1)'])).toBe(''));
});

it.each([
  [{ code: 3, signal: null }, 'exit code 3'],
  [{ code: null, signal: 'SIGKILL' as const }, 'ended by SIGKILL'],
  [{ code: null, signal: null, error: 'spawn x ENOENT' }, 'spawn x ENOENT'],
])('the end %j reads as "%s"', (exit, words) => expect(describeExit(exit)).toBe(words));
