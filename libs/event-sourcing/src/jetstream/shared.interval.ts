/** A timer may fire slightly early by the clock: it must not fire twice for the same time. */
const EARLY_MS = 50;

/**
 * Milliseconds until the next multiple of an interval on the system clock. Periodic work whose exact time does not
 * matter runs at these times, so that an idle process wakes up once for all of it, and NATS, PostgreSQL and the other
 * processes with it: a wake-up costs more than most of the work.
 */
export const untilShared = (everyMs: number, nowMs: number = Date.now()): number => {
  const leftMs = everyMs - (nowMs % everyMs);
  return leftMs > EARLY_MS || everyMs <= 2 * EARLY_MS ? leftMs : leftMs + everyMs;
};

/** The same for work that is due later: milliseconds until the first of these times that is not too early. */
export const untilSharedAfter = (dueInMs: number, everyMs: number, nowMs: number = Date.now()): number => {
  const waitMs = Math.max(0, dueInMs);
  return waitMs + untilShared(everyMs, nowMs + waitMs);
};

/** Calls `run` at each of these times; does not keep the process alive. Returns a function that stops it. */
export const sharedInterval = (everyMs: number, run: () => void): (() => void) => {
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(() => {
      wait();
      run();
    }, untilShared(everyMs)).unref();
  };
  wait();
  return () => clearTimeout(timer);
};
