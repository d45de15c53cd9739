/** One entry of the refusal catalogue. A code never changes its meaning. */
export interface RefusalDefinition {
  /** HTTP status of the REST API. */
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 500 | 503 | 507;
  /** What is wrong, with {placeholders}. CB-Ladybug's own texts where it has one. */
  readonly sentence: string;
  /** What the caller can do about it. */
  readonly help: string;
}

const definition = (status: RefusalDefinition['status'], sentence: string, help: string): RefusalDefinition => ({
  status,
  sentence,
  help,
});

export const REFUSALS = {
  'request.malformed': definition(400, '{detail}', 'Send JSON that matches the OpenAPI document at /openapi.json.'),
  'request.unknown-field': definition(
    400,
    'Unknown field {field}',
    'Check the spelling against the OpenAPI document at /openapi.json.',
  ),
  'request.text-unstorable': definition(
    400,
    '{field} contains {character}, which cannot be stored',
    'Send text without control characters (line breaks and tabs are allowed) and without unpaired surrogates.',
  ),
  'request.media-type': definition(415, 'The body is {type}, not JSON in UTF-8', 'Send application/json.'),
  'request.too-large': definition(413, 'The body is larger than {max}', 'Send less in one request.'),
  'auth.token-missing': definition(
    401,
    'A bearer token is needed',
    'Send "Authorization: Bearer <token>"; the CLI uses the local token by itself.',
  ),
  'auth.token-unknown': definition(
    401,
    'The bearer token is not known or was revoked',
    'Ask an administrator for a token.',
  ),
  'auth.token-expired': definition(
    401,
    'The bearer token ended at {expiresAt}',
    'Ask an administrator for a new token.',
  ),
  'auth.role-missing': definition(
    403,
    'This needs the role {role} in namespace {namespace}',
    'Ask an administrator for that role.',
  ),
  'auth.too-many-failures': definition(
    429,
    'Too many wrong tokens came from {address}',
    'Use a valid token: it is accepted at once. Wrong ones are answered again in {seconds} seconds.',
  ),
  'namespace.unknown': definition(
    404,
    'Could not be found a namespace. (namespace={namespace})',
    'Create it with POST /ns, or check the spelling.',
  ),
  'namespace.name-invalid': definition(
    400,
    '{name} is not a namespace name',
    'Use lower-case letters, digits and dashes, at most 63.',
  ),
  'namespace.exists': definition(409, "The namespace '{namespace}' already exists.", 'Use it, or take another name.'),
  'namespace.not-empty': definition(
    409,
    "The namespace '{namespace}' still holds clusters: {clusters}",
    'Delete its clusters first.',
  ),
  'connection.unknown': definition(
    422,
    'Connection does not exist. ({connection})',
    'Register it with PUT /connections/{connection}.',
  ),
  'connection.not-found': definition(
    404,
    'Connection does not exist. ({connection})',
    'List them with GET /connections.',
  ),
  'connection.name-invalid': definition(
    400,
    '{name} is not a connection name',
    'Use lower-case letters, digits and dashes, at most 63.',
  ),
  'connection.orphan-unknown': definition(
    404,
    "The connection '{connection}' has no orphaned machine {orphan}",
    'A machine that is gone, or that a cluster has planned, is not an orphan. GET /connections/{connection}/orphans lists those there are.',
  ),
  'connection.orphan-recorded': definition(
    409,
    "Machine {orphan} of connection '{connection}' is a machine of {owner} already",
    'GET /connections/{connection}/orphans lists the machines that no cluster has planned.',
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
    'Scale the pool instead. A host that is not in the inventory yet is added to it first, and an orphaned machine that is of no use is deleted.',
  ),
  'connection.machine-full': definition(
    409,
    "The machine of connection '{connection}' has no room for these hosts: {detail}",
    'Do what the message says, or ask for fewer hosts. Clusters that exist are not changed.',
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
    'The quota of {scope} is {limit} {what}: {used} are taken, and {desired} more are desired',
    'Ask for less, delete what is not needed, or ask an administrator for a higher quota.',
  ),
  'connection.secret-again': definition(
    422,
    "The stored secret of connection '{connection}' was not given for {address}",
    'Give the secret again (fairlead connection set --secret-file): a stored one is never used at a new address or provider.',
  ),
  'connection.key-foreign': definition(
    422,
    "{field} names a secret that is not one of connection '{connection}'",
    'Give the key as settings.keys.<name> and name it gateway.connection.{connection}.<name>.',
  ),
  'connection.would-orphan': definition(
    409,
    "The connection '{connection}' is used by {clusters}, whose machines would be out of reach: {changed} cannot change",
    'Delete those clusters first, or register the new place under another name. If the same machines are found at the new place, add "moved": true (fairlead connection set --moved).',
  ),
  'connection.provider-unknown': definition(422, "The CSP '{provider}' is not supported", 'Supported: {supported}.'),
  'connection.settings-invalid': definition(
    422,
    'The settings of connection {connection} are wrong: {detail}',
    'See the provider in docs/providers.md.',
  ),
  'connection.host-name-invalid': definition(
    422,
    'A host of connection {connection} has a name that is not an RFC 1123 label: {detail}',
    'Use lower-case letters, digits and dashes, with a letter or digit at each end, 63 characters at most.',
  ),
  'connection.host-repeated': definition(
    422,
    'Two hosts of connection {connection} are the same: {detail}',
    'Give each host a name and an address of its own.',
  ),
  'connection.api-address-taken': definition(
    422,
    'An address for the API of connection {connection} is taken: {detail}',
    'List each virtual address once, and none of a host.',
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
    'Give apiAddress for a virtual address, or apiEndpoint for a load balancer of yours.',
  ),
  'connection.nats-unreachable': definition(
    422,
    'The agent of host {host} ({address}) could not reach NATS: agents use {urls}, which is the host itself',
    'Start Fairlead with an address of this machine that the hosts reach: fairlead up --nats-address <address>. Elsewhere set AGENT_NATS_URLS of gateway and bootstrap-svc.',
  ),
  'stock.exhausted': definition(
    409,
    'Connection {connection} has {free} free hosts that fit, and {desired} are desired ({detail})',
    'Add hosts to the connection, or give some back; fairlead connection hosts {connection} lists them.',
  ),
  'stock.other-namespace': definition(
    409,
    'Connection {connection} has {free} free hosts for namespace {namespace}, and {desired} are desired: {count} more were used by another namespace last',
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
  'connection.host-key-in-settings': definition(
    409,
    'The settings of connection {connection} name the host key of {host}, and that one counts',
    'Change hostKey in the settings (fairlead connection set), or take it out of them.',
  ),
  'connection.ssh-key-own': definition(
    409,
    "The SSH key of connection '{connection}' is your own",
    'Add the new public key on every host, register the connection again with the new private key (fairlead connection set --secret-file), then remove the former key from the hosts.',
  ),
  'connection.ssh-key-none': definition(
    409,
    "The connection '{connection}' has no SSH key yet",
    'Its key is created with its first machine.',
  ),
  'connection.ssh-key-rotating': definition(
    409,
    "The SSH key of connection '{connection}' is being rotated; {pending} hosts still need the former key",
    'Wait until the rotation has ended (GET /connections/{connection}), or force its end with "force": true (fairlead keys rotate connection --force).',
  ),
  'connection.ssh-key-not-rotating': definition(
    409,
    "No rotation of the SSH key of connection '{connection}' has created a new key",
    'Only a rotation that is replacing keys can be forced. Request one without "force".',
  ),
  'stock.closed': definition(
    409,
    'The cluster {uid} has given everything back to connection {connection}',
    'Ask for another cluster.',
  ),
  'stock.api-address-missing': definition(
    422,
    'Connection {connection} has no address for the API of {count} control planes',
    'Give it apiAddress (a free address in the network of its hosts) or apiEndpoint (a balancer of yours).',
  ),
  'stock.api-address-taken': definition(
    409,
    'The API addresses of connection {connection} are taken: {detail}',
    'Give the connection one more apiAddress, or use a connection of its own for each apiEndpoint.',
  ),
  'connection.unreachable': definition(
    422,
    'Connection {connection} does not answer: {detail}',
    'Check its address and credentials, then try again.',
  ),
  'cluster.unknown': definition(
    404,
    "Could not be found a cluster '{cluster}'. (namespace={namespace})",
    'List them with GET /ns/{namespace}/clusters.',
  ),
  'cluster.name-taken': definition(
    409,
    "The cluster '{cluster}' already exists. (namespace={namespace})",
    'Take another name, or delete that cluster first.',
  ),
  'cluster.deleting': definition(409, "The cluster '{cluster}' is being deleted.", 'Wait until it is gone.'),
  'cluster.not-ready': definition(
    409,
    "Unable to {action}. status is '{phase}'.",
    'Wait until the cluster is Provisioned. One that is Failed is retried, or deleted and created again.',
  ),
  'cluster.busy': definition(
    409,
    'Unable to {action}. Another request for nodes is not finished.',
    'Wait until it is: see GET /ns/{namespace}/clusters/{cluster}/operations. POST /ns/{namespace}/clusters/{cluster}/nodes/abandon gives it up.',
  ),
  'cluster.nodes-busy': definition(
    409,
    'Unable to {action}. A request to {what} nodes is not over (operation {operation}).',
    'Wait for its end, or cancel it: "fairlead node cancel {cluster} {operation}".',
  ),
  'cluster.paused': definition(
    409,
    "Unable to {action}. The cluster '{cluster}' has been paused since {since}{reason}.",
    'Resume it first, with POST /ns/{namespace}/clusters/{cluster}/resume.',
  ),
  'cluster.pause-with-changes': definition(
    409,
    "The manifest pauses the cluster '{cluster}' and changes other fields: {fields}",
    'Apply the changes first, and pause the cluster when they are done; or pause it alone.',
  ),
  'cluster.not-failed': definition(
    409,
    "Unable to retry. status is '{phase}'.",
    'Nothing of the cluster has failed. A failed cluster, nodes that were kept, removals and deletions can be retried.',
  ),
  'cluster.resource-version': definition(
    409,
    "The cluster '{cluster}' has changed: its resourceVersion is {current}, not {given}",
    'Get the manifest again, and apply your change to that.',
  ),
  'cluster.uid-mismatch': definition(
    409,
    "The cluster '{cluster}' is another one: its uid is {current}, not {given}",
    'Get the manifest again, or leave metadata.uid out.',
  ),
  'cluster.manifest-address': definition(
    400,
    '{field} is {given}, and the request is about {expected}',
    'Send the manifest to the address of its cluster.',
  ),
  'cluster.field-immutable': definition(
    422,
    '{field} cannot be changed: it is {before}, not {after}',
    'Create a cluster with the new value, and delete this one.',
  ),
  'cluster.version-with-changes': definition(
    409,
    'The manifest changes the version from {before} to {after}, and what needs nodes to come, go or change beside it: {fields}',
    'An upgrade and other changes of nodes never mix. Apply the version alone, and the rest when the upgrade is over; or the other way round.',
  ),
  'cluster.version-lower': definition(
    422,
    '{after} is a lower minor version than {before}, and Kubernetes cannot go back to one',
    'Declare {before}, or a later version. For a lower one, create another cluster.',
  ),
  'cluster.version-path': definition(
    422,
    'The way from {before} to {after} leads through {missing}, of which Fairlead knows no release',
    'Update Fairlead, or declare a nearer version.',
  ),
  'cluster.control-plane-surge': definition(
    422,
    'maxSurge of the control plane can be 0 with {min} control planes or more, not with {count}',
    'Set maxSurge to 1: the new control plane then joins before the old one leaves.',
  ),
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
    'Send a PKCS#10 request in PEM with an ECDSA key (P-256, P-384) or an RSA key of at least 2048 bit. "fairlead autoscaler credentials" makes one.',
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
    'The client certificate opens nothing: it was not issued for a cluster that exists, was revoked, or has expired',
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
    'Verify the connection with "fairlead connection verify {connection}"; a machine type of its list is known after that.',
  ),
  'firewall.rule-twice': definition(
    400,
    'There are two firewall rules {rule}',
    'Give each rule a name of its own; a rule may have several ports and networks.',
  ),
  'firewall.rule-pool': definition(
    422,
    'The firewall rule {rule} is about pool {pool}, which is not declared',
    'Name pools of the manifest, or control-plane.',
  ),
  'hook.secret-unknown': definition(
    404,
    "The namespace '{namespace}' has no hook secret '{secret}'",
    'List them with "fairlead hook secrets".',
  ),
  'hook.too-many-secrets': definition(
    409,
    "The namespace '{namespace}' has {max} hook secrets",
    'Delete one that no hook names with "fairlead hook delete-secret <secret>".',
  ),
  'hook.holds-nothing': definition(
    409,
    'The hook {hook} holds nothing of the cluster {cluster}{about}',
    'See what waits for which hook with "fairlead cluster describe {cluster}".',
  ),
  'hook.name-taken': definition(400, 'Two hooks are named {hook}', 'Give each hook a name of its own.'),
  'hook.url-invalid': definition(
    400,
    'The hook {hook} cannot be asked at its URL: {reason}',
    'Give an http or https URL without a user name.',
  ),
  'hook.timeout': definition(400, 'The hook {hook} may take at most {max}', 'Give a shorter timeout.'),
  'drain.rule-twice': definition(
    400,
    'There are two drain rules {rule}',
    'Give each rule a name of its own; the first rule that applies to a pod decides.',
  ),
  'drain.rule-order': definition(
    400,
    'The drain rule {rule} has an order, but its pods stay (Skip)',
    'Leave the order out, or choose Drain or WaitCompleted.',
  ),
  'drain.rule-pool': definition(
    422,
    'The drain rule {rule} is about pool {pool}, which is not declared',
    'Name pools of the manifest, or control-plane.',
  ),
  'drain.detach-timeout': definition(
    400,
    'Volumes cannot be given {given} to be detached; the most is {max}',
    'Give a shorter time.',
  ),
  'address.name-taken': definition(
    400,
    'There are two virtual addresses {address}',
    'Give each virtual address a name of its own.',
  ),
  'address.taken': definition(
    422,
    'The address {address} is taken: {owner} has it',
    'Choose an address that nothing in the network has; for hosts of nspawn, one of the ten lowest of their network.',
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
    'The nodes of connection {connection} ({provider}) cannot hold the virtual address {address}: its network does not let a node take another address',
    'Name pools of own hosts (ssh, nspawn). In a cloud, use a service of type LoadBalancer.',
  ),
  'address.networks': definition(
    422,
    'The virtual address {address} has holders on several connections ({connections}), whose nodes need not share a network',
    'Name pools of one connection.',
  ),
  'transport.name-taken': definition(
    400,
    'The virtual address has two transports {transport}',
    'Give each transport of an address a name of its own.',
  ),
  'transport.port-twice': definition(
    422,
    'The transports {first} and {transport} have the same frontendPort {port}',
    'Give each transport of an address a frontendPort of its own.',
  ),
  'transport.port-used': definition(
    422,
    'The transport {transport} cannot have the frontendPort {port}: nodes use it for {what}',
    'Choose another frontendPort.',
  ),
  'transport.port-same': definition(
    422,
    'frontendPort and backendPort of the transport {transport} are both {port}',
    'Choose another frontendPort: a node that holds the address may be one of those behind it.',
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
  'pool.rollout-blocked': definition(
    422,
    'maxSurge and maxUnavailable of pool {pool} are both 0, so none of its nodes could ever be replaced',
    'Set one of them to at least 1.',
  ),
  'pool.rollout-failed': definition(
    409,
    'The rollout of pool {pool} has failed, and some of its nodes are still to be replaced',
    'Go on with "fairlead cluster retry {cluster}", or give it up with "fairlead node abandon {cluster}".',
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
    '{named} nodes of pool {pool} are to be removed, and its size shrinks by {count}',
    'Name fewer nodes, or choose a smaller size.',
  ),
  'pool.name-taken': definition(400, 'Two pools are named {pool}', 'Give each pool a name of its own.'),
  'pool.name-reserved': definition(400, 'No pool of workers can be named {pool}', 'Take another name.'),
  'health.duration': definition(
    400,
    '{field} of a health check cannot be {value}',
    'Take a duration from {min} to 168h.',
  ),
  'health.two-limits': definition(400, 'A health check has maxUnhealthy and unhealthyRange', 'Give one of the two.'),
  'health.range': definition(
    400,
    'The range {range} of a health check has no number of nodes',
    'Begin with the smaller number, such as [1-3].',
  ),
  'nodes.nothing-to-abandon': definition(
    409,
    "No request for nodes of '{cluster}' is under way or was kept after a failure",
    'Remove a node with DELETE /ns/{namespace}/clusters/{cluster}/nodes/{node}.',
  ),
  'cluster.name-empty': definition(400, 'Cluster name is empty', 'Give the cluster a name.'),
  'cluster.name-invalid': definition(
    400,
    '{name}: The first character of name must be a lowercase letter, and all following characters must be a dash, lowercase letter, or digit, except the last character, which cannot be a dash.',
    'Use at most {max} lower-case letters, digits and dashes.',
  ),
  'cluster.control-plane-missing': definition(
    400,
    'Control plane node must be at least one',
    'Give one set in controlPlane.',
  ),
  'cluster.control-plane-sets': definition(
    400,
    'Only one control plane node is supported',
    'Give one set in controlPlane, with a count.',
  ),
  'cluster.control-plane-count': definition(400, 'Control-Plane count must be at least one.', 'Use 1, 3, 5 or 7.'),
  'cluster.control-plane-even': definition(
    400,
    'Control-Plane count must be odd (etcd needs a majority), not {count}',
    'Use 1, 3, 5 or 7.',
  ),
  'cluster.control-plane-too-many': definition(
    400,
    'Control-Plane count must be at most 7, not {count}',
    'Use 1, 3, 5 or 7.',
  ),
  'cluster.worker-missing': definition(
    400,
    'Worker node must be at least one',
    'Give a set in worker; only a single node (controlPlane count 1, singleNode true) goes without.',
  ),
  'cluster.worker-count': definition(
    400,
    'Worker count must be at least one. (connection={connection})',
    'Give the set a count of 1 or more.',
  ),
  'cluster.too-many-sets': definition(
    400,
    'At most {max} worker sets are supported, not {count}',
    'Put machines of the same spec and connection into one set.',
  ),
  'cluster.single-node': definition(
    400,
    'A single-node cluster has one control plane and no workers',
    'Give controlPlane a count of 1 and leave worker out; or set singleNode to false and give workers.',
  ),
  'cluster.mon-agent': definition(400, 'installMonAgent allows only yes or no', 'Use yes or no.'),
  'cluster.too-many-nodes': definition(
    400,
    'A cluster may have at most {max} workers, not {count}',
    'Ask for fewer nodes.',
  ),
  'cluster.connection-empty': definition(400, 'Connection is empty', 'Name a connection for every node set.'),
  'cluster.spec-empty': definition(400, 'Machine specification is empty', 'Name a machine spec for every node set.'),
  'cluster.cni-multi': definition(
    400,
    'Network-cni allows only canal or kilo in Multi-Cloud type',
    'Use canal or kilo, or serviceType single.',
  ),
  'cluster.cni-single': definition(
    400,
    'Network-cni allows only calico, flannel or cilium in Single-Cloud type',
    'Use calico, flannel or cilium, or serviceType multi.',
  ),
  'cluster.service-type': definition(400, 'serviceType allows only multi or single', 'Use multi or single.'),
  'cluster.loadbalancer': definition(400, 'loadbalancer allows only haproxy or nlb', 'Use haproxy or nlb.'),
  'cluster.etcd': definition(400, 'etcd allows only local or external', 'Use local or external.'),
  'cluster.etcd-external-count': definition(
    400,
    'External etcd must have 3,5,7 controlPlane count',
    'Use 3, 5 or 7 control planes, or etcd local.',
  ),
  'cluster.pod-cidr': definition(
    400,
    'podCidr {value} : Type mismatch ex)10.244.0.0/16',
    'Give an IPv4 network like 10.244.0.0/16.',
  ),
  'cluster.service-cidr': definition(
    400,
    'serviceCidr {value} : Type mismatch ex)10.96.0.0/12',
    'Give an IPv4 network like 10.96.0.0/12.',
  ),
  'cluster.cidr-special': definition(
    400,
    '{network} is not usable: {range} is {purpose}',
    'Give a private IPv4 network, like 10.244.0.0/16 for pods or 10.96.0.0/12 for services.',
  ),
  'cluster.cidr-host-bits': definition(400, '{network} has host bits set', 'Write {masked}.'),
  'cluster.nfs-server': definition(
    400,
    'storageclass.nfs.server is neither a host name nor an IP address',
    'Give a name like nfs.example.com or an address like 10.0.0.5.',
  ),
  'cluster.nfs-path': definition(
    400,
    "storageclass.nfs.path is not an absolute path, or has '..' or control characters in it",
    'Give the exported path, like /export/data.',
  ),
  'cluster.cidr-overlap': definition(400, '{first} and {second} overlap', 'Choose networks that do not overlap.'),
  'cluster.pod-cidr-small': definition(
    400,
    'podCidr {value} has room for {room} nodes, not {count}: each takes a /{mask} of it',
    'Ask for fewer nodes; a new cluster may have a larger network.',
  ),
  'cluster.service-cidr-size': definition(
    400,
    'serviceCidr {value} must be between a /12 and a /28',
    'kubeadm accepts nothing larger or smaller.',
  ),
  'cluster.dns-domain': definition(400, 'serviceDnsDomain {value} is not a DNS name', 'Use a name like cluster.local.'),
  'cluster.version-unknown': definition(
    400,
    'Kubernetes {version} is not available; available versions: {known}',
    'Use one of them, or leave the version out.',
  ),
  'cluster.single-connection': definition(
    422,
    'All nodes must be the same connection config. (connection={connection})',
    'Use one connection, or serviceType multi.',
  ),
  'cluster.machines-exist': definition(
    422,
    'MCIS already exists. (namespace={namespace}, mcis={cluster})',
    'Machines of that name exist at the provider; remove them, or take another name.',
  ),
  'cluster.spec-unknown': definition(
    422,
    "Could not be found a spec '{spec}'. (connection={connection}, csp={provider})",
    'List them with GET /mcir/connections/{connection}/specs. One that is new there is known after POST /connections/{connection}/verify.',
  ),
  'cluster.spec-cpu': definition(
    422,
    'Kubernetes control plane node needs 2 cpu at least. (spec={spec}, cpu={cpu})',
    'Choose a larger spec.',
  ),
  'cluster.spec-memory': definition(
    422,
    'kubernetes node needs 2 GiB or more of RAM. (spec={spec}, memory={memory})',
    'Choose a larger spec.',
  ),
  'cluster.region-unknown': definition(422, 'Region does not exist ({region})', "Check the connection's region."),
  'cluster.nlb-unsupported': definition(422, '{provider} does not yet supported nlb loadbalancer.', 'Use haproxy.'),
  'cluster.network-overlap': definition(
    422,
    '{first} overlaps the network {second} of connection {connection}',
    'Choose another podCidr or serviceCidr.',
  ),
  'cluster.kubeconfig-not-ready': definition(
    409,
    "The cluster '{cluster}' has no kubeconfig yet.",
    'Wait for the phase Provisioned.',
  ),
  'cluster.kubeconfig-refused': definition(
    409,
    "The sealed kubeconfig of '{cluster}' is not safe to use: {reason}",
    'Renew the certificates of the control planes: the kubeconfig that is sealed then is checked first.',
  ),
  'cluster.kubeconfig-failed': definition(
    503,
    "The cluster '{cluster}' did not sign a client certificate: {cause}",
    'Ask again when its API answers; GET /ns/{namespace}/clusters/{cluster}/operations shows what is under way.',
  ),
  'cluster.kubeconfig-late': definition(
    503,
    "The cluster '{cluster}' has not signed a client certificate within {seconds} seconds",
    'Ask again in a few seconds.',
  ),
  'idempotency.key-reused': definition(
    422,
    'The idempotency key was used for another request',
    'Use a new key for a new request.',
  ),
  'idempotency.in-progress': definition(
    409,
    'The first request with this idempotency key is still being worked on',
    'Ask again in a few seconds.',
  ),
  'idempotency.key-invalid': definition(400, 'An idempotency key has 1 to 255 printable characters', 'Use a UUID.'),
  'node.unknown': definition(
    404,
    "Could not be found a node-entity '{node}'",
    'List them with GET /ns/{namespace}/clusters/{cluster}/nodes.',
  ),
  'node.initial-control-plane': definition(
    409,
    'Could not be delete a control-plane leader node.',
    'Remove another node; outside the base path /ladybug, it can be removed like any other control plane.',
  ),
  'node.control-plane-even': definition(
    409,
    'Removing {node} would leave {after} control planes, and etcd tolerates no more failures with {after} members than with {fewer}',
    'Set spec.controlPlane.replicas of the manifest to an odd number, or replace the node. A node that is not Ready can be removed.',
  ),
  'cluster.api-unbalanced': definition(
    409,
    "The API address of '{cluster}' is that of its only control plane, {address}, so no other control plane can serve it",
    'Create a cluster on a connection with API addresses (apiAddress) or an apiEndpoint.',
  ),
  'node.quorum': definition(
    409,
    'Removing {node} would leave etcd with {after} healthy of {target} members, and it needs {majority}: {healthy} of {members} are healthy now',
    'Repair the other control planes, or add control planes, first.',
  ),
  'node.leaving': definition(409, '{node} is being removed', 'Nothing is to be done: wait until it is gone.'),
  'node.removal-not-cancellable': definition(
    409,
    'The removal of {node} cannot be cancelled: {detail}',
    'GET /ns/{namespace}/clusters/{cluster}/nodes shows which nodes leave, and why.',
  ),
  'node.being-replaced': definition(
    409,
    '{node} is being replaced',
    'Wait until it is: see GET /ns/{namespace}/clusters/{cluster}/operations. POST /ns/{namespace}/clusters/{cluster}/nodes/abandon gives it up.',
  ),
  'node.held': definition(
    409,
    '{node} is held out of changes: {reason}',
    'Release it first: "fairlead node release {cluster} {node}", or "fairlead pool release" if its pool is held.',
  ),
  'node.not-joined': definition(
    409,
    '{node} is not part of the cluster: the request for it failed',
    'Try again with "fairlead cluster retry {cluster}", or give the request up with "fairlead node abandon {cluster}".',
  ),
  'node.selection-invalid': definition(
    400,
    'Nodes are selected by their names, or by pools and labels, or all of them: {detail}',
    'Name the nodes, or give pools, labels or all, and not both.',
  ),
  'node.none-selected': definition(
    409,
    'No node of {cluster} that could be {done} matches',
    'List the nodes with GET /ns/{namespace}/clusters/{cluster}/nodes.',
  ),
  'node.action-open': definition(
    409,
    'Unable to {action} {node}: it is being {done} (operation {operation})',
    'Wait for its end, or cancel it with POST /ns/{namespace}/clusters/{cluster}/operations/{operation}/cancel.',
  ),
  'node.exec-busy': definition(
    409,
    '{open} commands are under way on nodes of {cluster}',
    'Wait until one of them has ended.',
  ),
  'node.exec-too-long': definition(400, 'The command is longer than {max} bytes', 'Put it into a script on the host.'),
  'node.exec-unknown': definition(
    404,
    'Command {execution} of {namespace}/{cluster} does not exist, or its output was removed',
    'Output can be read for {seconds} seconds. Run the command again.',
  ),
  'node.follow-busy': definition(
    409,
    '{open} logs of nodes of {cluster} are followed',
    'End one of them, or read the log without following it.',
  ),
  'node.logs-failed': definition(503, 'The log of {node} could not be read: {cause}', 'Check the host, and ask again.'),
  'node.logs-late': definition(503, 'The log of {node} has not arrived within {seconds} seconds', 'Ask again.'),
  'node.not-cordoned': definition(
    409,
    '{node} is not cordoned by Fairlead',
    'If someone else cordoned it, "kubectl uncordon" undoes that.',
  ),
  'node.action-quorum': definition(
    409,
    'Unable to {action} {node}: without it {after} of {before} control planes would be well, and etcd would lose its majority',
    'Repair the other control planes first.',
  ),
  'operation.not-cancellable': definition(
    409,
    'Operation {operation} of {namespace}/{cluster} cannot be cancelled: {detail}',
    'Requests about nodes can be, while a node of theirs has not begun. An upgrade ends with "fairlead upgrade abort", an addition with "fairlead node abandon".',
  ),
  'node.control-plane-unsupported': definition(400, 'Control plane node is not supported', 'Add workers only.'),
  'bootstrap.step-not-needed': definition(
    409,
    '{step} is not what {cluster} needs now',
    'Nothing is to be done: it was done already, or the cluster has failed or is being deleted.',
  ),
  'upgrade.minor-downgrade': definition(
    422,
    'downgrading {software} of {node} from {from} to {to} is not possible as they are on different minors',
    'Ask for a version of the same minor or of the next one.',
  ),
  'upgrade.no-changes': definition(
    400,
    'Nothing is to change',
    'Give at least one of version, software, renewCertificates and reboot.',
  ),
  'upgrade.no-targets': definition(
    400,
    'Neither control planes nor workers take part',
    'Let controlPlane be true, or name a pool.',
  ),
  'upgrade.version-invalid': definition(400, '{version} is not a Kubernetes version', 'Give one like v1.34.4.'),
  'upgrade.software-invalid': definition(
    400,
    '{name} {version} cannot be requested as a package',
    'kubeadm, kubelet and kubectl come with version; name other packages with the version they must have.',
  ),
  'upgrade.force-unbounded': definition(
    400,
    'Forced eviction of pods needs a deadline',
    'Give forceUntil with onDrainTimeout force, or use stop or quarantine.',
  ),
  'upgrade.gate-url': definition(
    400,
    'The URL of gate {gate} is invalid: {why}',
    'Give an http or https URL without a user name or a password.',
  ),
  'upgrade.rule-unknown': definition(400, '{rule} is not a rule of upgrades', 'Rules are named like B4.'),
  'upgrade.rule-not-overridable': definition(
    422,
    'Rule {rule} cannot be overridden: {title}',
    'Resolve the finding and try again. Rules that can be overridden: {overridable}.',
  ),
  'upgrade.reason-missing': definition(400, 'A reason is required', 'Give a reason; it is recorded in the history.'),
  'upgrade.pool-unknown': definition(422, "The cluster '{cluster}' has no worker pool {pool}", 'Its pools: {pools}.'),
  'upgrade.unknown': definition(
    404,
    'Upgrade {upgrade} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/upgrades.',
  ),
  'upgrade.open': definition(
    409,
    'Unable to {action}. The upgrade {upgrade} is not finished ({state}).',
    '{wayOn}, or end it (fairlead upgrade abort {cluster}). See GET /ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}.',
  ),
  'upgrade.not-planned': definition(409, 'The upgrade {upgrade} has no plan yet', 'Ask again in a few seconds.'),
  'upgrade.not-approvable': definition(
    409,
    'The plan of {upgrade} is a dry run and cannot be approved',
    'Request the upgrade without dryRun and approve its plan.',
  ),
  'upgrade.hash-mismatch': definition(
    409,
    'The plan of {upgrade} has the hash {actual}, not {given}',
    'Read the plan again, and approve the one that you mean.',
  ),
  'upgrade.phase': definition(
    409,
    "Unable to {action}. The upgrade {upgrade} is '{phase}'.",
    'See GET /ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}.',
  ),
  'upgrade.nothing-failed': definition(
    409,
    'Nothing of the upgrade {upgrade} has failed',
    'Only what failed can be tried again.',
  ),
  'upgrade.node-not-planned': definition(
    422,
    '{node} is not part of the upgrade {upgrade}',
    'Name a node of its plan: see GET /ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}.',
  ),
  'upgrade.node-not-failed': definition(
    409,
    'The change of {node} has not failed',
    'Only a failed worker is set back; healthy nodes are not touched.',
  ),
  'upgrade.node-done': definition(409, '{node} is done already', 'Nothing is left to skip.'),
  'upgrade.rollback-worker-only': definition(
    422,
    '{node} is a control plane: it is never set back by itself (G2)',
    'Try again with retry, or restore a snapshot of etcd.',
  ),
  'pool.unknown': definition(
    404,
    "The cluster '{cluster}' has no pool {pool}",
    'See its pools with GET /ns/{namespace}/clusters/{cluster}/manifest.',
  ),
  'etcd.snapshot-unknown': definition(
    404,
    'Snapshot {snapshot} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/etcd/snapshots.',
  ),
  'etcd.schedule-invalid': definition(
    400,
    'A snapshot of etcd cannot be taken at {schedule}',
    'Give five fields of cron that name a time there is, such as 0 */6 * * *. Times are UTC.',
  ),
  'etcd.schedule-too-often': definition(
    400,
    'Snapshots of etcd at {schedule} would be less than {min} minutes apart',
    'Take them less often.',
  ),
  'etcd.keep-for-short': definition(400, 'Snapshots of etcd cannot be kept for {given}', 'Keep them for 1h or longer.'),
  'etcd.restore-unconfirmed': definition(
    422,
    "Everything that happened in '{cluster}' since {takenAt} would be lost",
    'Confirm with the name of the cluster in confirm.',
  ),
  'etcd.request-unknown': definition(
    404,
    'Etcd request {request} of {namespace}/{cluster} does not exist',
    'Only the latest are kept; the log has them all.',
  ),
  'spec-list.range': definition(
    400,
    'The {name}-max must be greater than or equal to the {name}-min. ({name}-min={min}, {name}-max={max})',
    'Swap the two numbers.',
  ),
  'spec-list.number': definition(400, '{name} is not a number: {value}', 'Give a number.'),
  'spec-list.unverified': definition(
    409,
    'It is not known yet what connection {connection} offers',
    'infra-svc asks its provider after the registration; see GET /connections/{connection}.',
  ),
  'token.unknown': definition(404, 'API token {id} does not exist', 'List them with GET /tokens.'),
  'token.last-administrator': definition(
    409,
    'The API token {id} is the last one with the role admin in all namespaces',
    'Create another such token first, then revoke this one with it.',
  ),
  'token.in-use': definition(
    409,
    'The API token {id} is the one that this request was sent with',
    'Revoke it with another token.',
  ),
  'token.namespace-unknown': definition(
    422,
    'A role is granted in a namespace that does not exist. (namespace={namespace})',
    'Create it with POST /ns, or check the spelling.',
  ),
  'token.expiry-invalid': definition(
    422,
    'An API token cannot end at {expiresAt}',
    'Give a time in the future, at most {days} days from now.',
  ),
  'token.outlives-caller': definition(
    422,
    'The token of this request ends at {expiresAt}, and a token that it makes must not end later',
    'Give expiresAt, no later than that; or make it with a token that does not end.',
  ),
  'operation.unknown': definition(
    404,
    'Operation {operation} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/operations.',
  ),
  'quarantine.unknown': definition(
    404,
    'Nothing of {namespace}/{cluster} is quarantined at {consumer} of {service}',
    'List what is quarantined with GET /quarantine.',
  ),
  'wait.seq-ahead': definition(
    422,
    'minSeq {seq} is not in the log yet',
    'Use a sequence that a command of this API returned.',
  ),
  'list.continue-invalid': definition(
    400,
    'The continue token does not belong to this list',
    'Give metadata.continue of the page before, unchanged, to the same list; or leave it out to begin again.',
  ),
  'wait.too-long': definition(
    503,
    'This replica has not caught up with minSeq {seq} in {seconds} seconds',
    'Ask again, or leave minSeq out.',
  ),
  'route.unknown': definition(404, 'There is no {method} {path}', 'The API is described at /docs and /openapi.json.'),
  'route.method': definition(
    405,
    '{path} does not support {method}',
    'Supported: {allow}. The API is described at /docs and /openapi.json.',
  ),
  'system.unavailable': definition(503, '{detail}', 'It is tried again by itself; ask again in a few seconds.'),
  'system.permission-missing': definition(
    503,
    '{operation} on {target} failed: {detail}',
    'The NATS credential of a service lacks this right. An administrator creates the credentials again ("fairlead provision keys", or a start of the embedded instance) and restarts the service.',
  ),
  'system.secret-unreadable': definition(
    503,
    '{operation} on {target} failed: {detail}',
    'An administrator checks that every service has the current master.key; a secret that was changed or lost is set again.',
  ),
  'system.too-many-streams': definition(
    503,
    'This replica serves {max} event streams already',
    'Connect again in a few seconds; another replica may answer.',
  ),
  'system.internal': definition(
    500,
    'Fairlead made a mistake while answering',
    'Look for the request {requestId} in the log of the gateway, and report it.',
  ),
  'conflict.concurrent': definition(
    409,
    'Someone else changed {what} at the same time, five times in a row',
    'Try again.',
  ),
  'token.too-many-requests': definition(
    429,
    'The token {of} sends more {what} than {perSecond} a second',
    'Wait {seconds} seconds. {burst} may come at once, then {perSecond} a second; a large body counts several times.',
  ),
  'namespace.too-many-requests': definition(
    429,
    'The tokens of the namespace {of} together send more {what} than {perSecond} a second',
    'Wait {seconds} seconds. {burst} may come at once, then {perSecond} a second; a large body counts several times.',
  ),
  'token.too-many-streams': definition(429, 'The token has {max} event streams open already', 'End one of them first.'),
  'token.too-many-waits': definition(
    429,
    '{max} requests of the token wait for their end already',
    'Send the command without Prefer: wait, and follow its events. Nothing was recorded.',
  ),
  'token.too-many-audits': definition(
    429,
    '{max} audits or earlier states are read with the token already',
    'Read one after the other.',
  ),
  'request.answer-too-large': definition(
    422,
    'The answer would be larger than {max}',
    'Ask for less: one namespace, one cluster, or a smaller page.',
  ),
  'installation.handed-over': definition(
    409,
    'This installation takes no commands: {detail}',
    'Send the request to the installation that has taken over. Reads are answered here.',
  ),
  'log.disk-reserve': definition(
    507,
    'Only {free} are left to the event log, less than its reserve of {reserve}: nothing new is begun',
    'Make room on the disk of NATS, or delete clusters: reads and deletions are still accepted.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

export type RefusalCode = keyof typeof REFUSALS;

/** A "no" as data. `field` is the path of what is wrong in the request, e.g. `config.kubernetes.podCidr`. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly code: RefusalCode;
  readonly message: string;
  readonly field?: string;
  /** What the caller can do about it. */
  readonly help?: string;
}

const fill = (sentence: string, values: Readonly<Record<string, string | number>>): string =>
  sentence.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

/** Builds a refusal from the catalogue's sentence. */
export const refuse = (
  code: RefusalCode,
  values: Readonly<Record<string, string | number>> = {},
  field?: string,
): Refusal => {
  const { sentence, help } = REFUSALS[code];
  const refusal = { kind: 'refusal', code, message: fill(sentence, values), help: fill(help, values) } as const;
  return field === undefined ? refusal : { ...refusal, field };
};

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal';
