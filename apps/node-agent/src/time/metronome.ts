/** The timer resolution. Few delays of the agent are shorter. */
export const TICK_MS = 50;
/** Tasks with a longer interval run at whole seconds, so that one wake-up of a process serves many agents. */
const SELDOM_MS = 5_000;
const TICKS_PER_SECOND = 20;

interface Beat {
  readonly task: () => void;
  cancelled: boolean;
}

/**
 * One timer for all agents of a process, set to the next due task. The lab's light mode runs thousands of agents; their
 * heartbeats, inspections and retries are entries of a timer wheel instead of timers of the runtime.
 */
export class Metronome {
  private readonly wheel = new Map<number, Beat[]>();
  private timer: NodeJS.Timeout | undefined;
  /** The tick for which the timer is set. */
  private next = Infinity;
  private tick = 0;
  private readonly startedAtMs = performance.now();

  /** Runs the task once, after at least `delayMs`. Returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void {
    return this.at(this.tickAt(performance.now() + delayMs) + 1, task);
  }

  /** Runs the task periodically at `intervalMs`, each time up to a share `jitter` (0..1) of it earlier. */
  every(intervalMs: number, options: { jitter: number; random: () => number }, task: () => void): () => void {
    let stopped = false;
    let cancel = (): void => undefined;
    const next = (): void => {
      const due = this.tickAt(performance.now() + intervalMs * (1 - options.jitter * options.random())) + 1;
      const nearest = Math.round(due / TICKS_PER_SECOND) * TICKS_PER_SECOND;
      cancel = this.at(intervalMs < SELDOM_MS ? due : nearest, () => {
        task();
        if (!stopped) next();
      });
    };
    next();
    return () => {
      stopped = true;
      cancel();
    };
  }

  private at(tick: number, task: () => void): () => void {
    const beat: Beat = { task, cancelled: false };
    const due = Math.max(this.tick + 1, tick);
    const beats = this.wheel.get(due);
    if (beats === undefined) this.wheel.set(due, [beat]);
    else beats.push(beat);
    if (due < this.next) this.set(due);
    return () => {
      beat.cancelled = true;
    };
  }

  private tickAt(timeMs: number): number {
    return Math.floor((timeMs - this.startedAtMs) / TICK_MS);
  }

  private set(tick: number): void {
    clearTimeout(this.timer);
    this.next = tick;
    const delayMs = Math.max(0, this.startedAtMs + tick * TICK_MS - performance.now());
    this.timer = setTimeout(() => this.advance(), Math.ceil(delayMs));
    // The process is kept alive by its connection or by the caller, never by the metronome.
    this.timer.unref();
  }

  private advance(): void {
    const now = this.tickAt(performance.now());
    const due = [...this.wheel.keys()].filter((tick) => tick <= now).sort((a, b) => a - b);
    try {
      for (const tick of due) {
        this.tick = tick;
        const beats = this.wheel.get(tick) ?? [];
        this.wheel.delete(tick);
        for (const beat of beats) if (!beat.cancelled) beat.task();
      }
    } finally {
      this.setToNext();
    }
  }

  private setToNext(): void {
    this.next = Infinity;
    const next = Math.min(...this.wheel.keys());
    if (next !== Infinity) this.set(next);
  }
}

/** Shared by all agents of this process. */
export const sharedMetronome = new Metronome();
