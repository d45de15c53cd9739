import type { StoredEvent } from '@fairlead/contracts';
import { clusterKeyOf, poisonOf } from '../projection.js';
import { isDataError } from './data.errors.js';
import type { LaneChanges, LaneFold } from './lane.fold.js';
import type { ApartBase, BatchChanges, LaneStore, WritePiece } from './lane.store.js';

type Parked = BatchChanges['parked'];
type Concerns = (consumer: string, event: StoredEvent) => boolean;

export interface QuarantineParts {
  readonly consumers: readonly string[];
  readonly fold: LaneFold;
  readonly store: Pick<LaneStore, 'commitApart'>;
  /** Asks for the jobs; rejects with a data error when one cannot be put into words. */
  readonly publish: (jobs: LaneChanges['jobs']) => Promise<void>;
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
 * Commits a batch that the database did not take as a whole: each cluster apart, in one transaction. Where a cluster fails, its
 * events are taken one by one, and each consumer is parked at the first that it cannot write. All others go on.
 */
export class Quarantine {
  constructor(private readonly parts: QuarantineParts) {}

  /** Answers who was parked, and where. */
  async commit(events: readonly StoredEvent[], concerns: Concerns, base: ApartBase): Promise<Parked> {
    const parked: Parked[number][] = [];
    await this.parts.store.commitApart(base, async (write) => {
      for (const cluster of byCluster(events)) parked.push(...(await this.settle(cluster, concerns, write)));
      return parked;
    });
    return parked;
  }

  private async settle(events: readonly StoredEvent[], concerns: Concerns, write: WritePiece): Promise<Parked> {
    const whole = await this.attempt(events, concerns, write);
    if (!(whole instanceof Error)) return whole;
    const parked: Parked[number][] = [];
    for (const consumer of this.parts.consumers) {
      const own = events.filter((event) => concerns(consumer, event));
      parked.push(...(await this.oneByOne(consumer, own, write)));
    }
    return parked;
  }

  private async oneByOne(consumer: string, events: readonly StoredEvent[], write: WritePiece): Promise<Parked> {
    for (const event of events) {
      const outcome = await this.attempt([event], (candidate) => candidate === consumer, write);
      if (outcome instanceof Error) return [{ consumer, poison: poisonOf(event, outcome) }];
      if (outcome.length > 0) return outcome;
    }
    return [];
  }

  /** Who was parked by pure code, or the data error because of which nothing of it was written. */
  private async attempt(
    events: readonly StoredEvent[],
    concerns: Concerns,
    write: WritePiece,
  ): Promise<Parked | Error> {
    try {
      const changes = await this.parts.fold.changesOf(events, concerns);
      await this.parts.publish(changes.jobs);
      const refused = await write(changes);
      if (refused !== undefined) return refused;
      this.parts.fold.remember(changes);
      return changes.parked;
    } catch (error) {
      if (isDataError(error)) return error;
      throw error;
    }
  }
}
