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

/** A realm that is registered now. */
export interface KnownRealm extends RegisteredRealm {
  readonly namespace: string;
  readonly name: RealmName;
}

/** The realms of namespaces as the log has them now. All that ask at the same time share one read of what is new. */
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

  /** In the order in which they were registered first. */
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
