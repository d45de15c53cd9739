import type { PartitionConsumers, Partitions, Stall } from '@fairlead/event-sourcing/jetstream';

type Owned = ReadonlySet<number>;

/** Placeholder for the partitions while Nest builds the service; they are created after its handlers are registered. */
export class LatePartitionConsumers implements Partitions {
  private partitions: PartitionConsumers | undefined;
  private readonly waiting = new Set<(partitions: PartitionConsumers) => void>();

  set(partitions: PartitionConsumers): void {
    this.partitions = partitions;
    this.waiting.forEach((use) => use(partitions));
    this.waiting.clear();
  }

  owned(): Owned {
    return this.partitions?.owned() ?? new Set();
  }

  stalls(): readonly Stall[] {
    return this.partitions?.stalls() ?? [];
  }

  onChange(listener: (owned: Owned) => void): () => void {
    return this.subscribe((partitions) => partitions.onChange(listener));
  }

  onAdvance(listener: (partition: number, seq: number) => void): () => void {
    return this.subscribe((partitions) => partitions.onAdvance(listener));
  }

  onUnpushed(listener: () => void): () => void {
    return this.subscribe((partitions) => partitions.onUnpushed(listener));
  }

  private subscribe(to: (partitions: PartitionConsumers) => () => void): () => void {
    if (this.partitions !== undefined) return to(this.partitions);
    let stop: (() => void) | undefined;
    const use = (partitions: PartitionConsumers): void => {
      stop = to(partitions);
    };
    this.waiting.add(use);
    return () => {
      this.waiting.delete(use);
      stop?.();
    };
  }
}
