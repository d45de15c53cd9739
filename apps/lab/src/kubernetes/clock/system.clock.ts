import type { Cancel, Clock } from './clock.js';
import { TimerQueue } from './timer.queue.js';

/** Node.js timers hold a signed 32-bit number of milliseconds; longer waits are split. */
const WAIT_MAX_MS = 2 ** 31 - 1;

/**
 * The machine's clock. All simulated clusters of a process share one Node.js timer, so that a thousand idle clusters
 * cost nothing. The timer does not keep the process alive; listeners do.
 */
class SystemClock implements Clock {
  private readonly queue = new TimerQueue();
  private armed: { readonly dueMs: number; readonly timeout: NodeJS.Timeout } | undefined;

  now(): number {
    return Date.now();
  }

  at(dueMs: number, run: () => void): Cancel {
    const cancel = this.queue.add(dueMs, run);
    this.arm();
    return cancel;
  }

  private arm(): void {
    const dueMs = this.queue.nextDueMs();
    if (dueMs === undefined || (this.armed !== undefined && this.armed.dueMs <= dueMs)) return;
    if (this.armed !== undefined) clearTimeout(this.armed.timeout);
    const waitMs = Math.min(Math.max(0, dueMs - Date.now()), WAIT_MAX_MS);
    this.armed = { dueMs, timeout: setTimeout(() => this.fire(), waitMs).unref() };
  }

  private fire(): void {
    this.armed = undefined;
    const now = Date.now();
    try {
      for (let run = this.queue.takeDue(now); run !== undefined; run = this.queue.takeDue(now)) run();
    } finally {
      this.arm();
    }
  }
}

export const systemClock: Clock = new SystemClock();
