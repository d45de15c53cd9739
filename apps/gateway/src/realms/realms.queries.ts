import type { RealmView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { realmView, type RealmDocs } from './realms.evolve.js';

@Injectable()
export class RealmQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

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

  /** Clusters that name the realm, or may have a client there. */
  async users(namespace: string, realm: string): Promise<readonly string[]> {
    const found = await this.database.query<{ name: string }[]>(
      `select doc->>'name' as name from clusters
        where namespace = $1
          and (doc->'identity'->'selection'->>'realm' = $2 or doc->'identity'->'has'->'held' ? $2)
        order by key`,
      [namespace, realm],
    );
    return found.map(({ name }) => name);
  }
}
