import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { quote } from './quote.js';

/** How a real shell parses the words. */
const meaningOf = (words: readonly string[]): readonly string[] => {
  const { stdout, status } = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${words.join(' ')}`], { encoding: 'utf8' });
  expect(status).toBe(0);
  return stdout.split('\0').slice(0, -1);
};

it('any text is preserved by a shell', () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 }).map((value) => value.replaceAll('\0', ''));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
      expect(meaningOf(texts.map(quote))).toEqual(texts.map((value) => Buffer.from(value).toString('utf8')));
    }),
    { numRuns: 100 },
  );
});

it.each([
  '',
  "'",
  "''",
  '$(id)',
  '`id`',
  '\\',
  '"',
  '$HOME',
  'a b',
  '-n',
  '*',
  '~',
  '!',
  'ä€',
  'two\nlines',
  '# no comment',
])('including %j', (text) => expect(meaningOf([quote(text)])).toEqual([text]));

it('a NUL is a bug of the caller', () => expect(() => quote('a\0b')).toThrow(/NUL/));
