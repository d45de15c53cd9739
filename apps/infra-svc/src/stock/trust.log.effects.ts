import {
  HOST_KEYS_PINNED_FILTER,
  hostKeysAfter,
  NO_HOST_KEYS,
  NOTHING_REGISTERED,
  registered,
  REGISTERED_FILTER,
  type HostKeys,
  type Registered,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { Trust } from './stock.ports.js';

interface TrustState {
  readonly registered: Registered;
  readonly keys: HostKeys;
}

/** Host keys and namespaces from the log, because a row may be older than an acceptance. */
@Injectable()
export class LogTrust implements Trust {
  private readonly known: LatestFold<TrustState>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.known = new LatestFold(store, {
      filters: [REGISTERED_FILTER, HOST_KEYS_PINNED_FILTER],
      initial: { registered: NOTHING_REGISTERED, keys: NO_HOST_KEYS },
      evolve: (before, event) => ({
        registered: registered(before.registered, event),
        keys: hostKeysAfter(before.keys, event),
      }),
    });
  }

  async hostKeys(): Promise<HostKeys> {
    return (await this.known.latest()).keys;
  }

  async namespaceSince(namespace: string): Promise<number> {
    const { namespaces } = (await this.known.latest()).registered;
    return namespaces.get(namespace)?.since ?? Number.POSITIVE_INFINITY;
  }
}
