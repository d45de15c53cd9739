/** Maximum remembered finished work: as much as may have ended since the last check of the event loop. */
const ENDED_MAX = 256;
const NAME_LENGTH_MAX = 200;

interface Work {
  /** Called when needed: the route of a request is known only later. */
  readonly name: () => string;
  readonly beganMs: number;
  endedMs: number | undefined;
}

/**
 * The work in progress of this process: tasks, projections, processes, requests. After a blocked event loop, it
 * shows what may have blocked it. Names contain kinds and clusters, never the content of a request.
 */
export class CurrentWork {
  private readonly running = new Set<Work>();
  private ended: Work[] = [];

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Returns a function that ends it. */
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

  /** For work without an `await`. */
  during<Result>(name: string, work: () => Result): Result {
    const end = this.begin(name);
    try {
      return work();
    } finally {
      end();
    }
  }

  /**
   * Work in progress at any time between the two times, each name once. First work that began and ended between them,
   * as work that blocked the event loop the whole time did; then work that began or ended there; then the rest, newest
   * first.
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

/** One per process, like the event loop. */
export const currentWork = new CurrentWork();
