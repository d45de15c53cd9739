import { isRefusal, refuse, type ConnectionName, type Namespace, type Refusal } from '@fairlead/contracts';
import { REGISTERED_FILTER } from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
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
import type { ConnectionRow } from './connections.projection.js';
import { registeredAfter, NOTHING_REGISTERED, type Registrations } from './registrations.evolve.js';
import { limitedProvider } from './limited.provider.js';

const OPEN_MAX = 1_000;

const connectionOf = ({ removed: _, ...connection }: ConnectionRow): Connection => connection;

/**
 * Connections and namespaces from the log. Rows of the projection may contain the previous registration, and results
 * from there (e.g. that a size is not offered, or that no machine is left to delete) do not apply to the current one.
 */
@Injectable()
export class RegisteredConnections implements Connections {
  private readonly known: LatestFold<Registrations>;
  private readonly opened = new LRUCache<string, InfrastructureProvider>({ max: OPEN_MAX });

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(PROVIDER_KINDS) private readonly kinds: ProviderKinds,
  ) {
    this.known = new LatestFold(store, {
      filters: [REGISTERED_FILTER],
      initial: NOTHING_REGISTERED,
      evolve: registeredAfter,
    });
  }

  async namespaceExists(name: Namespace): Promise<boolean> {
    return (await this.known.latest()).namespaces.has(name);
  }

  async offered(name: ConnectionName): Promise<Connection | undefined> {
    const row = await this.row(name);
    return row === undefined || row.removed ? undefined : connectionOf(row);
  }

  async isCurrent({ name, registration }: Pick<Connection, 'name' | 'registration'>): Promise<boolean> {
    return (await this.row(name))?.registration === registration;
  }

  async open(name: ConnectionName): Promise<OpenConnection | Refusal> {
    const row = await this.row(name);
    return row === undefined ? refuse('connection.unknown', { connection: name }) : this.openRow(row);
  }

  async openOffered(name: ConnectionName): Promise<OpenConnection | Refusal | undefined> {
    const row = await this.row(name);
    return row === undefined || row.removed ? undefined : this.openRow(row);
  }

  private async row(name: ConnectionName): Promise<ConnectionRow | undefined> {
    return (await this.known.latest()).connections.get(name);
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
}
