import { ExternalFailure } from '@fairlead/contracts';
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  readonly deadlineMs: number;
  readonly everyMs: number;
  readonly signal: AbortSignal;
}

/** Checks repeatedly until there is no problem or the time is over. Resolves to the problems of the last check. */
export const untilSettled = async (
  look: () => Promise<readonly string[]>,
  { deadlineMs, everyMs, signal }: WaitOptions,
): Promise<readonly string[]> => {
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const problems = await look().catch((error: unknown) => {
      if (error instanceof ExternalFailure && error.retryable) return [error.message];
      throw error;
    });
    if (problems.length === 0 || Date.now() >= deadline) return problems;
    await sleep(everyMs, undefined, { signal });
  }
};
