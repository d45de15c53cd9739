import { WORST_YAML } from '@fairlead/testing/worst.texts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ParseFailure } from './index.js';
import { parseInWorker, type LargeText, type WorkerLimits } from './worker.js';

const MEBIBYTE = 1_048_576;
const LIMITS: WorkerLimits = { deadlineMs: 60_000, memoryMb: 256, signal: new AbortController().signal };

const large = (text: string, more: Partial<LargeText> = {}): LargeText => ({
  format: 'yaml',
  bytes: Buffer.from(text),
  limits: { lengthMax: 16 * MEBIBYTE, valuesMax: 4_000_000 },
  selection: { path: [] },
  resultLengthMax: MEBIBYTE,
  ...more,
});

const failure = async (text: LargeText, limits: Partial<WorkerLimits> = {}): Promise<unknown> => {
  try {
    return await parseInWorker(text, { ...LIMITS, ...limits });
  } catch (error) {
    return error instanceof ParseFailure ? `${error.reason}: ${error.message}` : error;
  }
};

/** Turns of the event loop. */
let turns = 0;
let turn: NodeJS.Timeout;
beforeEach(() => {
  turns = 0;
  turn = setInterval(() => (turns += 1), 1);
});
afterEach(() => clearInterval(turn));

describe('a large untrusted text', () => {
  it('is parsed in a worker thread, and only the selected part is returned', async () => {
    const items = Array.from({ length: 30_000 }, (_, at) => `  - {version: 1.0.${at}, words: ${'x'.repeat(60)}}\n`);
    const text = `other: [1]\nentries:\n  a.b:\n${items.join('')}`;
    const selection = { path: ['entries', 'a.b'], fields: ['version'], itemsMax: 2 };
    expect(await parseInWorker(large(text, { selection }), LIMITS)).toEqual([
      { version: '1.0.0' },
      { version: '1.0.1' },
    ]);
    expect(await parseInWorker(large(text, { selection: { path: ['entries', 'none'] } }), LIMITS)).toBeUndefined();
    // The event loop was never blocked.
    expect(turns).toBeGreaterThan(20);
  });

  it('may be JSON', async () => {
    const text = large('{"items": [{"a": 1, "b": 2}]}', {
      format: 'json',
      selection: { path: ['items'], fields: ['a'] },
    });
    expect(await parseInWorker(text, LIMITS)).toEqual([{ a: 1 }]);
  });

  it('is abandoned at the deadline', async () => {
    const text = large(WORST_YAML['many keys in one flow map']!(16 * MEBIBYTE));
    expect(await failure(text, { deadlineMs: 20 })).toBe('too-slow: it takes longer than 0.02 s');
  });

  it('is abandoned if it takes too much memory, and only its thread ends', async () => {
    const text = large(WORST_YAML['many keys in one flow map']!(16 * MEBIBYTE));
    expect(await failure(text, { memoryMb: 16 })).toBe('too-much-memory: it takes more than 16 MiB of memory');
  });

  it('is rejected by the same limits as any other, and if its part is too long', async () => {
    expect(await failure(large('a: [', {}))).toMatch(/^malformed: .*line 2/);
    expect(await failure(large('[1, 2]', { limits: { lengthMax: 10, valuesMax: 2 } }))).toMatch(/^too-many-values/);
    expect(await failure(large('[1, 2]', { resultLengthMax: 3 }))).toBe(
      'too-long: the part of it that is read has more than 3 characters',
    );
  });

  it('is no longer parsed when its reader stops', async () => {
    const controller = new AbortController();
    const text = large(WORST_YAML['many keys in one flow map']!(16 * MEBIBYTE));
    const parsing = failure(text, { signal: controller.signal });
    controller.abort(new Error('it stops'));
    expect(await parsing).toEqual(new Error('it stops'));
    expect(await failure(text, { signal: controller.signal })).toEqual(new Error('it stops'));
  });
});
