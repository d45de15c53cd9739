import { NONE, traitsOf } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { History } from '../common/history.js';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import {
  connectionsProjection,
  isRegistered,
  type ConnectionDoc,
  type RegisteredConnectionDoc,
} from './connections.projection.js';
import type { Users } from './registration.rules.js';

@Injectable()
export class ConnectionQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(History) private readonly history: History,
  ) {}

  /** Who stands on it now. */
  async users(name: string): Promise<Users> {
    const [usedBy, doc] = await Promise.all([this.clusters.usersOf(name), this.one(name)]);
    const inUse = Object.entries(doc?.stock ?? {}).filter(([, { kept }]) => kept === null);
    return { usedBy, hostsInUse: inUse.map(([host]) => host) };
  }

  async all(): Promise<RegisteredConnectionDoc[]> {
    const rows = await this.database.query<{ doc: ConnectionDoc }[]>('select doc from connections order by key');
    return rows.map(({ doc }) => doc).filter(isRegistered);
  }

  async one(name: string): Promise<RegisteredConnectionDoc | undefined> {
    const rows = await this.database.query<{ doc: ConnectionDoc }[]>('select doc from connections where key = $1', [
      name,
    ]);
    return rows.map(({ doc }) => doc).find(isRegistered);
  }

  /** Whether its machines are simulated; also of one that is not known. */
  async isSimulated(name: string): Promise<boolean> {
    const connection = (await this.one(name)) ?? (await this.recorded(name));
    if (connection === undefined) return true;
    const { registration, offer } = connection;
    // The provider is known before the connection is verified.
    return traitsOf(registration.provider).isSimulated || offer?.capabilities.simulated === true;
  }

  /** From the log itself, while the rows are late. */
  async recorded(name: string): Promise<RegisteredConnectionDoc | undefined> {
    const rowsOf = await this.history.of(NONE, NONE);
    return rowsOf(connectionsProjection)
      .filter(({ key }) => key === name)
      .map(({ doc }) => doc)
      .find(isRegistered);
  }
}
