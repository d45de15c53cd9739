import { refuse, type Cause, type ClusterUid, type Fact, type NodeName, type Refusal } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { failingNodesOf, openRequestsOf, requestOfNode } from './additions.evolve.js';
import { evolve } from './bootstrap.evolve.js';
import { keyOf, plan, type StepKey } from './bootstrap.planner.js';
import {
  ABSENT,
  hostsOf,
  isExtra,
  isOlder,
  newHostsOf,
  type Bootstrap,
  type Failure,
  type Host,
  type Known,
  type WantedAgent,
} from './bootstrap.state.js';

export type BootstrapFact = Fact<
  | 'HostReached'
  | 'AgentStarted'
  | 'AgentUpdateWanted'
  | 'AgentUpdated'
  | 'NodeBootstrapped'
  | 'ApiBalanced'
  | 'EtcdSnapshotPlaced'
  | 'EtcdReady'
  | 'ControlPlaneInitialized'
  | 'KubeconfigRefreshed'
  | 'NetworkReady'
  | 'ControlPlaneJoined'
  | 'ControlPlaneReady'
  | 'WorkerJoined'
  | 'AddonInstalled'
  | 'ClusterReady'
  | 'BootstrapStepFailed'
  | 'ClusterFailed'
  | 'NodesFailed'
  | 'NodeDrained'
  | 'NodeRemoved'
  | 'ClusterDismantled'
>;

/** What one step found or made. */
export type Outcome = Extract<
  BootstrapFact,
  {
    type:
      | 'HostReached'
      | 'AgentStarted'
      | 'AgentUpdated'
      | 'NodeBootstrapped'
      | 'ApiBalanced'
      | 'EtcdSnapshotPlaced'
      | 'EtcdReady'
      | 'ControlPlaneInitialized'
      | 'KubeconfigRefreshed'
      | 'NetworkReady'
      | 'ControlPlaneJoined'
      | 'ControlPlaneReady'
      | 'WorkerJoined'
      | 'NodeDrained'
      | 'NodeRemoved'
      | 'ClusterDismantled';
  }
>;

export interface StepAttempt {
  readonly uid: ClusterUid;
  readonly run: number;
  readonly step: string;
  readonly node?: NodeName;
}

/** May this step begin now? Refused when it is done, not due yet, or no longer wanted. */
export type BeginStep = Command<'BeginStep', StepAttempt>;
export type RecordOutcome = Command<'RecordOutcome', Outcome>;
/** The bootstrap addons are there; with them, and every node Ready, the cluster is. */
export type FinishCluster = Command<
  'FinishCluster',
  { readonly uid: ClusterUid; readonly addons: Readonly<Record<string, string>> }
>;
export type RecordFailure = Command<
  'RecordFailure',
  StepAttempt & {
    readonly reason: string;
    readonly cause: Cause;
    readonly attempt: number;
    readonly attemptsMax: number;
    readonly nextAttemptAt: string | null;
  }
>;
export type FailCluster = Command<
  'FailCluster',
  { readonly uid: ClusterUid; readonly run: number; readonly failure: Failure }
>;

/** This service has come with an agent; nodes that run another shall have it. */
export type WantAgent = Command<'WantAgent', WantedAgent>;

export type BootstrapCommand = WantAgent | BeginStep | RecordOutcome | FinishCluster | RecordFailure | FailCluster;

const isWanted = (state: Bootstrap, key: StepKey): boolean => plan(state).some((operation) => keyOf(operation) === key);

const present = (state: Bootstrap, uid: ClusterUid): state is Known => state.status !== 'absent' && state.uid === uid;

const begin = (state: Bootstrap, attempt: StepAttempt): readonly never[] | Refusal => {
  const notWanted = refuse('bootstrap.step-not-wanted', { step: keyOf(attempt), cluster: attempt.uid });
  if (!present(state, attempt.uid)) return notWanted;
  if (attempt.step === 'InitControlPlane' && state.controlPlane !== null)
    return refuse('bootstrap.initialized', { cluster: state.spec.name, node: state.controlPlane.node });
  if (state.status === 'building' && state.run !== attempt.run) return notWanted;
  return isWanted(state, keyOf(attempt)) ? nothing : notWanted;
};

/** A fact is stated once; what is true of a failed cluster's hosts is stated too, so that a retry need not do it again. */
const isNews = (state: Known, { type, data }: Outcome): boolean => {
  const host = 'node' in data ? state.hosts[data.node] : undefined;
  switch (type) {
    case 'HostReached':
      return host !== undefined && host.hostKey === null;
    case 'AgentStarted':
      return host !== undefined && host.agentStartedAt === null;
    case 'AgentUpdated':
      return host !== undefined && host.agentSha256 !== data.sha256;
    case 'NodeBootstrapped':
      return host !== undefined && !host.bootstrapped;
    case 'ApiBalanced':
      return host !== undefined && host.balances.join() !== data.controlPlanes.join();
    case 'EtcdSnapshotPlaced':
      return state.restore?.requestId === data.requestId && state.restore.missing.includes(data.node);
    case 'EtcdReady':
      return state.etcd === null;
    case 'ControlPlaneInitialized':
      return state.controlPlane === null;
    case 'KubeconfigRefreshed':
      return state.kubeconfigEndsAt === null || data.expiresAt > state.kubeconfigEndsAt;
    case 'NetworkReady':
      return !state.network;
    case 'ControlPlaneJoined':
    case 'WorkerJoined':
      return host !== undefined && host.joinedAt === null;
    case 'ControlPlaneReady':
      return data.nodes.some((node) => !state.healthy.includes(node));
    case 'NodeDrained':
      return host?.removal === 'wanted';
    case 'NodeRemoved':
      return host !== undefined;
    case 'ClusterDismantled':
      return true;
  }
};

const record = (state: Bootstrap, outcome: Outcome): readonly BootstrapFact[] => {
  if (!present(state, outcome.data.uid) || state.status === 'dismantled') return nothing;
  if ((state.status === 'deleting') !== (outcome.type === 'ClusterDismantled')) return nothing;
  return isNews(state, outcome) ? [outcome] : nothing;
};

const finish = (state: Bootstrap, { uid, addons }: FinishCluster['data']): readonly BootstrapFact[] => {
  if (!present(state, uid) || !isWanted(state, 'InstallAddons')) return nothing;
  const installed = Object.entries(addons)
    .filter(([addon, version]) => state.addons[addon] !== version)
    .map(([addon, version]) => ({ type: 'AddonInstalled' as const, data: { uid, addon, version } }));
  return [...installed, { type: 'ClusterReady', data: { uid } }];
};

/** Only what a cluster cannot become ready without fails it: nodes that leave, and a ready cluster's balancer, do not. */
const failsTheCluster = ({ status }: Known, step: string): boolean =>
  status === 'building' && step !== 'RemoveNode' && step !== 'DismantleCluster';

const recordFailure = (state: Bootstrap, data: RecordFailure['data']): readonly BootstrapFact[] => {
  const { uid, run, step, node, reason, cause, attempt, attemptsMax, nextAttemptAt } = data;
  if (!present(state, uid) || !isWanted(state, keyOf(data))) return nothing;
  if (state.status === 'building' && state.run !== run) return nothing;
  const where = { uid, step, ...(node === undefined ? {} : { node }) };
  const failed: BootstrapFact = {
    type: 'BootstrapStepFailed',
    data: { ...where, cause, attempt, attemptsMax, nextAttemptAt },
  };
  if (nextAttemptAt !== null || !failsTheCluster(state, step) || isExtra(state, node)) return [failed];
  const failure = { step, reason, cause, ...(node === undefined ? {} : { node }) };
  // The failed step is the last word where it is about no node: nothing is on its way by then.
  if (state.provisioned)
    return node === undefined ? [...failGrowth(state, failure), failed] : [failed, ...failGrowth(state, failure)];
  return [failed, { type: 'ClusterFailed', data: { ...where, reason, cause } }];
};

const LAST_ATTEMPT = { attempt: 1, attemptsMax: 1, nextAttemptAt: null };

/**
 * What ends when a cluster that was Ready cannot take more nodes: the request that the node is of, or all that are under way where the
 * step is about no node. A node that is part of the cluster already ends nothing.
 */
const failGrowth = (state: Known, failure: Failure): readonly BootstrapFact[] => {
  const { uid } = state;
  const { node, step, cause } = failure;
  const isNew = ({ machine }: Host): boolean => node === undefined || machine.name === node;
  const concerned = newHostsOf(state).filter(isNew);
  const requests = openRequestsOf(state).filter((requestId) =>
    concerned.some(({ machine }) => requestOfNode(state, machine.name) === requestId),
  );
  const ended = requests.map((requestId): BootstrapFact => {
    const onFailure = state.requests[requestId]?.onFailure ?? 'rollback';
    const nodes = [...failingNodesOf(state, requestId)];
    return { type: 'NodesFailed', data: { uid, requestId, nodes, onFailure, ...failure } };
  });
  const extra = concerned
    .filter(({ machine }) => isExtra(state, machine.name))
    .map(({ machine }): BootstrapFact => ({
      type: 'BootstrapStepFailed',
      data: { uid, step, node: machine.name, cause, ...LAST_ATTEMPT },
    }));
  if (ended.length + extra.length > 0 || concerned.length === 0) return [...ended, ...extra];
  // Nodes without a request: an older log, in which requests were not tracked.
  return [{ type: 'ClusterFailed', data: { uid, ...failure } }];
};

const isLeaving = ({ hosts }: Known, node: NodeName): boolean => hosts[node]?.removal !== 'none';

const failCluster = (state: Bootstrap, { uid, run, failure }: FailCluster['data']): readonly BootstrapFact[] => {
  if (!present(state, uid) || state.status !== 'building' || state.run !== run) return nothing;
  const { step, node, cause } = failure;
  if (node !== undefined && isExtra(state, node)) {
    return isLeaving(state, node)
      ? nothing
      : [{ type: 'BootstrapStepFailed', data: { uid, step, node, cause, ...LAST_ATTEMPT } }];
  }
  if (state.provisioned) return failGrowth(state, failure);
  return [{ type: 'ClusterFailed', data: { uid, ...failure } }];
};

/** Never an older one: while replicas of this service are exchanged, some still come with the agent of before. */
const wantAgent = (state: Bootstrap, { version, sha256 }: WantedAgent): readonly BootstrapFact[] => {
  if (state.status === 'absent' || state.status === 'deleting' || state.status === 'dismantled') return nothing;
  const { agent } = state;
  if (agent !== null && (agent.sha256 === sha256 || isOlder(version, agent.version))) return nothing;
  const differs = hostsOf(state).some((host) => host.agentSha256 !== null && host.agentSha256 !== sha256);
  if (agent === null && !differs) return nothing;
  return [{ type: 'AgentUpdateWanted', data: { uid: state.uid, agentVersion: version, sha256 } }];
};

/** The one writer of a cluster's bootstrap. It reads all facts about the cluster, and states only its own. */
export const bootstrap: Decider<Bootstrap, BootstrapCommand, BootstrapFact> = {
  initial: ABSENT,
  reads: 'cluster',
  evolve,

  decide: (state, command) => {
    switch (command.type) {
      case 'WantAgent':
        return wantAgent(state, command.data);
      case 'BeginStep':
        return begin(state, command.data);
      case 'RecordOutcome':
        return record(state, command.data);
      case 'FinishCluster':
        return finish(state, command.data);
      case 'RecordFailure':
        return recordFailure(state, command.data);
      case 'FailCluster':
        return failCluster(state, command.data);
    }
  },
};
