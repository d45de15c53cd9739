import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError } from './configuration.error.js';
import { verdictOf, wordsOfChain } from './dependency.rules.js';

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 2_000;
const LOG_INTERVAL_MS = 5_000;

/** Exit code of a process that waited in vain for a dependency: "restart me later" (EX_TEMPFAIL of sysexits.h). */
export const EXIT_DEPENDENCY_AWAY = 75;

/** A dependency was unreachable for as long as a start may wait. */
export class DependencyAway extends Error {
  constructor(what: string, { waitedMs, words }: { readonly waitedMs: number; readonly words: string }) {
    super(`${what} was not to be used within ${Math.round(waitedMs / 1_000)} s: ${words}`);
    this.name = 'DependencyAway';
  }
}

/** How long a start waits in total for its dependencies, and where it reports that. */
export interface Patience {
  readonly startedAtMs: number;
  readonly waitMs: number;
  readonly say: (sentence: string) => void;
}

/**
 * Prints `FAIRLEAD WAITING <name> for <what>` at once and every five seconds, so that the parent process sees that the
 * service is not stuck.
 */
export const patienceOf = (
  service: string,
  waitMs: number,
  output: NodeJS.WritableStream = process.stdout,
): Patience => ({
  startedAtMs: performance.now(),
  waitMs,
  say: (sentence) => void output.write(`FAIRLEAD WAITING ${service} for ${sentence}\n`),
});

/**
 * Retries until success or the time limit. Transient failures are retried; a failure that only an operator can fix
 * becomes a ConfigurationError; anything else is rethrown.
 */
export const patiently = async <Result>(
  what: string,
  attempt: () => Promise<Result>,
  { startedAtMs, waitMs, say }: Patience,
): Promise<Result> => {
  let saidAtMs = -Infinity;
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const verdict = verdictOf(error);
      const words = wordsOfChain(error);
      if (verdict === 'permanent') throw new ConfigurationError([`${what} refuses: ${words}`]);
      if (verdict === 'bug') throw error;
      const nowMs = performance.now();
      if (nowMs - startedAtMs >= waitMs) throw new DependencyAway(what, { waitedMs: nowMs - startedAtMs, words });
      if (nowMs - saidAtMs >= LOG_INTERVAL_MS) {
        say(`${what}: ${words}`);
        saidAtMs = nowMs;
      }
    }
    await sleep(Math.min(RETRY_FIRST_MS * 2 ** Math.min(tries, 10), RETRY_MAX_MS) * (0.5 + Math.random() / 2));
  }
};
