import { promiseBrokenBy } from '@fairlead/testing/processor.time';
import { describe, expect, it } from '@jest/globals';
import { expressionsIn, textsFor } from './foreign-text/expressions.js';
import { sources, textIn } from './foreign-text/sources.js';

/** Of each text: quadratic time shows at this length. */
const TEXT_LENGTH = 16_384;
const TIMEOUT_MS = 240_000;

describe('the regular expressions of all sources', () => {
  it(
    'take at most 200 ms per MiB, whatever the text',
    async () => {
      const broken: string[] = [];
      const expressions = sources.flatMap((file) => expressionsIn(file, textIn(file)));
      for (const { at, expression } of expressions) {
        const texts = textsFor(expression, TEXT_LENGTH);
        const length = texts.reduce((sum, text) => sum + text.length, 0);
        const by = await promiseBrokenBy(length, () => texts.forEach((text) => Array.from(text.matchAll(expression))));
        if (by !== undefined) broken.push(`${at}: ${by}`);
      }
      expect(broken).toEqual([]);
      expect(expressions.length).toBeGreaterThan(500);
    },
    TIMEOUT_MS,
  );
});
