import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CHECKOUT,
  FIRST_START_TIMEOUT_MS,
  isRoot,
  Newcomer,
  ORDINARY,
  SECOND_START_TIMEOUT_MS,
} from './system/newcomer.js';

const authorityIn = (kubeconfig: string): string | undefined =>
  /certificate-authority-data: (\S+)/.exec(readFileSync(kubeconfig, 'utf8'))?.[1];

const skipLoudly = (why: string): void => {
  process.stderr.write(`NOT CHECKED: a fresh clone: ${why}\n`);
};

describe('a fresh clone with an empty home', () => {
  let newcomer: Newcomer | undefined;

  beforeEach(() => {
    newcomer = undefined;
  });
  afterEach(() => newcomer?.leaves());

  const story = async (identity?: typeof ORDINARY): Promise<void> => {
    if (!existsSync(join(CHECKOUT, '.git'))) return skipLoudly('this is no git checkout');
    newcomer = new Newcomer(identity);
    await newcomer.clones();

    const first = await newcomer.starts(FIRST_START_TIMEOUT_MS);
    expect(first).toEqual({ code: 0, output: expect.stringContaining('The cluster demo is Ready.') });
    expect(first.output).toContain(newcomer.kubeconfig);
    const authority = authorityIn(newcomer.kubeconfig);
    expect(authority).toEqual(expect.any(String));
    expect(newcomer.leftovers()).toEqual([]);

    const second = await newcomer.starts(SECOND_START_TIMEOUT_MS);
    expect(second).toEqual({ code: 0, output: expect.stringContaining('The cluster demo is Ready.') });
    expect(second.output).not.toMatch(/installing the packages|building \.\.\./);
    // Another cluster would have another CA.
    expect(authorityIn(newcomer.kubeconfig)).toBe(authority);
    expect(newcomer.leftovers()).toEqual([]);
  };

  it(
    'becomes a Ready cluster by "npm start", leaves nothing running, and reuses its cluster at the second start',
    () => story(),
    FIRST_START_TIMEOUT_MS + SECOND_START_TIMEOUT_MS,
  );

  it(
    'does the same for an ordinary user',
    async () => {
      if (!isRoot) return skipLoudly('only root can become another ordinary user; the first story was told as one');
      await story(ORDINARY);
    },
    FIRST_START_TIMEOUT_MS + SECOND_START_TIMEOUT_MS,
  );
});
