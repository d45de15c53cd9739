import { describe, expect, it } from '@jest/globals';
import { sharedRead } from './shared.read.js';

describe('A read that gates share', () => {
  it('is not repeated within its age, counted from its end, and is repeated afterwards', async () => {
    let now = 0;
    let reads = 0;
    const read = async (): Promise<number> => {
      now += 5_000;
      return (reads += 1);
    };
    const shared = sharedRead(read, 500, () => now);
    expect(await shared()).toBe(1);
    now += 499;
    expect(await shared()).toBe(1);
    now += 1;
    expect(await shared()).toBe(2);
  });

  it('is repeated after a failure', async () => {
    const answers = [Promise.reject(new Error('no answer')), Promise.resolve('an answer')];
    const shared = sharedRead(
      () => answers.shift() as Promise<string>,
      500,
      () => 0,
    );
    await expect(shared()).rejects.toThrow('no answer');
    expect(await shared()).toBe('an answer');
  });
});
