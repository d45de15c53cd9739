import { attemptWords } from './attempts.js';
import {
  durationWords,
  type EventData,
  type EventType,
  type ManifestChange,
  type StoredEvent,
  sentenceOf,
  ACTION_PARTICIPLES,
  POSTPONED_WORDS,
  VOID_WORDS,
  conditionSentence,
  nodeConditionWords,
  countSentence,
  SKIP_WORDS,
  suspensionSentence,
  type RestoreStep,
  type UpgradeStep,
} from '@fairlead/contracts';

type Sentence<T extends EventType> = (data: EventData<T>) => string;

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
const returnedWords = (pods: readonly { readonly pod: string; readonly reason: string }[] = []): string => {
  const [first] = pods;
  if (first === undefined) return '';
  const others = pods.length === 1 ? '' : ` and ${count(pods.length - 1, 'other pod')}`;
  return `; on it again: ${first.pod}${others} (${first.reason})`;
};
const labelWords = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
const COMMAND_LENGTH_MAX = 200;
/** On one line, and at most about two terminal lines long. */
const commandWords = (command: readonly string[]): string => {
  const line = command.join(' ').replaceAll(/\s+/g, ' ').trim();
  return line.length <= COMMAND_LENGTH_MAX ? line : `${line.slice(0, COMMAND_LENGTH_MAX)}…`;
};
/** Maximum number of nodes named; the rest are counted. */
const NAMED_NODES_MAX = 5;
const was = (number: number): string => (number === 1 ? 'was' : 'were');
const total = (sets: readonly { readonly count: number }[]): number => sets.reduce((sum, set) => sum + set.count, 0);
const keptOr = (names: readonly string[], onFailure: 'rollback' | 'keep', verb: string): string =>
  names.length === 0
    ? ''
    : `; ${names.join(', ')} ${onFailure === 'keep' ? (names.length === 1 ? 'stays' : 'stay') : verb}`;
const namesOf = (nodes: readonly string[]): string =>
  nodes.length <= NAMED_NODES_MAX ? nodes.join(', ') : count(nodes.length, 'node');
const waitsFor = ({ reserves, startsAt }: NonNullable<EventData<'ClusterAccepted'>['waits']>): string =>
  [
    ...(reserves.length === 0 ? [] : [`machines are reserved on ${reserves.join(', ')} first`]),
    ...(startsAt === null ? [] : [`no machine is requested before ${startsAt}`]),
  ].join(', and ');

const because = (reason: string): string => (reason === '' ? '' : `: ${reason}`);
const listed = (software: Readonly<Record<string, string>>): string =>
  Object.entries(software)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');

const hookOf = (hook: string, point: string, node?: string): string =>
  `the hook ${hook} (${point}${node === undefined ? '' : ` of ${node}`})`;

const hookBlocked = ({ hook, point, node, message, attempt, nextAttemptAt }: EventData<'HookBlocked'>): string =>
  `${hookOf(hook, point, node)} asked for more time${because(message)} (${attemptWords({ attempt, attemptsMax: attempt, nextAttemptAt })})`;
const hookSucceeded = ({ hook, point, node, message }: EventData<'HookSucceeded'>): string =>
  `${hookOf(hook, point, node)} succeeded${because(message)}`;
const hookFailed = ({ hook, point, node, cause, attempt, nextAttemptAt }: EventData<'HookFailed'>): string =>
  `${hookOf(hook, point, node)} failed: ${cause.message} (${nextAttemptAt === null ? 'not called again' : attemptWords({ attempt, attemptsMax: attempt, nextAttemptAt })})`;

const strangerBecause = (reason: EventData<'NodeWithoutMachineFound'>['reason'], providerId: string): string => {
  switch (reason) {
    case undefined:
      return 'which has no recorded machine';
    case 'no-provider-id':
      return 'which has neither a provider ID nor a recorded machine';
    case 'unknown-provider-id':
      return `whose provider ID ${providerId} belongs to no recorded machine`;
    case 'duplicate-provider-id':
      return `whose provider ID ${providerId} belongs to a machine with another Node`;
  }
};
const FOLLOW_ENDS: Readonly<Record<EventData<'NodeLogsFollowEnded'>['reason'], string>> = {
  'reader-gone': 'because its reader disconnected',
  'time-limit': 'because its time limit expired',
  failed: 'because it could not be read',
};
const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 100) / 10} s`;
const earliest = (dates: readonly string[]): string => [...dates].sort()[0] ?? 'never';
const desired = ({
  kubernetes,
  software,
  renewCertificates,
  reboot,
}: EventData<'UpgradeRequested'>['target']): string =>
  [
    ...(kubernetes === undefined ? [] : [`Kubernetes ${kubernetes}`]),
    ...(software === undefined ? [] : [listed(software)]),
    ...(renewCertificates ? ['new certificates'] : []),
    ...(reboot ? ['a reboot of every node'] : []),
  ].join(', ');

const addressWords = (addresses: EventData<'VirtualAddressesProbed'>['addresses']): string =>
  addresses.length === 0
    ? 'no virtual addresses'
    : addresses
        .map(({ name, held, transports }) => {
          const ports = transports.map(({ name: transport, up, of }) => `${transport} ${up} of ${of} up`);
          return `${name} ${held ? 'held' : 'not held'} (${ports.join(', ')})`;
        })
        .join('; ');
/** What could not be applied, and whether it was reverted. */
export const sentenceOfFailures = (failures: EventData<'NodeNetworkFailed'>['failures']): string =>
  failures.map(({ part, message, reverted }) => `${part}: ${message}${reverted ? ' (reverted)' : ''}`).join('; ');

const quorumWords = ({ voters, healthy, target }: EventData<'ControlPlaneRemovalPrepared'>['quorum']): string =>
  `${count(voters, 'voter')}, ${healthy} healthy, ${target} after the removal`;

const fieldWords = ({ field, before, after }: ManifestChange): string => {
  if (before === null) return `${field} set to ${after}`;
  return after === null ? `${field} removed` : `${field} ${before} → ${after}`;
};

/** What has changed; of a first revision, and of one by an earlier release, its pools. */
const manifestWords = ({ spec, changes, changesLeftOut = 0 }: EventData<'ClusterSpecChanged'>): string =>
  changes === undefined
    ? spec.pools.map(({ name, replicas }) => `${name} ${replicas}`).join(', ') || 'no pools'
    : [...changes.map(fieldWords), ...(changesLeftOut === 0 ? [] : [`${count(changesLeftOut, 'more change')}`])].join(
        '; ',
      );

/** Descriptions of the steps of an etcd restore. */
export const RESTORE_WORDS: Readonly<Record<RestoreStep, string>> = {
  place: 'copies the snapshot to the control planes',
  stop: 'stops every API server and every member',
  restore: 'puts the data of the snapshot in place',
  start: 'starts every member again',
  verify: 'waits until etcd and the API are healthy',
  refresh: 'restarts the kubelets of workers',
  undo: 'restores the previous data',
};

const UPGRADE_STEP_WORDS: Readonly<Record<UpgradeStep, string>> = {
  BeginProbes: 'probes could not be started',
  EndProbes: 'probes could not be ended',
  UnmarkWorkers: 'the mark of workers could not be removed, and pods avoid them',
  ReleaseNode: 'the node could not be released',
};

const upgradeStepWords = (step: UpgradeStep, node: string | null): string =>
  `${UPGRADE_STEP_WORDS[step]}${node === null ? '' : ` (${node})`}`;

/** Each event as a sentence for people, in past or present tense, without a full stop. */
const SENTENCES: { readonly [T in EventType]: Sentence<T> } = {
  HookSecretSet: ({ name, secretName, oldValidUntil }) =>
    `the hook secret ${secretName} of namespace ${name} was set${oldValidUntil === undefined ? '' : `; the previous value is valid until ${oldValidUntil}`}`,
  ClusterTemplateCreated: ({ name, template, cluster }) =>
    `template ${template} of namespace ${name} declares clusters of ${cluster.version}`,
  ClusterTemplateChanged: ({ name, template, deprecated }) =>
    deprecated
      ? `template ${template} of namespace ${name} is deprecated`
      : `template ${template} of namespace ${name} is available`,
  ClusterTemplateDeleted: ({ name, template }) => `template ${template} of namespace ${name} was deleted`,
  AddonSecretSet: ({ name, secretName }) => `the add-on secret ${secretName} of namespace ${name} was set`,
  AddonSecretRead: ({ name, secretName }) => `the add-on secret ${secretName} of namespace ${name} was read`,
  AddonSecretDeleted: ({ name, secretName }) => `the add-on secret ${secretName} of namespace ${name} was deleted`,
  HookSecretRead: ({ name, secretName }) => `the hook secret ${secretName} of namespace ${name} was read`,
  HookSecretDeleted: ({ name, secretName }) => `the hook secret ${secretName} of namespace ${name} was deleted`,
  RealmRegistered: ({ name, realm, provider, issuerUrl, create }) =>
    `the realm ${realm} of namespace ${name} was registered${create === true ? ' to be created' : ''}: ${provider} at ${issuerUrl}`,
  RealmCredentialRead: ({ name, realm }) => `the credential of realm ${realm} of namespace ${name} was read`,
  RealmRemoved: ({ name, realm, abandoned = [] }) =>
    `the realm ${realm} of namespace ${name} was removed${abandoned.length === 0 ? '' : `, although ${abandoned.join(', ')} used it`}`,
  RealmReady: ({ name, realm }) => `the realm ${realm} of namespace ${name} is ready`,
  RealmNotReady: ({ name, realm, message }) => `the realm ${realm} of namespace ${name} is not ready: ${message}`,
  IdentityBlocked: ({ message }) => `the client for users to sign in with is not ready yet: ${message}`,
  IdentityRequested: ({ realm, clientId }) => `the client ${clientId} and its group are created at realm ${realm}`,
  IdentityReady: ({ realm, clientId, group, usersGroup, services = [] }) =>
    `users sign in at realm ${realm} with the client ${clientId}, and ${usersGroup === undefined ? `the group ${group} has` : `the groups ${group} and ${usersGroup} have`} access${services.length === 0 ? '' : `; so do users of the services ${services.map(({ name }) => name).join(', ')}`}`,
  EndpointBlocked: ({ message }) => `the name of the API cannot be reserved yet: ${message}`,
  EndpointReserved: ({ name }) => `the name ${name} is reserved for the API`,
  EndpointAvailable: ({ name }) => `the API is reached by ${name}`,
  EndpointUnavailable: ({ name }) => `the API is no longer reached by ${name}`,
  ServicesPublished: ({ services }) =>
    services.length === 0
      ? 'no service of the cluster is published'
      : `services of the cluster are published: ${services.map(({ fqdn }) => fqdn).join(', ')}`,
  PublishedServiceAvailable: ({ name }) => `the service is reached by ${name}`,
  PublishedServiceUnavailable: ({ name }) => `the service is no longer reached by ${name}`,
  EndpointReleased: ({ name }) => (name === undefined ? 'no name is reserved for the API' : `the name ${name} is free`),
  IdentityReleased: ({ realm, left }) =>
    left === true
      ? `the client and the group at realm ${realm} are kept: the realm is no longer registered`
      : `the client and the group at realm ${realm} are deleted`,
  NamespaceQuotaSet: ({ name }) => `the quota of namespace ${name} was set`,
  NamespaceCreated: ({ name }) => `namespace ${name} was created`,
  NamespaceDeleted: ({ name }) => `namespace ${name} was deleted`,
  ConnectionRegistered: ({ name, provider, region }) =>
    `connection ${name} to ${provider}${region === '' ? '' : ` (${region})`} was registered`,
  ApplicationRegistered: ({ name, chart, range, repository }) =>
    `the application ${name} was registered: ${chart} ${range} of ${repository}`,
  ApplicationSyncRequested: ({ name }) => `the synchronization of the application ${name} was requested`,
  ApplicationRemoved: ({ name }) => `the application ${name} was removed`,
  ReleaseSignersSet: ({ signers }) =>
    signers.length === 0 ? 'no signer of releases is trusted' : `releases are accepted from ${signers.join(', ')}`,
  ReleaseCatalogueAccepted: ({ signer, sequence, releases, withdrawn }) =>
    `catalogue ${sequence} of releases by ${signer} was accepted: ${releases.length} new or changed, ${withdrawn.length} withdrawn`,
  ReleaseAdded: ({ release }) => `the release ${release.version} was added`,
  ReleaseWithdrawn: ({ version, reason }) => `the release ${version} was withdrawn: ${reason}`,
  ApplicationVersionAdded: ({ application, version }) => `the application ${application} has version ${version}`,
  ApplicationVersionRemoved: ({ application, version }) =>
    `the application ${application} no longer has version ${version}`,
  ApplicationSynchronized: ({ application, versions }) =>
    `the application ${application} is synchronized: ${versions.join(', ')}`,
  ApplicationNotSynchronized: ({ application, message }) =>
    `the application ${application} is not synchronized: ${message}`,
  ConnectionVerificationRequested: ({ name }) => `the verification of connection ${name} was requested`,
  HostKeyAccepted: ({ name, host, hostKey }) =>
    `the SSH host key ${hostKey} of ${host ?? 'the jump host'} of connection ${name} was accepted`,
  ConnectionCredentialRead: ({ name }) => `the credential of connection ${name} was read`,
  HostAccepted: ({ name, host }) => `host ${host} of connection ${name} was accepted as it is`,
  HostKeyPinned: ({ connection, host, hostKey }) =>
    `the SSH host key ${hostKey} of ${host ?? 'the jump host'} of ${connection} is pinned`,
  HostsTaken: ({ connection, hosts, namespace, cluster }) =>
    `${namespace}/${cluster} has taken ${count(hosts.length, 'host')} of ${connection}: ${hosts.map(({ host, machine }) => `${host.name} is ${machine}`).join(', ')}`,
  HostReturned: ({ connection, host }) => `host ${host} of ${connection} is clean and free`,
  HostWithheld: ({ connection, host, cause }) =>
    `host ${host} of ${connection} is withheld from the inventory: ${sentenceOf(cause)}`,
  HostReadmitted: ({ connection, host, accepted }) =>
    `host ${host} of ${connection} is ${accepted === true ? 'free again as it is' : 'clean and free again'}`,
  HostsBooked: ({ connection, hosts, namespace, cluster, startsAt, endsAt }) =>
    `${count(hosts.length, 'host')} of ${connection} ${hosts.length === 1 ? 'is' : 'are'} booked for ${namespace}/${cluster} from ${startsAt} to ${endsAt}: ${hosts.join(', ')}`,
  HostBookingEnded: ({ connection, uid }) => `the booking of ${uid} on ${connection} was released`,
  ApiAddressTaken: ({ namespace, cluster, address }) => `${address} is the API address of ${namespace}/${cluster}`,
  ApiAddressReturned: ({ address }) => `the API address ${address} is free`,
  StockClosed: ({ connection, uid }) => `${uid} can no longer allocate hosts from ${connection}`,
  HostPowerRequested: ({ name, host, action }) => `power ${action} of host ${host} of ${name} was requested`,
  OrphanVmRemovalRequested: ({ name, id }) => `the deletion of the orphaned machine ${id} of ${name} was requested`,
  ConnectionRemoved: ({ name }) => `connection ${name} was removed`,
  ClusterRequested: ({ spec }) =>
    `a cluster of ${count(spec.controlPlane.count, 'control plane')} and ${count(total(spec.workers), 'worker')} with Kubernetes ${spec.kubernetes.version} was requested`,
  ClusterSpecChanged: (data) => `manifest revision ${data.revision} was applied: ${manifestWords(data)}`,
  ClusterTemplateChosen: ({ template }) => `the cluster uses the values of template ${template}`,
  ClusterRetryRequested: ({ correction, again }) => {
    if (correction !== undefined) return 'the request for the cluster was corrected, and is checked again';
    if (again === undefined) return 'a retry of what failed was requested';
    return again === 'due'
      ? 'what is declared is tried again: it is due'
      : 'what is declared is tried again: there may be room for it now';
  },
  ClusterPaused: ({ reason }) => `the cluster was paused${because(reason)}`,
  ClusterResumed: ({ reason }) => `the cluster was resumed${because(reason)}`,
  NodesAbandoned: ({ nodes, superseded }) =>
    `the request for nodes was ${superseded === true ? 'superseded by a newer one' : 'abandoned'}${nodes.length === 0 ? '' : `: ${nodes.join(', ')} will be removed`}`,
  ClusterDeletionRequested: ({ failure, lease }) => {
    if (lease !== undefined)
      return `the lease of the cluster ends at ${lease.endsAt}, and everything is deleted ${lease.gracePeriod} before`;
    return failure === undefined
      ? 'the deletion of the cluster was requested'
      : `the creation failed, and everything that was created is deleted (onFailure: cleanup): ${failure.message}`;
  },
  ClusterRecreationRequested: () =>
    'the cluster was requested again: it will be created once the failed one is deleted',
  ClusterRecreationCancelled: () => 'the cluster will not be created again: its deletion was requested',
  ClusterRecordDeleted: () => 'the record of the failed cluster was deleted; only its history is kept',
  ClusterExpiring: ({ warning, endsAt, deletionAt }) =>
    `the lease of the cluster ends in ${warning}, at ${endsAt}; the cluster is deleted at ${deletionAt} unless the lease is extended`,
  JoinTokenIssued: ({ pool, expiresAt }) =>
    `a token was issued by which one host may join pool ${pool} until ${expiresAt}`,
  HostTokenIssued: ({ labels, expiresAt }) =>
    `a token was issued by which one host with ${labelWords(labels)} may register until ${expiresAt}`,
  HostRegistered: ({ hostId, facts, labels }) =>
    `${hostId} (${facts.hostname}) with ${labelWords(labels)} was registered and waits for a pool`,
  HostUnregistered: ({ hostId }) => `the registration of ${hostId} was removed`,
  BootstrapDataGenerated: ({ pool, connection }) =>
    `the bootstrap data of pool ${pool} exist; its hosts join by themselves on the connection ${connection}`,
  HostAdmitted: ({ pool, hostId, facts }) =>
    `${hostId} (${facts.hostname}) presented its token and was admitted to pool ${pool}`,
  NodesRequested: ({ workers, controlPlane, adopts }) => {
    if (adopts !== undefined)
      return `the adoption of machine ${adopts} into pool ${workers[0]?.pool ?? ''} was requested`;
    const more = [
      ...(controlPlane === undefined ? [] : [count(controlPlane.count, 'more control plane')]),
      ...(workers.length === 0 ? [] : [count(total(workers), 'more worker')]),
    ];
    return `${more.join(' and ')} ${was(total(workers) + (controlPlane?.count ?? 0))} requested`;
  },
  NodeRemovalRequested: ({ node, reason = '' }) => `the removal of ${node} was requested${because(reason)}`,
  NodeRemovalCancellationRequested: ({ node, reason }) =>
    `the cancellation of the removal of ${node} was requested${because(reason)}`,
  NodeRemovalCancelled: ({ node }) => `${node} is kept: it is uncordoned, and was not drained`,
  NodeReplacementRequested: ({ node, order, reason }) =>
    `the replacement of ${node} was requested${order === 'remove-first' ? '; the old node is removed first' : ''}${reason === '' ? '' : `: ${reason}`}`,
  ClusterQuarantineReleased: ({ service, consumer, mode }) => `${consumer} of ${service} was released (${mode})`,
  ClusterQuarantined: ({ service, consumer, eventSeq, error }) =>
    `${consumer} of ${service} could not process event ${eventSeq}: ${error}`,
  EventLoopBlocked: ({ service, blockedMs, work, others }) =>
    `a process of ${service} was blocked for ${seconds(blockedMs)}; in progress: ${work.length === 0 ? 'unnamed work' : work.join(', ')}${others === 0 ? '' : ` and ${count(others, 'other')}`}`,
  HookSkipped: ({ hook, point, node, reason }) => `${hookOf(hook, point, node)} is skipped${because(reason)}`,
  HookBlocked: (data) => hookBlocked(data),
  HookSucceeded: (data) => hookSucceeded(data),
  HookFailed: (data) => hookFailed(data),
  UpgradeHookBlocked: (data) => hookBlocked(data),
  UpgradeHookSucceeded: (data) => hookSucceeded(data),
  UpgradeHookFailed: (data) => hookFailed(data),
  KubeconfigRead: () => 'the administrator kubeconfig was read',
  KubeconfigRequested: ({ user, ttlSeconds }) =>
    `a kubeconfig for ${user} was requested, valid for ${durationWords(ttlSeconds)}`,
  KubeconfigIssued: ({ user, expiresAt }) => `a client certificate for ${user} was signed; it expires ${expiresAt}`,
  KubeconfigNotIssued: ({ user, cause }) => `no client certificate for ${user} was signed: ${sentenceOf(cause)}`,
  KubeconfigRemoved: ({ user }) => `a sealed kubeconfig of ${user} was deleted`,
  AutoscalerCredentialIssued: ({ id, expiresAt }) =>
    `a client certificate for an autoscaler was signed (${id}); it expires ${expiresAt}`,
  AutoscalerCredentialRevoked: ({ id }) => `the autoscaler's client certificate ${id} was revoked`,
  ApiTokenCreated: ({ name }) => `an API token for ${name} was created`,
  ApiTokenRevoked: ({ id }) => `API token ${id} was revoked`,
  SshKeyRotationRequested: ({ name }) => `a new SSH key for connection ${name} was requested`,
  SshKeyRotationForced: ({ name }) => `the end of the SSH key rotation of connection ${name} was forced`,
  SshKeyRotationStarted: ({ connection, key }) =>
    `new machines of connection ${connection} get SSH key ${key.sshKey}; the key of existing hosts is being replaced`,
  SshKeyRotationProgressed: ({ connection, replaced, pending }) =>
    `${count(replaced, 'host')} of connection ${connection} accept${replaced === 1 ? 's' : ''} the new SSH key only; ${count(pending, 'host')} still need${pending === 1 ? 's' : ''} the former one`,
  SshKeyRotationFailed: (failed) =>
    `the SSH key rotation of connection ${failed.connection} failed: ${sentenceOf(failed.cause)} (${attemptWords(failed)})`,
  SshKeyRotated: ({ connection, leftOut }) =>
    `the former SSH key of connection ${connection} is destroyed${leftOut === 0 ? '' : `; ${count(leftOut, 'host')} ${was(leftOut)} left out`}`,
  SshKeyReplacementRequested: ({ connection }) =>
    `the replacement of the SSH key on hosts of connection ${connection} was requested`,
  ClusterAccepted: ({ waits }) =>
    waits === undefined ? 'the request passed every check' : `the request passed every check; ${waitsFor(waits)}`,
  ReservationConfirmed: ({ connection, startsAt, endsAt, machines }) => {
    const total = machines.reduce((sum, one) => sum + one.count, 0);
    const from = startsAt === null ? '' : `from ${startsAt} `;
    return `${count(total, 'machine')} of ${connection} ${was(total)} reserved ${from}until ${endsAt}`;
  },
  ReservationActivated: ({ connection, sizes }) => {
    const mapped = Object.entries(sizes).map(([from, to]) => `${from} as ${to}`);
    return `the reservation on ${connection} is active${mapped.length === 0 ? '' : `: machines are requested ${mapped.join(', ')}`}`;
  },
  ReservationDenied: ({ connection, endsAt, until, cause }) =>
    `${connection} does not reserve the machines until ${endsAt}${until === undefined ? '' : `; they stay reserved until ${until}`}: ${sentenceOf(cause)}`,
  ReservationReleased: ({ connection }) => `${connection} no longer reserves machines`,
  ClusterRejected: ({ message }) => `the cluster was rejected: ${message}`,
  NodesRejected: ({ message }) => `the workers were rejected: ${message}`,
  VmsPlanned: ({ machines }) => `${count(machines.length, 'machine')} ${was(machines.length)} planned`,
  VmCreated: ({ machine }) => `machine ${machine.name} is running at ${machine.publicIp}`,
  VmsCreated: ({ machines }) =>
    machines.length === 1 ? 'the machine is running' : `all ${machines.length} machines are running`,
  LoadBalancerReady: ({ host, port, kind }) => `the load balancer of the API is ${host}:${port} (${kind})`,
  InfrastructureStepFailed: (failed) => `${sentenceOf(failed.cause)} (${attemptWords(failed)})`,
  InfrastructureFailed: ({ cause }) => `provisioning failed: ${sentenceOf(cause)}`,
  VmsFailed: ({ cause, machines, onFailure }) =>
    `the request for nodes failed: ${sentenceOf(cause)}${keptOr(machines, onFailure, 'will be deleted')}`,
  VmDeletionFailed: ({ machines, cause, attempt, nextAttemptAt }) =>
    `${machines.length === 0 ? 'the load balancer' : machines.join(', ')} could not be deleted: ${sentenceOf(cause)} (${attemptWords({ attempt, attemptsMax: attempt, nextAttemptAt })})`,
  SurgeFailed: ({ pool, cause }) => `no surge nodes for ${pool}: ${sentenceOf(cause)}`,
  LoadBalancerUpdated: ({ targets }) =>
    `the load balancer sends requests to ${targets.join(', ') || 'no control plane'}`,
  LoadBalancerDeleted: () => 'the load balancer was deleted',
  VmDeleted: ({ name }) => `machine ${name} was deleted`,
  VmGone: ({ node, connection, repair, reason }) =>
    `machine ${node} no longer exists at ${connection}${repair === 'replace' ? '; it will be replaced' : `; it is not replaced automatically: ${reason}`}`,
  VmsMissing: ({ connection, missing, total, nodes }) =>
    `${connection} no longer lists ${missing} of ${total} machines (${nodes.join(', ')}); nothing is repaired automatically`,
  VmReturned: ({ node }) => `the provider lists machine ${node} again`,
  VmStopped: ({ node }) => `the provider reports that machine ${node} is stopped`,
  VmStarted: ({ node }) => `machine ${node} is running again`,
  VmAddressChanged: ({ node, publicIp, privateIp }) =>
    `machine ${node} has new addresses: ${[...new Set([publicIp, privateIp])].filter((address) => address !== '').join(', ')}`,
  NodeMissing: ({ node }) => `Kubernetes has no Node object for ${node}, which is part of the cluster`,
  NodeReturned: ({ node }) => `Kubernetes has the Node object for ${node} again`,
  NodeReadinessContradicted: ({ node, message }) =>
    `Kubernetes lists ${node} as not Ready, although its agent reports it as Ready: ${message.replace(/\.$/, '')}`,
  NodeReadinessConfirmed: ({ node }) => `Kubernetes lists ${node} as Ready again`,
  NodeConditionsChanged: ({ node, conditions }) =>
    conditions.length === 0
      ? `${node} has no conditions of its own any more`
      : `Kubernetes lists conditions of ${node}: ${conditions.map(nodeConditionWords).join(', ')}`,
  NodePressureChanged: ({ node, conditions }) =>
    conditions.length === 0
      ? `Kubernetes schedules pods on ${node} again`
      : `Kubernetes keeps pods away from ${node}: ${conditions.join(', ')}`,
  NodeWithoutMachineFound: ({ name, ready, reason, providerId = '' }) =>
    `Kubernetes has the ${ready ? 'Ready' : 'unready'} Node ${name}, ${strangerBecause(reason, providerId)}; it is ignored`,
  NodeWithoutMachineExpired: ({ name }) => `Node ${name} has no recorded machine and is not Ready; it is deleted`,
  NodeWithoutMachineGone: ({ name }) => `Node ${name} no longer exists, or its machine is now recorded`,
  AddonDegraded: ({ addon, message }) => `the addon ${addon} is degraded: ${message}`,
  PublishedServicesFound: ({ services, refused }) =>
    `${services.length} services ask to be published${refused.length === 0 ? '' : `, and ${refused.length} cannot be: ${refused.map(({ namespace, name, message }) => `${namespace}/${name}: ${message}`).join('; ')}`}`,
  EtcdDegraded: ({ problems }) => `etcd is degraded: ${problems.map(({ message }) => message).join('; ')}`,
  EtcdRecovered: () => 'etcd is healthy again',
  AddonRecovered: ({ addon }) => `the addon ${addon} runs again`,
  HostPowerAnswered: ({ connection, host, power }) => `the power of host ${host} of ${connection} is ${power}`,
  HostPowerFailed: ({ cause }) => sentenceOf(cause),
  VmPowerManaged: ({ node, managed }) =>
    managed
      ? `the power of machine ${node} can be switched`
      : `the inventory does not say any more how the power of machine ${node} is switched`,
  PowerCycleRequested: ({ node }) => `the power of ${node} will be switched off and on`,
  VmPowerCycled: ({ node }) => `the power of machine ${node} was switched off and on`,
  VmPowerCycleFailed: ({ cause }) => sentenceOf(cause),
  OrphanVmFound: ({ connection, id, name }) =>
    `${connection} lists machine ${name} (${id}), which belongs to no cluster`,
  OrphanVmGone: ({ connection, id }) => `${id} of ${connection} is no longer an orphaned machine`,
  OrphanVmAdopted: ({ connection, id, namespace, cluster, node }) =>
    `the orphaned machine ${id} of ${connection} was adopted as node ${node} of ${namespace}/${cluster}`,
  OrphanVmDeleted: ({ connection, id }) => `the orphaned machine ${id} of ${connection} was deleted`,
  OrphanVmKept: ({ connection, id, reason }) => `machine ${id} of ${connection} was not deleted: ${reason}`,
  InfrastructureDeleted: () => 'all machines are deleted; hooks or an identity realm delay the end of the deletion',
  ClusterDeleted: () => 'the cluster is deleted; only its history is kept',
  ConnectionVerified: ({ connection, offer }) =>
    `connection ${connection} answers and offers ${count(offer.specs.length, 'spec')}`,
  ConnectionBusy: ({ connection, tasks, places, since }) =>
    `${count(tasks, 'task')} ${tasks === 1 ? 'waits' : 'wait'} for one of the ${places} places of connection ${connection} since ${since}`,
  ConnectionFree: ({ connection }) => `no task is waiting for a task slot of connection ${connection}`,
  ConnectionUnverified: ({ connection, cause }) => `connection ${connection} cannot be used: ${sentenceOf(cause)}`,
  NetworkEnsured: ({ network, cidr }) => `network ${network} (${cidr}) exists`,
  FirewallEnsured: ({ firewall }) => `firewall ${firewall} exists`,
  SshKeyEnsured: ({ sshKey }) => `SSH key ${sshKey} exists`,
  ImageEnsured: ({ image, os }) => `image ${image} (${os}) is known`,
  SpecEnsured: ({ spec, cpuCount, memoryGiB }) => `spec ${spec} (${cpuCount} CPU, ${memoryGiB} GiB) is known`,
  HostReached: ({ node, attempts }) => `${node} answers over SSH (${count(attempts, 'attempt')})`,
  AuthorizedKeyAdded: ({ node }) => `${node} accepts the new SSH key`,
  AuthorizedKeyRemoved: ({ node }) => `${node} no longer accepts the former SSH key`,
  AgentStarted: ({ node, agentVersion }) => `agent ${agentVersion} is running on ${node}`,
  AgentCredentialIssued: ({ node }) => `the agent of ${node} has a new NATS credential`,
  AgentCredentialsRevoked: ({ users }) =>
    `${count(users.length, 'NATS credential')} of agents ${was(users.length)} revoked`,
  AgentUpdateRequested: ({ agentVersion }) => `an update of all agents to ${agentVersion} was requested`,
  AgentUpdated: ({ node, agentVersion }) => `the agent of ${node} was updated to ${agentVersion}`,
  ClusterTakenOver: ({ handover, epoch }) =>
    `another installation has taken the cluster over (handover ${handover}, epoch ${epoch})`,
  AgentTakenOver: ({ node }) => `the agent of ${node} is connected to the installation that has taken over`,
  NodeBootstrapped: ({ node }) => `${node} is prepared for kubeadm`,
  ApiBalanced: ({ node, controlPlanes }) =>
    `${node} balances the API over ${count(controlPlanes.length, 'control plane')}`,
  TunnelStarted: ({ node, name, services = [] }) =>
    `${node} connects to the tunnel as ${[name, ...services.map((service) => service.name)].join(', ')}`,
  EtcdSnapshotPlaced: ({ node, snapshot }) => `${snapshot} was copied to ${node}`,
  EtcdSnapshotRemoved: ({ node }) => `the snapshot of the failed restore was removed from ${node}`,
  EtcdSnapshotVerified: ({ snapshot, node, objects }) =>
    `${snapshot} was verified on ${node}: etcd was restored from it with ${count(objects, 'object')}`,
  EtcdSnapshotVerificationFailed: ({ snapshot, invalid, cause }) =>
    `${snapshot} ${invalid ? 'is not valid' : 'could not be verified'}: ${sentenceOf(cause)}`,
  EtcdReady: ({ version, members }) => `etcd ${version} has ${members.length} healthy members`,
  EtcdMemberAdded: ({ node, members }) => `etcd has a new member on ${node}, ${members} in total`,
  ControlPlaneInitialized: ({ node, endpoint }) => `kubeadm init has run on ${node}; the API is at ${endpoint}`,
  KubeconfigRefreshed: ({ node, expiresAt }) =>
    `the kubeconfig of the cluster was updated from ${node}; it expires ${expiresAt}`,
  NetworkReady: ({ cni, version }) => `the pod network is installed: ${cni} ${version}`,
  ControlPlaneJoined: ({ node }) => `control plane ${node} has joined`,
  ControlPlaneReady: ({ nodes }) =>
    nodes.length === 1 ? 'the control plane is healthy' : `all ${nodes.length} control planes are healthy`,
  JoinTokenRenewed: ({ node, endedAt }) => `the join token of ${node} expired at ${endedAt}; it has a new one`,
  AuthenticationConfigured: ({ node }) => `the API server on ${node} authenticates users as declared`,
  UsersAuthorized: ({ roleBindings }) => {
    const bound = roleBindings.filter(({ groups }) => groups.length > 0);
    if (bound.length === 0) return 'groups of the identity provider no longer have roles of Fairlead in the cluster';
    const words = bound.map(({ clusterRole, groups }) => `${clusterRole} (${groups.join(', ')})`);
    return `groups of the identity provider have their roles: ${words.join('; ')}`;
  },
  NodeLabelsSet: ({ node }) => `${node} has the labels and taints of its pool`,
  WorkerJoined: ({ node }) => `worker ${node} has joined`,
  AddonInstalled: ({ addon, version }) => `addon ${addon} ${version} is installed`,
  AddonRequested: ({ addon }) => `the add-on ${addon} is to be installed as declared`,
  AddonPreparing: ({ addon }) => `the chart and the values of add-on ${addon} are fetched`,
  AddonInstalling: ({ addon, version }) => `add-on ${addon} ${version} is being installed`,
  AddonUpgrading: ({ addon, version }) => `add-on ${addon} is being changed to ${version} as declared`,
  AddonDeployed: ({ addon, version, revision }) => `add-on ${addon} ${version} is deployed (revision ${revision})`,
  AddonFailed: (failed) => `add-on ${failed.addon} failed: ${sentenceOf(failed.cause)} (${attemptWords(failed)})`,
  AddonDrifted: ({ addon, problems, repair }) =>
    `add-on ${addon} was changed outside Fairlead${repair ? ' and is installed again' : ''}: ${problems.join('; ')}`,
  AddonUninstalling: ({ addon }) => `add-on ${addon} is being uninstalled`,
  AddonUninstalled: ({ addon }) => `add-on ${addon} is uninstalled`,
  DeclaredStateReapplied: ({ kubernetesVersion, missing = [] }) =>
    `kubeadm-config, kube-proxy, CoreDNS and the binding of operators match ${kubernetesVersion} again${missing.length === 0 ? '' : `; labels, taints and cordons of ${missing.join(', ')} follow once Kubernetes has the node again`}`,
  ClusterReady: () => 'the cluster is ready',
  BootstrapStepFailed: (failed) => `${sentenceOf(failed.cause)} (${attemptWords(failed)})`,
  ClusterFailed: ({ reason, cause }) => `the cluster has failed (${reason}): ${sentenceOf(cause)}`,
  NodesFailed: ({ cause, nodes, onFailure }) =>
    `the request for nodes failed: ${sentenceOf(cause)}${keptOr(nodes, onFailure, 'will be removed')}`,
  PoolRolloutRequested: ({ pool, nodes, reason = '' }) =>
    nodes === undefined
      ? `the replacement of outdated nodes of pool ${pool} was requested`
      : `the replacement of ${namesOf(nodes)} of pool ${pool} was requested${because(reason)}`,
  NodeReplacementPlanned: ({ node, pool, order, reason }) =>
    `${node} of pool ${pool} is replaced${order === 'remove-first' ? ', and removed first' : ''}: ${reason}`,
  PoolRolloutCompleted: ({ pool, heldBack }) =>
    `the rollout of pool ${pool} is complete${heldBack.length === 0 ? '' : `, except for nodes on hold: ${heldBack.map(({ node }) => node).join(', ')}`}`,
  PoolRolloutFailed: ({ pool, cause }) => `the rollout of pool ${pool} has stopped: ${sentenceOf(cause)}`,
  NodeReplacementReady: ({ node, newNode }) => `${newNode} is part of the cluster in place of ${node}`,
  ControlPlaneChangeStarted: ({ node, change }) =>
    change === 'join'
      ? `${node} is the next control plane to join`
      : `${node} is the next control plane whose API server gets other settings for users`,
  ControlPlaneRemovalStarted: ({ node, attempt }) =>
    `the removal of control plane ${node} begins${attempt === 1 ? '' : ` (attempt ${attempt})`}`,
  InitialControlPlaneChanged: ({ from, to }) => `${to} is the initial control plane in place of ${from}`,
  ControlPlaneRemovalPrepared: ({ node, quorum, snapshot }) =>
    `etcd keeps its quorum without ${node} (${quorumWords(quorum)}), and is saved as ${snapshot}`,
  ControlPlaneRemovalBlocked: ({ node, quorum, cause, attempt }) =>
    `${node} cannot leave yet: ${sentenceOf(cause)}${quorum === null ? '' : ` (${quorumWords(quorum)})`} (attempt ${attempt})`,
  ControlPlaneRemovalUnblocked: ({ node }) => `etcd no longer needs ${node}, so it can be removed`,
  NodeDrainBlocked: ({ node, left, pods }) =>
    `${node} cannot be drained yet: ${count(left, 'pod')} left, such as ${pods[0]?.pod ?? 'one'} (${pods[0]?.reason ?? 'it has not ended'})`,
  NodeDrained: ({ node, evictedPods, dead, leftPods = 0, attachedVolumes = 0, returned }) => {
    if (dead) return `${node} does not run: it leaves without a drain`;
    const left = [
      ...(leftPods === 0 ? [] : [`, ${count(leftPods, 'pod')} left`]),
      ...(attachedVolumes === 0 ? [] : [`, ${count(attachedVolumes, 'volume')} still attached`]),
    ];
    return `${node} is drained (${count(evictedPods, 'pod')} evicted${left.join('')})${returnedWords(returned)}`;
  },
  NodeRemoved: ({ node, undeleted }) =>
    undeleted === undefined
      ? `Kubernetes and etcd no longer list ${node}`
      : `${node} has left the cluster, but Kubernetes did not delete its Node: ${sentenceOf(undeleted)}`,
  ClusterDismantled: ({ left = [] }) =>
    left.length === 0
      ? 'all work on the cluster has stopped'
      : `all work on the cluster has stopped; not released in time, delete at the provider: ${left.join(', ')}`,
  DesiredVersionsSet: ({ node, revision, software, changesAllowed }) =>
    `desired versions of ${node} set: ${listed(software)} (revision ${revision}${changesAllowed ? '' : '; changes are not allowed yet'})`,
  NodeLost: ({ node }) => `${node} has stopped sending heartbeats`,
  NodeRecovered: ({ node, lostForMs }) => `${node} sends heartbeats again after ${Math.round(lostForMs / 1000)} s`,
  AgentMessagesRejected: ({ node, count: number, detail }) =>
    `${count(number, 'message')} from the agent of ${node} ${was(number)} rejected: ${detail}`,
  NodeInitialized: ({ node, software }) => `${node} has ${listed(software)}`,
  NodeInitializationFailed: ({ node, item, message, attempt }) =>
    `${item} failed on ${node} (attempt ${attempt}): ${message}`,
  NodeReady: ({ node }) => `${node} is Ready`,
  NodeNotReady: ({ node, message }) => `${node} is not Ready: ${message}`,
  NodeDiverged: ({ node, differences }) => {
    // A change that waits has only an id; the software that it is to change is among the differences.
    const named = differences
      .filter(({ item }) => item !== 'change')
      .map(({ item, what, observed, desired }) => `${item} ${what} is ${observed}, not ${desired}`);
    return `${node} differs from its desired state and may not be changed: ${named.join('; ') || 'a change of it has not begun'}`;
  },
  DriftRepairRequested: ({ node, items, drain }) =>
    `${items.join(', ')} of ${node} will be repaired ${drain === true ? 'after a drain' : 'without a drain'}`,
  DriftRepaired: ({ node, tookMs }) => `${node} is as desired again after ${seconds(tookMs)}`,
  DriftRepairSuspended: ({ node, items, reason, repairs, until }) =>
    reason === 'Recurring'
      ? `${items.join(', ')} of ${node} was repaired ${repairs} times within 10 minutes and differs again: it is not repaired before ${until}`
      : `${items.join(', ')} of ${node} could not be repaired: it is not tried again before ${until}`,
  VersionChanged: ({ node, after }) => `software of ${node} changed to ${listed(after)}`,
  NodeRebooted: ({ node }) => `${node} has rebooted`,
  NodeChangeProgressed: ({ node, phase, status, message, tookMs }) =>
    `${phase} on ${node} ${status}${tookMs === null ? '' : ` after ${seconds(tookMs)}`}${message === null ? '' : `: ${message}`}`,
  CertificatesReported: ({ node, certificates }) =>
    `the certificates of ${node} expire at ${earliest(certificates.map(({ expiresAt }) => expiresAt))}`,
  ApiAddressProbed: ({ node, held }) => `${node} ${held ? 'holds' : 'does not hold'} the address of the Kubernetes API`,
  NodeAddressesReported: ({ node, addresses }) => `${node} has the addresses ${addresses.join(', ')}`,
  VirtualAddressesProbed: ({ node, addresses }) => `${node} reports ${addressWords(addresses)}`,
  NetworkRetryRequested: () => 'a retry of the network configuration was requested',
  DesiredNetworkSet: ({ node, revision, attempt }) =>
    `the network configuration ${revision} was set for ${node}${attempt === 1 ? '' : ` (attempt ${attempt})`}`,
  NodeNetworkApplied: ({ node, revision }) => `${node} has the network configuration ${revision}`,
  NodeNetworkFailed: ({ node, failures }) =>
    `${node} could not apply its network configuration: ${sentenceOfFailures(failures)}`,
  ProbeFailed: ({ node, probe, message }) => `${probe} does not answer ${node}: ${message}`,
  ProbeRecovered: ({ node, probe, failedForMs }) => `${probe} answers ${node} again after ${seconds(failedForMs)}`,
  UpgradeRequested: ({ target, mode }) =>
    `${mode === 'dry-run' ? 'a plan' : 'a change'} was requested: ${desired(target)}`,
  UpgradeApproved: ({ planHash }) => `the plan ${planHash.slice(0, 12)} was approved`,
  UpgradePauseRequested: ({ reason }) => `a pause of the rollout was requested: ${reason}`,
  UpgradeResumeRequested: () => 'the resumption of the rollout was requested',
  UpgradeAbortRequested: ({ reason }) => `the abort of the rollout was requested: ${reason}`,
  UpgradeRetryRequested: () => 'a retry of what failed in the rollout was requested',
  UpgradeNodeSkipRequested: ({ node, reason }) => `skipping ${node} was requested: ${reason}`,
  UpdatesDisabledSet: ({ scope, disabled, reason }) =>
    `${scope.kind === 'node' ? scope.node : `pool ${scope.pool}`} ${disabled ? 'is excluded from changes' : 'is included in changes again'}: ${reason}`,
  UpgradeRuleOverridden: ({ rule, reason }) => `an operator overrode rule ${rule}: ${reason}`,
  NodeRollbackRequested: ({ node }) => `the rollback of ${node} was requested`,
  EtcdSnapshotRequested: () => 'a snapshot of etcd was requested',
  EtcdSnapshotVerificationRequested: ({ snapshot }) => `the verification of ${snapshot} was requested`,
  EtcdRestoreRequested: ({ snapshot }) => `the restore of etcd from ${snapshot} was requested`,
  UpgradeRejected: ({ findings }) =>
    `the change was refused: ${findings.map(({ rule, sentence }) => `${sentence} (${rule})`).join('; ')}`,
  UpgradeWaiting: ({ findings }) =>
    `the upgrade waits: ${findings.map(({ rule, sentence }) => `${sentence} (${rule})`).join('; ')}`,
  UpgradePlanned: ({ plan, planHash }) =>
    `${count(plan.operations.length, 'operation')} ${was(plan.operations.length)} planned (${planHash.slice(0, 12)})`,
  RolloutStarted: ({ planHash }) => `the rollout of plan ${planHash.slice(0, 12)} has started`,
  EtcdSnapshotTaken: ({ snapshot, node, keys }) => `etcd on ${node} was saved as ${snapshot} (${count(keys, 'key')})`,
  EtcdSnapshotFailed: ({ cause }) => `no snapshot of etcd was taken: ${sentenceOf(cause)}`,
  EtcdBackupFailed: ({ scheduledAt, cause }) =>
    `the snapshot of etcd scheduled for ${scheduledAt} was not taken: ${sentenceOf(cause)}`,
  EtcdSnapshotDeleted: ({ snapshot, reason }) =>
    `${snapshot} was deleted: ${reason === 'age' ? 'it is older than snapshots are kept' : 'there are enough newer ones'}`,
  EtcdRestoreStarted: ({ snapshot, members }) =>
    `the restore of etcd from ${snapshot} begins on ${members.map(({ node }) => node).join(', ')}`,
  EtcdRestoreAdvanced: ({ step, cause }) =>
    `the restore of etcd ${RESTORE_WORDS[step]}${cause === null ? '' : `: ${sentenceOf(cause)}`}`,
  EtcdRestoreFailed: ({ snapshot, cause }) => `etcd was not restored from ${snapshot}: ${sentenceOf(cause)}`,
  EtcdRestored: ({ snapshot }) => `etcd was restored from ${snapshot}`,
  UpgradeCommandRefused: ({ finding }) =>
    `a command for the upgrade was refused: ${finding.sentence} (${finding.rule})`,
  OperationStarted: ({ operation, node }) => `${operation} has started${node === null ? '' : ` on ${node}`}`,
  OperationCompleted: ({ operation, node, tookMs }) =>
    `${operation} is done${node === null ? '' : ` on ${node}`} after ${seconds(tookMs)}`,
  OperationFailed: (failed) => `${sentenceOf(failed.cause)} (${attemptWords(failed)})`,
  UpgradeStepFailed: ({ step, node, cause, attempt, nextAttemptAt }) =>
    `${upgradeStepWords(step, node)}: ${sentenceOf(cause)} (${attemptWords({ attempt, attemptsMax: attempt, nextAttemptAt })})`,
  UpgradeStepRecovered: ({ step, node }) => `it no longer holds that ${upgradeStepWords(step, node)}`,
  OperationPostponed: ({ operation, node, reason }) => `${operation} on ${node} is postponed: ${reason}`,
  NodesMarked: ({ nodes }) =>
    `${count(nodes.length, 'node')} that ${nodes.length === 1 ? 'is' : 'are'} not yet changed ${was(nodes.length)} marked, so that pods avoid ${nodes.length === 1 ? 'it' : 'them'}`,
  NodesUnmarked: ({ nodes }) => `pods no longer avoid ${nodes.join(', ')}`,
  SurgeRequested: ({ pool, count: number }) => `${count(number, 'surge node')} ${was(number)} requested for ${pool}`,
  SurgeReleased: ({ pool, nodes }) =>
    nodes.length === 0
      ? `${pool} no longer needs surge nodes`
      : `${pool} no longer needs surge nodes: ${nodes.join(', ')} will be deleted`,
  SurgeSkipped: ({ pool, reason }) => `${pool} continues without surge nodes: ${reason}`,
  PoolReplacementRequested: ({ pool, nodes, version }) =>
    `the replacement of ${namesOf(nodes)} of pool ${pool} by new nodes of ${version} was requested`,
  AddonsUpgraded: ({ addons }) => `addons were upgraded: ${listed(addons)}`,
  EtcdLeaderMoved: ({ node, to }) => `${to} leads etcd in place of ${node}`,
  UpgradeAllowed: ({ node }) => `${node} may be changed`,
  NodeCordoned: ({ node, byPlan }) => (byPlan ? `${node} was cordoned` : `${node} was already cordoned`),
  EvictionRefused: ({ node, budget, pods, message }) =>
    `${budget ?? 'Kubernetes'} keeps ${pods.join(', ')} on ${node}: ${message}`,
  NodeEmptied: ({ node, evictedPods, returned }) =>
    `${node} is drained (${count(evictedPods, 'pod')} evicted)${returnedWords(returned)}`,
  DrainTimedOut: ({ node, pods, policy }) => `${node} could not be drained in time (${pods.join(', ')}): ${policy}`,
  GatePassed: ({ gate, node }) => `gate ${gate} passed${node === null ? '' : ` on ${node}`}`,
  GateFailed: ({ gate, node, message }) => `gate ${gate} failed${node === null ? '' : ` on ${node}`}: ${message}`,
  NodeUncordoned: ({ node }) => `${node} was uncordoned`,
  UpgradeWithdrawn: ({ node, leftFailed }) =>
    `${node} may no longer be changed${leftFailed ? ' and stays as it is' : ''}`,
  NodeSkipped: ({ node, reason }) => `${node} is left as it is: ${reason}`,
  NodeQuarantined: ({ node, pods }) => `${node} stays cordoned with ${pods.join(', ')}; other nodes continue`,
  RolloutPaused: ({ by, reason }) => `the rollout is paused (${by}): ${reason}`,
  RolloutResumed: () => 'the rollout has resumed',
  RolloutHalted: ({ rule, cause, nodes }) =>
    `the rollout was stopped by rule ${rule}: ${sentenceOf(cause)}${nodes.length === 0 ? '' : ` (${nodes.join(', ')})`}`,
  RolloutAborted: ({ leftFailed, supersededBy, declaredAgain }) =>
    [
      supersededBy === undefined
        ? 'the rollout was aborted'
        : `another version was declared: upgrade ${supersededBy} takes its place`,
      ...(declaredAgain === undefined ? [] : [`${declaredAgain} is declared again`]),
      ...(leftFailed.length === 0 ? [] : [`left as failed: ${leftFailed.join(', ')}`]),
    ].join('; '),
  RolloutCompleted: ({ upgraded, tookMs }) =>
    `the rollout is complete: ${count(upgraded.length, 'node')} in ${seconds(tookMs)}`,
  RemediationRequested: ({ node, action, means, attempt, reason }) =>
    `${node} is ${conditionSentence(reason.condition, reason.since, reason.nodeCondition)} and will be ${means === 'power' ? 'power-cycled' : action === 'reboot' ? 'rebooted' : 'replaced'} (attempt ${attempt}; ${countSentence(reason)})`,
  RemediationSucceeded: ({ node, action, replacement, tookMs }) =>
    action === 'reboot'
      ? `${node} is healthy again after ${seconds(tookMs)}`
      : `${node} was replaced${replacement === undefined ? '' : ` by ${replacement}`} in ${seconds(tookMs)}`,
  RemediationFailed: ({ cause }) => sentenceOf(cause),
  RemediationSkipped: ({ node, condition, since, nodeCondition, reason }) =>
    `${node} is ${conditionSentence(condition, since, nodeCondition)} and stays as it is: ${SKIP_WORDS[reason]}`,
  RemediationSuspended: ({ uid: _uid, pool, ...suspension }) => suspensionSentence(pool, suspension),
  RemediationResumed: ({ pool }) => `remediation of pool ${pool} is no longer suspended`,
  NodeActionRequested: ({ action, nodes, reason }) =>
    `${namesOf(nodes)} will be ${ACTION_PARTICIPLES[action]}${because(reason)}`,
  NodeActionCancelled: ({ reason }) => `a request about nodes was cancelled${because(reason)}`,
  NodeActionStarted: ({ node, action }) => `${node} is being ${ACTION_PARTICIPLES[action]}`,
  NodeActionPostponed: ({ node, action, reason }) =>
    `${node} is not ${ACTION_PARTICIPLES[action]} yet: ${POSTPONED_WORDS[reason]}`,
  NodeActionHookBlocked: (data) => hookBlocked(data),
  NodeActionHookSucceeded: (data) => hookSucceeded(data),
  NodeActionHookFailed: (data) => hookFailed(data),
  NodeActionCordoned: ({ node, byRequest }) => (byRequest ? `${node} was cordoned` : `${node} was already cordoned`),
  NodeActionEvictionRefused: ({ node, budget, pods, message }) =>
    `${budget ?? 'Kubernetes'} keeps ${pods.join(', ')} on ${node}: ${message}`,
  NodeActionDrained: ({ node, evictedPods, returned }) =>
    `${node} is drained (${count(evictedPods, 'pod')} evicted)${returnedWords(returned)}`,
  NodeActionUncordoned: ({ node }) => `${node} was uncordoned`,
  NodeActionSucceeded: ({ node, action, tookMs }) => `${node} was ${ACTION_PARTICIPLES[action]} in ${seconds(tookMs)}`,
  NodeActionFailed: ({ cause }) => sentenceOf(cause),
  NodeActionVoided: ({ node, action, reason }) => `${node} is not ${ACTION_PARTICIPLES[action]}: ${VOID_WORDS[reason]}`,
  NodeExecRequested: ({ node, purpose, command }) =>
    purpose === 'logs'
      ? `the logs of ${node} are read: ${commandWords(command)}`
      : `a command is run on ${node}: ${commandWords(command)}`,
  NodeExecStarted: ({ node }) => `the command has started on ${node}`,
  NodeExecFinished: ({ node, exitCode, stdoutBytes, stderrBytes, tookMs }) =>
    `the command on ${node} ended with exit code ${exitCode} after ${seconds(tookMs)} (${count(stdoutBytes + stderrBytes, 'byte')} of output)`,
  NodeExecFailed: ({ cause }) => sentenceOf(cause),
  NodeLogsFollowRequested: ({ node, unit }) => `the log of ${unit} on ${node} is followed`,
  NodeLogsFollowEnded: ({ node, reason, cause, bytes, skippedLines, tookMs }) =>
    `the log on ${node} is no longer followed, ${FOLLOW_ENDS[reason]}${cause === undefined ? '' : ` (${sentenceOf(cause)})`}, after ${seconds(tookMs)} (${count(bytes, 'byte')}${skippedLines === 0 ? '' : `, ${count(skippedLines, 'line')} skipped`})`,
  NodeExecOutputRemoved: ({ node }) => `the output of a command on ${node} was deleted`,
  CertificatesExpiring: ({ node, earliest: date }) => `certificates of ${node} expire on ${date}`,
};

/** An event as a sentence for people, without a full stop. */
export const sentenceOfEvent = <T extends EventType>(event: StoredEvent<T>): string =>
  (SENTENCES[event.type as T] as Sentence<T>)(event.data as EventData<T>);
