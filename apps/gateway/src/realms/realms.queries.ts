import type { RealmView, StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { realmView, type RealmDocs } from './realms.evolve.js';

/** Every event about clients at realms. */
const IDENTITY_FILTER = 'evt.*.*.*.identity.>';

/** `<namespace>/<realm>/<cluster>` of each client that may exist. */
type Held = ReadonlySet<string>;

const heldAfter = (held: Held, { type, data, meta }: StoredEvent): Held => {
  if (type !== 'IdentityRequested' && type !== 'IdentityReleased') return held;
  const key = `${meta.namespace}/${data.realm}/${meta.cluster}`;
  return new Set(type === 'IdentityRequested' ? [...held, key] : [...held].filter((one) => one !== key));
};

@Injectable()
export class RealmQueries {
  private readonly held: LatestFold<Held>;

  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(EVENT_STORE) store: EventStore,
  ) {
    this.held = new LatestFold(store, { filters: [IDENTITY_FILTER], initial: new Set(), evolve: heldAfter });
  }

  /** By name; undefined: there is no such namespace. */
  async all(namespace: string): Promise<readonly RealmView[] | undefined> {
    const [row] = await this.database.query<{ realms: RealmDocs | null }[]>(
      `select doc->'realms' as realms from namespaces where key = $1`,
      [namespace],
    );
    if (row === undefined) return undefined;
    const docs = Object.entries(row.realms ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Promise.all(
      docs.map(async ([name, doc]) => realmView({ namespace, name }, doc, await this.users(namespace, name))),
    );
  }

  async one(namespace: string, name: string): Promise<RealmView | undefined> {
    return (await this.all(namespace))?.find((realm) => realm.name === name);
  }

  /** Clusters that name the realm, by the rows, or may have a client there, by the log itself. */
  async users(namespace: string, realm: string): Promise<readonly string[]> {
    const found = await this.database.query<{ name: string }[]>(
      `select doc->>'name' as name from clusters
        where namespace = $1
          and (doc->'identity'->'selection'->>'realm' = $2 or doc->'identity'->'has'->'held' ? $2)
        order by key`,
      [namespace, realm],
    );
    const prefix = `${namespace}/${realm}/`;
    const holders = [...(await this.held.latest())].filter((key) => key.startsWith(prefix));
    const names = [...found.map(({ name }) => name), ...holders.map((key) => key.slice(prefix.length))];
    return [...new Set(names)].toSorted();
  }
}
