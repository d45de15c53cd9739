import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Virtual addresses and the firewall of nodes. */
export const NETWORK_REFUSALS = {
  'firewall.rule-twice': definition(
    400,
    'Two firewall rules are named {rule}',
    'Give each rule a unique name; a rule may have several ports and networks.',
  ),
  'firewall.rule-pool': definition(
    422,
    'The firewall rule {rule} is about pool {pool}, which is not declared',
    'Name pools of the manifest, or control-plane.',
  ),
  'firewall.scope-unread': definition(
    422,
    'The firewall judges only the Kubernetes API (scope api), so {list} would have no effect',
    'Set scope to all, which closes every port that is not listed, or leave the list out.',
  ),
  'address.name-taken': definition(
    400,
    'Two virtual addresses are named {address}',
    'Give each virtual address a unique name.',
  ),
  'address.taken': definition(
    422,
    'Address {address} is already in use by {owner}',
    'Choose an unused address; for nspawn hosts, one of the ten lowest of their network.',
  ),
  'address.unusable': definition(
    422,
    'The address {address} cannot be held by a node: its range is {range}',
    'Choose a free address in the network of the nodes.',
  ),
  'address.family': definition(
    422,
    'The address {address} is of another family than the nodes of connection {connection}, e.g. {node}: they cannot hold it',
    'Choose a free address in the network of the nodes.',
  ),
  'address.in-cluster': definition(
    422,
    'The address {address} is in {network}, the network of {what}',
    'Choose a free address in the network of the nodes.',
  ),
  'address.pool-unknown': definition(
    422,
    'Pool {pool} is not declared{hint}',
    'Name pools of the manifest, or control-plane.',
  ),
  'address.provider': definition(
    422,
    'The nodes of connection {connection} ({provider}) cannot hold the virtual address {address}: its network does not let a node use additional addresses',
    'Name pools of own hosts (ssh, nspawn). In a cloud, use a service of type LoadBalancer.',
  ),
  'address.networks': definition(
    422,
    'The virtual address {address} has holders on several connections ({connections}), whose nodes need not share a network',
    'Name pools of one connection.',
  ),
  'transport.name-taken': definition(
    400,
    'Two transports of the virtual address are named {transport}',
    'Give each transport of an address a unique name.',
  ),
  'transport.port-twice': definition(
    422,
    'The transports {first} and {transport} have the same frontendPort {port}',
    'Give each transport of an address a different frontendPort.',
  ),
  'transport.port-used': definition(
    422,
    'The transport {transport} cannot have the frontendPort {port}: nodes use it for {what}',
    'Choose another frontendPort.',
  ),
  'transport.port-same': definition(
    422,
    'frontendPort and backendPort of the transport {transport} are both {port}',
    'Choose another frontendPort: a node that holds the address may also be a backend.',
  ),
  'transport.allow-family': definition(
    422,
    'The transport {transport} allows no network of the family of {address}, so no client could connect',
    'Add a network of that family to allow, or leave allow out.',
  ),
  'transport.interval': definition(
    400,
    'The interval of a health check cannot be {given}',
    'Give a time between 1s and 1m.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
