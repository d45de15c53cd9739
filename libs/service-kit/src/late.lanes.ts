import type { Lanes, Partitions, Stall } from '@fairlead/event-sourcing/jetstream';

type Owned = ReadonlySet<number>;

/** Stands for the lanes while Nest builds the service; they exist only once its handlers are known. */
export class LateLanes implements Partitions {
  private lanes: Lanes | undefined;
  private readonly waiting = new Set<(lanes: Lanes) => void>();

  set(lanes: Lanes): void {
    this.lanes = lanes;
    this.waiting.forEach((use) => use(lanes));
    this.waiting.clear();
  }

  owned(): Owned {
    return this.lanes?.owned() ?? new Set();
  }

  stalls(): readonly Stall[] {
    return this.lanes?.stalls() ?? [];
  }

  onChange(listener: (owned: Owned) => void): () => void {
    return this.subscribe((lanes) => lanes.onChange(listener));
  }

  onAdvance(listener: (partition: number, seq: number) => void): () => void {
    return this.subscribe((lanes) => lanes.onAdvance(listener));
  }

  private subscribe(to: (lanes: Lanes) => () => void): () => void {
    if (this.lanes !== undefined) return to(this.lanes);
    let stop: (() => void) | undefined;
    const use = (lanes: Lanes): void => {
      stop = to(lanes);
    };
    this.waiting.add(use);
    return () => {
      this.waiting.delete(use);
      stop?.();
    };
  }
}
