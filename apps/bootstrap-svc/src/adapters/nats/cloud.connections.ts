import { cloudControllerOf, type SecretRef, type StoredEvent } from '@fairlead/contracts';
import { REGISTERED_FILTER } from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { LatestFold } from '@fairlead/event-sourcing/jetstream';
import type { SecretStore } from '@fairlead/service-kit';
import type { CloudConnection, CloudConnections } from '../../releases/releases.ports.js';

type Known = Omit<CloudConnection, 'secret'> & { readonly secretRef: SecretRef | null };
type Connections = ReadonlyMap<string, Known>;

/** A removed connection stays known: its clusters still run. */
const connectionsAfter = (before: Connections, { type, data, meta }: StoredEvent): Connections => {
  if (type !== 'ConnectionRegistered') return before;
  const { name, region, settings, secretRef } = data;
  const after = new Map(before);
  if (cloudControllerOf(data) === undefined) after.delete(name);
  else after.set(name, { registration: meta.id, region, settings, secretRef });
  return after;
};

const NO_CONNECTIONS: Connections = new Map();

/** Connections that let clusters have their credential, from the log. */
export class LogCloudConnections implements CloudConnections {
  private readonly known: LatestFold<Connections>;

  constructor(
    store: EventStore,
    private readonly secrets: Pick<SecretStore, 'get'>,
  ) {
    this.known = new LatestFold(store, {
      filters: [REGISTERED_FILTER],
      initial: NO_CONNECTIONS,
      evolve: connectionsAfter,
    });
  }

  async get(connection: string): Promise<CloudConnection | undefined> {
    const found = (await this.known.latest()).get(connection);
    if (found === undefined) return undefined;
    const { secretRef, ...known } = found;
    return { ...known, secret: secretRef === null ? undefined : await this.secrets.get(secretRef) };
  }
}
