import {
  clusterFilter,
  isRefusal,
  CONNECTIONS_STREAM,
  namespaceStream,
  refuse,
  type ConnectionName,
  type Namespace,
  type Refusal,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type {
  Connection,
  Connections,
  InfrastructureProvider,
  OpenConnection,
  ProviderKinds,
} from '../providers/provider.ports.js';
import { PROVIDER_KINDS } from '../tokens.js';
import { connectionsProjection, namespacesProjection, rowFrom, type ConnectionRow } from './connections.projection.js';
import { ConnectionsQueries } from './connections.queries.js';
import { limitedProvider } from './limited.provider.js';

const OPEN_MAX = 1_000;

const connectionOf = ({ removed: _, ...connection }: ConnectionRow): Connection => connection;

/**
 * Connections and namespaces by name. Their events are in another partition than a cluster's, so a row may be missing for a
 * moment when a cluster was asked for right after it; the log itself is asked before anything is called unknown.
 */
@Injectable()
export class RegisteredConnections implements Connections {
  private readonly opened = new LRUCache<string, InfrastructureProvider>({ max: OPEN_MAX });

  constructor(
    @Inject(ConnectionsQueries) private readonly queries: ConnectionsQueries,
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(PROVIDER_KINDS) private readonly kinds: ProviderKinds,
  ) {}

  async namespaceExists(name: Namespace): Promise<boolean> {
    if ((await this.queries.namespace(name)) !== undefined) return true;
    return rowFrom(namespacesProjection, await this.log(namespaceStream(name)), name) !== undefined;
  }

  async offered(name: ConnectionName): Promise<Connection | undefined> {
    const row = await this.queries.connection(name);
    const known = row === undefined || row.removed ? await this.logged(name) : row;
    return known === undefined || known.removed ? undefined : connectionOf(known);
  }

  async open(name: ConnectionName): Promise<OpenConnection | Refusal> {
    const row = (await this.queries.connection(name)) ?? (await this.logged(name));
    if (row === undefined) return refuse('connection.unknown', { connection: name });
    return this.openRow(row);
  }

  async openLatest(name: ConnectionName): Promise<OpenConnection | Refusal | undefined> {
    const row = await this.logged(name);
    return row === undefined || row.removed ? undefined : this.openRow(row);
  }

  private async openRow(row: ConnectionRow): Promise<OpenConnection | Refusal> {
    const connection = connectionOf(row);
    const { registration } = connection;
    const provider = this.opened.get(registration) ?? (await this.openProvider(connection));
    if (isRefusal(provider)) return provider;
    this.opened.set(registration, provider);
    return { connection, provider };
  }

  private async openProvider(connection: Connection): Promise<InfrastructureProvider | Refusal> {
    const kind = this.kinds.get(connection.provider);
    if (kind === undefined) {
      const supported = [...this.kinds.keys()].join(', ');
      return refuse('connection.provider-unknown', { provider: connection.provider, supported });
    }
    const secret = connection.secretRef === null ? undefined : await this.secrets.get(connection.secretRef);
    if (connection.secretRef !== null && secret === undefined) {
      const detail = 'its secret does not exist any more; register it again';
      return refuse('connection.settings-invalid', { connection: connection.name, detail });
    }
    const opened = kind.open(connection, secret);
    return isRefusal(opened) ? opened : limitedProvider(opened, connection.name);
  }

  private async logged(name: ConnectionName): Promise<ConnectionRow | undefined> {
    return rowFrom(connectionsProjection, await this.log(CONNECTIONS_STREAM), name);
  }

  private async log({ namespace, cluster }: StreamId): Promise<readonly StoredEvent[]> {
    return (await this.store.read(clusterFilter(namespace, cluster), 0)).map(({ event }) => event);
  }
}
