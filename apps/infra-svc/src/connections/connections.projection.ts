import type { StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import type { Connection } from '../providers/provider.ports.js';

/** A connection stays known after its removal, because the clusters on it must still be deleted. */
export interface ConnectionRow extends Connection {
  readonly removed: boolean;
}

/** Every connection that was ever registered, by name. */
export const connectionsProjection: Projection<ConnectionRow> = {
  name: 'connections',
  table: 'connections',
  keys: (event) =>
    event.type === 'ConnectionRegistered' || event.type === 'ConnectionRemoved' ? [event.data.name] : [],
  evolve: (row, event) => {
    switch (event.type) {
      case 'ConnectionRegistered':
        return { ...event.data, registration: event.meta.id, removed: false };
      case 'ConnectionRemoved':
        return row === undefined ? undefined : { ...row, removed: true };
      default:
        return row;
    }
  },
};

/** The row as events that are not projected yet would make it. */
export const rowFrom = <Row>(
  projection: Projection<Row>,
  events: readonly StoredEvent[],
  key: string,
): Row | undefined =>
  events
    .filter((event) => projection.keys(event).includes(key))
    .reduce<Row | undefined>((row, event) => projection.evolve(row, event, key), undefined);
