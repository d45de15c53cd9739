export interface Interruptions {
  /** Its reason is what the work rejects with. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly late: () => Error;
}

/**
 * Settles as the work does, or rejects as soon as the signal aborts, the time is over, or the work itself calls `stop`.
 * The work is not stopped by that: whoever calls this ends it.
 */
export const interruptible = async <T>(
  { signal, timeoutMs, late }: Interruptions,
  work: (stop: (reason: Error) => void) => Promise<T>,
): Promise<T> => {
  signal.throwIfAborted();
  let stop: (reason: Error) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = reject;
  });
  const abort = (): void => stop(signal.reason as Error);
  const timer = setTimeout(() => stop(late()), timeoutMs);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(stop), stopped]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
};
