import { PROVIDER_REFUSED, type Cause } from '@fairlead/contracts';

/** How often something has failed so far, and when it is tried again. */
export interface Attempts {
  readonly cause?: Pick<Cause, 'reason'>;
  /** Counts from 1. */
  readonly attempt: number;
  /** As large as `attempt` or smaller, with a next attempt: the limit is not known. */
  readonly attemptsMax: number;
  /** RFC 3339; null: it is not tried again. */
  readonly nextAttemptAt: string | null;
}

/**
 * The attempts in a few words: `attempt 3 of 6, next at 2026-…`, `not retried: the provider refused it`, `all 6 attempts failed`. `nextWords` says
 * when the next one is, for example `next in 10s`. The only place that words attempts.
 */
export const attemptWords = (
  { cause, attempt, attemptsMax, nextAttemptAt }: Attempts,
  nextWords: (nextAttemptAt: string) => string = (at) => `next at ${at}`,
): string => {
  if (nextAttemptAt !== null) {
    const count = attempt < attemptsMax ? `attempt ${attempt} of ${attemptsMax}` : `attempt ${attempt}`;
    return `${count}, ${nextWords(nextAttemptAt)}`;
  }
  if (attempt >= attemptsMax && attempt > 1) return `all ${attempt} attempts failed`;
  const again = attempt === 1 ? 'not retried' : `not retried after attempt ${attempt}`;
  return cause?.reason === PROVIDER_REFUSED ? `${again}: the provider refused it` : again;
};
