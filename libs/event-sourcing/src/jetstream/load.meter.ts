import { readFileSync } from 'node:fs';

/** Linux: microseconds in which some task on this machine waited for a CPU. */
const PRESSURE_FILE = '/proc/pressure/cpu';
const SOME_TOTAL = /^some .*total=(\d+)$/m;
const MICROSECONDS = 1_000;

/** undefined: not available on this system. */
const waitedMs = (): number | undefined => {
  try {
    const [, total] = SOME_TOTAL.exec(readFileSync(PRESSURE_FILE, 'utf8')) ?? [];
    return total === undefined ? undefined : Number(total) / MICROSECONDS;
  } catch {
    return undefined;
  }
};

/**
 * The load of this process and its machine since the last call, between 0 and 1: the share of time in which the event
 * loop was busy, or in which tasks waited for CPUs, whichever is greater.
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

/** The last measured load, slightly out of date if it is requested often. */
export const currentLoad = everySample(loadMeter());
