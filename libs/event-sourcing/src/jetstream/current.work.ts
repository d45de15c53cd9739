/** Of what has ended, as much as may have ended since the event loop was last looked at. */
const ENDED_MAX = 256;
const NAME_LENGTH_MAX = 200;

interface Work {
  /** Asked when it is needed: the route of a request is known only later. */
  readonly name: () => string;
  readonly beganMs: number;
  endedMs: number | undefined;
}

/**
 * What this process works on: tasks, jobs, projections, processes, requests. Whoever finds that the event loop stood still learns what may
 * have held it. Names name kinds and clusters, never what is in a request.
 */
export class CurrentWork {
  private readonly running = new Set<Work>();
  private ended: Work[] = [];

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Returns how to end it. */
  begin(name: string | (() => string)): () => void {
    const work: Work = {
      name: typeof name === 'string' ? () => name : name,
      beganMs: this.nowMs(),
      endedMs: undefined,
    };
    this.running.add(work);
    return () => {
      if (!this.running.delete(work)) return;
      work.endedMs = this.nowMs();
      this.ended.push(work);
      if (this.ended.length > ENDED_MAX) this.ended = this.ended.slice(-ENDED_MAX / 2);
    };
  }

  /** Work without an `await` in it. */
  during<Result>(name: string, work: () => Result): Result {
    const end = this.begin(name);
    try {
      return work();
    } finally {
      end();
    }
  }

  /**
   * What was under way at some time between the two moments, each name once. First what began and ended between them, as the work that held
   * the event loop for all of that time did; then what began or ended there; then the rest, newest first.
   */
  between(fromMs: number, toMs: number): readonly string[] {
    const isIn = (ms: number | undefined): number => (ms !== undefined && ms >= fromMs && ms <= toMs ? 1 : 0);
    const edgesOf = ({ beganMs, endedMs }: Work): number => isIn(beganMs) + isIn(endedMs);
    const overlapping = [...this.ended, ...this.running]
      .filter(({ beganMs, endedMs = Infinity }) => beganMs <= toMs && endedMs >= fromMs)
      .toSorted((one, other) => edgesOf(other) - edgesOf(one) || other.beganMs - one.beganMs);
    return [...new Set(overlapping.map(({ name }) => name().slice(0, NAME_LENGTH_MAX)))];
  }
}

/** Of this process, which has one event loop. */
export const currentWork = new CurrentWork();
