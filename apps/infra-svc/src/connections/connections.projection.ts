import type { Projection } from '@fairlead/event-sourcing';
import type { Connection } from '../providers/provider.ports.js';

/** A removed connection is kept, because its clusters must still be deleted. */
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
