import type {
  KubernetesRelease,
  DrainPolicy,
  Cause,
  ClusterSpec,
  ClusterUid,
  DeclaredOidc,
  EventData,
  HeldService,
  Machine,
  NodeMetadata,
  NodeName,
  Oidc,
  OnFailure,
  SecretRef,
  SoftwareVersions,
  UpgradeId,
} from '@fairlead/contracts';
import type { EtcdSaves, HookState, ClusterIdentity, Readiness, Replacement } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';

/** Requirements of upgrade-svc for a node. */
export interface Desired {
  readonly revision: number;
  readonly software: SoftwareVersions;
  readonly changesAllowed: boolean;
  readonly changesAllowedUntil?: EventData<'DesiredVersionsSet'>['changesAllowedUntil'];
}

/**
 * The record of a machine that becomes a node. Its agent reports independently, sometimes before the record of its
 * start, so these are independent facts and not stages.
 */
export interface Host extends Readiness {
  readonly machine: Machine;
  /** Machines that were created together; a join waits for all agents of the set. */
  readonly set: number;
  readonly desired: Desired | null;
  readonly hostKey: string | null;
  readonly agentStartedAt: string | null;
  /** Checksum of the installed agent. */
  readonly agentSha256: string | null;
  /** NATS users issued to its agents; absent: none recorded. */
  readonly credentials?: AgentCredentials;
  /** Its agent is still connected to the installation that was taken over; absent: it is not. */
  readonly agentElsewhere?: true;
  /** Absent: its agent sends heartbeats. */
  readonly silence?: Silence;
  /** The agent reported every package at the desired version. */
  readonly initialized: boolean;
  readonly bootstrapped: boolean;
  /** The control planes over which it balances the API, if it does; otherwise empty. */
  readonly balances: readonly NodeName[];
  /** The name of the API that it holds at the tunnel; absent: none. */
  readonly publishes?: string;
  /** Those of services; absent: none. */
  readonly publishedServices?: readonly HeldService[];
  readonly joinedAt: string | null;
  /** Expiry of the client certificate in its admin.conf, as last reported by its agent. */
  readonly adminEndsAt: string | null;
  /** The last problem reported by its agent. */
  readonly trouble: Cause | null;
  /** It was part of the cluster when that last became ready: later changes of it are not part of a bootstrap. */
  readonly settled: boolean;
  /** `cancelled`: it is kept, and is not uncordoned yet. */
  readonly removal: 'none' | 'desired' | 'drained' | 'stuck' | 'cancelled';
  /** Start of a slow drain; absent: none. */
  readonly drainingSince?: string;
  /** The recorded reason why its drain waits. */
  readonly drainBlockedBy?: string;
  /** Only for a leaving control plane; absent: its turn has not come yet. */
  readonly departure?: Departure;
  /** The operator's request that cordoned it; absent: none. */
  readonly cordonedFor?: string;
  /** Its kubelet registers it again, without what was set on it since it joined; absent: nothing of that is lost. */
  readonly registersAgain?: true;
  /** It could not join, and is kept until an operator retries or removes it. */
  readonly failed: boolean;
  /** SSH keys that it still accepts but must not; absent: none. */
  readonly formerKeys?: readonly FormerKey[];
  /**
   * The attempts to replace its SSH key are used up: it waits for a retry or for the next rotation; absent: they are
   * not.
   */
  readonly keyStuck?: boolean;
  /**
   * The revision of the authentication settings that its API server has loaded; absent: none, or it is not a control
   * plane.
   */
  readonly authentication?: number;
  /** Absent: it never had labels or taints of its pool. */
  readonly metadata?: HostMetadata;
}

/** An SSH key that was replaced. */
export interface FormerKey {
  readonly keyRef: SecretRef;
  readonly publicKey: string;
}

/** The SSH key of a connection that replaces the former one on its hosts. */
export interface DesiredKey {
  readonly keyRef: SecretRef;
  readonly publicKey: string;
  readonly former: FormerKey;
}

/** The authentication of users. */
export interface UserAuthentication {
  /** Number of declarations, from 1. */
  readonly revision: number;
  /** The effective or desired settings. Absent: only client certificates. */
  readonly oidc?: Oidc;
  /** As in the manifest; with a realm, issuer and client are those of the identity. Absent: nothing is declared. */
  readonly declared?: DeclaredOidc;
  /** Objects of the cluster at identity providers. Absent: none, now or earlier. */
  readonly identity?: ClusterIdentity;
  /** The revision by which groups have their roles; 0: none. */
  readonly authorized: number;
  /** ClusterRoles that this revision may have granted to groups. */
  readonly roles: readonly string[];
  /** ClusterRoles that groups had at any time, which a restore of etcd may bring back. Absent: none recorded. */
  readonly formerRoles?: readonly string[];
}

/** The labels and taints that a node has from its pool. */
export interface HostMetadata {
  /** As last set; null: never. */
  readonly set: NodeMetadata | null;
  /** Keys of labels, and taints as key:effect, that Fairlead may have set. Only these are removed. */
  readonly ours: { readonly labels: readonly string[]; readonly taints: readonly string[] };
}

/** The progress of a control plane's removal before its drain. */
export interface Departure {
  readonly attempt: number;
  /** Started: upgrade-svc checks etcd. Prepared: the removal is allowed. Blocked: it is not, or it is stuck. */
  readonly status: 'started' | 'prepared' | 'blocked';
  /** If blocked: when it may be retried; null: only after upgrade-svc unblocks it. */
  readonly againAt: string | null;
}

export interface AgentCredentials {
  /** Public keys, the newest last. Only these are renewed. */
  readonly users: readonly string[];
  /** The maximum lifetime of their claims. */
  readonly lifetimeSeconds: number;
}

/** The node sends no heartbeats. */
export interface Silence {
  /** When the agent's credential expires, after which the agent cannot reconnect by itself. */
  readonly credentialEndsAt: string;
}

export interface ControlPlane {
  /** The node on which kubeadm init ran, or its successor. */
  readonly node: NodeName;
  readonly endpoint: string;
  readonly kubeconfigRef: SecretRef;
  readonly caCertHash: string;
}

/** A member of an external etcd; it has the name of its control plane. */
export interface EtcdMember {
  readonly node: NodeName;
  readonly address: string;
}

/** The agent that every node must run. */
export interface DesiredAgent {
  readonly version: string;
  readonly sha256: string;
}

/** Why a cluster cannot become ready by itself. */
export interface Failure {
  readonly step: string;
  readonly node?: NodeName;
  readonly reason: string;
  readonly cause: Cause;
}

/** Removed from there once its restore has failed; after a successful restore the members remove it themselves. */
export interface PlacedSnapshot {
  readonly requestId: string;
  readonly sha256: string;
  readonly nodes: readonly NodeName[];
  readonly failed: boolean;
}

/** A snapshot that every control plane needs before etcd can be restored from it. */
export interface DesiredSnapshot {
  readonly requestId: string;
  readonly snapshot: string;
  readonly sha256: string;
  /** Control planes that do not have it yet. */
  readonly missing: readonly NodeName[];
}

/** A snapshot to restore into a temporary etcd, with etcdutl's results from when it was taken. */
export type DesiredVerification = Pick<
  EventData<'EtcdSnapshotVerificationRequested'>,
  'snapshot' | 'sha256' | 'bytes' | 'revision' | 'keys'
>;

/** A request for more nodes of a cluster that is already Ready; it ends by itself. */
export interface NodesRequest {
  readonly onFailure: OnFailure;
  /** Its nodes; empty: their machines are not planned yet. */
  readonly nodes: readonly NodeName[];
  /** Their machines run. */
  readonly announced: boolean;
  /** The node to replace; absent: its nodes are additional. */
  readonly replaces?: Pick<Replacement, 'node' | 'order'>;
}

export type ControlPlaneChange = EventData<'ControlPlaneChangeStarted'>['change'];

/** A change of a control plane in a ready cluster. */
export interface StartedChange {
  readonly change: ControlPlaneChange;
  readonly number: number;
  /** The etcd snapshot that it waits for; absent: a recent one exists. */
  readonly awaited?: string;
  /** When it is retried; absent: no snapshot has failed. */
  readonly againAt?: string;
}

export type ReservedEndpoint = Omit<EventData<'EndpointReserved'>, 'uid'>;

/** The record of a cluster in any status. */
export interface Cluster {
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** The keys of admitted hosts that connect by themselves, by host ID; absent: none. */
  readonly admitted?: Readonly<Record<string, string>>;
  /** Number of retries requested by operators; tasks of an earlier run are not desired. */
  readonly run: number;
  /** When the current run started, or was resumed after a pause; timeouts count from here. */
  readonly runStartedAt: string;
  /** The load balancer's address. */
  readonly endpoint: { readonly host: string; readonly port: number } | null;
  /** The control planes balance the address themselves. */
  readonly balancedByNodes: boolean;
  /** The targets of the provider's balancer; null: the provider does not balance. */
  readonly targets: readonly NodeName[] | null;
  readonly hosts: Readonly<Record<string, Host>>;
  /** The releases of its nodes that are not built in; absent: none. */
  readonly releases?: readonly KubernetesRelease[];
  readonly sets: number;
  /** The members of its external etcd once they are healthy; null: none, or etcd is kubeadm's. */
  readonly etcd: readonly EtcdMember[] | null;
  readonly controlPlane: ControlPlane | null;
  /** Expiry of the client certificate in the sealed kubeconfig; null: not reported by an agent yet. */
  readonly kubeconfigEndsAt: string | null;
  readonly network: boolean;
  /** Control planes that were verified as healthy. */
  readonly healthy: readonly NodeName[];
  readonly addons: Readonly<Record<string, string>>;
  /** null: the initial one of each node. */
  readonly agent: DesiredAgent | null;
  /** Nodes on which the desired agent did not start: they wait for an operator or for the next agent. */
  readonly agentRefused: readonly NodeName[];
  /** The last handover of the installation; absent: none. */
  readonly handover?: string;
  readonly restore: DesiredSnapshot | null;
  /** The snapshot of the restore that is in progress or has failed: these control planes may have it. */
  readonly abandoned: PlacedSnapshot | null;
  /** The restore after which Kubernetes may have outdated versions of declared objects; absent: they are current. */
  readonly reapply?: string;
  /** Snapshots to verify, in order; absent: none. */
  readonly verifications?: readonly DesiredVerification[];
  /** Surges whose machines must be removed, including those that are not created yet. */
  readonly surgesOver: readonly string[];
  /** It was Ready once: from then on nodes that cannot join do not make it Failed. */
  readonly provisioned: boolean;
  /** Open requests for more nodes. */
  readonly requests: Readonly<Record<string, NodesRequest>>;
  /** The name of the API that is reserved for its key; absent: it is not published. */
  readonly published?: ReservedEndpoint;
  /** Its services that are published; absent: none ever was. */
  readonly services?: readonly HeldService[];
  /** Its machines may be created. Absent: infra-svc has not accepted it yet. */
  readonly accepted?: true;
  /** Its objects at providers are all deleted. Absent: not yet. */
  readonly emptied?: true;
  /** Absent: no manifest declares any. */
  readonly hooks?: HookState;
  /** How nodes are drained before they leave; absent: no manifest declares it. */
  readonly drain?: DrainPolicy;
  /** Users of deleted hosts that no event has revoked yet; absent: none. */
  readonly unrevoked?: AgentCredentials;
  /** By connection; absent: no key was rotated. */
  readonly sshKeys?: Readonly<Record<string, DesiredKey>>;
  /**
   * API servers read the authentication settings from a file, and reload it when it changes; absent: they were started
   * without one.
   */
  readonly authenticationFile?: true;
  /** Absent: nothing was ever declared. */
  readonly authentication?: UserAuthentication;
  /** Labels and taints of pools that have any; absent: none. */
  readonly pools?: Readonly<Record<string, NodeMetadata>>;
  /** Keys of labels and taints that pools have or had at any time; absent: none. */
  readonly poolKeys?: Readonly<Record<string, HostMetadata['ours']>>;
  /** Snapshots of etcd; absent: none was taken, and the default age applies. */
  readonly saves?: EtcdSaves;
  /** The started change of a control plane, by node; absent: none. */
  readonly changes?: Readonly<Record<string, StartedChange>>;
  /** Number of changes started so far; absent: none. */
  readonly changesBegun?: number;
  /** Nodes that were abandoned before VmsCreated announced their machines. */
  readonly unwanted: readonly NodeName[];
}

/** The status of a cluster. */
export type Bootstrap =
  | { readonly status: 'absent' }
  /** `broken`: its infrastructure has failed, which is not recorded for the cluster yet. */
  | { readonly status: 'building'; readonly cluster: Cluster; readonly broken: Failure | null }
  | { readonly status: 'ready'; readonly cluster: Cluster }
  | { readonly status: 'failed'; readonly cluster: Cluster; readonly failure: Failure }
  | { readonly status: 'deleting'; readonly cluster: Cluster }
  | { readonly status: 'dismantled'; readonly cluster: Cluster };

export type Present = Exclude<Bootstrap, { readonly status: 'absent' }>;

export const ABSENT: Bootstrap = { status: 'absent' };

/** Caches a value derived from the hosts of a cluster: a plan needs it many times, and hosts are immutable. */
const onceOf = <T>(find: (hosts: Cluster['hosts']) => T): ((cluster: Pick<Cluster, 'hosts'>) => T) => {
  const found = new WeakMap<Cluster['hosts'], T>();
  return ({ hosts }) => {
    if (!found.has(hosts)) found.set(hosts, find(hosts));
    return found.get(hosts) as T;
  };
};

/** Hosts sorted by name, the order of all operations on them. */
export const hostsOf = onceOf((hosts): readonly Host[] =>
  Object.values(hosts).toSorted((one, other) => (one.machine.name < other.machine.name ? -1 : 1)),
);

/** Whether the node is joining, part of, or leaving that incarnation of the cluster. */
export const isMember = (bootstrap: Bootstrap, uid: string, node: string): boolean =>
  bootstrap.status !== 'absent' &&
  bootstrap.status !== 'dismantled' &&
  bootstrap.cluster.uid === uid &&
  Object.hasOwn(bootstrap.cluster.hosts, node);

/** The users of that host; undefined: no such host, or no user recorded. */
export const credentialsOf = (bootstrap: Bootstrap, node: string): AgentCredentials | undefined =>
  bootstrap.status !== 'absent' && Object.hasOwn(bootstrap.cluster.hosts, node)
    ? bootstrap.cluster.hosts[node]?.credentials
    : undefined;

/** Merges the users. */
export const allOf = (credentials: readonly (AgentCredentials | undefined)[]): AgentCredentials | undefined => {
  const recorded = credentials.filter((candidate) => candidate !== undefined);
  const users = [...new Set(recorded.flatMap((candidate) => candidate.users))];
  if (users.length === 0) return undefined;
  return { users, lifetimeSeconds: Math.max(...recorded.map(({ lifetimeSeconds }) => lifetimeSeconds)) };
};

/** It connects by itself, without SSH. */
export const isSelfConnected = ({ machine }: Pick<Host, 'machine'>): boolean => machine.reach === 'agent';

/** The key with which a host that connects by itself was admitted; undefined: it was not, or uses SSH. */
export const channelUserOf = ({ admitted = {} }: Pick<Cluster, 'admitted'>, host: Host): string | undefined => {
  const { providerId, name } = host.machine;
  return isSelfConnected(host)
    ? (admitted[providerId.slice(providerId.indexOf('://') + 3)] ?? admitted[name])
    : undefined;
};

/** NATS accepts the host: its user is recorded. */
export const mayConnect = (cluster: Cluster, host: Host): boolean => {
  const user = channelUserOf(cluster, host);
  return user !== undefined && host.credentials?.users.includes(user) === true;
};

export const isOnItsWay = ({ settled, removal, failed }: Host): boolean => !settled && removal === 'none' && !failed;

/**
 * Hosts that are still joining. Earlier sets come first: nodes of a later request must not displace those being
 * prepared or joined.
 */
export const newHostsOf = onceOf((hosts): readonly Host[] =>
  hostsOf({ hosts })
    .filter(isOnItsWay)
    .toSorted((one, other) => one.set - other.set),
);

/** Sets with a host that is not verified yet. */
export const unfitSetsOf = onceOf(
  (hosts): ReadonlySet<number> =>
    new Set(newHostsOf({ hosts }).flatMap(({ bootstrapped, set }) => (bootstrapped ? [] : [set]))),
);

/** The surge of a machine; null: it belongs to the requested size of its pool. */
export const surgeOf = ({ surge, pool }: Pick<Machine, 'surge' | 'pool'>): string | null =>
  surge === undefined ? null : surgeKey({ upgradeId: surge, pool });

export const surgeKey = ({ upgradeId, pool }: { readonly upgradeId: UpgradeId; readonly pool: string }): string =>
  `${upgradeId}/${pool}`;

/** A surge machine of an upgrade: the cluster neither fails nor waits because of it. */
export const isSurge = (cluster: Cluster, node: string | undefined): boolean =>
  node !== undefined && cluster.hosts[node]?.machine.surge !== undefined;

export const isControlPlane = (host: Host): boolean => host.machine.role === 'control-plane';

export const hasExternalEtcd = ({ spec }: Cluster): boolean => spec.kubernetes.etcd === 'external';

/** Its external etcd exists, and has no member for this control plane yet. */
export const lacksMember = ({ etcd }: Cluster, { machine }: Host): boolean =>
  etcd !== null && !etcd.some(({ node }) => node === machine.name);

const DAY_MS = 24 * 3_600_000;

/**
 * The control plane whose admin kubeconfig replaces the sealed one; undefined: none is valid for longer. A difference
 * of less than a day is ignored: otherwise control planes that are renewed one after the other, or joined later, would
 * each cause a replacement. Any agent may report such a file, so workers are excluded.
 */
export const renewedKubeconfig = (cluster: Cluster): Host | undefined => {
  const { kubeconfigEndsAt } = cluster;
  if (kubeconfigEndsAt === null) return undefined;
  const lastsLonger = later(kubeconfigEndsAt, DAY_MS);
  return hostsOf(cluster).find(
    (host) =>
      isControlPlane(host) &&
      host.joinedAt !== null &&
      host.removal === 'none' &&
      host.adminEndsAt !== null &&
      host.adminEndsAt > lastsLonger,
  );
};

const KEY_STEPS: ReadonlySet<string> = new Set(['AddAuthorizedKey', 'RemoveAuthorizedKey']);

/** Steps of an SSH key rotation: their failure fails neither the cluster nor a node. */
export const isKeyStep = (step: string): boolean => KEY_STEPS.has(step);

/** The SSH key that must replace the host's current one; undefined: the current one is right. */
export const desiredKeyOf = ({ sshKeys }: Cluster, { machine }: Host): DesiredKey | undefined => {
  const desired = sshKeys?.[machine.connection];
  return machine.reach === undefined && desired?.former.keyRef === machine.ssh.keyRef ? desired : undefined;
};

export const controlPlanesOf = onceOf((hosts): readonly Host[] => hostsOf({ hosts }).filter(isControlPlane));

/** The control plane on which the cluster starts or started; if neither exists, the first of the others. */
export const initialControlPlane = (cluster: Cluster): Host | undefined => {
  const all = controlPlanesOf(cluster);
  const { controlPlane } = cluster;
  const initial = all.find(({ machine }) =>
    controlPlane === null ? machine.leader : machine.name === controlPlane.node,
  );
  return initial ?? all[0];
};

/** The control planes over which the API is balanced: all except drained ones, whether they have joined or not. */
export const balancedOver = (cluster: Cluster): readonly NodeName[] =>
  controlPlanesOf(cluster)
    .filter(({ removal }) => removal !== 'drained')
    .map(({ machine }) => machine.name);

const servicesText = (services: readonly HeldService[] = []): string =>
  services.map(({ name, address, port }) => `${name} ${address} ${port}`).join();

/** Whether the host holds exactly these names. */
export const holdsNames = (
  { publishes, publishedServices }: Host,
  { name, services }: Pick<EventData<'TunnelStarted'>, 'name' | 'services'>,
): boolean => publishes === name && servicesText(publishedServices) === servicesText(services);

/** Whether the host holds the names of the cluster. */
export const publishesWell = ({ published, services }: Cluster, host: Host): boolean =>
  published === undefined ||
  holdsNames(host, { name: published.name, ...(services === undefined ? {} : { services: [...services] }) });

/** Whether the host balances the API over all desired control planes. */
export const balancesWell = (cluster: Cluster, { balances }: Host): boolean => {
  const desired = balancedOver(cluster);
  return balances.length === desired.length && desired.every((name) => balances.includes(name));
};

/** Whether API requests may still reach this control plane. Control planes with silent agents do not balance. */
export const isBehindBalancer = (cluster: Cluster, { machine: { name } }: Host): boolean => {
  if (cluster.targets !== null) return cluster.targets.includes(name);
  return controlPlanesOf(cluster).some(
    ({ machine, removal, ready, silence, balances }) =>
      machine.name !== name && removal === 'none' && ready && silence === undefined && balances.includes(name),
  );
};

const RUNTIME = 'containerd';

/**
 * Packages whose reported version differs from the desired one, as a sentence; undefined: none. A different container
 * runtime is accepted once the agent has this revision: only the host shows which versions its distribution has, and
 * Debian 12 has no containerd 1.7.
 */
export const differenceFrom = (
  desired: Pick<Desired, 'revision' | 'software'>,
  { revision, software: reported }: Pick<Desired, 'revision' | 'software'>,
): string | undefined => {
  const isJudged = (name: string): boolean =>
    name === RUNTIME && revision >= desired.revision && reported[name] !== undefined;
  const wrong = Object.entries(desired.software).filter(
    ([name, version]) => reported[name] !== version && !isJudged(name),
  );
  if (wrong.length === 0) return undefined;
  return wrong.map(([name, version]) => `${name} is ${reported[name] ?? 'missing'}, not ${version}`).join('; ');
};

/** The NFS export of its storage class; undefined: none is declared, or its server or its path is missing. */
export const storageOf = ({
  spec,
}: Pick<Cluster, 'spec'>): { readonly server: string; readonly path: string } | undefined => {
  const nfs = spec.kubernetes.storageclass?.nfs;
  return nfs === undefined || nfs.server === '' || nfs.path === '' ? undefined : nfs;
};

const REASONS_MAX = 5;

/** The reason why a drain waits, without numbers, which change while nothing else does. */
export const drainBlockedBy = (pods: readonly { readonly reason: string }[]): string =>
  [...new Set(pods.map(({ reason }) => reason.replaceAll(/\d+/g, '')))].toSorted().slice(0, REASONS_MAX).join('; ');
