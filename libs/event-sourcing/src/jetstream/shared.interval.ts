/** A timer may fire a moment before its time by the clock: it must not fire a second time for the same moment. */
const EARLY_MS = 50;

/**
 * How long until the next multiple of an interval on the system clock, in milliseconds. Periodic work whose exact time does not matter runs
 * at these times, so that an idle process wakes up once for all of it, and NATS, PostgreSQL and the other processes with it: a wake-up costs
 * more than most of the work.
 */
export const untilShared = (everyMs: number, nowMs: number = Date.now()): number => {
  const leftMs = everyMs - (nowMs % everyMs);
  return leftMs > EARLY_MS || everyMs <= 2 * EARLY_MS ? leftMs : leftMs + everyMs;
};

/** The same for what is due in a while: how long until the first of these moments that is not sooner. */
export const untilSharedAfter = (dueInMs: number, everyMs: number, nowMs: number = Date.now()): number => {
  const waitMs = Math.max(0, dueInMs);
  return waitMs + untilShared(everyMs, nowMs + waitMs);
};

/** Calls it at each of these moments; does not keep the process alive. Returns how to stop. */
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
