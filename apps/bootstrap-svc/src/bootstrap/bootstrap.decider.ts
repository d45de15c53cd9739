import {
  AGENT_CREDENTIALS_REVOKED_MAX,
  compareVersions,
  type ClusterUid,
  type EventData,
  type Fact,
  type NodeMetadata,
  type NodeName,
  type Refusal,
  nodeMetadata,
  refuse,
} from '@fairlead/contracts';
import { isAwaited } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { failingNodesOf, openRequestsOf, replacementsReady, requestOfNode } from './additions.evolve.js';
import { evolve } from './bootstrap.evolve.js';
import { keyOf, plan, type TaskKey } from './bootstrap.planner.js';
import { nextToLeave, successor } from './departures.planner.js';
import {
  drainBlockedBy,
  ABSENT,
  allOf,
  channelUserOf,
  credentialsOf,
  desiredKeyOf,
  holdsNames,
  hostsOf,
  isSurge,
  isKeyStep,
  lacksMember,
  newHostsOf,
  type AgentCredentials,
  type Bootstrap,
  type Failure,
  type Host,
  type Cluster,
  type Present,
  type DesiredAgent,
} from './bootstrap.state.js';
import type { TakeOver } from './takeover.evolve.js';

export type BootstrapFact = Fact<
  | 'HostReached'
  | 'AuthorizedKeyAdded'
  | 'AuthorizedKeyRemoved'
  | 'AgentStarted'
  | 'AgentCredentialIssued'
  | 'AgentCredentialsRevoked'
  | 'AgentUpdateRequested'
  | 'AgentUpdated'
  | 'ClusterTakenOver'
  | 'AgentTakenOver'
  | 'NodeBootstrapped'
  | 'ApiBalanced'
  | 'TunnelStarted'
  | 'EtcdSnapshotPlaced'
  | 'EtcdSnapshotRemoved'
  | 'EtcdSnapshotVerified'
  | 'EtcdSnapshotVerificationFailed'
  | 'EtcdReady'
  | 'EtcdMemberAdded'
  | 'ControlPlaneInitialized'
  | 'KubeconfigRefreshed'
  | 'NetworkReady'
  | 'ControlPlaneJoined'
  | 'ControlPlaneReady'
  | 'ControlPlaneChangeStarted'
  | 'WorkerJoined'
  | 'JoinTokenRenewed'
  | 'NodeLabelsSet'
  | 'AuthenticationConfigured'
  | 'UsersAuthorized'
  | 'AddonInstalled'
  | 'DeclaredStateReapplied'
  | 'ClusterReady'
  | 'BootstrapStepFailed'
  | 'ClusterFailed'
  | 'NodesFailed'
  | 'NodeReplacementReady'
  | 'ControlPlaneRemovalStarted'
  | 'InitialControlPlaneChanged'
  | 'NodeDrainBlocked'
  | 'NodeRemovalCancelled'
  | 'NodeDrained'
  | 'NodeRemoved'
  | 'HookBlocked'
  | 'HookSucceeded'
  | 'HookFailed'
  | 'ClusterDismantled'
>;

/** The result of one step. */
export type Outcome = Extract<
  BootstrapFact,
  {
    type:
      | 'HostReached'
      | 'AuthorizedKeyAdded'
      | 'AuthorizedKeyRemoved'
      | 'AgentStarted'
      | 'AgentUpdated'
      | 'AgentTakenOver'
      | 'NodeBootstrapped'
      | 'ApiBalanced'
      | 'TunnelStarted'
      | 'EtcdSnapshotPlaced'
      | 'EtcdSnapshotRemoved'
      | 'EtcdSnapshotVerified'
      | 'EtcdSnapshotVerificationFailed'
      | 'EtcdReady'
      | 'EtcdMemberAdded'
      | 'ControlPlaneInitialized'
      | 'KubeconfigRefreshed'
      | 'NetworkReady'
      | 'AddonInstalled'
      | 'DeclaredStateReapplied'
      | 'ControlPlaneJoined'
      | 'ControlPlaneReady'
      | 'WorkerJoined'
      | 'JoinTokenRenewed'
      | 'NodeLabelsSet'
      | 'AuthenticationConfigured'
      | 'UsersAuthorized'
      | 'NodeDrainBlocked'
      | 'NodeRemovalCancelled'
      | 'NodeDrained'
      | 'NodeRemoved'
      | 'HookBlocked'
      | 'HookSucceeded'
      | 'HookFailed'
      | 'ClusterDismantled';
  }
>;

/** The bootstrap addons are installed; with them and every node Ready, the cluster is ready. */
export type FinishCluster = Command<
  'FinishCluster',
  { readonly uid: ClusterUid; readonly addons: Readonly<Record<string, string>> }
>;

/** This service includes an agent; nodes with a different one must be updated. */
export type RequestAgentUpdate = Command<'RequestAgentUpdate', DesiredAgent>;

/** This installation takes over a cluster of another one. */
export type TakeOverCluster = Command<'TakeOverCluster', TakeOver>;

/** Assigns a user to the agent of a node; rejected if the node is not, or no longer, part of the cluster. */
export type HostAnswer = Pick<EventData<'HostReached'>, 'hostKey' | 'attempts'>;
export type IssueCredential = Command<
  'IssueCredential',
  {
    readonly uid: ClusterUid;
    readonly node: NodeName;
    readonly user: string;
    readonly lifetimeSeconds: number;
    /** The host's answer when it is reached for the first time. */
    readonly reached?: HostAnswer | undefined;
  }
>;
/** A host does not answer its first contact yet; it is retried at `nextAttemptAt`. */
export type StateUnreached = Command<
  'StateUnreached',
  Pick<EventData<'BootstrapStepFailed'>, 'uid' | 'cause' | 'attempt'> & {
    readonly node: NodeName;
    /** RFC 3339. */
    readonly nextAttemptAt: string;
  }
>;

/** An outcome is also a command: it is recorded if it changes the state. */
export type BootstrapCommand =
  IssueCredential | StateUnreached | RequestAgentUpdate | TakeOverCluster | FinishCluster | Outcome;

const isDesired = (state: Bootstrap, key: TaskKey): boolean =>
  plan(state).some((operation) => keyOf(operation) === key);

const present = (state: Bootstrap, uid: ClusterUid): state is Present =>
  state.status !== 'absent' && state.cluster.uid === uid;

const isSet = ({ metadata }: Host, data: NodeMetadata): boolean =>
  metadata !== undefined &&
  metadata.set !== null &&
  JSON.stringify(nodeMetadata(metadata.set)) === JSON.stringify(nodeMetadata(data));

/**
 * A fact is recorded once; facts about hosts of a failed cluster are recorded as well, so that a retry need not repeat
 * the work.
 */
const isChange = (cluster: Cluster, { type, data }: Outcome): boolean => {
  const host = 'node' in data && data.node !== undefined ? cluster.hosts[data.node] : undefined;
  switch (type) {
    case 'HostReached':
      return host !== undefined && host.hostKey === null;
    case 'AuthorizedKeyAdded':
      return host !== undefined && desiredKeyOf(cluster, host)?.keyRef === data.keyRef;
    case 'AuthorizedKeyRemoved':
      return host?.formerKeys?.some(({ keyRef }) => keyRef === data.keyRef) === true;
    case 'AgentStarted':
      return host !== undefined && host.agentStartedAt === null;
    case 'AgentUpdated':
      return host !== undefined && host.agentSha256 !== data.sha256;
    case 'AgentTakenOver':
      return host?.agentElsewhere === true;
    case 'NodeBootstrapped':
      return host !== undefined && !host.bootstrapped;
    case 'ApiBalanced':
      return host !== undefined && host.balances.join() !== data.controlPlanes.join();
    case 'TunnelStarted':
      return host !== undefined && !holdsNames(host, data);
    case 'EtcdSnapshotPlaced':
      return cluster.restore?.requestId === data.requestId && cluster.restore.missing.includes(data.node);
    case 'EtcdSnapshotRemoved':
      return cluster.abandoned?.requestId === data.requestId && cluster.abandoned.nodes.includes(data.node);
    case 'EtcdSnapshotVerified':
    case 'EtcdSnapshotVerificationFailed':
      return cluster.verifications?.some(({ snapshot }) => snapshot === data.snapshot) === true;
    case 'EtcdReady':
      return cluster.etcd === null;
    case 'EtcdMemberAdded':
      return host !== undefined && lacksMember(cluster, host);
    case 'ControlPlaneInitialized':
      return cluster.controlPlane === null;
    case 'KubeconfigRefreshed':
      return cluster.kubeconfigEndsAt === null || data.expiresAt > cluster.kubeconfigEndsAt;
    case 'NetworkReady':
      return !cluster.network;
    case 'AddonInstalled':
      return cluster.addons[data.addon] !== data.version;
    case 'DeclaredStateReapplied':
      return cluster.reapply === data.requestId;
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
    case 'JoinTokenRenewed':
      return host !== undefined && host.joinedAt === null;
    case 'NodeLabelsSet':
      return host !== undefined && (host.registersAgain === true || !isSet(host, data));
    case 'AuthenticationConfigured':
      return host !== undefined && host.authentication !== data.authentication;
    case 'UsersAuthorized':
      return cluster.authentication !== undefined && cluster.authentication.authorized !== data.authentication;
    case 'ControlPlaneReady':
      return data.nodes.some((node) => !cluster.healthy.includes(node));
    case 'NodeDrainBlocked':
      return host?.removal === 'desired' && host.drainBlockedBy !== drainBlockedBy(data.pods);
    case 'NodeRemovalCancelled':
      return host?.removal === 'cancelled';
    case 'NodeDrained':
      return host?.removal === 'desired';
    case 'NodeRemoved':
      return host !== undefined;
    case 'HookBlocked':
    case 'HookSucceeded':
    case 'HookFailed':
      return isAwaited(cluster.hooks, data);
    case 'ClusterDismantled':
      return true;
  }
};

const isOfHook = ({ type }: Outcome): boolean =>
  type === 'HookBlocked' || type === 'HookSucceeded' || type === 'HookFailed';

const record = (state: Bootstrap, outcome: Outcome): readonly BootstrapFact[] => {
  if (!present(state, outcome.data.uid)) return nothing;
  if (!isOfHook(outcome) && !isExpected(state, outcome)) return nothing;
  return isChange(state.cluster, outcome) ? [...revocationsBefore(state, outcome), outcome] : nothing;
};

const isExpected = ({ status }: Present, { type }: Outcome): boolean =>
  status !== 'dismantled' && (status === 'deleting') === (type === 'ClusterDismantled');

const revocationOf = (uid: ClusterUid, credentials: AgentCredentials | undefined): readonly BootstrapFact[] => {
  const { users, lifetimeSeconds } = credentials ?? { users: [], lifetimeSeconds: 1 };
  const parts = Math.ceil(users.length / AGENT_CREDENTIALS_REVOKED_MAX);
  return Array.from({ length: parts }, (_, index): BootstrapFact => {
    const from = index * AGENT_CREDENTIALS_REVOKED_MAX;
    const part = users.slice(from, from + AGENT_CREDENTIALS_REVOKED_MAX);
    return { type: 'AgentCredentialsRevoked', data: { uid, users: part, lifetimeSeconds } };
  });
};

/** A removal revokes credentials in the same decision, so that no crash can separate the two. */
const revocationsBefore = (state: Present, { type, data }: Outcome): readonly BootstrapFact[] => {
  const { cluster } = state;
  if (type === 'NodeRemoved') return revocationOf(cluster.uid, credentialsOf(state, data.node));
  if (type !== 'ClusterDismantled') return nothing;
  const ofHosts = hostsOf(cluster).map(({ credentials }) => credentials);
  return revocationOf(cluster.uid, allOf([cluster.unrevoked, ...ofHosts]));
};

/**
 * Every attempt to start the agent assigns a new user to the host. The running one is among the last few, and only it
 * is renewed.
 */
const USERS_OF_HOST_MAX = 8;

const issueCredential = (
  state: Bootstrap,
  { uid, node, user, lifetimeSeconds, reached }: IssueCredential['data'],
): readonly BootstrapFact[] | Refusal => {
  const isThere = present(state, uid) && state.status !== 'deleting' && state.status !== 'dismantled';
  const host = isThere ? state.cluster.hosts[node] : undefined;
  const notNeeded = refuse('bootstrap.step-not-needed', { step: `IssueCredential/${node}`, cluster: uid });
  if (!isThere || host === undefined) return notNeeded;
  const answer: readonly BootstrapFact[] =
    reached === undefined ? nothing : record(state, { type: 'HostReached', data: { uid, node, ...reached } });
  const owner = hostsOf(state.cluster).find(({ credentials }) => credentials?.users.includes(user));
  if (owner === host) return answer;
  // A user of two hosts would be revoked with either.
  if (owner !== undefined) return notNeeded;
  const { users, lifetimeSeconds: longest } = host.credentials ?? { users: [], lifetimeSeconds };
  // The user of the host's own connection is kept as long as the host is part of the cluster.
  const channel = channelUserOf(state.cluster, host);
  const agents = users.filter((one) => one !== channel);
  const tooMany = agents.slice(0, Math.max(0, agents.length + 1 - USERS_OF_HOST_MAX));
  return [
    ...answer,
    ...revocationOf(uid, { users: tooMany, lifetimeSeconds: longest }),
    { type: 'AgentCredentialIssued', data: { uid, node, user, lifetimeSeconds } },
  ];
};

/** Revokes credentials of hosts whose machines disappeared without a removal of their node. */
export const revokeCredentials = (state: Bootstrap): readonly BootstrapFact[] =>
  state.status === 'building' || state.status === 'ready' || state.status === 'failed'
    ? revocationOf(state.cluster.uid, state.cluster.unrevoked)
    : nothing;

const replacementFacts = (cluster: Cluster): readonly BootstrapFact[] =>
  replacementsReady(cluster).map((data) => ({ type: 'NodeReplacementReady', data }));

/** A node that was kept after a failure and joined the cluster later replaces the old one without a ClusterReady. */
export const stateReplacements = (state: Bootstrap): readonly BootstrapFact[] =>
  state.status === 'building' || state.status === 'ready'
    ? replacementFacts(state.cluster).filter(
        ({ data }) => 'newNode' in data && state.cluster.hosts[data.newNode]?.settled === true,
      )
    : nothing;
/** Control planes leave one at a time; before the initial one leaves, another one takes over its role. */
export const departures = (state: Bootstrap, now: string): readonly BootstrapFact[] => {
  if (state.status === 'absent' || state.status === 'deleting' || state.status === 'dismantled') return nothing;
  const { cluster } = state;
  const { uid, controlPlane } = cluster;
  const to = successor(cluster)?.machine.name;
  if (controlPlane !== null && to !== undefined)
    return [{ type: 'InitialControlPlaneChanged', data: { uid, from: controlPlane.node, to } }];
  const next = nextToLeave(state, now);
  if (next === undefined) return nothing;
  return [{ type: 'ControlPlaneRemovalStarted', data: { uid, node: next.host.machine.name, attempt: next.attempt } }];
};

const finish = (state: Bootstrap, { uid, addons }: FinishCluster['data']): readonly BootstrapFact[] => {
  if (!present(state, uid) || !isDesired(state, 'InstallAddons')) return nothing;
  const installed = Object.entries(addons)
    .filter(([addon, version]) => state.cluster.addons[addon] !== version)
    .map(([addon, version]) => ({ type: 'AddonInstalled' as const, data: { uid, addon, version } }));
  return [...installed, ...replacementFacts(state.cluster), { type: 'ClusterReady', data: { uid } }];
};

/** These steps do not affect the readiness of a cluster. */
const LATER_STEPS: ReadonlySet<string> = new Set([
  'AuthorizeUsers',
  'ConfigureAuthentication',
  'InstallStorage',
  'ReapplyDeclared',
]);

/**
 * Only steps that a cluster needs to become ready fail it: removals, and the balancer, users and storage of a ready
 * cluster, do not.
 */
const failsTheCluster = ({ status, cluster }: Present, step: string): boolean =>
  status === 'building' &&
  !(cluster.provisioned && LATER_STEPS.has(step)) &&
  step !== 'CallHook' &&
  step !== 'RemoveNode' &&
  step !== 'KeepNode' &&
  step !== 'DismantleCluster' &&
  !isKeyStep(step);

type Attempts = Pick<EventData<'BootstrapStepFailed'>, 'attempt' | 'attemptsMax' | 'nextAttemptAt'>;

/**
 * Every failed attempt is recorded; the last one also fails the cluster, or the request of the step, in the same
 * decision.
 */
export const failStep = (state: Bootstrap, failure: Failure, attempts: Attempts): readonly BootstrapFact[] => {
  if (state.status === 'absent') return nothing;
  const { cluster } = state;
  const { uid } = cluster;
  const { step, node, cause } = failure;
  const where = { uid, step, ...(node === undefined ? {} : { node }) };
  const failed: BootstrapFact = { type: 'BootstrapStepFailed', data: { ...where, cause, ...attempts } };
  if (attempts.nextAttemptAt !== null || !failsTheCluster(state, step) || isSurge(cluster, node)) return [failed];
  // A failed step without a node is recorded last, when nothing is joining anymore.
  if (cluster.provisioned)
    return node === undefined ? [...failGrowth(cluster, failure), failed] : [failed, ...failGrowth(cluster, failure)];
  return [failed, { type: 'ClusterFailed', data: { uid, ...failure } }];
};

/** It concerns no node, and causes no other failure. */
export const verificationFailed = (
  state: Bootstrap,
  failure: Omit<EventData<'EtcdSnapshotVerificationFailed'>, 'uid'>,
): readonly BootstrapFact[] =>
  state.status === 'absent'
    ? nothing
    : [{ type: 'EtcdSnapshotVerificationFailed', data: { uid: state.cluster.uid, ...failure } }];

const LAST_ATTEMPT = { attempt: 1, attemptsMax: 1, nextAttemptAt: null };

/**
 * The consequences if a cluster that was Ready cannot add nodes: the request of the node fails, or all open requests if
 * the step has no node. A node that is already part of the cluster has no consequence.
 */
const failGrowth = (cluster: Cluster, failure: Failure): readonly BootstrapFact[] => {
  const { uid } = cluster;
  const { node, step, cause } = failure;
  const isNew = ({ machine }: Host): boolean => node === undefined || machine.name === node;
  const concerned = newHostsOf(cluster).filter(isNew);
  const requests = openRequestsOf(cluster).filter((requestId) =>
    concerned.some(({ machine }) => requestOfNode(cluster, machine.name) === requestId),
  );
  const ended = requests.map((requestId): BootstrapFact => {
    const onFailure = cluster.requests[requestId]?.onFailure ?? 'rollback';
    const nodes = [...failingNodesOf(cluster, requestId)];
    return { type: 'NodesFailed', data: { uid, requestId, nodes, onFailure, ...failure } };
  });
  const extra = concerned
    .filter(({ machine }) => isSurge(cluster, machine.name))
    .map(({ machine }): BootstrapFact => ({
      type: 'BootstrapStepFailed',
      data: { uid, step, node: machine.name, cause, ...LAST_ATTEMPT },
    }));
  if (ended.length + extra.length > 0 || concerned.length === 0) return [...ended, ...extra];
  // Nodes without a request: an older log, which did not track requests.
  return [{ type: 'ClusterFailed', data: { uid, ...failure } }];
};

const isLeaving = ({ hosts }: Cluster, node: NodeName): boolean => hosts[node]?.removal !== 'none';

/** The infrastructure failed, or a timeout passed, while the cluster is being created. */
export const failCluster = (cluster: Cluster, failure: Failure): readonly BootstrapFact[] => {
  const { uid } = cluster;
  const { step, node, cause } = failure;
  if (node !== undefined && isSurge(cluster, node)) {
    return isLeaving(cluster, node)
      ? nothing
      : [{ type: 'BootstrapStepFailed', data: { uid, step, node, cause, ...LAST_ATTEMPT } }];
  }
  if (cluster.provisioned) return failGrowth(cluster, failure);
  return [{ type: 'ClusterFailed', data: { uid, ...failure } }];
};

/** Never an older one: during a rolling update of this service, some replicas still have the previous agent. */
const requestAgentUpdate = (state: Bootstrap, { version, sha256 }: DesiredAgent): readonly BootstrapFact[] => {
  if (state.status === 'absent' || state.status === 'deleting' || state.status === 'dismantled') return nothing;
  const { agent, uid } = state.cluster;
  if (agent !== null && (agent.sha256 === sha256 || compareVersions(version, agent.version) < 0)) return nothing;
  const differs = hostsOf(state.cluster).some((host) => host.agentSha256 !== null && host.agentSha256 !== sha256);
  if (agent === null && !differs) return nothing;
  return [{ type: 'AgentUpdateRequested', data: { uid, agentVersion: version, sha256 } }];
};

/** The attempts are limited by a deadline, not by a number. */
const stateUnreached = (state: Bootstrap, data: StateUnreached['data']): readonly BootstrapFact[] => {
  if (!present(state, data.uid) || state.status === 'deleting' || state.status === 'dismantled') return nothing;
  if (state.cluster.hosts[data.node]?.hostKey !== null) return nothing;
  return [{ type: 'BootstrapStepFailed', data: { ...data, step: 'ReachHost', attemptsMax: data.attempt } }];
};

const takeOver = (state: Bootstrap, data: TakeOver): readonly BootstrapFact[] => {
  if (!present(state, data.uid) || state.status === 'deleting' || state.status === 'dismantled') return nothing;
  return state.cluster.handover === data.handover ? nothing : [{ type: 'ClusterTakenOver', data }];
};

/** The single writer of a cluster's bootstrap. It reads all facts about the cluster, and writes only its own. */
export const bootstrap: Decider<Bootstrap, BootstrapCommand, BootstrapFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, command) => {
    switch (command.type) {
      case 'IssueCredential':
        return issueCredential(state, command.data);
      case 'RequestAgentUpdate':
        return requestAgentUpdate(state, command.data);
      case 'TakeOverCluster':
        return takeOver(state, command.data);
      case 'StateUnreached':
        return stateUnreached(state, command.data);
      case 'FinishCluster':
        return finish(state, command.data);
      default:
        return record(state, command);
    }
  },
};
