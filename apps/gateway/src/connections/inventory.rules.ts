import {
  addressInUrl,
  apiAddressesOf,
  inventoryAddresses,
  isInNetwork,
  isSameAddress,
  nodeAddressOf,
  refuse,
  type Refusal,
  type SshSettings,
} from '@fairlead/contracts';
import type { Reach } from './nats.reach.js';

/** A declared network that leaves out a host is either wrong or says nothing of where pods may have addresses. */
const outsideNetwork = (connection: string, { hosts, networkCidr, ...settings }: SshSettings): readonly Refusal[] => {
  if (networkCidr === undefined) return [];
  const placed = [
    ...hosts.map((host, at) => ({
      what: `Host ${host.name}`,
      address: nodeAddressOf(host),
      field: `settings.hosts[${at}].${host.privateAddress === undefined ? 'address' : 'privateAddress'}`,
    })),
    ...apiAddressesOf(settings).map((address) => ({ what: 'apiAddress', address, field: 'settings.apiAddress' })),
  ];
  return placed
    .filter(({ address }) => !isInNetwork(address, networkCidr))
    .map(({ field, ...values }) =>
      refuse('connection.outside-network', { connection, network: networkCidr, ...values }, field),
    );
};

/** keepalived takes an API address from whoever has it: this machine and its NATS would be gone for all hosts. */
const takenHere = (
  connection: string,
  settings: SshSettings,
  { agentNatsUrls = [], ownAddresses }: Reach,
): readonly Refusal[] => {
  const here = [
    ...agentNatsUrls.flatMap((url) => {
      const address = addressInUrl(url);
      return address === undefined ? [] : [{ address, owner: 'NATS, which the agents of the hosts connect to,' }];
    }),
    ...ownAddresses.map((address) => ({ address, owner: 'the machine that Fairlead runs on' })),
    ...inventoryAddresses(connection, settings).filter(({ owner }) => !owner.startsWith('apiAddress ')),
  ];
  return apiAddressesOf(settings).flatMap((address) => {
    const taken = here.find((known) => isSameAddress(known.address, address));
    return taken === undefined
      ? []
      : [refuse('connection.api-address-in-use', { connection, ...taken }, 'settings.apiAddress')];
  });
};

/** What is wrong with the addresses of an inventory, beside those of Fairlead itself. */
export const inventoryFaults = (connection: string, settings: SshSettings, reach: Reach): readonly Refusal[] => [
  ...takenHere(connection, settings, reach),
  ...outsideNetwork(connection, settings),
];
