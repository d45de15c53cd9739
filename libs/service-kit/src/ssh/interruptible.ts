export interface Interruptions {
  /** The work rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly late: () => Error;
}

/**
 * Settles like the work, or rejects as soon as the signal aborts, the timeout expires, or the work calls `stop`. This
 * does not stop the work itself: the caller must.
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
