import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Connections, their hosts and their quotas. */
export const CONNECTION_REFUSALS = {
  'connection.unknown': definition(
    422,
    "The connection '{connection}' does not exist",
    'Register it with PUT /connections/{connection}.',
  ),
  'connection.not-found': definition(
    404,
    "The connection '{connection}' does not exist",
    'List them with GET /connections.',
  ),
  'connection.no-credential': definition(
    404,
    "The connection '{connection}' has no credential",
    'Give one with "fairlead connection register {connection} --secret-file <file>".',
  ),
  'connection.name-invalid': definition(
    400,
    '{name} is not a connection name',
    'Use lowercase letters, digits and dashes, at most 63.',
  ),
  'connection.orphan-unknown': definition(
    404,
    "The connection '{connection}' has no orphaned machine {orphan}",
    'A machine that no longer exists, or that belongs to a cluster, is not an orphan. List orphans with GET /connections/{connection}/orphans.',
  ),
  'connection.orphan-recorded': definition(
    409,
    "Machine {orphan} of connection '{connection}' already belongs to {owner}",
    'GET /connections/{connection}/orphans lists the machines that belong to no cluster.',
  ),
  'connection.orphan-unfit': definition(
    422,
    "Machine {orphan} of connection '{connection}' does not fit pool {pool}: {detail}",
    'Adopt it into a pool of its machine type, image and zone, or delete it and scale the pool.',
  ),
  'connection.orphan-unclean': definition(
    409,
    "Machine {orphan} of connection '{connection}' cannot become a node as it is: {detail}",
    'Reinstall it at its provider, or delete it and scale the pool. Nothing on it was changed.',
  ),
  'connection.adoption-unsupported': definition(
    422,
    "Machines of connection '{connection}' cannot be adopted: {detail}",
    'Scale the pool instead. Add a host to the inventory first; delete an orphaned machine that you do not need.',
  ),
  'connection.machine-full': definition(
    409,
    "The machine of connection '{connection}' has no capacity for these hosts: {detail}",
    'Follow the message, or request fewer hosts. Existing clusters are not changed.',
  ),
  'connection.secret-in-settings': definition(
    400,
    'The setting {field} looks like a secret',
    'Give it as settings.token or settings.secret: those two are sealed and never returned.',
  ),
  'connection.in-use': definition(
    409,
    "The connection '{connection}' is used by {clusters}",
    'Delete those clusters first.',
  ),
  'connection.not-granted': definition(
    403,
    "The connection '{connection}' is not granted to namespace {namespace}",
    'Ask an administrator to grant it (fairlead connection grant), or use another connection.',
  ),
  'quota.exceeded': definition(
    409,
    'Quota exceeded: {scope} may have {limit} {what} and has {used}, and the request adds {desired}',
    'Request less, delete what is not needed, or ask an administrator for a higher quota.',
  ),
  'connection.secret-again': definition(
    422,
    "The stored secret of connection '{connection}' was not given for {address}",
    'Give the secret again (fairlead connection register --secret-file): a stored one is never used at a new address or provider.',
  ),
  'connection.key-foreign': definition(
    422,
    "{field} names a secret that does not belong to connection '{connection}'",
    'Give the key as settings.keys.<name> and name it gateway.connection.{connection}.<name>.',
  ),
  'connection.would-orphan': definition(
    409,
    "The connection '{connection}' is used by {clusters}, whose machines would become unreachable: {changed} cannot change",
    'Delete those clusters first, or register the new place under another name. If the same machines are found at the new place, add "moved": true (fairlead connection register --moved).',
  ),
  'connection.provider-unknown': definition(
    422,
    "The provider '{provider}' is not supported",
    'Supported: {supported}.',
  ),
  'connection.settings-invalid': definition(
    422,
    'The settings of connection {connection} are wrong: {detail}',
    'See the provider in docs/providers.md.',
  ),
  'connection.host-name-invalid': definition(
    422,
    'A host of connection {connection} has a name that is not an RFC 1123 label: {detail}',
    'Use lowercase letters, digits and dashes, with a letter or digit at each end, 63 characters at most.',
  ),
  'connection.host-repeated': definition(
    422,
    'Two hosts of connection {connection} are the same: {detail}',
    'Give each host a unique name and address.',
  ),
  'connection.api-address-taken': definition(
    422,
    'An address for the API of connection {connection} is in use: {detail}',
    'List each virtual address once, and no address of a host.',
  ),
  'connection.api-address-in-use': definition(
    422,
    'Connection {connection} cannot use the API address {address}: {owner} uses it',
    'Give apiAddress a free address in the network of the hosts: keepalived would take this one over.',
  ),
  'connection.outside-network': definition(
    422,
    '{what} of connection {connection} has the address {address}, which is not in its networkCidr {network}',
    'Widen networkCidr until it contains every host, or leave it out. A host that is reached through NAT gets a privateAddress.',
  ),
  'connection.api-endpoint-invalid': definition(
    422,
    'The load balancer of connection {connection} is not given as <host>:<port>: {detail}',
    'Give apiEndpoint with its port, e.g. api.example.org:6443.',
  ),
  'connection.api-port-taken': definition(
    422,
    'The load balancer of connection {connection} would listen on the port that it sends to: {detail}',
    'Choose another apiPort; the default is 9998.',
  ),
  'connection.api-ambiguous': definition(
    422,
    'Connection {connection} names two ways to the API: {detail}',
    'Give apiAddress for a virtual address, or apiEndpoint for your own load balancer.',
  ),
  'connection.nats-unreachable': definition(
    422,
    'The agent of host {host} ({address}) could not reach NATS: agents use {urls}, which is the host itself',
    'Start Fairlead with an address of this machine that the hosts reach: fairlead up --nats-address <address>. Elsewhere set AGENT_NATS_URLS of gateway and bootstrap-svc.',
  ),
  'stock.exhausted': definition(
    409,
    'Connection {connection} has {free} free hosts that fit, but {desired} are requested ({detail})',
    'Add hosts to the connection, or release some; fairlead connection hosts {connection} lists them.',
  ),
  'stock.other-namespace': definition(
    409,
    'Connection {connection} has {free} free hosts for namespace {namespace}, but {desired} are requested: {count} more were last used by another namespace',
    'Reinstall those hosts and accept them (fairlead connection accept-host {connection} <host>), or let an administrator set hostReuse: any-namespace.',
  ),
  'stock.host-in-use': definition(
    409,
    'The host {host} of connection {connection} is in use by {cluster}',
    'Delete the cluster, or remove the node, first.',
  ),
  'connection.host-unknown': definition(
    404,
    'Connection {connection} has no {host} in its settings',
    'List its hosts with GET /connections/{connection}.',
  ),
  'connection.host-power-none': definition(
    409,
    'The inventory of connection {connection} does not say how the power of host {host} is controlled',
    'Add power (redfish or ipmi) to the host in the settings: docs/providers.md.',
  ),
  'connection.host-key-in-settings': definition(
    409,
    'The host key of {host} is pinned in the settings of connection {connection}, which take precedence',
    'Change hostKey in the settings (fairlead connection set), or remove it there.',
  ),
  'connection.ssh-key-own': definition(
    409,
    "The SSH key of connection '{connection}' is your own",
    'Add the new public key on every host, register the connection again with the new private key (fairlead connection register --secret-file), then remove the former key from the hosts.',
  ),
  'connection.ssh-key-none': definition(
    409,
    "The connection '{connection}' has no SSH key yet",
    'Its key is created with its first machine.',
  ),
  'connection.ssh-key-rotating': definition(
    409,
    "The SSH key of connection '{connection}' is being rotated; {pending} hosts still need the former key",
    'Wait until the rotation has ended (GET /connections/{connection}), or force its end with "force": true (fairlead keys rotate connection {connection} --force).',
  ),
  'connection.ssh-key-not-rotating': definition(
    409,
    "No rotation of the SSH key of connection '{connection}' has created a new key",
    'Only a rotation that is replacing keys can be forced. Request one without "force".',
  ),
  'stock.booked': definition(
    409,
    '{hosts} of connection {connection} are booked for other clusters before {endsAt}',
    'Choose an earlier end, or move the bookings of the others.',
  ),
  'stock.booking-over': definition(
    422,
    'Hosts of connection {connection} cannot be booked until {endsAt}: {detail}',
    'Choose a later end.',
  ),
  'stock.closed': definition(
    409,
    'The cluster {uid} has released everything of connection {connection}',
    'Create another cluster.',
  ),
  'stock.api-address-missing': definition(
    422,
    'Connection {connection} has no address for the API of {count} control planes',
    'Give it apiAddress (a free address in the network of its hosts) or apiEndpoint (your own load balancer).',
  ),
  'stock.api-address-taken': definition(
    409,
    'The API addresses of connection {connection} are in use: {detail}',
    'Give the connection one more apiAddress, or use a separate connection for each apiEndpoint.',
  ),
  'stock.api-address-answers': definition(
    409,
    'Every free API address of connection {connection} is in use by something else: {detail}',
    'Free the address there, or give the connection another apiAddress.',
  ),
  'connection.unreachable': definition(
    422,
    'Connection {connection} does not answer: {detail}',
    'Check its address and credentials, then try again.',
  ),
  'spec-list.range': definition(
    400,
    '{name}-max ({max}) is less than {name}-min ({min})',
    'Use a maximum that is at least the minimum.',
  ),
  'spec-list.number': definition(400, '{name} is not a number: {value}', 'Give a number.'),
  'spec-list.unverified': definition(
    409,
    'The machine types of connection {connection} are not known yet',
    'infra-svc queries its provider after the registration; see GET /connections/{connection}.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
