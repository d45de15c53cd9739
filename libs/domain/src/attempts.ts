import { PROVIDER_REFUSED, type Cause } from '@fairlead/contracts';

/** How often an operation has failed, and when it is retried. */
export interface Attempts {
  readonly cause?: Pick<Cause, 'reason'>;
  /** Counts from 1. */
  readonly attempt: number;
  /** If not greater than `attempt` although there is a next attempt, the limit is unknown. */
  readonly attemptsMax: number;
  /** RFC 3339; null: it is not retried. */
  readonly nextAttemptAt: string | null;
}

/**
 * The attempts in short: `attempt 3 of 6, next at 2026-…`, `not retried: the provider refused it`, `all 6 attempts
 * failed`. `nextWords` describes when the next one is, for example `next in 10s`. Every text about attempts uses this
 * function.
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
