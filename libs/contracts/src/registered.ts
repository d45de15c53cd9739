import type { EventData } from './events/catalogue.js';
import type { StoredEvent } from './envelope.js';
import { NONE } from './ids.js';
import type { Quota } from './quota.js';

export type RegisteredConnection = Omit<EventData<'ConnectionRegistered'>, 'name'>;

export interface RegisteredNamespace {
  readonly quota: Quota;
}

/** What exists beside the clusters: what a request for one has to name, and what it may take. */
export interface Registered {
  readonly namespaces: ReadonlyMap<string, RegisteredNamespace>;
  readonly connections: ReadonlyMap<string, RegisteredConnection>;
}

export const NOTHING_REGISTERED: Registered = { namespaces: new Map(), connections: new Map() };

/** Matches every event that makes up `Registered`. */
export const REGISTERED_FILTER = `evt.*.*.${NONE}.wish.>`;

const without = <Value>(map: ReadonlyMap<string, Value>, name: string): ReadonlyMap<string, Value> =>
  new Map([...map].filter(([key]) => key !== name));

export const registered = (before: Registered, event: StoredEvent): Registered => {
  switch (event.type) {
    case 'NamespaceCreated':
    case 'NamespaceQuotaSet':
      return {
        ...before,
        namespaces: new Map(before.namespaces).set(event.data.name, {
          quota: event.type === 'NamespaceCreated' ? {} : event.data.quota,
        }),
      };
    case 'NamespaceDeleted':
      return { ...before, namespaces: without(before.namespaces, event.data.name) };
    case 'ConnectionRegistered': {
      const { name, ...registration } = event.data;
      return { ...before, connections: new Map(before.connections).set(name, registration) };
    }
    case 'ConnectionRemoved':
      return { ...before, connections: without(before.connections, event.data.name) };
    default:
      return before;
  }
};

/** Stands for every namespace in the grant of a connection. */
export const SHARED_WITH_ALL = '*';

/** Whether clusters of a namespace may stand on a connection. One that was registered before there were grants is shared. */
export const mayUse = ({ namespaces }: Pick<RegisteredConnection, 'namespaces'>, namespace: string): boolean =>
  namespaces === undefined || namespaces.includes(SHARED_WITH_ALL) || namespaces.includes(namespace);
