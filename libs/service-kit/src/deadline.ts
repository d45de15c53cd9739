/** A signal that aborts after a time. Whoever made it clears it when the work has ended. */
export interface Deadline {
  readonly signal: AbortSignal;
  clear(): void;
}

/**
 * Keeps its signal until the time is over. `AbortSignal.timeout` does not: its timer has only a weak reference to the signal, so that one which
 * is referred to by `AbortSignal.any` alone is garbage-collected and never aborts.
 */
export const deadlineAfter = (timeoutMs: number): Deadline => {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(new DOMException(`no end within ${timeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(giveUp, timeoutMs);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
};

/** Runs work with a signal that aborts when it takes too long. */
export const inTime = async <Result>(
  timeoutMs: number,
  work: (late: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const { signal, clear } = deadlineAfter(timeoutMs);
  try {
    return await work(signal);
  } finally {
    clear();
  }
};
