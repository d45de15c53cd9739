import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Pools, their health checks and their autoscaler. */
export const POOL_REFUSALS = {
  'pool.autoscaling-bounds': definition(
    400,
    'The bounds of pool {pool} are {min} and {max}: the maximum is smaller',
    'Give a maximum that is at least the minimum.',
  ),
  'pool.replicas-autoscaled': definition(
    422,
    'Pool {pool} is autoscaled between {min} and {max} nodes, so a manifest cannot give it {replicas}',
    'Leave replicas out: a new pool begins with the minimum, and others keep their size. To scale it once, run "fairlead pool scale".',
  ),
  'pool.scale-out-of-bounds': definition(
    422,
    'Pool {pool} has between {min} and {max} nodes, not {replicas}',
    'Choose a size within the bounds, or change autoscaling in the manifest.',
  ),
  'pool.not-autoscaled': definition(
    422,
    'Pool {pool} has no bounds, so no autoscaler may scale it',
    'Give the pool autoscaling: { min, max } in the manifest.',
  ),
  'autoscaler.not-served': definition(
    503,
    'This installation serves no autoscaler',
    'Set AUTOSCALER_ADDRESS of the gateway: the host and port at which clusters reach it.',
  ),
  'autoscaler.csr-invalid': definition(
    400,
    'The certificate request cannot be signed: {reason}',
    'Send a PKCS#10 request in PEM with an ECDSA key (P-256, P-384) or an RSA key of at least 2048 bit. "fairlead autoscaler credentials" creates one.',
  ),
  'autoscaler.too-many-credentials': definition(
    409,
    "The cluster '{cluster}' has {max} valid credentials for autoscalers",
    'Revoke one that is not in use with "fairlead autoscaler revoke {cluster} <id>".',
  ),
  'autoscaler.credential-unknown': definition(
    404,
    "The cluster '{cluster}' has no autoscaler credential {id}",
    'List them with "fairlead autoscaler list {cluster}".',
  ),
  'autoscaler.credential-refused': definition(
    401,
    'The client certificate is not valid: it was not issued for a cluster that exists, was revoked, or has expired',
    'Get a new one with "fairlead autoscaler credentials <cluster>".',
  ),
  'autoscaler.delta-invalid': definition(
    400,
    'The size of pool {pool} cannot change by {delta}',
    'Send a delta of the sign that the call requires.',
  ),
  'autoscaler.node-foreign': definition(
    404,
    'Pool {pool} has no node {node}',
    'Read the nodes of the pool again; a node that has left it cannot be removed once more.',
  ),
  'autoscaler.nodes-exist': definition(
    422,
    '{existing} machines of pool {pool} exist, so its size cannot become {replicas} without removing one',
    'Remove nodes by their names.',
  ),
  'autoscaler.template-unknown': definition(
    503,
    'The CPUs and memory of {spec} on connection {connection} are not known yet',
    'Verify the connection with "fairlead connection verify {connection}"; the machine types that it offers are known after that.',
  ),
  'pool.rollout-blocked': definition(
    422,
    'maxSurge and maxUnavailable of pool {pool} are both 0, so none of its nodes could ever be replaced',
    'Set one of them to at least 1.',
  ),
  'pool.bootstrap-unused': definition(
    422,
    'Pool {pool} has bootstrap data, but machines of type {machineType} are bootstrapped by SSH',
    'Leave bootstrap out, declare by: userData in it, or use the machine type join.any on a connection of the provider join.',
  ),
  'pool.host-selector': definition(
    422,
    'Pool {pool} selects hosts, but machines of type {machineType} are made by their provider',
    'Leave hostSelector out, or use the machine type join.any on a connection of the provider join.',
  ),
  'pool.data-simulated': definition(
    422,
    'Pool {pool} gives bootstrap data, but the hosts of the connection {connection} are simulated, and what they run is a process of Fairlead',
    'Leave data out: it is generated then.',
  ),
  'pool.user-data': definition(
    422,
    'Pool {pool} declares user data, but the provider {provider} of the connection {connection} takes none',
    'Leave by: userData out: nodes are bootstrapped by SSH then.',
  ),
  'pool.image-fixed': definition(
    422,
    'Pool {pool} declares an image, and the provider {provider} of connection {connection} creates no machines from one',
    'Leave image out: its hosts keep the system that they have.',
  ),
  'pool.rollout-failed': definition(
    409,
    'The rollout of pool {pool} has failed, and some of its nodes have not been replaced',
    'Continue with "fairlead cluster retry {cluster}", or abandon it with "fairlead node abandon {cluster}".',
  ),
  'pool.key-reserved': definition(
    400,
    'Pool {pool} cannot have a label or a taint {key}: {domain} is reserved',
    'Use a domain of your own, or a key without one. node-role.kubernetes.io and node-restriction.kubernetes.io are allowed.',
  ),
  'pool.taint-twice': definition(400, 'Pool {pool} has the taint {taint} twice', 'Declare it once.'),
  'pool.zone-unknown': definition(
    422,
    'Connection {connection} has no zone {zone} for pool {pool}, only {zones}',
    'Choose one of its zones, or none. See them with "fairlead connection describe {connection}".',
  ),
  'pool.removals-exceed': definition(
    422,
    'The request names {named} nodes of pool {pool} for removal, but its size shrinks by {count}',
    'Name fewer nodes, or choose a smaller size.',
  ),
  'pool.name-taken': definition(400, 'Two pools are named {pool}', 'Give each pool a unique name.'),
  'pool.name-reserved': definition(400, 'No pool of workers can be named {pool}', 'Choose another name.'),
  'health.duration': definition(
    400,
    '{field} of a health check cannot be {value}',
    'Use a duration from {min} to 168h.',
  ),
  'health.two-limits': definition(
    400,
    'A health check sets both maxUnhealthy and unhealthyRange',
    'Set one of the two.',
  ),
  'health.ready-condition': definition(
    400,
    'A health check does not list Ready among unhealthyNodeConditions',
    'Say in unhealthyAfter how long a node may be not Ready.',
  ),
  'health.range': definition(
    400,
    'The range {range} of a health check has no number of nodes',
    'Begin with the smaller number, such as [1-3].',
  ),
  'pool.unknown': definition(
    404,
    "The cluster '{cluster}' has no pool {pool}",
    'See its pools with GET /ns/{namespace}/clusters/{cluster}/manifest.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
