import { currentWork, sharedInterval, type CurrentWork } from '@fairlead/event-sourcing/jetstream';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ServiceMetrics } from './metrics/service.metrics.js';

/** How long the event loop may be blocked before it is reported. */
export const BLOCKED_MS = 2_000;
const POLL_INTERVAL_MS = 1_000;
/**
 * Resolution of the timer that measures delays: a measured block may be shorter by this much. Each tick wakes an idle
 * process.
 */
const RESOLUTION_MS = 250;
const REPORT_EVERY_MS = 60_000;
const NS_PER_S = 1e9;
const US_PER_MS = 1_000;

/** The longest block since the last report. */
export interface BlockReport {
  readonly blockedMs: number;
  readonly times: number;
  readonly work: readonly string[];
}

/** Readings at a check: a monotonic clock and the process's CPU time, in milliseconds. */
interface Reading {
  readonly atMs: number;
  readonly cpuMs: number;
}

const readingNow = (): Reading => {
  const { user, system } = process.cpuUsage();
  return { atMs: performance.now(), cpuMs: (user + system) / US_PER_MS };
};

/**
 * Detects blocks by the delay of its checks. If the process used little CPU time meanwhile, it was stopped or its
 * machine is overloaded: it did not block itself.
 */
export class BlockFinder {
  private last: Reading;
  private longest: BlockReport | undefined;
  private reportedAtMs = -Infinity;

  constructor(
    private readonly work: Pick<CurrentWork, 'between'>,
    private readonly report: (found: BlockReport) => void,
    first: Reading,
  ) {
    this.last = first;
  }

  look(now: Reading): void {
    const { atMs, cpuMs } = this.last;
    this.last = now;
    const blockedMs = now.atMs - atMs - POLL_INTERVAL_MS;
    if (blockedMs >= BLOCKED_MS && now.cpuMs - cpuMs >= BLOCKED_MS)
      this.found(blockedMs, this.work.between(now.atMs - blockedMs, now.atMs));
    if (this.longest === undefined || now.atMs - this.reportedAtMs < REPORT_EVERY_MS) return;
    this.report(this.longest);
    this.reportedAtMs = now.atMs;
    this.longest = undefined;
  }

  private found(blockedMs: number, work: readonly string[]): void {
    const times = (this.longest?.times ?? 0) + 1;
    const isLongest = this.longest === undefined || blockedMs > this.longest.blockedMs;
    this.longest = isLongest ? { blockedMs, times, work } : { ...(this.longest as BlockReport), times };
  }
}

/**
 * Exposes the event loop delay as a metric, and reports blocks of more than 2 s, at most one per minute. Returns a
 * function that stops it.
 */
export const watchEventLoop = (
  metrics: Pick<ServiceMetrics, 'addGauge'>,
  report: (found: BlockReport) => void,
): (() => void) => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  metrics.addGauge({
    name: 'fairlead_event_loop_delay_seconds',
    help: 'The longest time since the last scrape in which one piece of work kept everything else waiting',
    labels: [],
    read: () => {
      // The histogram includes the interval itself.
      const value = Math.max(0, delay.max / NS_PER_S - RESOLUTION_MS / 1_000);
      delay.reset();
      return [{ labels: {}, value }];
    },
  });
  const finder = new BlockFinder(currentWork, report, readingNow());
  const stop = sharedInterval(POLL_INTERVAL_MS, () => finder.look(readingNow()));
  return () => {
    stop();
    delay.disable();
  };
};
