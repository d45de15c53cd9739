import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long a condition may take. The default is generous: a loaded CI machine is several times slower than an idle one.
 */
export interface Patience {
  readonly withinMs?: number;
  readonly everyMs?: number;
  /** The awaited condition, for the error at the deadline. */
  readonly what?: string;
}

const WITHIN_MS = 30_000;
const EVERY_MS = 10;
const SHOWN_MAX = 2_000;

const shown = (value: unknown): string => {
  try {
    return (JSON.stringify(value) ?? String(value)).slice(0, SHOWN_MAX);
  } catch {
    return String(value);
  }
};

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>;

/**
 * Polls until the result fits, by default until it is truthy, and returns that result. Rejects at the deadline with the
 * last result; an error of `look` ends the wait at once, because it is not a result.
 */
export function eventually<T>(look: () => T | Promise<T>, patience?: Patience): Promise<Truthy<T>>;
export function eventually<T>(look: () => T | Promise<T>, fits: (value: T) => boolean, patience?: Patience): Promise<T>;
export async function eventually<T>(
  look: () => T | Promise<T>,
  fitsOrPatience: ((value: T) => boolean) | Patience = {},
  given: Patience = {},
): Promise<T> {
  const [fits, patience] =
    typeof fitsOrPatience === 'function' ? [fitsOrPatience, given] : [Boolean as (value: T) => boolean, fitsOrPatience];
  const { withinMs = WITHIN_MS, everyMs = EVERY_MS, what = look.toString() } = patience;
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    if (performance.now() > deadline)
      throw new Error(`not within ${withinMs / 1_000} s: ${what}; the last answer: ${shown(value)}`);
    await sleep(everyMs);
  }
}

/** Repeats assertions until they pass. Rejects at the deadline with the last failure. */
export const eventuallyPasses = async (
  assertions: () => void | Promise<void>,
  { withinMs = WITHIN_MS, everyMs = EVERY_MS }: Omit<Patience, 'what'> = {},
): Promise<void> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await assertions();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(everyMs);
  }
};
