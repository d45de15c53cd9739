import type { NodeName } from '@fairlead/contracts';
import { isHeld, nextCall, type HookCall, type Moment } from '@fairlead/domain';
import { areUsersAuthorized, authenticationRevision } from './authentication.evolve.js';
import { awaitsSnapshot, changesBegun } from './changes.planner.js';
import { isAnyLeaving, mayBeRemoved } from './departures.planner.js';
import { hasMetadata } from './metadata.evolve.js';
import {
  balancesWell,
  publishesWell,
  channelUserOf,
  controlPlanesOf,
  desiredKeyOf,
  hasExternalEtcd,
  hostsOf,
  isControlPlane,
  isSelfConnected,
  lacksMember,
  mayConnect,
  newHostsOf,
  renewedKubeconfig,
  storageOf,
  unfitSetsOf,
  type Bootstrap,
  type Cluster,
  type Host,
} from './bootstrap.state.js';

/**
 * Hosts of one cluster that are prepared at the same time; limited by the network of this service and by their software
 * source.
 */
export const HOSTS_AT_ONCE_MAX = 20;
/** Workers of one cluster that join at the same time: each requests certificates from the API server. */
const WORKERS_AT_ONCE_MAX = 10;
/** Nodes whose labels and taints are updated at the same time. */
const LABELS_AT_ONCE_MAX = 10;
/** Workers that are drained and removed at the same time. */
const REMOVALS_AT_ONCE_MAX = 3;
/** Agents of one cluster that are replaced at the same time: a faulty one is detected before it is on every node. */
const AGENTS_AT_ONCE_MAX = 3;

export type NodeStep =
  | 'AdmitHost'
  | 'BootstrapHost'
  | 'VerifyNode'
  | 'BalanceApi'
  | 'PublishApi'
  | 'InitControlPlane'
  | 'AddEtcdMember'
  | 'JoinControlPlane'
  | 'JoinWorker'
  | 'SetNodeLabels'
  | 'ConfigureAuthentication'
  | 'RemoveNode'
  | 'KeepNode'
  | 'UpdateAgent'
  | 'RenewCredential'
  | 'TakeOverAgent'
  | 'PlaceSnapshot'
  | 'RemoveSnapshot'
  | 'RefreshKubeconfig'
  | 'AddAuthorizedKey'
  | 'RemoveAuthorizedKey';
export type ClusterStep =
  | 'SetupExternalEtcd'
  | 'InstallNetwork'
  | 'VerifyControlPlane'
  | 'AuthorizeUsers'
  | 'InstallAddons'
  | 'InstallStorage'
  | 'ReapplyDeclared'
  | 'DismantleCluster';

/** The next operation, with its reason. */
export type PlannedTask =
  | { readonly step: NodeStep; readonly node: NodeName; readonly reason: string }
  | { readonly step: ClusterStep; readonly reason: string }
  | { readonly step: 'CallHook'; readonly call: HookCall; readonly reason: string }
  | { readonly step: 'VerifySnapshot'; readonly snapshot: string; readonly reason: string };

export type TaskKey = string;

interface NamedStep {
  readonly step: string;
  readonly node?: NodeName;
  readonly snapshot?: string;
  readonly call?: HookCall;
}

/** Identifies an operation within its cluster: a desired operation runs once. */
export const keyOf = ({ step, node, snapshot, call }: NamedStep): TaskKey => {
  if (call !== undefined) return `${step}/${call.point}/${call.node ?? ''}/${call.hook.name}/${call.attempt}`;
  return [step, node ?? snapshot].filter((part) => part !== undefined).join('/');
};

const onNode = (step: NodeStep, { machine }: Host, reason: string): PlannedTask => ({
  step,
  node: machine.name,
  reason,
});

/** Nodes join only after every agent of the set has reported and every host was verified. */
const setIsFit = (cluster: Cluster, set: number): boolean => !unfitSetsOf(cluster).has(set);

const prepareHosts = (cluster: Cluster): readonly PlannedTask[] => {
  const fresh = newHostsOf(cluster);
  const toAdmit = fresh
    .filter((host) => channelUserOf(cluster, host) !== undefined && !mayConnect(cluster, host))
    .map((host) => onNode('AdmitHost', host, 'it was admitted, and connects by itself'));
  const toReach = fresh
    .filter((host) => host.agentStartedAt === null && host.desired !== null)
    .filter((host) => !isSelfConnected(host) || mayConnect(cluster, host))
    .slice(0, HOSTS_AT_ONCE_MAX)
    .map((host) => onNode('BootstrapHost', host, 'its machine runs and its software is decided'));
  const toVerify = fresh
    .filter((host) => host.agentStartedAt !== null && host.initialized && !host.bootstrapped)
    .map((host) => onNode('VerifyNode', host, 'its agent reported every package at the desired version'));
  return [...toAdmit, ...toReach, ...toVerify];
};

/**
 * A control plane balances the API's address before it is initialised or joins, and again when others are added or
 * removed.
 */
const balance = (cluster: Cluster): readonly PlannedTask[] => {
  if (!cluster.balancedByNodes) return [];
  return hostsOf(cluster)
    .filter((host) => isControlPlane(host) && host.removal === 'none' && host.bootstrapped)
    .filter((host) => !balancesWell(cluster, host))
    .map((host) => onNode('BalanceApi', host, 'the API is balanced by the control planes themselves'));
};

/** Each control plane holds the name of the API: the newest that answers gets the requests. */
const publish = (cluster: Cluster): readonly PlannedTask[] => {
  const { published } = cluster;
  if (published === undefined || cluster.endpoint === null) return [];
  return hostsOf(cluster)
    .filter((host) => isControlPlane(host) && host.removal === 'none' && host.bootstrapped && !host.failed)
    .filter((host) => !publishesWell(cluster, host))
    .map((host) => onNode('PublishApi', host, `the API is reached by ${published.name}`));
};

const isInFrontOf = (cluster: Cluster, { balances }: Host): boolean => !cluster.balancedByNodes || balances.length > 0;

const initialise = (cluster: Cluster): readonly PlannedTask[] => {
  const initial = newHostsOf(cluster).find((host) => host.machine.leader);
  if (initial === undefined || cluster.endpoint === null || !setIsFit(cluster, initial.set)) return [];
  if (!isInFrontOf(cluster, initial)) return [];
  if (hasExternalEtcd(cluster) && cluster.etcd === null)
    return [{ step: 'SetupExternalEtcd', reason: 'etcd runs beside the control planes, and kubeadm needs it' }];
  return [onNode('InitControlPlane', initial, 'every host of the set is fit, and the API address is known')];
};

/** Control planes that have joined and were not verified as healthy since. */
const unverifiedOf = (cluster: Cluster): readonly Host[] =>
  controlPlanesOf(cluster).filter(
    ({ machine, joinedAt, removal, failed }) =>
      joinedAt !== null && removal === 'none' && !failed && !cluster.healthy.includes(machine.name),
  );

/**
 * One at a time, by name: etcd adds one member at a time. In a ready cluster, each one is verified as healthy before
 * the next one joins.
 */
const joinControlPlanes = (cluster: Cluster): readonly PlannedTask[] => {
  if (isAnyLeaving(cluster) || (cluster.provisioned && unverifiedOf(cluster).length > 0)) return [];
  const next = newHostsOf(cluster).find((host) => isControlPlane(host) && host.joinedAt === null);
  if (next === undefined || !setIsFit(cluster, next.set) || !isInFrontOf(cluster, next)) return [];
  if (lacksMember(cluster, next)) return [onNode('AddEtcdMember', next, 'its API server needs an etcd beside it')];
  return [onNode('JoinControlPlane', next, 'the network is ready and no other control plane is joining')];
};

const verifyControlPlanes = (cluster: Cluster): readonly PlannedTask[] => {
  if (cluster.provisioned)
    return unverifiedOf(cluster).length > 0
      ? [{ step: 'VerifyControlPlane', reason: 'a control plane has joined' }]
      : [];
  const controlPlanes = hostsOf(cluster).filter(
    (host) => isControlPlane(host) && host.removal === 'none' && !host.failed,
  );
  const joined = controlPlanes.every((host) => host.joinedAt !== null);
  const checked = controlPlanes.every((host) => cluster.healthy.includes(host.machine.name));
  return joined && !checked ? [{ step: 'VerifyControlPlane', reason: 'every control plane has joined' }] : [];
};

const joinWorkers = (cluster: Cluster): readonly PlannedTask[] =>
  newHostsOf(cluster)
    .filter((host) => !isControlPlane(host) && host.joinedAt === null && setIsFit(cluster, host.set))
    .slice(0, WORKERS_AT_ONCE_MAX)
    .map((host) => onNode('JoinWorker', host, 'the API answers and the network is ready'));

/**
 * Nodes get the labels and taints of their pool when they join; what a kubelet cannot give itself, and what has changed since, comes now. One
 * that Kubernetes does not have gets them when its kubelet has registered it again.
 */
const setLabels = (cluster: Cluster): readonly PlannedTask[] =>
  hostsOf(cluster)
    .filter(
      ({ joinedAt, removal, failed, missing = false }) =>
        joinedAt !== null && removal === 'none' && !failed && !missing,
    )
    .filter((host) => host.registersAgain === true || !hasMetadata(cluster, host))
    .slice(0, LABELS_AT_ONCE_MAX)
    .map((host) => onNode('SetNodeLabels', host, 'it does not have the labels and taints that it must have'));

/** API servers load new authentication settings one after the other: if one rejects them, the others keep theirs. */
const configureAuthentication = (cluster: Cluster): readonly PlannedTask[] =>
  cluster.provisioned && cluster.authenticationFile === true
    ? controlPlanesOf(cluster)
        .filter(({ joinedAt, removal, failed }) => joinedAt !== null && removal === 'none' && !failed)
        .filter(({ authentication }) => authentication !== authenticationRevision(cluster))
        .slice(0, 1)
        .map((host) => onNode('ConfigureAuthentication', host, 'how users sign in has changed'))
    : [];

/** Roles do not wait for API servers, so that a revoked role ends at once. */
const authorizeUsers = (cluster: Cluster): readonly PlannedTask[] =>
  cluster.network && cluster.authenticationFile === true && !areUsersAuthorized(cluster)
    ? [{ step: 'AuthorizeUsers', reason: 'groups of users have roles in the cluster' }]
    : [];

const isWhole = (cluster: Cluster, host: Host): boolean =>
  host.joinedAt !== null && host.ready && hasMetadata(cluster, host);

const lacksStorage = (cluster: Cluster): boolean =>
  storageOf(cluster) !== undefined && cluster.addons['nfs-storage'] === undefined;

/** Whoever wants nothing to be left of a creation that fails wants all of one that does not. */
const isAllOrNothing = ({ provisioned, spec }: Cluster): boolean => !provisioned && spec.onFailure === 'cleanup';

const finish = (cluster: Cluster): readonly PlannedTask[] => {
  if (!newHostsOf(cluster).every((host) => isWhole(cluster, host))) return [];
  return isAllOrNothing(cluster) && lacksStorage(cluster)
    ? [{ step: 'InstallStorage', reason: 'every node is Ready, and the creation is cleaned up if it fails' }]
    : [{ step: 'InstallAddons', reason: 'every node is Ready at the desired version' }];
};

/** A cluster is Ready without it: what cannot be installed does not fail a creation that is kept. */
const installStorage = (cluster: Cluster): readonly PlannedTask[] =>
  cluster.provisioned && lacksStorage(cluster)
    ? [{ step: 'InstallStorage', reason: 'the cluster is Ready, and has no storage class yet' }]
    : [];

/** Declared objects in Kubernetes other than roles, labels, taints and the storage class. */
const reapplyDeclared = ({ reapply }: Cluster): readonly PlannedTask[] =>
  reapply === undefined
    ? []
    : [{ step: 'ReapplyDeclared', reason: 'etcd was restored, and what was declared since may be missing' }];

const grow = (cluster: Cluster): readonly PlannedTask[] => {
  const preparing = [...prepareHosts(cluster), ...balance(cluster), ...publish(cluster)];
  if (newHostsOf(cluster).length === 0 && cluster.controlPlane === null) return [];
  if (cluster.controlPlane === null) return [...preparing, ...initialise(cluster)];
  if (!cluster.network) return [...preparing, { step: 'InstallNetwork', reason: 'the API answers' }];
  // Workers join through the initial control plane, independently of the others.
  const joining = [...joinControlPlanes(cluster), ...joinWorkers(cluster)];
  const verifying = verifyControlPlanes(cluster);
  const ofUsers = [...authorizeUsers(cluster), ...configureAuthentication(cluster)];
  const mayFinish =
    verifying.length === 0 && cluster.healthy.length > 0 && (cluster.provisioned || ofUsers.length === 0);
  return [
    ...preparing,
    ...joining,
    ...setLabels(cluster),
    ...verifying,
    ...ofUsers,
    ...(mayFinish ? finish(cluster) : []),
  ];
};

const goesBecause = ({ machine }: Host): string =>
  machine.surge === undefined ? 'someone asked for it to go' : 'it was extra, and is not needed any more';

/** The hook point before the next step of a leaving node. */
const momentOf = ({ machine: { name: node }, removal }: Host): Moment => ({
  point: removal === 'drained' ? 'BeforeNodeDelete' : 'BeforeNodeDrain',
  node,
});

/** Nodes whose drain waits, perhaps for days, or that hooks block, do not delay others. */
const inTurn = (cluster: Cluster, workers: readonly Host[]): readonly Host[] => {
  const isWaiting = (host: Host): boolean =>
    (host.removal === 'desired' && host.drainingSince !== undefined) || isHeld(cluster.hooks, momentOf(host));
  return [...workers.filter((host) => !isWaiting(host)).slice(0, REMOVALS_AT_ONCE_MAX), ...workers.filter(isWaiting)];
};

/** Control planes leave one at a time, because each removal changes the quorum for the next. */
const removals = (cluster: Cluster): readonly PlannedTask[] => {
  if (cluster.controlPlane === null) return [];
  // Drained nodes first: a further request must not interrupt one whose etcd member may already be removed.
  const leaving = [
    ...hostsOf(cluster).filter((host) => host.removal === 'drained'),
    ...hostsOf(cluster).filter((host) => host.removal === 'desired'),
  ];
  return [
    ...leaving.filter((host) => isControlPlane(host) && mayBeRemoved(cluster, host)).slice(0, 1),
    ...inTurn(
      cluster,
      leaving.filter((host) => !isControlPlane(host)),
    ),
  ].map((host) => onNode('RemoveNode', host, goesBecause(host)));
};

/** Nodes whose removal was cancelled before they were drained. */
const keeps = (cluster: Cluster): readonly PlannedTask[] =>
  hostsOf(cluster)
    .filter(({ removal }) => removal === 'cancelled')
    .map((host) => onNode('KeepNode', host, 'its removal was cancelled'));

/** All at once: etcd is stopped only after every control plane has the snapshot. */
const placeSnapshots = ({ restore, hosts }: Cluster): readonly PlannedTask[] =>
  (restore?.missing ?? []).flatMap((name) => {
    const host = hosts[name];
    return host === undefined ? [] : [onNode('PlaceSnapshot', host, 'etcd is to be restored from it')];
  });

/** A snapshot contains every secret of the cluster. */
const removeSnapshots = ({ abandoned, hosts }: Cluster): readonly PlannedTask[] =>
  (abandoned?.failed === true ? abandoned.nodes : []).flatMap((name) => {
    const host = hosts[name];
    return host === undefined || host.removal !== 'none'
      ? []
      : [onNode('RemoveSnapshot', host, 'its restore has failed')];
  });

/** One at a time, and none during a restore of etcd. */
const verifySnapshots = ({ provisioned, restore, verifications = [] }: Cluster): readonly PlannedTask[] =>
  provisioned && restore === null
    ? verifications
        .slice(0, 1)
        .map(({ snapshot }) => ({ step: 'VerifySnapshot', snapshot, reason: 'it is not verified' }))
    : [];

const refreshKubeconfig = (cluster: Cluster): readonly PlannedTask[] => {
  const renewed = renewedKubeconfig(cluster);
  return renewed === undefined
    ? []
    : [onNode('RefreshKubeconfig', renewed, "the administrator's certificate was renewed there")];
};

/** An agent that did not start on one node is not installed on others. */
const updateAgents = ({ agent, agentRefused, ...cluster }: Cluster): readonly PlannedTask[] => {
  if (agent === null || agentRefused.length > 0) return [];
  return Object.values(cluster.hosts)
    .filter(({ settled, removal, agentSha256 }) => settled && removal === 'none' && agentSha256 !== agent.sha256)
    .toSorted((one, other) => (one.machine.name < other.machine.name ? -1 : 1))
    .slice(0, AGENTS_AT_ONCE_MAX)
    .map((host) => onNode('UpdateAgent', host, `agent ${agent.version} is desired`));
};

/** Agents of an installation that was taken over: reached over SSH, then connected to this one. */
const takeOverAgents = (cluster: Cluster): readonly PlannedTask[] =>
  hostsOf(cluster)
    .filter(({ agentElsewhere, removal }) => agentElsewhere === true && removal !== 'drained')
    .slice(0, HOSTS_AT_ONCE_MAX)
    .map((host) => onNode('TakeOverAgent', host, 'its agent is connected to the installation that was taken over'));

/** Hosts with heartbeats first: unreachable ones must not delay them. */
const replaceKeys = (cluster: Cluster): readonly PlannedTask[] => {
  const keyed = hostsOf(cluster)
    .filter(({ hostKey, removal, keyStuck }) => hostKey !== null && removal !== 'drained' && keyStuck !== true)
    .filter((host) => desiredKeyOf(cluster, host) !== undefined || (host.formerKeys ?? []).length > 0);
  return [
    ...keyed.filter(({ silence }) => silence === undefined),
    ...keyed.filter(({ silence }) => silence !== undefined),
  ]
    .slice(0, HOSTS_AT_ONCE_MAX)
    .map((host) =>
      desiredKeyOf(cluster, host) === undefined
        ? onNode('RemoveAuthorizedKey', host, 'it accepts an SSH key that was replaced')
        : onNode('AddAuthorizedKey', host, 'the SSH key of its connection is being rotated'),
    );
};

/** Nodes with silent agents whose credential NATS no longer accepts; other silent agents may return by themselves. */
const agentsToRenew = (state: Bootstrap): readonly Host[] =>
  state.status === 'ready'
    ? hostsOf(state.cluster).filter(
        ({ settled, removal, silence }) => settled && removal === 'none' && silence !== undefined,
      )
    : [];

/** Operations due to time alone: agents that have been silent for this long get new credentials over SSH. */
export const renewals = (state: Bootstrap, now: string): readonly PlannedTask[] =>
  agentsToRenew(state)
    .filter(({ silence }) => silence !== undefined && silence.credentialEndsAt <= now)
    .slice(0, HOSTS_AT_ONCE_MAX)
    .map((host) => onNode('RenewCredential', host, 'its agent is silent, and its NATS credential has ended'));

/** The next renewal after `now`; null: none. */
export const renewalDueAfter = (state: Bootstrap, now: string): string | null =>
  agentsToRenew(state)
    .flatMap(({ silence }) => silence?.credentialEndsAt ?? [])
    .filter((dueAt) => dueAt > now)
    .toSorted()[0] ?? null;

/** The next operations: the whole order of a bootstrap in one place. */
const desired = (state: Bootstrap): readonly PlannedTask[] => {
  if (state.status === 'absent') return [];
  const { cluster } = state;
  switch (state.status) {
    case 'dismantled':
      return [];
    case 'deleting':
      return [{ step: 'DismantleCluster', reason: 'someone asked for its end' }];
    case 'failed':
      return [
        ...takeOverAgents(cluster),
        ...removals(cluster),
        ...keeps(cluster),
        ...placeSnapshots(cluster),
        ...removeSnapshots(cluster),
        ...replaceKeys(cluster),
      ];
    case 'ready':
      return [
        ...takeOverAgents(cluster),
        ...balance(cluster),
        ...publish(cluster),
        ...removals(cluster),
        ...keeps(cluster),
        ...setLabels(cluster),
        ...authorizeUsers(cluster),
        ...configureAuthentication(cluster),
        ...installStorage(cluster),
        ...reapplyDeclared(cluster),
        ...updateAgents(cluster),
        ...placeSnapshots(cluster),
        ...removeSnapshots(cluster),
        ...verifySnapshots(cluster),
        ...refreshKubeconfig(cluster),
        ...replaceKeys(cluster),
      ];
    case 'building':
      return [
        ...takeOverAgents(cluster),
        ...(state.broken === null ? [...grow(cluster), ...removals(cluster)] : []),
        ...keeps(cluster),
        ...installStorage(cluster),
        ...reapplyDeclared(cluster),
        ...verifySnapshots(cluster),
        ...replaceKeys(cluster),
      ];
  }
};

/** The hook point before a step; undefined: none. */
const momentBefore = (cluster: Cluster, operation: PlannedTask): Moment | undefined => {
  switch (operation.step) {
    case 'BootstrapHost':
      return cluster.controlPlane === null ? { point: 'BeforeCreate' } : undefined;
    case 'InitControlPlane':
      return { point: 'BeforeControlPlaneInitialized' };
    case 'RemoveNode': {
      const host = cluster.hosts[operation.node];
      return host === undefined ? undefined : momentOf(host);
    }
    case 'DismantleCluster':
      return { point: 'BeforeClusterDelete' };
    default:
      return undefined;
  }
};

/** infra-svc plans the machines after these hooks. */
const beforeMachines = (state: Bootstrap): readonly Moment[] =>
  state.status === 'building' && state.broken === null && state.cluster.accepted === true && state.cluster.sets === 0
    ? [{ point: 'BeforeCreate' }]
    : [];

/** infra-svc completes the deletion after these hooks. */
const afterDeletion = ({ emptied }: Cluster): readonly Moment[] =>
  emptied === true ? [{ point: 'AfterClusterDelete' }] : [];

/** Points whose hooks are due: before desired steps and after completed ones. */
const moments = (state: Bootstrap): readonly Moment[] => {
  if (state.status === 'absent' || state.cluster.hooks === undefined) return [];
  const { cluster } = state;
  if (state.status === 'dismantled') return afterDeletion(cluster);
  const before = [
    ...beforeMachines(state),
    ...desired(state).flatMap((operation) => momentBefore(cluster, operation) ?? []),
  ];
  const unique = new Map(before.map((moment) => [`${moment.point}/${moment.node ?? ''}`, moment]));
  return [...unique.values(), ...(state.status === 'deleting' ? [] : (cluster.hooks?.passed ?? []))];
};

const nextCalls = (state: Bootstrap) =>
  state.status === 'absent' ? [] : moments(state).flatMap((moment) => nextCall(state.cluster.hooks, moment) ?? []);

/** Concurrent hook calls per cluster. */
const HOOKS_AT_ONCE_MAX = 5;

/** The hook calls that are due. */
export const hookCalls = (state: Bootstrap, now: string): readonly PlannedTask[] =>
  nextCalls(state)
    .filter(({ at }) => at === null || at <= now)
    .slice(0, HOOKS_AT_ONCE_MAX)
    .map(({ call }) => ({ step: 'CallHook', call, reason: `${call.hook.name} is asked at ${call.point}` }));

/** The next hook call after `now`; null: none. */
export const hookDueAfter = (state: Bootstrap, now: string): string | null =>
  nextCalls(state)
    .flatMap(({ at }) => (at !== null && at > now ? [at] : []))
    .toSorted()[0] ?? null;

/** Changes of control planes that start now: their work waits for a snapshot of etcd. */
export const begunChanges = (state: Bootstrap, now: string): ReturnType<typeof changesBegun> =>
  state.status === 'building' || state.status === 'ready' ? changesBegun(state.cluster, desired(state), now) : [];

/**
 * The operations to run now, without those that hooks or a snapshot block. bootstrap.reconciler.ts has the facts that
 * follow without an operation.
 */
export const plan = (state: Bootstrap): readonly PlannedTask[] => {
  if (state.status === 'absent') return [];
  const { cluster } = state;
  return desired(state).filter((operation) => {
    if (awaitsSnapshot(cluster, operation)) return false;
    const moment = momentBefore(cluster, operation);
    return moment === undefined || !isHeld(cluster.hooks, moment);
  });
};
