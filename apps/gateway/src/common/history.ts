import { clusterFilter, type StoredEvent } from '@fairlead/contracts';
import type { EventStore, Projection } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { foldRows, type FoldedRow } from './rows.fold.js';

/** Folds the rows of projections that are given to it. */
export type RowsOf = <Doc>(projection: Projection<Doc>) => readonly FoldedRow<Doc>[];

/**
 * What a recorded command is answered with while the tables are late: the same rows, folded from the log itself. It reads
 * the whole history of a name, so it is for that case alone.
 */
@Injectable()
export class History {
  constructor(@Inject(EVENT_STORE) private readonly store: EventStore) {}

  async of(namespace: string, cluster: string): Promise<RowsOf> {
    const history: readonly StoredEvent[] = (await this.store.read(clusterFilter(namespace, cluster), 0)).map(
      ({ event }) => event,
    );
    return (projection) => foldRows(projection, history);
  }
}
