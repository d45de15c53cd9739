/** A signal that aborts after a timeout. The creator clears it when the work ends. */
export interface Deadline {
  readonly signal: AbortSignal;
  clear(): void;
}

/**
 * Keeps its signal alive until the timeout. `AbortSignal.timeout` does not: its timer references the signal weakly, so
 * that a signal referenced only by `AbortSignal.any` is garbage-collected and never aborts.
 */
export const deadlineAfter = (timeoutMs: number): Deadline => {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(new DOMException(`no end within ${timeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(giveUp, timeoutMs);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
};

/** Runs work with a signal that aborts after the timeout. */
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
