import type { Cancel, Clock } from './clock.js';
import { TimerQueue } from './timer.queue.js';

/** A clock that advances only when its owner advances it, for tests and for labs that run faster than real time. */
export class ManualClock implements Clock {
  private readonly queue = new TimerQueue();

  constructor(private nowMs: number = Date.UTC(2026, 0, 1)) {}

  now(): number {
    return this.nowMs;
  }

  at(dueMs: number, run: () => void): Cancel {
    return this.queue.add(dueMs, run);
  }

  /** When the next timer is due; undefined if there is none. */
  nextDueMs(): number | undefined {
    return this.queue.nextDueMs();
  }

  /** Runs everything that falls due in this period, in order and each at its own time. */
  advance(byMs: number): void {
    const until = this.nowMs + byMs;
    for (let due = this.queue.nextDueMs(); due !== undefined && due <= until; due = this.queue.nextDueMs()) {
      this.nowMs = Math.max(this.nowMs, due);
      this.queue.takeDue(this.nowMs)?.();
    }
    this.nowMs = until;
  }
}
