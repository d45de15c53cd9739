import type { StoredEvent } from '@fairlead/contracts';
import { clusterKeyOf, poisonOf } from '../projection.js';
import { isDataError } from './data.errors.js';
import type { PartitionFold } from './partition.fold.js';
import type { ApartBase, BatchChanges, PartitionStore, WritePiece } from './partition.store.js';

type Quarantined = BatchChanges['quarantined'];
type Concerns = (consumer: string, event: StoredEvent) => boolean;

export interface QuarantineParts {
  readonly consumers: readonly string[];
  readonly fold: PartitionFold;
  readonly store: Pick<PartitionStore, 'commitApart'>;
}

const byCluster = (events: readonly StoredEvent[]): readonly (readonly StoredEvent[])[] => {
  const clusters = new Map<string, StoredEvent[]>();
  for (const event of events) {
    const key = clusterKeyOf(event);
    const before = clusters.get(key);
    if (before === undefined) clusters.set(key, [event]);
    else before.push(event);
  }
  return [...clusters.values()];
};

/**
 * Commits a batch that the database rejected as a whole: each cluster separately, in one transaction. If a cluster
 * fails, its events are processed one by one, and each consumer is quarantined at the first that it cannot write. All
 * others continue.
 */
export class Quarantine {
  constructor(private readonly parts: QuarantineParts) {}

  /** Returns the consumers that were quarantined, and where. */
  async commit(events: readonly StoredEvent[], concerns: Concerns, base: ApartBase): Promise<Quarantined> {
    const quarantined: Quarantined[number][] = [];
    await this.parts.store.commitApart(base, async (write) => {
      for (const cluster of byCluster(events)) quarantined.push(...(await this.settle(cluster, concerns, write)));
      return quarantined;
    });
    return quarantined;
  }

  private async settle(events: readonly StoredEvent[], concerns: Concerns, write: WritePiece): Promise<Quarantined> {
    const whole = await this.attempt(events, concerns, write);
    if (!(whole instanceof Error)) return whole;
    const quarantined: Quarantined[number][] = [];
    for (const consumer of this.parts.consumers) {
      const own = events.filter((event) => concerns(consumer, event));
      quarantined.push(...(await this.oneByOne(consumer, own, write)));
    }
    return quarantined;
  }

  private async oneByOne(consumer: string, events: readonly StoredEvent[], write: WritePiece): Promise<Quarantined> {
    for (const event of events) {
      const outcome = await this.attempt([event], (candidate) => candidate === consumer, write);
      if (outcome instanceof Error) return [{ consumer, poison: poisonOf(event, outcome) }];
      if (outcome.length > 0) return outcome;
    }
    return [];
  }

  /** The consumers quarantined by pure code, or the data error that prevented the write. */
  private async attempt(
    events: readonly StoredEvent[],
    concerns: Concerns,
    write: WritePiece,
  ): Promise<Quarantined | Error> {
    try {
      const changes = await this.parts.fold.changesOf(events, concerns);
      const refused = await write(changes);
      if (refused !== undefined) return refused;
      this.parts.fold.remember(changes);
      return changes.quarantined;
    } catch (error) {
      if (isDataError(error)) return error;
      throw error;
    }
  }
}
