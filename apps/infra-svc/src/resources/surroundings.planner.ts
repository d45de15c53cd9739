import {
  addressInUrl,
  inventoryAddresses,
  inventoryOf,
  type ConnectionName,
  type KnownAddress,
} from '@fairlead/contracts';
import type { Connection } from '../providers/provider.ports.js';

const NATS = 'NATS, which the agents of the nodes connect to,';

/** What pods, services and shared addresses must leave alone. */
export interface Surroundings {
  readonly connection: ConnectionName;
  /** The network of its machines; undefined: no setting names it. */
  readonly cidr: string | undefined;
  /** Addresses of hosts, load balancers, mirrors and NATS, which need not be in that network. */
  readonly addresses: readonly KnownAddress[];
}

/** The addresses that the machines of a connection have or use, beside those of its network. */
export const surroundingsOf = (
  connection: Pick<Connection, 'name' | 'provider' | 'settings'>,
  network: string,
  natsUrls: readonly string[],
): Surroundings => {
  const { name } = connection;
  const nats = natsUrls.flatMap((url): readonly KnownAddress[] => {
    const address = addressInUrl(url);
    return address === undefined ? [] : [{ address, owner: NATS }];
  });
  const inventory = inventoryOf(connection);
  if (inventory === undefined) return { connection: name, cidr: network, addresses: nats };
  return {
    connection: name,
    cidr: inventory.networkCidr,
    addresses: [...inventoryAddresses(name, inventory), ...nats],
  };
};
