import {
  addressInUrl,
  inventoryAddresses,
  inventoryOf,
  type ConnectionName,
  type KnownAddress,
} from '@fairlead/contracts';
import type { Connection } from '../providers/provider.ports.js';

const NATS = 'NATS, which the agents of the nodes connect to,';

/** Addresses that pods, services and shared addresses must not overlap. */
export interface Surroundings {
  readonly connection: ConnectionName;
  /** The network of its machines; undefined: not configured. */
  readonly cidr: string | undefined;
  /** Addresses of hosts, load balancers, mirrors and NATS, which may be outside that network. */
  readonly addresses: readonly KnownAddress[];
}

/** The addresses that the machines of a connection have or use, besides its network. */
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
