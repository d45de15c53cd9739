import type { RealmName } from '@fairlead/contracts';
import {
  NOTHING_REGISTERED,
  registered,
  REGISTERED_FILTER,
  type Registered,
  type RegisteredRealm,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';

/** A registered realm. */
export interface KnownRealm extends RegisteredRealm {
  readonly namespace: string;
  readonly name: RealmName;
}

/** The realms of namespaces, from the log. Concurrent callers share one read of new events. */
@Injectable()
export class RegisteredRealms {
  private readonly fold: LatestFold<Registered>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.fold = new LatestFold(store, {
      filters: [REGISTERED_FILTER],
      initial: NOTHING_REGISTERED,
      evolve: registered,
    });
  }

  /** In the order of their first registration. */
  async of(namespace: string): Promise<readonly KnownRealm[]> {
    const realms = (await this.fold.latest()).namespaces.get(namespace)?.realms ?? new Map<string, RegisteredRealm>();
    return [...realms]
      .map(([name, realm]) => ({ ...realm, namespace, name: name as RealmName }))
      .toSorted((one, other) => one.since - other.since);
  }

  async one(namespace: string, name: string): Promise<KnownRealm | undefined> {
    return (await this.of(namespace)).find((realm) => realm.name === name);
  }
}
