import type { StoredEvent } from '@fairlead/contracts';
import { connectionsProjection, type ConnectionRow } from './connections.projection.js';

/** Every connection that was ever registered, and the namespaces that exist. */
export interface Registrations {
  readonly connections: ReadonlyMap<string, ConnectionRow>;
  readonly namespaces: ReadonlySet<string>;
}

export const NOTHING_REGISTERED: Registrations = { connections: new Map(), namespaces: new Set() };

const connectionsAfter = (
  before: Registrations['connections'],
  event: StoredEvent,
  name: string,
): Registrations['connections'] => {
  const connection = connectionsProjection.evolve(before.get(name), event, name);
  return connection === undefined ? before : new Map(before).set(name, connection);
};

export const registeredAfter = (before: Registrations, event: StoredEvent): Registrations => {
  switch (event.type) {
    case 'ConnectionRegistered':
    case 'ConnectionRemoved':
      return { ...before, connections: connectionsAfter(before.connections, event, event.data.name) };
    case 'NamespaceCreated':
      return { ...before, namespaces: new Set(before.namespaces).add(event.data.name) };
    case 'NamespaceDeleted': {
      const { name } = event.data;
      return { ...before, namespaces: new Set([...before.namespaces].filter((one) => one !== name)) };
    }
    default:
      return before;
  }
};
