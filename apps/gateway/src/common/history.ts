import { clusterFilter, type ClusterUid, type JoinTokenId, type StoredEvent } from '@fairlead/contracts';
import type { EventStore, Projection } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { foldRows, type FoldedRow } from './rows.fold.js';

/** Folds the rows of projections that are given to it. */
export type RowsOf = <Doc>(projection: Projection<Doc>) => readonly FoldedRow<Doc>[];

/** A moment of the log: a sequence, or a time (RFC 3339). */
export type LogMoment = number | string;

const CLUSTER_REQUESTS = 'evt.*.*.*.request.ClusterRequested';

const isUntil =
  (at: LogMoment) =>
  ({ meta }: StoredEvent): boolean =>
    typeof at === 'number' ? meta.seq <= at : Date.parse(meta.time) <= Date.parse(at);

/** What was recorded by then: up to the first event that was not. Agents state what they saw a moment before, so times may go back. */
export const eventsUntil = (events: readonly StoredEvent[], at: LogMoment): readonly StoredEvent[] => {
  const first = events.findIndex((event) => !isUntil(at)(event));
  return first < 0 ? events : events.slice(0, first);
};

export const rowsOfEvents =
  (events: readonly StoredEvent[]): RowsOf =>
  (projection) =>
    foldRows(projection, events);

/**
 * Rows that are folded from the log itself: what a recorded command is answered with while the tables are late, and what a cluster was at an
 * earlier moment. It reads the whole history of a name, so it is for these cases alone.
 */
@Injectable()
export class History {
  constructor(@Inject(EVENT_STORE) private readonly store: EventStore) {}

  async of(namespace: string, cluster: string): Promise<RowsOf> {
    return rowsOfEvents(await this.events(namespace, cluster, 0));
  }

  /** The requests for clusters after a sequence: every name that there ever was. */
  async requests(afterSeq: number): Promise<readonly StoredEvent[]> {
    return (await this.store.read(CLUSTER_REQUESTS, afterSeq)).map(({ event }) => event);
  }

  /** All events of the name after a sequence, in order. */
  async events(namespace: string, cluster: string, afterSeq: number): Promise<readonly StoredEvent[]> {
    return (await this.store.read(clusterFilter(namespace, cluster), afterSeq)).map(({ event }) => event);
  }

  /** Ids of the tokens that pools of a cluster ever had. */
  async bootstrapData(namespace: string, cluster: string, uid: ClusterUid): Promise<readonly JoinTokenId[]> {
    const generated = await this.store.read(`evt.*.${namespace}.${cluster}.joins.BootstrapDataGenerated`, 0);
    return generated.flatMap(({ event: { type, data } }) =>
      type === 'BootstrapDataGenerated' && data.uid === uid ? [data.admission] : [],
    );
  }
}
