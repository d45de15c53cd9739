import type {
  KubernetesRelease,
  DrainPolicy,
  Cause,
  ClusterSpec,
  ClusterUid,
  DeclaredOidc,
  EventData,
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

/** What upgrade-svc requires of a node. */
export interface Desired {
  readonly revision: number;
  readonly software: SoftwareVersions;
  readonly changesAllowed: boolean;
  readonly changesAllowedUntil?: EventData<'DesiredVersionsSet'>['changesAllowedUntil'];
}

/**
 * What is recorded of a machine that becomes a node. Its agent reports on its own, at times before our own record of
 * having started it, so these are facts side by side and not stages.
 */
export interface Host extends Readiness {
  readonly machine: Machine;
  /** Machines that were created together; joins wait for all agents of the set. */
  readonly set: number;
  readonly desired: Desired | null;
  readonly hostKey: string | null;
  readonly agentStartedAt: string | null;
  /** Checksum of the agent that runs there. */
  readonly agentSha256: string | null;
  /** The NATS users that its agents were given; absent: none was recorded. */
  readonly credentials?: AgentCredentials;
  /** Its agent is still connected to the installation that was taken over; absent: it is not. */
  readonly agentElsewhere?: true;
  /** Absent: its agent sends heartbeats. */
  readonly silence?: Silence;
  /** The agent reported every package at the desired version. */
  readonly initialized: boolean;
  readonly bootstrapped: boolean;
  /** The control planes over which it balances the API, where that is its work; empty: it does not. */
  readonly balances: readonly NodeName[];
  readonly joinedAt: string | null;
  /** When the client certificate in its admin.conf ends, as its agent reported last. */
  readonly adminEndsAt: string | null;
  /** The last problem that its agent reported. */
  readonly trouble: Cause | null;
  /** It was part of the cluster when that last became ready: what happens to it now is not part of a bootstrap. */
  readonly settled: boolean;
  /** `cancelled`: it stays, and is not uncordoned yet. */
  readonly removal: 'none' | 'desired' | 'drained' | 'stuck' | 'cancelled';
  /** When a drain began that takes long; absent: none does. */
  readonly drainingSince?: string;
  /** What its drain was said to wait for. */
  readonly drainBlockedBy?: string;
  /** Of a control plane that leaves; absent: its turn has not come yet. */
  readonly departure?: Departure;
  /** The request of an operator by which it is cordoned; absent: none. */
  readonly cordonedFor?: string;
  /** Its kubelet registers it again, without what was set on it since it joined; absent: nothing of that is lost. */
  readonly registersAgain?: true;
  /** It could not join, and is kept until an operator retries or removes it. */
  readonly failed: boolean;
  /** SSH keys that it accepts and must not; absent: none. */
  readonly formerKeys?: readonly FormerKey[];
  /** The attempts to replace its SSH key are used up: it waits for a retry or for the next rotation; absent: they are not. */
  readonly keyStuck?: boolean;
  /** Which declaration of how users sign in its API server has read; absent: none, or it is no control plane. */
  readonly authentication?: number;
  /** Absent: it never got labels or taints of its pool. */
  readonly metadata?: HostMetadata;
}

/** An SSH key that another one replaced. */
export interface FormerKey {
  readonly keyRef: SecretRef;
  readonly publicKey: string;
}

/** The SSH key of a connection that hosts with the former one must accept instead. */
export interface DesiredKey {
  readonly keyRef: SecretRef;
  readonly publicKey: string;
  readonly former: FormerKey;
}

/** How users sign in. */
export interface UserAuthentication {
  /** Counts the declarations, from 1. */
  readonly revision: number;
  /** What is in force, or to be. Absent: with certificates only. */
  readonly oidc?: Oidc;
  /** As the manifest has it; with a realm, issuer and client are those of the identity. Absent: nothing is declared. */
  readonly declared?: DeclaredOidc;
  /** What the cluster has at identity providers. Absent: nothing, and never had. */
  readonly identity?: ClusterIdentity;
  /** The declaration by which groups have their roles; 0: none. */
  readonly authorized: number;
  /** ClusterRoles that groups may have by it. */
  readonly roles: readonly string[];
  /** ClusterRoles that groups had at any time: a snapshot of etcd may bring them back. Absent: none was recorded. */
  readonly formerRoles?: readonly string[];
}

/** The labels and taints of a node that come from its pool. */
export interface HostMetadata {
  /** As they were set last; null: never. */
  readonly set: NodeMetadata | null;
  /** Keys of labels, and taints as key:effect, that we may have set. Only these are removed. */
  readonly ours: { readonly labels: readonly string[]; readonly taints: readonly string[] };
}

/** How far the removal of a control plane is before it is drained. */
export interface Departure {
  readonly attempt: number;
  /** Started: upgrade-svc looks at etcd. Prepared: it may go. Blocked: it may not, or its removal is stuck. */
  readonly status: 'started' | 'prepared' | 'blocked';
  /** Of one that is blocked: since when its turn may come again; null: not before upgrade-svc says so. */
  readonly againAt: string | null;
}

export interface AgentCredentials {
  /** Public keys, the newest last. Only these are renewed. */
  readonly users: readonly string[];
  /** No claims of theirs last longer. */
  readonly lifetimeSeconds: number;
}

/** No heartbeat of the node comes. */
export interface Silence {
  /** From then on the credential that its agent had then has ended, so that the agent cannot come back by itself. */
  readonly credentialEndsAt: string;
}

export interface ControlPlane {
  /** The node on which kubeadm init ran, or the one that took its part when it left. */
  readonly node: NodeName;
  readonly endpoint: string;
  readonly kubeconfigRef: SecretRef;
  readonly caCertHash: string;
}

/** A member of an etcd that is not kubeadm's; it has the name of the control plane that it runs beside. */
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

/** Removed from there once its restore has failed; members of a restore that succeeds remove it themselves. */
export interface PlacedSnapshot {
  readonly requestId: string;
  readonly sha256: string;
  readonly nodes: readonly NodeName[];
  readonly failed: boolean;
}

/** A snapshot that must be on every control plane, so that etcd can be restored from it. */
export interface DesiredSnapshot {
  readonly requestId: string;
  readonly snapshot: string;
  readonly sha256: string;
  /** Control planes that do not have it yet. */
  readonly missing: readonly NodeName[];
}

/** A snapshot that must be restored into a scratch etcd, and what etcdutl said of it when it was taken. */
export type DesiredVerification = Pick<
  EventData<'EtcdSnapshotVerificationRequested'>,
  'snapshot' | 'sha256' | 'bytes' | 'revision' | 'keys'
>;

/** A request for more nodes of a cluster that is Ready already; it ends by itself. */
export interface NodesRequest {
  readonly onFailure: OnFailure;
  /** Its nodes; empty: their machines are not planned yet. */
  readonly nodes: readonly NodeName[];
  /** Their machines run. */
  readonly announced: boolean;
  /** The node in whose place its node comes; absent: its nodes are additional. */
  readonly replaces?: Pick<Replacement, 'node' | 'order'>;
}

export type ControlPlaneChange = EventData<'ControlPlaneChangeStarted'>['change'];

/** A change of a control plane in a cluster that serves. */
export interface StartedChange {
  readonly change: ControlPlaneChange;
  readonly number: number;
  /** The snapshot of etcd that it waits for; absent: one is young enough. */
  readonly awaited?: string;
  /** When it begins again; absent: no snapshot has failed. */
  readonly againAt?: string;
}

/** What is recorded of a cluster, whatever its status. */
export interface Cluster {
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** The keys of hosts that were admitted and join by themselves, by their ids; absent: none was. */
  readonly admitted?: Readonly<Record<string, string>>;
  /** Counts the retries that operators requested; work of an earlier run is no longer desired. */
  readonly run: number;
  /** When the present run began, or was resumed after a pause: waits are not longer than their limit from then. */
  readonly runStartedAt: string;
  /** The load balancer's address. */
  readonly endpoint: { readonly host: string; readonly port: number } | null;
  /** The address is balanced by the control planes themselves. */
  readonly balancedByNodes: boolean;
  /** The control planes that the provider's balancer sends requests to; null: the balancer is not the provider's. */
  readonly targets: readonly NodeName[] | null;
  readonly hosts: Readonly<Record<string, Host>>;
  /** The releases of its nodes that are not built in; absent: none. */
  readonly releases?: readonly KubernetesRelease[];
  readonly sets: number;
  /** The members of its external etcd once they are healthy; null: there are none, or kubeadm runs its own. */
  readonly etcd: readonly EtcdMember[] | null;
  readonly controlPlane: ControlPlane | null;
  /** When the client certificate in the sealed kubeconfig ends; null: no agent has reported it yet. */
  readonly kubeconfigEndsAt: string | null;
  readonly network: boolean;
  /** Control planes that were found healthy. */
  readonly healthy: readonly NodeName[];
  readonly addons: Readonly<Record<string, string>>;
  /** null: the one that each node began with. */
  readonly agent: DesiredAgent | null;
  /** Nodes on which the desired agent did not start: they wait for an operator or for the next agent. */
  readonly agentRefused: readonly NodeName[];
  /** The last handover of the installation; absent: there was none. */
  readonly handover?: string;
  readonly restore: DesiredSnapshot | null;
  /** The snapshot of the restore that is under way or has failed: it may be on these control planes. */
  readonly abandoned: PlacedSnapshot | null;
  /** The restore since which Kubernetes may have former versions of what is declared; absent: it has what was applied last. */
  readonly reapply?: string;
  /** Snapshots to be verified, in turn; absent: there are none. */
  readonly verifications?: readonly DesiredVerification[];
  /** Surges whose machines must go, also those that are yet to come. */
  readonly surgesOver: readonly string[];
  /** It was Ready once: from then on nodes that cannot join do not make it Failed. */
  readonly provisioned: boolean;
  /** Requests for more nodes that are not done. */
  readonly requests: Readonly<Record<string, NodesRequest>>;
  /** Its machines may be created. Absent: infra-svc has not accepted it yet. */
  readonly accepted?: true;
  /** Everything that the providers had of it is gone. Absent: not yet. */
  readonly emptied?: true;
  /** Absent: no manifest declares any. */
  readonly hooks?: HookState;
  /** How nodes are emptied before they leave; absent: no manifest says it. */
  readonly drain?: DrainPolicy;
  /** Users of hosts that are gone, which no event revokes yet; absent: there are none. */
  readonly unrevoked?: AgentCredentials;
  /** By connection; absent: no key was rotated. */
  readonly sshKeys?: Readonly<Record<string, DesiredKey>>;
  /** API servers read how users sign in from a file, and read it again when it changes; absent: they were started without one. */
  readonly authenticationFile?: true;
  /** Absent: nothing was ever declared. */
  readonly authentication?: UserAuthentication;
  /** Labels and taints of pools that have any; absent: none has. */
  readonly pools?: Readonly<Record<string, NodeMetadata>>;
  /** Keys of labels and taints that pools have or had at any time; absent: none had. */
  readonly poolKeys?: Readonly<Record<string, HostMetadata['ours']>>;
  /** Snapshots of etcd; absent: none was taken, and no other age is declared than by default. */
  readonly saves?: EtcdSaves;
  /** By node, the change of a control plane that has begun; absent: none has. */
  readonly changes?: Readonly<Record<string, StartedChange>>;
  /** How many have begun so far; absent: none has. */
  readonly changesBegun?: number;
  /** Nodes that were given up before VmsCreated named their machines. */
  readonly unwanted: readonly NodeName[];
}

/** How far a cluster is. */
export type Bootstrap =
  | { readonly status: 'absent' }
  /** `broken`: its infrastructure has failed, which is not stated of the cluster yet. */
  | { readonly status: 'building'; readonly cluster: Cluster; readonly broken: Failure | null }
  | { readonly status: 'ready'; readonly cluster: Cluster }
  | { readonly status: 'failed'; readonly cluster: Cluster; readonly failure: Failure }
  | { readonly status: 'deleting'; readonly cluster: Cluster }
  | { readonly status: 'dismantled'; readonly cluster: Cluster };

export type Present = Exclude<Bootstrap, { readonly status: 'absent' }>;

export const ABSENT: Bootstrap = { status: 'absent' };

/** What follows from the hosts of a cluster, found once: a plan asks for it many times, and hosts are never changed in place. */
const onceOf = <T>(find: (hosts: Cluster['hosts']) => T): ((cluster: Pick<Cluster, 'hosts'>) => T) => {
  const found = new WeakMap<Cluster['hosts'], T>();
  return ({ hosts }) => {
    if (!found.has(hosts)) found.set(hosts, find(hosts));
    return found.get(hosts) as T;
  };
};

/** Hosts in the order of their names, which is the order of all work on them. */
export const hostsOf = onceOf((hosts): readonly Host[] =>
  Object.values(hosts).toSorted((one, other) => (one.machine.name < other.machine.name ? -1 : 1)),
);

/** Whether that incarnation of the cluster has the node, on its way in, in it, or on its way out. */
export const isMember = (bootstrap: Bootstrap, uid: string, node: string): boolean =>
  bootstrap.status !== 'absent' &&
  bootstrap.status !== 'dismantled' &&
  bootstrap.cluster.uid === uid &&
  Object.hasOwn(bootstrap.cluster.hosts, node);

/** The users of that host; undefined: there is no such host, or none of its users is recorded. */
export const credentialsOf = (bootstrap: Bootstrap, node: string): AgentCredentials | undefined =>
  bootstrap.status !== 'absent' && Object.hasOwn(bootstrap.cluster.hosts, node)
    ? bootstrap.cluster.hosts[node]?.credentials
    : undefined;

/** The users of both. */
export const allOf = (credentials: readonly (AgentCredentials | undefined)[]): AgentCredentials | undefined => {
  const recorded = credentials.filter((candidate) => candidate !== undefined);
  const users = [...new Set(recorded.flatMap((candidate) => candidate.users))];
  if (users.length === 0) return undefined;
  return { users, lifetimeSeconds: Math.max(...recorded.map(({ lifetimeSeconds }) => lifetimeSeconds)) };
};

/** It connects by itself: it is not reached by SSH. */
export const isSelfConnected = ({ machine }: Pick<Host, 'machine'>): boolean => machine.reach === 'agent';

/** The key with which a host that connects by itself was admitted; undefined: it was not, or is reached by SSH. */
export const channelUserOf = ({ admitted = {} }: Pick<Cluster, 'admitted'>, host: Host): string | undefined => {
  const { providerId, name } = host.machine;
  return isSelfConnected(host)
    ? (admitted[providerId.slice(providerId.indexOf('://') + 3)] ?? admitted[name])
    : undefined;
};

/** NATS lets the host in: its user is on record. */
export const mayConnect = (cluster: Cluster, host: Host): boolean => {
  const user = channelUserOf(cluster, host);
  return user !== undefined && host.credentials?.users.includes(user) === true;
};

export const isOnItsWay = ({ settled, removal, failed }: Host): boolean => !settled && removal === 'none' && !failed;

/**
 * Hosts that are still on their way into the cluster. Earlier sets come first: under a limit, nodes of a later request must not interrupt
 * those that are being prepared or joined.
 */
export const newHostsOf = onceOf((hosts): readonly Host[] =>
  hostsOf({ hosts })
    .filter(isOnItsWay)
    .toSorted((one, other) => one.set - other.set),
);

/** Sets with a host that is not found fit yet. */
export const unfitSetsOf = onceOf(
  (hosts): ReadonlySet<number> =>
    new Set(newHostsOf({ hosts }).flatMap(({ bootstrapped, set }) => (bootstrapped ? [] : [set]))),
);

/** The surge that a machine is extra for; null: it is of its pool's requested size. */
export const surgeOf = ({ surge, pool }: Pick<Machine, 'surge' | 'pool'>): string | null =>
  surge === undefined ? null : surgeKey({ upgradeId: surge, pool });

export const surgeKey = ({ upgradeId, pool }: { readonly upgradeId: UpgradeId; readonly pool: string }): string =>
  `${upgradeId}/${pool}`;

/** An extra machine of an upgrade: the cluster neither fails nor waits because of it. */
export const isExtra = (cluster: Cluster, node: string | undefined): boolean =>
  node !== undefined && cluster.hosts[node]?.machine.surge !== undefined;

export const isControlPlane = (host: Host): boolean => host.machine.role === 'control-plane';

export const hasExternalEtcd = ({ spec }: Cluster): boolean => spec.kubernetes.etcd === 'external';

/** Its external etcd is there, and has no member beside this control plane yet. */
export const lacksMember = ({ etcd }: Cluster, { machine }: Host): boolean =>
  etcd !== null && !etcd.some(({ node }) => node === machine.name);

const DAY_MS = 24 * 3_600_000;

/**
 * The control plane whose administrator's kubeconfig replaces the sealed one; undefined: none lasts longer. A difference of less than a
 * day does not count: control planes that are renewed one after the other, or joined later, would cause one replacement each. Any agent
 * may report such a file, so workers are left out.
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

/** Steps of a rotation of SSH keys: neither the cluster nor a node fails by them. */
export const isKeyStep = (step: string): boolean => KEY_STEPS.has(step);

/** The SSH key that the host must accept instead of the one that it is reached with; undefined: that one is right. */
export const desiredKeyOf = ({ sshKeys }: Cluster, { machine }: Host): DesiredKey | undefined => {
  const desired = sshKeys?.[machine.connection];
  return machine.reach === undefined && desired?.former.keyRef === machine.ssh.keyRef ? desired : undefined;
};

export const controlPlanesOf = onceOf((hosts): readonly Host[] => hostsOf({ hosts }).filter(isControlPlane));

/** The control plane on which the cluster begins, or began; once neither is there, the first of the others. */
export const initialControlPlane = (cluster: Cluster): Host | undefined => {
  const all = controlPlanesOf(cluster);
  const { controlPlane } = cluster;
  const initial = all.find(({ machine }) =>
    controlPlane === null ? machine.leader : machine.name === controlPlane.node,
  );
  return initial ?? all[0];
};

/** Control planes that the API is balanced over: all but those that are drained, whether they have joined or not. */
export const balancedOver = (cluster: Cluster): readonly NodeName[] =>
  controlPlanesOf(cluster)
    .filter(({ removal }) => removal !== 'drained')
    .map(({ machine }) => machine.name);

/** Whether the host balances the API over all desired control planes. */
export const balancesWell = (cluster: Cluster, { balances }: Host): boolean => {
  const desired = balancedOver(cluster);
  return balances.length === desired.length && desired.every((name) => balances.includes(name));
};

/** Whether requests to the API may still reach this control plane. Control planes whose agents are silent balance nothing. */
export const isBehindBalancer = (cluster: Cluster, { machine: { name } }: Host): boolean => {
  if (cluster.targets !== null) return cluster.targets.includes(name);
  return controlPlanesOf(cluster).some(
    ({ machine, removal, ready, silence, balances }) =>
      machine.name !== name && removal === 'none' && ready && silence === undefined && balances.includes(name),
  );
};

const RUNTIME = 'containerd';

/**
 * Packages whose reported version is not the desired one, as a sentence; undefined: there are none. Another container runtime is for
 * the agent to judge, once it has this revision: only on the host is it visible what the distribution has, and Debian 12 has no containerd 1.7.
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

/** The NFS export of its storage class; undefined: none is declared, or not both its server and its path. */
export const storageOf = ({
  spec,
}: Pick<Cluster, 'spec'>): { readonly server: string; readonly path: string } | undefined => {
  const nfs = spec.kubernetes.storageclass?.nfs;
  return nfs === undefined || nfs.server === '' || nfs.path === '' ? undefined : nfs;
};

const REASONS_MAX = 5;

/** What a drain waits for, without the numbers in it: they change while nothing else does. */
export const drainBlockedBy = (pods: readonly { readonly reason: string }[]): string =>
  [...new Set(pods.map(({ reason }) => reason.replaceAll(/\d+/g, '')))].toSorted().slice(0, REASONS_MAX).join('; ');
