/** A signal that aborts after a time. Whoever made it clears it when the work has ended. */
export interface Deadline {
  readonly signal: AbortSignal;
  clear(): void;
}

/**
 * Holds its signal until the time is over; undefined: there is no limit. `AbortSignal.timeout` does not hold it: its timer knows the
 * signal only weakly, so that one which is referred to by `AbortSignal.any` alone is garbage-collected and never aborts.
 */
export const deadlineAfter = (timeoutMs: number | undefined): Deadline => {
  const controller = new AbortController();
  if (timeoutMs === undefined) return { signal: controller.signal, clear: () => undefined };
  const giveUp = (): void => controller.abort(new DOMException(`no end within ${timeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(giveUp, timeoutMs);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
};
