import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { deadlineAfter } from './deadline.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a deadline', () => {
  it('aborts a combined signal despite garbage collection', async () => {
    const combined = AbortSignal.any([new AbortController().signal, deadlineAfter(100).signal]);
    for (let round = 0; round < 4; round += 1) {
      await sleep(40);
      collectGarbage();
    }
    expect(combined.aborted).toBe(true);
    expect(combined.reason).toMatchObject({ name: 'TimeoutError', message: 'no end within 100 ms' });
  }, 60_000); // A collection of a large heap takes seconds on a busy machine.

  it('never aborts once it is cleared', async () => {
    const { signal, clear } = deadlineAfter(20);
    clear();
    await sleep(60);
    expect(signal.aborted).toBe(false);
  });
});
