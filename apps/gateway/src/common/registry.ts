import { NONE, type EventData, type StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { LatestFold } from './latest.fold.js';

/** What exists beside the clusters: what a request for one has to name. */
export interface Registered {
  readonly namespaces: ReadonlySet<string>;
  readonly connections: ReadonlyMap<string, RegisteredConnection>;
}

export type RegisteredConnection = Omit<EventData<'ConnectionRegistered'>, 'name'>;

/** Every wish about what belongs to no cluster. */
const WISHES_BESIDE_CLUSTERS = `evt.*.*.${NONE}.wish.>`;

const withName = (names: ReadonlySet<string>, name: string): ReadonlySet<string> => new Set(names).add(name);

const withoutName = (names: ReadonlySet<string>, name: string): ReadonlySet<string> => {
  const left = new Set(names);
  left.delete(name);
  return left;
};

export const registered = (before: Registered, event: StoredEvent): Registered => {
  switch (event.type) {
    case 'NamespaceCreated':
      return { ...before, namespaces: withName(before.namespaces, event.data.name) };
    case 'NamespaceDeleted':
      return { ...before, namespaces: withoutName(before.namespaces, event.data.name) };
    case 'ConnectionRegistered': {
      const { name, ...registration } = event.data;
      return { ...before, connections: new Map(before.connections).set(name, registration) };
    }
    case 'ConnectionRemoved':
      return {
        ...before,
        connections: new Map([...before.connections].filter(([name]) => name !== event.data.name)),
      };
    default:
      return before;
  }
};

/** The namespaces and connections that there are, read from the log itself: no request is judged by an old picture. */
@Injectable()
export class Registry {
  private readonly fold: LatestFold<Registered>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.fold = new LatestFold(store, {
      filter: WISHES_BESIDE_CLUSTERS,
      initial: { namespaces: new Set(), connections: new Map() },
      evolve: registered,
    });
  }

  latest(): Promise<Registered> {
    return this.fold.latest();
  }
}
