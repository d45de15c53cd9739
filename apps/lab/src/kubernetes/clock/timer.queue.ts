import type { Cancel } from './clock.js';

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** Orders callbacks by due time, first in first out if equal. Has no clock: the owner passes the current time. */
export class TimerQueue {
  private heap: Timer[] = [];
  private cancelled = 0;
  private added = 0;

  add(dueMs: number, run: () => void): Cancel {
    const timer: Timer = { dueMs, order: this.added++, run };
    this.heap.push(timer);
    this.rise(this.heap.length - 1);
    return () => {
      if (timer.run === undefined) return;
      timer.run = undefined;
      this.cancelled += 1;
      // Cancelled timers remain in the heap until they are due; compacting releases long-lived ones early.
      if (this.cancelled > 64 && this.cancelled * 2 > this.heap.length) this.compact();
    };
  }

  nextDueMs(): number | undefined {
    this.dropCancelled();
    return this.heap[0]?.dueMs;
  }

  /** Removes and returns the next callback that is due at `nowMs`. */
  takeDue(nowMs: number): (() => void) | undefined {
    this.dropCancelled();
    const first = this.heap[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.removeFirst();
    const { run } = first;
    first.run = undefined;
    return run;
  }

  private dropCancelled(): void {
    while (this.heap[0] !== undefined && this.heap[0].run === undefined) {
      this.removeFirst();
      this.cancelled -= 1;
    }
  }

  private compact(): void {
    this.heap = this.heap.filter(({ run }) => run !== undefined).sort(byDue);
    this.cancelled = 0;
  }

  private removeFirst(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    this.heap[0] = last;
    this.sink();
  }

  private rise(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  private sink(): void {
    let index = 0;
    while (index * 2 + 1 < this.heap.length) {
      const left = index * 2 + 1;
      const child = this.isBefore(left + 1, left) ? left + 1 : left;
      if (!this.swapIfBefore(child, index)) return;
      index = child;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const [first, second] = [this.heap[a], this.heap[b]];
    return first !== undefined && second !== undefined && byDue(first, second) < 0;
  }

  private swapIfBefore(a: number, b: number): boolean {
    const [first, second] = [this.heap[a], this.heap[b]];
    if (first === undefined || second === undefined || byDue(first, second) >= 0) return false;
    this.heap[a] = second;
    this.heap[b] = first;
    return true;
  }
}

const byDue = (a: Timer, b: Timer): number => a.dueMs - b.dueMs || a.order - b.order;
