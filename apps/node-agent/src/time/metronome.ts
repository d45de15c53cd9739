/** How exact a beat is. Everything that the agent waits for is longer. */
export const TICK_MS = 50;

interface Beat {
  readonly task: () => void;
  cancelled: boolean;
}

/**
 * One timer for all agents of a process. The light mode of the lab runs thousands of them; each waits for its heartbeat,
 * its next look at the host and its retries, which are entries of a wheel here and not timers of the runtime.
 */
export class Metronome {
  private readonly wheel = new Map<number, Beat[]>();
  private timer: NodeJS.Timeout | undefined;
  private tick = 0;
  private startedAtMs = 0;
  private waiting = 0;

  /** Runs the task once, after at least `delayMs`. Returns how to call it off. */
  after(delayMs: number, task: () => void): () => void {
    this.start();
    const beat: Beat = { task, cancelled: false };
    const due = Math.max(this.tick + 1, this.tickAt(performance.now() + delayMs) + 1);
    const beats = this.wheel.get(due);
    if (beats === undefined) this.wheel.set(due, [beat]);
    else beats.push(beat);
    this.waiting += 1;
    return () => {
      beat.cancelled = true;
    };
  }

  /** Runs the task again and again, `intervalMs` apart, each time up to `jitter` (0..1) of it sooner. */
  every(intervalMs: number, options: { jitter: number; random: () => number }, task: () => void): () => void {
    let stopped = false;
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = this.after(intervalMs * (1 - options.jitter * options.random()), () => {
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

  private tickAt(timeMs: number): number {
    return Math.floor((timeMs - this.startedAtMs) / TICK_MS);
  }

  private start(): void {
    if (this.timer !== undefined) return;
    this.startedAtMs = performance.now();
    this.tick = 0;
    this.timer = setInterval(() => this.advance(), TICK_MS);
    // What keeps the process alive is its connection, or whoever started the agent; never the metronome.
    this.timer.unref();
  }

  private advance(): void {
    const now = this.tickAt(performance.now());
    while (this.tick < now) {
      this.tick += 1;
      const beats = this.wheel.get(this.tick);
      if (beats === undefined) continue;
      this.wheel.delete(this.tick);
      this.waiting -= beats.length;
      for (const beat of beats) if (!beat.cancelled) beat.task();
    }
    if (this.waiting === 0) this.rest();
  }

  private rest(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

/** Shared by all agents of this process. */
export const sharedMetronome = new Metronome();
