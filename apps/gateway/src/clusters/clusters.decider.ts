import {
  CLUSTER_WORKERS_MAX,
  refuse,
  type ClusterPhase,
  type ClusterSpec,
  type ClusterUid,
  type Fact,
  type NodeName,
  type NodeSet,
  type OnFailure,
  type Refusal,
  type ReplacementOrder,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  c8MayRemove,
  creationAfter,
  deletionAtOf,
  endOf,
  lifetimeAfter,
  majorityOf,
  memberOf,
  membersAfter,
  newMember,
  pauseAfter,
  templateOf,
  warningsDue,
  withMember,
  type ClusterPause,
  type Creation,
  type MachineTemplate,
  type Lifetime,
  type Member as ClusterMember,
  type Members,
  nodeCidrMaskFor,
  parseNetwork,
  podRoomFault,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { blocksOthers, latestUpgradeAfter, refuseBeside, type PhasedUpgrade } from '../lifecycle/upgrade.phase.js';
import {
  nodeRequestsAfter,
  pendingMachines,
  isGrowing,
  isFailedAndKept,
  hasFailedRollout,
  isReplaced,
  isReplacing,
  NO_NODE_REQUESTS,
  stuckAfter,
  stuckKey,
  type NodeRequests,
} from '../lifecycle/node.requests.js';
import { phaseAfter } from '../lifecycle/cluster.phase.js';
import { openActionsAfter, refuseBesideActionOf, type OpenAction } from '../lifecycle/node.actions.js';
import { refuseWhilePaused } from '../lifecycle/pause.js';

/** Whose cluster it is about, for the sentences of refusals. */
interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

export type RequestCluster = Command<
  'RequestCluster',
  NamedCluster & {
    readonly uid: ClusterUid;
    readonly spec: ClusterSpec;
    readonly requestHash: string;
    readonly actor: string;
    /** A cluster whose creation failed is deleted and created again. */
    readonly recreatesFailed?: boolean;
    /** Why its connections cannot be used, or have no room. */
    readonly connectionFaults: readonly Refusal[];
  }
>;
export type RequestNodes = Command<
  'RequestNodes',
  NamedCluster & {
    readonly requestId: string;
    readonly workers: readonly NodeSet[];
    /** Absent: no control planes are added. */
    readonly controlPlane?: NodeSet | undefined;
    /** Absent: rollback. */
    readonly onFailure?: OnFailure;
    /** The provider's id of the machine that becomes the one worker; absent: machines are created. */
    readonly adopts?: string | undefined;
    /** Requests that are abandoned in the same decision: their machines do not count. */
    readonly instead?: readonly string[];
    /** Why its connections cannot be used, or have no room. */
    readonly connectionFaults: readonly Refusal[];
  }
>;
/** Gives up every request for nodes that is not done. */
export type AbandonNodes = Command<'AbandonNodes', NamedCluster>;
export type RemoveNode = Command<
  'RemoveNode',
  NamedCluster & {
    readonly node: NodeName;
    readonly keepsInitialControlPlane?: boolean;
    /** Any number of control planes may be left. */
    readonly allowsEven?: boolean;
    /** Part of a change that leaves an odd number of control planes; these go before it. */
    readonly after?: readonly NodeName[];
    /** Requests that are abandoned in the same decision: the cluster does not grow by them. */
    readonly instead?: readonly string[];
    /** Why it leaves; absent: it was named. */
    readonly reason?: string;
  }
>;
/** A node goes, and a new one of its pool comes. */
export type ReplaceNode = Command<
  'ReplaceNode',
  NamedCluster & {
    readonly requestId: string;
    readonly node: NodeName;
    readonly order: ReplacementOrder;
    readonly reason: string;
  }
>;
/** A node that was asked to leave stays. */
export type CancelRemoval = Command<
  'CancelRemoval',
  NamedCluster & { readonly node: NodeName; readonly reason: string }
>;
/** `correction`: another request in its place, of a cluster of which nothing was made. */
export type RetryCluster = Command<
  'RetryCluster',
  NamedCluster & {
    readonly correction?: { readonly spec: ClusterSpec; readonly requestHash: string };
    /** Something that is declared came to nothing. */
    readonly isUnmet?: boolean;
    /** Fairlead retries by itself: the next attempt is due, or there is room now. */
    readonly again?: 'due' | 'room';
  }
>;
export type DeleteCluster = Command<'DeleteCluster', NamedCluster>;
/** Its creation failed, and its request asked for a cleanup in this case. */
export type CleanUpCluster = Command<'CleanUpCluster', NamedCluster & { readonly uid: ClusterUid }>;
/** A warning of its end is due, or its deletion. `now`: RFC 3339. */
export type EndLifetime = Command<'EndLifetime', NamedCluster & { readonly uid: ClusterUid; readonly now: string }>;
export type PauseCluster = Command<'PauseCluster', NamedCluster & { readonly reason: string }>;
export type ResumeCluster = Command<'ResumeCluster', NamedCluster & { readonly reason: string }>;
export type ClusterCommand =
  | RequestCluster
  | RequestNodes
  | AbandonNodes
  | RemoveNode
  | ReplaceNode
  | CancelRemoval
  | RetryCluster
  | DeleteCluster
  | CleanUpCluster
  | EndLifetime
  | PauseCluster
  | ResumeCluster;

type ClusterRequestFact = Fact<
  | 'ClusterRequested'
  | 'NodesRequested'
  | 'NodesAbandoned'
  | 'NodeRemovalRequested'
  | 'NodeReplacementRequested'
  | 'NodeRemovalCancellationRequested'
  | 'ClusterRetryRequested'
  | 'ClusterDeletionRequested'
  | 'ClusterRecreationRequested'
  | 'ClusterRecreationCancelled'
  | 'ClusterRecordDeleted'
  | 'ClusterExpiring'
  | 'ClusterPaused'
  | 'ClusterResumed'
>;

interface Member extends ClusterMember {
  readonly leader: boolean;
  /** How far its removal is that someone asked for; null: it stays, or leaves because of something else. */
  readonly removal: 'requested' | 'drained' | 'cancelling' | null;
  /** What its machine was made like. */
  readonly machine: MachineTemplate;
  /** Empty: the provider chose, and has not said which yet. */
  readonly zone: string;
}

interface Present {
  readonly status: 'present';
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  readonly requestHash: string;
  readonly actor: string;
  readonly phase: ClusterPhase;
  readonly creation: Creation | undefined;
  /** Its creation stopped before a machine was named: its request can still be corrected. */
  readonly unmade: boolean;
  /** The request that takes its place once it is gone; undefined: none. */
  readonly successor: { readonly requestHash: string; readonly actor: string } | undefined;
  /** It is deleted because its creation failed: its record stays. */
  readonly keepsRecord: boolean;
  /** undefined: it has no end, or is being deleted. */
  readonly lifetime: Lifetime | undefined;
  /** null: it is not paused. */
  readonly pause: ClusterPause | null;
  readonly members: Members<Member>;
  /** Requests for nodes that are not done. */
  readonly additions: NodeRequests;
  /** What has failed permanently and needs an operator. */
  readonly stuck: ReadonlySet<string>;
  /** kubeadm init has run: nodes can leave. */
  readonly initialized: boolean;
  /** Its API servers read from a file how users sign in. */
  readonly authenticationFile: boolean;
  readonly upgrade: PhasedUpgrade | undefined;
  /** Requests to reboot, drain or cordon nodes that are not over. */
  readonly actions: readonly OpenAction[];
}

/** `record`: the cluster whose creation failed, and of which nothing but its record is left; absent: none. */
interface Absent {
  readonly status: 'absent';
  readonly record?: ClusterUid;
}

/** A name without a cluster, or the cluster that has it. */
export type ClusterState = Absent | Present;

const unknown = ({ namespace, cluster }: NamedCluster): Refusal => refuse('cluster.unknown', { namespace, cluster });

/** Nodes get their ranges of the pod network by what is decided when the cluster is requested; it stays so. */
const withNodeCidrMask = (spec: ClusterSpec): ClusterSpec => {
  const pods = parseNetwork(spec.kubernetes.podCidr);
  if (pods === undefined) return spec;
  return { ...spec, kubernetes: { ...spec.kubernetes, nodeCidrMask: nodeCidrMaskFor(pods) } };
};

/** Nothing runs on a cluster that was never Ready. */
const hasFailedToStart = ({ phase, creation }: Present): boolean => phase === 'Failed' && creation?.isOver === false;

const recreate = (state: Present, { data }: RequestCluster): readonly ClusterRequestFact[] | Refusal => {
  const successor = { uid: data.uid, spec: withNodeCidrMask(data.spec), requestHash: data.requestHash };
  const recreation: ClusterRequestFact = { type: 'ClusterRecreationRequested', data: { uid: state.uid, successor } };
  const deletion: ClusterRequestFact = { type: 'ClusterDeletionRequested', data: { uid: state.uid } };
  return (
    data.connectionFaults[0] ??
    refuseWhilePaused(state.pause, data, 'create the cluster again') ??
    (state.phase === 'Deleting' ? [recreation] : [recreation, deletion])
  );
};

/** The same request of the same person is a repetition, e.g. after an answer that was lost. */
const isRepeated = ({ requestHash, actor }: { requestHash: string; actor: string }, data: RequestCluster['data']) =>
  requestHash === data.requestHash && actor === data.actor;

const request = (state: ClusterState, command: RequestCluster): readonly ClusterRequestFact[] | Refusal => {
  const { data } = command;
  const { uid, spec, requestHash, namespace, cluster } = data;
  if (state.status === 'absent')
    return (
      data.connectionFaults[0] ?? [
        { type: 'ClusterRequested', data: { uid, spec: withNodeCidrMask(spec), requestHash } },
      ]
    );
  if (state.phase === 'Deleting') {
    const { successor } = state;
    if (successor !== undefined && isRepeated(successor, data)) return nothing;
    const isCleanedUp = data.recreatesFailed === true && state.keepsRecord && successor === undefined;
    return isCleanedUp ? recreate(state, command) : refuse('cluster.deleting', { cluster });
  }
  if (data.recreatesFailed === true && hasFailedToStart(state)) return recreate(state, command);
  if (isRepeated(state, data)) return nothing;
  return data.connectionFaults[0] ?? refuse('cluster.name-taken', { namespace, cluster }, 'name');
};

/** More requests are refused, so that the state of a cluster stays small. */
const REQUESTS_OPEN_MAX = 20;

/** An upgrade and a change of nodes never mix (B1). */
export const upgrading = ({ upgrade }: Present, address: NamedCluster, action: string): Refusal | undefined =>
  upgrade !== undefined && blocksOthers(upgrade) ? refuseBeside(upgrade, named(address), action) : undefined;

export const busy = (address: NamedCluster, action: string): Refusal =>
  refuse('cluster.busy', { ...named(address), action });

const withoutRequests = (additions: NodeRequests, instead: readonly string[] = []): NodeRequests =>
  new Map([...additions].filter(([id]) => !instead.includes(id)));

/** Nodes come and go beside each other, but not beside a node that is being replaced. */
const blockingWork = (state: Present, address: NamedCluster, action: string): Refusal | undefined =>
  isReplacing(state.additions) ? busy(address, action) : upgrading(state, address, action);

/** Each role has a limit of its own, and every node takes a range of the pod network. Machines that have no name yet count as asked for. */
const crowdedBy = (state: Present, { workers, controlPlane, instead }: RequestNodes['data']): Refusal | undefined => {
  const awaited = pendingMachines(withoutRequests(state.additions, instead));
  const added = workers.reduce((total, { count }) => total + count, 0);
  const workersNow = Object.values(state.members).filter(({ role }) => role === 'worker').length;
  const count = workersNow + awaited + added;
  if (added > 0 && count > CLUSTER_WORKERS_MAX)
    return refuse('cluster.too-many-nodes', { max: CLUSTER_WORKERS_MAX, count }, 'worker');
  const all = Object.keys(state.members).length + awaited + added + (controlPlane?.count ?? 0);
  return podRoomFault(state.spec.kubernetes, all, 'worker');
};

const requestNodes = (state: ClusterState, { data }: RequestNodes): readonly ClusterRequestFact[] | Refusal => {
  const { requestId, workers, controlPlane, onFailure, adopts, instead = [] } = data;
  if (state.status === 'absent') return unknown(data);
  const paused = refuseWhilePaused(state.pause, data, 'add a node');
  if (paused !== undefined) return paused;
  if (state.phase !== 'Provisioned') return refuse('cluster.not-ready', { action: 'add a node', phase: state.phase });
  const hindrance = blockingWork(state, data, 'add a node');
  if (hindrance !== undefined) return hindrance;
  if (state.additions.size - instead.length >= REQUESTS_OPEN_MAX) return busy(data, 'add a node');
  const { connection } = state.spec.controlPlane;
  const stranger = workers.findIndex((set) => state.spec.serviceType === 'single' && set.connection !== connection);
  if (stranger >= 0)
    return refuse(
      'cluster.single-connection',
      { connection: workers[stranger]?.connection ?? '' },
      `worker[${stranger}].connection`,
    );
  const crowded = crowdedBy(state, data);
  if (crowded !== undefined) return crowded;
  return (
    data.connectionFaults[0] ?? [
      {
        type: 'NodesRequested',
        data: {
          uid: state.uid,
          requestId,
          workers: [...workers],
          ...(controlPlane === undefined ? {} : { controlPlane }),
          ...(onFailure === undefined ? {} : { onFailure }),
          ...(adopts === undefined ? {} : { adopts }),
        },
      },
    ]
  );
};

const abandon = (state: ClusterState, { data }: AbandonNodes): readonly ClusterRequestFact[] | Refusal => {
  if (state.status === 'absent') return unknown(data);
  if (state.phase === 'Deleting') return refuse('cluster.deleting', { cluster: data.cluster });
  if (state.additions.size === 0) return refuse('nodes.nothing-to-abandon', named(data));
  const paused = refuseWhilePaused(state.pause, data, 'give up nodes');
  if (paused !== undefined) return paused;
  return [...state.additions].map(([requestId, { nodes }]) => ({
    type: 'NodesAbandoned',
    data: { uid: state.uid, requestId, nodes: nodes as NodeName[] },
  }));
};

const named = ({ namespace, cluster }: NamedCluster): { namespace: string; cluster: string } => ({
  namespace,
  cluster,
});

const isHealthy = (member: Member): boolean => member.ready && !member.lost && !member.leaving;

/** The control planes that are left when all have gone that were asked to. */
export const remainingControlPlanes = ({ members }: Pick<Present, 'members'>): readonly string[] =>
  Object.values(members).flatMap(({ name, role, leaving }) => (role === 'control-plane' && !leaving ? [name] : []));

/** An even number of members tolerates no more failures than one less. A node that is not Ready may be removed all the same. */
const leavesEven = (state: Present, { node, allowsEven, after }: RemoveNode['data']): Refusal | undefined => {
  const member = memberOf(state.members, node);
  const left = remainingControlPlanes(state).filter((name) => name !== node).length;
  if (allowsEven === true || after !== undefined || left % 2 === 1) return undefined;
  if (member === undefined || !member.ready || member.lost) return undefined;
  return refuse('node.control-plane-even', { node, after: left, fewer: left - 1 });
};

/** C8, by what agents say: etcd goes on without the node only if a majority is healthy now, and of those that stay. */
const breaksQuorum = (
  members: Members<Member>,
  { node, after = [] }: Pick<RemoveNode['data'], 'node' | 'after'>,
): Refusal | undefined => {
  const gone: ReadonlySet<string> = new Set(after);
  const controlPlanes = Object.values(members).filter(({ name, role }) => role === 'control-plane' && !gone.has(name));
  const healthy = controlPlanes.filter(isHealthy);
  const itIsHealthy = healthy.some(({ name }) => name === node);
  const quorum = { members: controlPlanes.length, healthy: healthy.length };
  if (c8MayRemove(quorum, itIsHealthy)) return undefined;
  const target = quorum.members - 1;
  const majority = majorityOf(Math.max(target, 1));
  return refuse('node.quorum', { node, ...quorum, target, after: quorum.healthy - (itIsHealthy ? 1 : 0), majority });
};

const remove = (state: ClusterState, { data }: RemoveNode): readonly ClusterRequestFact[] | Refusal => {
  if (state.status === 'absent') return unknown(data);
  const member = memberOf(state.members, data.node);
  if (member === undefined) return refuse('node.unknown', { ...named(data), node: data.node });
  if (member.removal === 'cancelling') return busy(data, 'remove a node whose removal is being cancelled');
  if (member.leaving && !state.stuck.has(stuckKey('RemoveNode', data.node))) return nothing;
  const paused = refuseWhilePaused(state.pause, data, 'remove a node');
  if (paused !== undefined) return paused;
  // A cluster that failed while it was made may be whole without the node that failed.
  if (state.phase !== 'Provisioned' && !(state.phase === 'Failed' && state.initialized))
    return refuse('cluster.not-ready', { action: 'remove a node', phase: state.phase });
  if (member.leader && data.keepsInitialControlPlane === true) return refuse('node.initial-control-plane');
  const hindrance = blockingWork(state, data, 'remove a node');
  if (hindrance !== undefined) return hindrance;
  const isOpenBeside = isGrowing(withoutRequests(state.additions, data.instead));
  if (member.role === 'control-plane' && isOpenBeside) return busy(data, 'remove a control plane');
  const hold =
    member.role === 'control-plane' ? (breaksQuorum(state.members, data) ?? leavesEven(state, data)) : undefined;
  const reason = data.reason === undefined ? {} : { reason: data.reason };
  return hold ?? [{ type: 'NodeRemovalRequested', data: { uid: state.uid, node: data.node, ...reason } }];
};

/** Its pool keeps its size, so the number of nodes is not checked. */
const replace = (state: ClusterState, { data }: ReplaceNode): readonly ClusterRequestFact[] | Refusal => {
  const { node, requestId, order, reason } = data;
  if (state.status === 'absent') return unknown(data);
  const member = memberOf(state.members, node);
  if (member === undefined) return refuse('node.unknown', { ...named(data), node });
  if (member.leaving) return refuse('node.leaving', { node });
  if (isReplaced(state.additions, node)) return refuse('node.being-replaced', { ...named(data), node });
  const paused = refuseWhilePaused(state.pause, data, 'replace a node');
  if (paused !== undefined) return paused;
  if (state.phase !== 'Provisioned')
    return refuse('cluster.not-ready', { action: 'replace a node', phase: state.phase });
  const isControlPlane = member.role === 'control-plane';
  const action = 'replace a node';
  const hindrance = isGrowing(state.additions) ? busy(data, action) : upgrading(state, data, action);
  if (hindrance !== undefined) return hindrance;
  const open = refuseBesideActionOf(state.actions, { ...named(data), node }, 'replace');
  if (open !== undefined) return open;
  // The new member of etcd comes before the old one goes, or after it.
  const hold = isControlPlane && order === 'remove-first' ? breaksQuorum(state.members, { node }) : undefined;
  return hold ?? [{ type: 'NodeReplacementRequested', data: { uid: state.uid, requestId, node, order, reason } }];
};

const retry = (state: ClusterState, { data }: RetryCluster): readonly ClusterRequestFact[] | Refusal => {
  if (state.status === 'absent')
    return state.record === undefined ? unknown(data) : refuse('cluster.cleaned-up', { cluster: data.cluster });
  const { upgrade } = state;
  if (hasFailedRollout(state.additions) && upgrade !== undefined && blocksOthers(upgrade))
    return refuseBeside(upgrade, named(data), 'retry the rollout of a pool');
  const hasFailed = state.phase === 'Failed' || state.stuck.size > 0 || isFailedAndKept(state.additions);
  if (!hasFailed && data.isUnmet !== true) return refuse('cluster.not-failed', { phase: state.phase });
  const { uid, pause } = state;
  const correction =
    data.correction === undefined
      ? {}
      : { correction: { ...data.correction, spec: withNodeCidrMask(data.correction.spec) } };
  const again = data.again === undefined ? {} : { again: data.again };
  return (
    refuseWhilePaused(pause, data, 'retry') ?? [
      { type: 'ClusterRetryRequested', data: { uid, ...correction, ...again } },
    ]
  );
};

const end = (state: ClusterState, { data }: DeleteCluster): readonly ClusterRequestFact[] | Refusal => {
  if (state.status === 'absent')
    return state.record === undefined ? unknown(data) : [{ type: 'ClusterRecordDeleted', data: { uid: state.record } }];
  const { uid } = state;
  if (state.phase === 'Deleting')
    return [
      ...(state.successor === undefined ? [] : [{ type: 'ClusterRecreationCancelled', data: { uid } } as const]),
      ...(state.keepsRecord ? [{ type: 'ClusterRecordDeleted', data: { uid } } as const] : []),
    ];
  // Nothing of a paused cluster would be deleted, so the request waits for the one who paused it.
  return (
    refuseWhilePaused(state.pause, data, 'delete the cluster') ?? [{ type: 'ClusterDeletionRequested', data: { uid } }]
  );
};

/** Nothing is done of it while the cluster is paused, or after someone has asked for something else: it is asked for again if need be. */
const cleanUp = (state: ClusterState, { data }: CleanUpCluster): readonly ClusterRequestFact[] => {
  if (state.status === 'absent' || state.uid !== data.uid || state.pause !== null) return nothing;
  const failure = state.creation?.cleanup ?? null;
  return failure === null ? nothing : [{ type: 'ClusterDeletionRequested', data: { uid: state.uid, failure } }];
};

/**
 * A pause holds the deletion, and not the warnings: they change nothing. A deletion that is due makes warnings that were missed pointless.
 */
const endLifetime = (state: ClusterState, { data: { uid, now } }: EndLifetime): readonly ClusterRequestFact[] => {
  if (state.status === 'absent' || state.uid !== uid || state.phase === 'Deleting') return nothing;
  const { lifetime, pause } = state;
  if (lifetime === undefined) return nothing;
  const [endsAt, deletionAt] = [endOf(lifetime), deletionAtOf(lifetime)];
  const { gracePeriod } = lifetime.lease;
  if (deletionAt <= now && pause === null)
    return [{ type: 'ClusterDeletionRequested', data: { uid, lease: { endsAt, gracePeriod } } }];
  return warningsDue(lifetime, now).map((warning) => ({
    type: 'ClusterExpiring',
    data: { uid, warning, endsAt, deletionAt },
  }));
};

/** Pausing again changes neither the reason nor the time. A deletion that has begun cannot be paused: it would orphan machines. */
const pause = (state: ClusterState, { data }: PauseCluster): readonly ClusterRequestFact[] | Refusal => {
  if (state.status === 'absent') return unknown(data);
  if (state.phase === 'Deleting') return refuse('cluster.deleting', { cluster: data.cluster });
  return state.pause === null ? [{ type: 'ClusterPaused', data: { uid: state.uid, reason: data.reason } }] : nothing;
};

const resume = (state: ClusterState, { data }: ResumeCluster): readonly ClusterRequestFact[] | Refusal => {
  if (state.status === 'absent') return unknown(data);
  return state.pause === null ? nothing : [{ type: 'ClusterResumed', data: { uid: state.uid, reason: data.reason } }];
};

const removalFault = ({ wasReady, leaving, removal, role }: Member): string | undefined => {
  if (!leaving) return 'it is not being removed';
  if (removal === null)
    return 'another node takes its place, its request was given up, or its upgrade no longer needs it';
  if (removal === 'drained') return 'its pods are evicted already';
  if (role === 'control-plane') return 'it is a control plane, whose departure has begun with its member of etcd';
  return wasReady ? undefined : 'it was never Ready';
};

/** bootstrap-svc decides: a drain that ends at the same moment comes first. */
const cancelRemoval = (state: ClusterState, { data }: CancelRemoval): readonly ClusterRequestFact[] | Refusal => {
  const { node, reason } = data;
  if (state.status === 'absent') return unknown(data);
  const member = memberOf(state.members, node);
  if (member === undefined) return refuse('node.unknown', { ...named(data), node });
  if (member.removal === 'cancelling') return nothing;
  if (state.phase === 'Deleting') return refuse('cluster.deleting', { cluster: data.cluster });
  const detail = removalFault(member);
  if (detail !== undefined) return refuse('node.removal-not-cancellable', { ...named(data), node, detail });
  const paused = refuseWhilePaused(state.pause, data, 'cancel a removal');
  return paused ?? [{ type: 'NodeRemovalCancellationRequested', data: { uid: state.uid, node, reason } }];
};

const changed = (state: Present, name: string, change: Partial<Member>): Present => ({
  ...state,
  members: withMember(state.members, name, change),
});

/** What is drained stays so, also when its removal is asked for again. */
const asked = (state: Present, name: string): Present =>
  memberOf(state.members, name)?.removal === 'drained' ? state : changed(state, name, { removal: 'requested' });

const isEmpty = ({ members }: Pick<Present, 'members'>): boolean => Object.keys(members).length === 0;

/**
 * infra-svc names no machine after the first two until a retry is requested. It may have reserved some for a cluster with a lease, and not
 * know it.
 */
const unmadeAfter = ({ unmade, members, creation, lifetime }: Present, event: StoredEvent): boolean => {
  switch (event.type) {
    case 'ClusterRejected':
      return isEmpty({ members });
    case 'InfrastructureFailed':
      return isEmpty({ members }) && creation?.isOver === false && lifetime === undefined;
    case 'ClusterRetryRequested':
    case 'VmsPlanned':
      return false;
    default:
      return unmade;
  }
};

const successorAfter = (successor: Present['successor'], event: StoredEvent): Present['successor'] => {
  switch (event.type) {
    case 'ClusterRecreationRequested':
      return { requestHash: event.data.successor.requestHash, actor: event.meta.actor };
    case 'ClusterRecreationCancelled':
      return undefined;
    default:
      return successor;
  }
};

const keepsRecordAfter = (keepsRecord: boolean, event: StoredEvent): boolean => {
  if (event.type === 'ClusterDeletionRequested') return event.data.failure !== undefined;
  return event.type === 'ClusterRecordDeleted' ? false : keepsRecord;
};

/** Whether the request of a cluster whose creation has failed can be replaced by another: there is nothing of it. */
export const isCorrectable = (state: ClusterState): boolean =>
  state.status === 'present' && state.phase === 'Failed' && state.unmade;

const entering = (event: StoredEvent): readonly Member[] =>
  event.type === 'VmsPlanned'
    ? event.data.machines.map((plan) => ({
        ...newMember(plan),
        ...{ leader: plan.leader, removal: null, zone: plan.zone ?? '', machine: templateOf(plan) },
      }))
    : [];

/** What an event says about the nodes and the requests for nodes of the present cluster. */
const evolveNodes = (before: Present, event: StoredEvent): Present => {
  const state = { ...before, members: membersAfter(before.members, event, entering(event)) };
  switch (event.type) {
    case 'VmCreated':
      return changed(state, event.data.machine.name, { zone: event.data.machine.zone });
    case 'NodeRemovalRequested':
      return asked(state, event.data.node);
    case 'NodeRemovalCancellationRequested':
      return changed(state, event.data.node, { removal: 'cancelling' });
    case 'NodeDrained':
      return changed(state, event.data.node, { removal: 'drained' });
    case 'NodeRemovalCancelled':
      return changed(state, event.data.node, { removal: null });
    case 'ControlPlaneInitialized':
      return { ...state, initialized: true, authenticationFile: event.data.authentication !== undefined };
    case 'InitialControlPlaneChanged':
      return changed(changed(state, event.data.from, { leader: false }), event.data.to, { leader: true });
    default:
      return state;
  }
};

const begin = (event: StoredEvent<'ClusterRequested'>): Present => ({
  status: 'present',
  uid: event.data.uid,
  spec: event.data.spec,
  requestHash: event.data.requestHash,
  actor: event.meta.actor,
  phase: 'Pending',
  creation: creationAfter(undefined, event),
  unmade: false,
  successor: undefined,
  keepsRecord: false,
  lifetime: lifetimeAfter(undefined, event),
  pause: null,
  members: {},
  additions: NO_NODE_REQUESTS,
  stuck: new Set(),
  initialized: false,
  authenticationFile: false,
  upgrade: undefined,
  actions: [],
});

const isAbout = (uid: ClusterUid, event: StoredEvent): boolean => !('uid' in event.data) || event.data.uid === uid;

/** What people may ask of a cluster, given everything that any service has said about it. */
export const clusters: Decider<ClusterState, ClusterCommand, ClusterRequestFact> = {
  initial: { status: 'absent' },
  reads: 'cluster',

  decide: (state, command) => {
    switch (command.type) {
      case 'RequestCluster':
        return request(state, command);
      case 'RequestNodes':
        return requestNodes(state, command);
      case 'AbandonNodes':
        return abandon(state, command);
      case 'RemoveNode':
        return remove(state, command);
      case 'ReplaceNode':
        return replace(state, command);
      case 'CancelRemoval':
        return cancelRemoval(state, command);
      case 'RetryCluster':
        return retry(state, command);
      case 'DeleteCluster':
        return end(state, command);
      case 'CleanUpCluster':
        return cleanUp(state, command);
      case 'EndLifetime':
        return endLifetime(state, command);
      case 'PauseCluster':
        return pause(state, command);
      case 'ResumeCluster':
        return resume(state, command);
    }
  },

  evolve: (state, event) => {
    if (event.type === 'ClusterRequested') return begin(event);
    if (state.status === 'absent') return event.type === 'ClusterRecordDeleted' ? { status: 'absent' } : state;
    if (!isAbout(state.uid, event)) return state;
    if (event.type === 'ClusterDeleted')
      return { status: 'absent', ...(state.keepsRecord ? { record: state.uid } : {}) };
    const { phase, upgrade, additions, stuck } = state;
    return evolveNodes(
      {
        ...state,
        phase: phaseAfter(phase, event),
        ...(event.type === 'ClusterRetryRequested' ? event.data.correction : {}),
        creation: creationAfter(state.creation, event),
        unmade: unmadeAfter(state, event),
        successor: successorAfter(state.successor, event),
        keepsRecord: keepsRecordAfter(state.keepsRecord, event),
        lifetime: lifetimeAfter(state.lifetime, event),
        pause: pauseAfter(state.pause, event),
        upgrade: latestUpgradeAfter(upgrade, event),
        additions: nodeRequestsAfter(additions, event),
        stuck: stuckAfter(stuck, event),
        actions: openActionsAfter(state.actions, event),
      },
      event,
    );
  },
};
