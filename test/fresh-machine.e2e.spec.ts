import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { minimalMachine, obstacleToMinimalMachine } from './system/minimal.machine.js';
import { FIRST_START_TIMEOUT_MS, Newcomer, ORDINARY, SECOND_START_TIMEOUT_MS } from './system/newcomer.js';

/** CI's time limit. */
const TEST_TIMEOUT_MS = 5_400_000;
const LINES_MAX = 200;

const obstacle = obstacleToMinimalMachine();
if (obstacle !== undefined) process.stderr.write(`\n!!! NOT CHECKED on a minimal machine: ${obstacle}\n\n`);
const when = obstacle === undefined ? describe : describe.skip;

when("a machine with Debian's required packages, Node.js and npm, and nothing else", () => {
  let newcomer: Newcomer;

  afterEach(() => newcomer.leaves());

  describe.each([
    ['root', undefined],
    ['an ordinary user', ORDINARY],
  ] as const)('as %s', (_who, identity) => {
    beforeEach(async () => {
      newcomer = new Newcomer(identity, minimalMachine());
      await newcomer.clones();
    }, FIRST_START_TIMEOUT_MS);

    it(
      'becomes a Ready cluster by "npm start" and leaves nothing running',
      async () => {
        const first = await newcomer.starts(FIRST_START_TIMEOUT_MS);
        expect(first).toEqual({ code: 0, output: expect.stringContaining('The cluster demo is Ready.') });
        // Debian's release, not the beta that npm has.
        expect(first.output).toMatch(/fetched PostgreSQL \d+\.\d+ from http/);
        expect(newcomer.leftovers()).toEqual([]);
      },
      FIRST_START_TIMEOUT_MS + SECOND_START_TIMEOUT_MS,
    );

    it(
      'passes "npm test"',
      async () => {
        const { code, output } = await newcomer.npm(['test'], TEST_TIMEOUT_MS);
        expect(endOf(output)).toMatch(/^\d{4,} passed, 0 failed(, \d+ skipped)?$/m);
        expect(code).toBe(0);
        expect(newcomer.leftovers()).toEqual([]);
      },
      TEST_TIMEOUT_MS + SECOND_START_TIMEOUT_MS,
    );
  });
});

/** The steps of a run, its failures, and the result of each run of jest. */
const endOf = (output: string): string =>
  output
    .split('\n')
    .filter((line) => /^(==>|!!!|FAIL|Tests:|FATAL|Error|\s+●)|\d passed, \d+ failed/.test(line))
    .slice(-LINES_MAX)
    .join('\n');
