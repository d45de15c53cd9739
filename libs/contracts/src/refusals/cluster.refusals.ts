import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Clusters and their manifests. */
export const CLUSTER_REFUSALS = {
  'cluster.unknown': definition(
    404,
    "The cluster '{cluster}' does not exist in the namespace '{namespace}'",
    'List them with GET /ns/{namespace}/clusters.',
  ),
  'cluster.generation-unknown': definition(
    404,
    "The manifest of the cluster '{cluster}' has no generation {generation}",
    'List them with GET /ns/{namespace}/clusters/{cluster}/manifest/generations.',
  ),
  'cluster.name-taken': definition(
    409,
    "The cluster '{cluster}' already exists in the namespace '{namespace}'",
    'Choose another name, or delete that cluster first.',
  ),
  'cluster.deleting': definition(409, "The cluster '{cluster}' is being deleted.", 'Wait until it is deleted.'),
  'cluster.not-ready': definition(
    409,
    'Unable to {action}: the cluster is {phase}',
    'Wait until the cluster is Provisioned. Retry a Failed cluster, or delete it and create it again.',
  ),
  'cluster.creation-failed': definition(
    409,
    "Unable to {action}: the creation of the cluster '{cluster}' has failed, and some of its machines may exist",
    'Remove the cause and run "fairlead cluster retry {cluster}" to continue as declared. For a different declaration, run "fairlead cluster delete {cluster} --wait" and apply the manifest again.',
  ),
  'cluster.busy': definition(
    409,
    'Unable to {action}: another request for nodes is not finished',
    'Wait for it (GET /ns/{namespace}/clusters/{cluster}/operations), or abandon it (POST /ns/{namespace}/clusters/{cluster}/nodes/abandon).',
  ),
  'cluster.nodes-busy': definition(
    409,
    'Unable to {action}: a request to {what} nodes is not finished (operation {operation})',
    'Wait for it to end, or cancel it: "fairlead node cancel {cluster} {operation}".',
  ),
  'cluster.paused': definition(
    409,
    "Unable to {action}: the cluster '{cluster}' has been paused since {since}{reason}",
    'Resume it first, with POST /ns/{namespace}/clusters/{cluster}/resume.',
  ),
  'cluster.lease-over': definition(
    422,
    'The deletion of the cluster would begin at {deletionAt}, which has passed: it is {now}.',
    'Set spec.lease.endsAt to a later time, or spec.lease.gracePeriod to a shorter duration.',
  ),
  'cluster.lease-empty': definition(
    422,
    'The cluster would start at {startsAt}, and its deletion would begin at {deletionAt}.',
    'Set spec.lease.startsAt to an earlier time, or spec.lease.endsAt to a later one.',
  ),
  'cluster.lease-warning-late': definition(
    422,
    'A warning {warning} before the end would come after the deletion has begun: the grace period is {gracePeriod}.',
    'Set spec.lease.warnings to durations that are longer than spec.lease.gracePeriod.',
  ),
  'cluster.lease-reserved': definition(
    409,
    'Machines are reserved for the cluster, and a reservation must have an end.',
    'Move spec.lease.endsAt instead of taking spec.lease out of the manifest.',
  ),
  'cluster.reservation-late': definition(
    409,
    'The cluster exists, and machines can be reserved only before they are created.',
    'Set spec.lease.reservation to IfSupported: the cluster then ends without a reservation. To reserve machines, create another cluster.',
  ),
  'cluster.reservation-unsupported': definition(
    422,
    "The provider '{provider}' of connection '{connection}' cannot reserve machines.",
    'Use a connection whose provider can (see docs/providers.md), or set spec.lease.reservation to IfSupported.',
  ),
  'cluster.pause-with-changes': definition(
    409,
    "The manifest pauses the cluster '{cluster}' and changes other fields: {fields}",
    'Apply the changes first, and pause the cluster when they are done; or pause it alone.',
  ),
  'cluster.not-failed': definition(
    409,
    'Nothing can be retried: the cluster is {phase}',
    'You can retry a failed cluster, nodes that were kept, and failed removals and deletions.',
  ),
  'cluster.cleaned-up': definition(
    409,
    "The creation of '{cluster}' has failed, and what was created has been deleted: nothing is left to retry",
    'Create the cluster again, or delete its record.',
  ),
  'cluster.resource-version': definition(
    409,
    "The cluster '{cluster}' has changed: its resourceVersion is {current}, not {given}",
    'Get the manifest again, and apply your change to that.',
  ),
  'cluster.uid-mismatch': definition(
    409,
    "The cluster '{cluster}' is a different one: its uid is {current}, not {given}",
    'Get the manifest again, or leave metadata.uid out.',
  ),
  'cluster.manifest-address': definition(
    400,
    '{field} is {given}, but the request is for {expected}',
    'Send the manifest to the address of its cluster.',
  ),
  'cluster.field-immutable': definition(
    422,
    '{field} cannot be changed: it is {before}, not {after}',
    'Create a cluster with the new value, and delete this one.',
  ),
  'cluster.publish-no-domain': definition(
    422,
    'spec.endpoint.publish is true, and this installation has no domain for names of clusters',
    'Ask its administrator to set PUBLISH_DOMAIN, or leave spec.endpoint out.',
  ),
  'cluster.publish-name': definition(
    422,
    "The API of the cluster '{cluster}' would be {name}, which is not a valid DNS name",
    'Choose a shorter name for the cluster.',
  ),
  'cluster.oidc-prefix': definition(
    422,
    '{field} must keep names of users and groups apart from those that have rights in Kubernetes, kubeadm and Fairlead: {prefix} does not',
    'Use a prefix such as oidc: that does not start with system:, kubeadm: or fairlead:, and is not the start of one of them.',
  ),
  'cluster.oidc-realm': definition(
    400,
    'spec.authentication.oidc has {field} and {other}, and only a realm has the latter',
    'Use a realm and omit issuerUrl, clientId and ca, which then come from it; or set issuerUrl and clientId without realm, accessRole and services.',
  ),
  'cluster.oidc-incomplete': definition(
    400,
    'spec.authentication.oidc lacks {field}',
    'Set issuerUrl and clientId, or omit both to use a realm of the namespace.',
  ),
  'cluster.oidc-issuer': definition(
    422,
    '{issuerUrl} is the issuer of the service accounts of the cluster itself',
    'Give the URL of your identity provider.',
  ),
  'cluster.oidc-role-repeated': definition(
    422,
    'roleBindings names the ClusterRole {clusterRole} more than once',
    'List all groups of a role in one entry.',
  ),
  'cluster.oidc-service-repeated': definition(
    422,
    'services names {name} more than once',
    'Give each service a name of its own.',
  ),
  'cluster.oidc-ca': definition(
    422,
    'ca contains a certificate that cannot be read: {reason}',
    'Provide the CA certificates in PEM.',
  ),
  'cluster.authentication-fixed': definition(
    409,
    "The API servers of the cluster '{cluster}' were started without an authentication file, so users cannot sign in with OpenID Connect",
    'Only clusters that this release or a later one creates have that file. Create a cluster with spec.authentication, and delete this one.',
  ),
  'cluster.kubeconfig-no-oidc': definition(
    409,
    "Users of the cluster '{cluster}' do not sign in with OpenID Connect",
    'Declare spec.authentication.oidc in its manifest, or request a kubeconfig with a client certificate.',
  ),
  'cluster.version-with-changes': definition(
    409,
    'The manifest changes the version from {before} to {after} together with fields that add, remove or change nodes: {fields}',
    'Apply the version alone and the rest after the upgrade, or the other way round.',
  ),
  'cluster.version-lower': definition(
    422,
    '{after} is a lower minor version than {before}, and Kubernetes does not support minor downgrades',
    'Declare {before}, or a later version. For a lower one, create another cluster.',
  ),
  'cluster.version-path': definition(
    422,
    'An upgrade from {before} to {after} needs {missing}, of which Fairlead knows no release',
    'Update Fairlead, or declare a nearer version.',
  ),
  'cluster.control-plane-surge': definition(
    422,
    'maxSurge of the control plane can be 0 with {min} control planes or more, not with {count}',
    'Set maxSurge to 1: the new control plane then joins before the old one leaves.',
  ),
  'cluster.replace-schedulable': definition(
    422,
    'The control plane takes workloads, and its successor would not: only a cluster that is created has such a control plane',
    'Set strategy to InPlace, or declare a control plane that is not schedulable and a pool.',
  ),
  'cluster.name-empty': definition(400, 'The name of the cluster is empty', 'Give the cluster a name.'),
  'cluster.name-invalid': definition(
    400,
    "'{name}' is not a valid name of a cluster",
    'Use at most {max} lowercase letters, digits and dashes, beginning with a letter and not ending with a dash.',
  ),
  'cluster.name-too-long': definition(
    400,
    "The name '{name}' has {length} characters; the maximum is {max}",
    'It is a label of DNS names, which have at most 63 characters.',
  ),
  'cluster.control-plane-missing': definition(
    400,
    'A cluster needs at least one control plane',
    'Give one set in controlPlane.',
  ),
  'cluster.control-plane-sets': definition(
    400,
    'A cluster has exactly one set of control planes',
    'Give one set in controlPlane, with a count.',
  ),
  'cluster.control-plane-count': definition(
    400,
    'The number of control planes must be at least 1',
    'Use 1, 3 or 5; with an external etcd, 3, 5 or 7.',
  ),
  'cluster.control-plane-even': definition(
    400,
    'The number of control planes must be odd (etcd needs a majority), not {count}',
    'Use 1, 3 or 5; with an external etcd, 3, 5 or 7.',
  ),
  'cluster.control-plane-too-many': definition(
    400,
    'The number of control planes must be at most {max}, not {count}',
    'Use 1, 3 or 5; with an external etcd, 3, 5 or 7.',
  ),
  'cluster.worker-missing': definition(
    400,
    'At least one set of workers is needed',
    'Give a set in worker; only a single-node cluster (controlPlane count 1, singleNode true) has none.',
  ),
  'cluster.worker-count': definition(
    400,
    'The number of workers must be at least 1 (connection {connection})',
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
  'cluster.mon-agent': definition(400, 'installMonAgent must be yes or no', 'Use yes or no.'),
  'cluster.mon-agent-unsupported': definition(
    400,
    'Fairlead installs no monitoring agent',
    'Leave installMonAgent out, or set it to no.',
  ),
  'cluster.cloud-controller-multi': definition(
    400,
    'A cloud controller knows one cloud, and serviceType is multi',
    'Set serviceType to single, or leave cloudController out.',
  ),
  'cluster.cloud-controller-provider': definition(
    422,
    'Connection {connection} is of provider {provider}, which has no cloud controller {cloud}',
    'Give the provider of the connection as cloudController, or leave it out.',
  ),
  'cluster.cloud-controller-closed': definition(
    422,
    'Clusters of connection {connection} may not hold its credential, which a cloud controller needs',
    'Ask an administrator to set cloudController in the settings of the connection, or leave cloudController out.',
  ),
  'cluster.role-missing': definition(
    422,
    'The cloud controller of AWS needs one role for control planes and one for workers, and a set lacks it or has another',
    'Give each set of nodes its role: workers all have the same one.',
  ),
  'cluster.too-many-nodes': definition(
    400,
    'A cluster may have at most {max} workers, not {count}',
    'Request fewer nodes.',
  ),
  'cluster.connection-empty': definition(
    400,
    'A node set names no connection',
    'Name a connection for every node set.',
  ),
  'cluster.spec-empty': definition(400, 'A node set names no machine type', 'Name a machine spec for every node set.'),
  'cluster.cni-multi': definition(
    400,
    'The pod network does not suit serviceType multi',
    'Use canal or kilo, or serviceType single.',
  ),
  'cluster.cni-single': definition(
    400,
    'The pod network does not suit serviceType single',
    'Use calico, flannel or cilium, or serviceType multi.',
  ),
  'cluster.service-type': definition(400, 'serviceType must be multi or single', 'Use multi or single.'),
  'cluster.loadbalancer': definition(400, 'loadbalancer must be haproxy or nlb', 'Use haproxy or nlb.'),
  'cluster.etcd': definition(400, 'etcd must be local or external', 'Use local or external.'),
  'cluster.etcd-external-count': definition(
    400,
    'An external etcd needs 3, 5 or 7 control planes',
    'Change their number, or use etcd local.',
  ),
  'cluster.pod-cidr': definition(
    400,
    'podCidr {value} is not an IPv4 network in CIDR notation',
    'Give an IPv4 network like 10.244.0.0/16.',
  ),
  'cluster.service-cidr': definition(
    400,
    'serviceCidr {value} is not an IPv4 network in CIDR notation',
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
    'Request fewer nodes, or create a cluster with a larger network.',
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
    'Use one of them, or leave the version out. An administrator can add others with PUT /releases/{version}.',
  ),
  'cluster.version-withdrawn': definition(
    400,
    'Kubernetes {version} was withdrawn: {reason}; available versions: {known}',
    'Use one of them.',
  ),
  'cluster.single-connection': definition(
    422,
    'All nodes must use one connection with serviceType single (found {connection})',
    'Use one connection, or serviceType multi.',
  ),
  'cluster.machines-exist': definition(
    422,
    "The provider already has machines of a cluster '{cluster}' in the namespace '{namespace}'",
    'Remove them at the provider, or choose another name.',
  ),
  'cluster.spec-unknown': definition(
    422,
    "The machine type '{spec}' is not offered by the connection {connection} ({provider})",
    'List them with GET /mcir/connections/{connection}/specs. New ones are listed after POST /connections/{connection}/verify.',
  ),
  'cluster.spec-cpu': definition(
    422,
    'A control plane needs at least 2 CPUs, and the machine type {spec} ({provider}) has {cpu}',
    'Choose a larger spec.',
  ),
  'cluster.spec-memory': definition(
    422,
    'A node needs at least 2 GiB of memory, and the machine type {spec} ({provider}) has {memory}',
    'Choose a larger spec.',
  ),
  'cluster.region-unknown': definition(422, 'The region {region} does not exist', "Check the connection's region."),
  'cluster.nlb-unsupported': definition(422, 'The provider {provider} has no network load balancer', 'Use haproxy.'),
  'cluster.network-overlap': definition(
    422,
    '{first} overlaps the network {second} of connection {connection}',
    'Choose another podCidr or serviceCidr.',
  ),
  'cluster.network-address': definition(
    422,
    '{first} contains {address}: {owner} has that address, and the nodes could no longer reach it',
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
    'Try again when its API answers; GET /ns/{namespace}/clusters/{cluster}/operations shows operations in progress.',
  ),
  'cluster.kubeconfig-late': definition(
    503,
    "The cluster '{cluster}' has not signed a client certificate within {seconds} seconds",
    'Try again in a few seconds.',
  ),
  'cluster.api-unbalanced': definition(
    409,
    "The API address of '{cluster}' is that of its only control plane, {address}, so no other control plane can serve it",
    'Create a cluster on a connection with API addresses (apiAddress) or an apiEndpoint.',
  ),
  'bootstrap.step-not-needed': definition(
    409,
    '{cluster} does not need {step} now',
    'Nothing to do: it was done already, or the cluster has failed or is being deleted.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
