import { readFileSync } from 'node:fs';

/** Linux: microseconds in which something on this machine waited for a processor. */
const PRESSURE_FILE = '/proc/pressure/cpu';
const SOME_TOTAL = /^some .*total=(\d+)$/m;
const MICROSECONDS = 1_000;

/** undefined: this system does not say. */
const waitedMs = (): number | undefined => {
  try {
    const [, total] = SOME_TOTAL.exec(readFileSync(PRESSURE_FILE, 'utf8')) ?? [];
    return total === undefined ? undefined : Number(total) / MICROSECONDS;
  } catch {
    return undefined;
  }
};

/**
 * How loaded this process and its machine were since it was asked last, between 0 and 1: the share of the time in which the event loop was
 * busy, or in which processors were waited for, whichever is greater.
 */
export const loadMeter = (): (() => number) => {
  let loop = performance.eventLoopUtilization();
  let before = { atMs: performance.now(), waited: waitedMs() };
  return () => {
    const loopNow = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(loopNow, loop);
    const now = { atMs: performance.now(), waited: waitedMs() };
    const waited = now.waited === undefined || before.waited === undefined ? 0 : now.waited - before.waited;
    const pressure = waited / Math.max(1, now.atMs - before.atMs);
    loop = loopNow;
    before = now;
    return Math.min(1, Math.max(utilization, pressure));
  };
};

const SAMPLE_MS = 100;

const everySample = (meter: () => number): (() => number) => {
  let [load, atMs] = [0, performance.now()];
  return () => {
    const nowMs = performance.now();
    if (nowMs - atMs >= SAMPLE_MS) [load, atMs] = [meter(), nowMs];
    return load;
  };
};

/** The load when it was measured last, at most some moments ago where it is asked for often. */
export const currentLoad = everySample(loadMeter());
