import type {
  ClusterUid,
  GateName,
  GateStage,
  HookPoint,
  KubernetesVersion,
  NodeChange,
  NodeName,
  PoolStrategy,
  Probe,
  SoftwareVersions,
  UpgradeId,
} from '@fairlead/contracts';

/**
 * The data of rollout tasks. A handler ensures the effect, then records the result (`RecordFact`, one or several facts
 * at a time). Known facts are not recorded again.
 *
 * An exception of a handler is a failed attempt: rollout.reconciler.ts records it, with the time of the next one.
 */
export interface RolloutTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly upgradeId: UpgradeId;
  /** Number of retries requested by users: tasks of an earlier run are void. */
  readonly run: number;
  readonly type: RolloutTaskType;
  /** Absent: the task belongs to the upgrade as a whole. */
  readonly operation?: string;
  readonly node?: NodeName;
}

/**
 * Collects ClusterFacts (read only), calls `checkUpgrade(view, facts)`, and records by `RecordCheck`: UpgradeRejected |
 * UpgradePlanned.
 */
export interface CheckUpgrade extends RolloutTask {
  readonly type: 'CheckUpgrade';
}

/** EtcdSnapshotTaken{operation}: saved, its status verified, and stored outside its node. */
export interface TakeSnapshot extends RolloutTask {
  readonly type: 'TakeSnapshot';
  readonly operation: string;
}

/**
 * DesiredVersionsSet{stage, changesAllowed unchanged} for each node; the agents answer NodeChangeProgressed{change:
 * stage.id, phase: stage, status: done}, and the operation ends when all have. `node`: the control plane whose turn it
 * is; all workers share one task.
 */
export interface StageNodes extends RolloutTask {
  readonly type: 'StageNodes';
  readonly operation: string;
  readonly nodes: readonly NodeName[];
  readonly stage: { readonly id: string; readonly software: SoftwareVersions };
}

/** NodesMarked: adds the taint PreferNoSchedule to each node (D3); nodes that are gone are skipped. */
export interface MarkWorkers extends RolloutTask {
  readonly type: 'MarkWorkers';
  readonly operation: string;
  readonly nodes: readonly NodeName[];
}

/**
 * NodesUnmarked: removes the taint from these nodes. Requested node by node as they finish, and for the rest at the
 * end.
 */
export interface UnmarkWorkers extends RolloutTask {
  readonly type: 'UnmarkWorkers';
  readonly nodes: readonly NodeName[];
}

/**
 * DesiredVersionsSet{probes, otherwise unchanged} for each node: from now on they run the probes of the strategy
 * continuously, independently of their other desired state.
 */
export interface BeginProbes extends RolloutTask {
  readonly type: 'BeginProbes';
  readonly nodes: readonly NodeName[];
  readonly probes: readonly Probe[];
}

/** DesiredVersionsSet without probes for each node, when the rollout has ended. */
export interface EndProbes extends RolloutTask {
  readonly type: 'EndProbes';
  readonly nodes: readonly NodeName[];
}

/**
 * AddonsUpgraded: addons that kubeadm does not upgrade are compatible with the target. Followed by gates of stage
 * finish.
 */
export interface UpgradeAddons extends RolloutTask {
  readonly type: 'UpgradeAddons';
  readonly operation: string;
  /** The Kubernetes version that they must support. */
  readonly kubernetes: string | null;
  /** Control planes were replaced, so kubeadm has not upgraded kube-proxy and CoreDNS; absent: it has. */
  readonly install?: true;
}

/**
 * PoolReplacementRequested: from now on new nodes of the pool have the version. Before control planes are replaced,
 * kubeadm-config is set to it, as they run what it says. infra-svc replaces the nodes and answers PoolRolloutCompleted
 * or PoolRolloutFailed.
 */
export interface ReplaceNodes extends RolloutTask {
  readonly type: 'ReplaceNodes';
  readonly operation: string;
  readonly requestId: string;
  readonly pool: string;
  readonly nodes: readonly NodeName[];
  readonly version: KubernetesVersion;
  readonly software: SoftwareVersions;
}

/**
 * GatePassed for each of `gates` that holds, in this order; GateFailed when one does not, recorded when its reason
 * changes. A gate that does not hold is evaluated again (requeueAfter) while the task is desired; the rollout has the
 * timeout and ends it. Gates that passed are in the state and are not evaluated again. `user:<name>` is defined in the
 * plan's strategy. Facts of etcd-leader: {leader: NodeName}.
 */
export interface CheckGates extends RolloutTask {
  readonly type: 'CheckGates';
  readonly operation: string;
  readonly stage: GateStage;
  readonly gates: readonly GateName[];
  /** The software that the operation's node must have in stage after. */
  readonly software: SoftwareVersions;
  /**
   * Nodes that need not be Ready or healthy members of etcd: the node itself, and others that this plan left
   * unfinished.
   */
  readonly excused: readonly NodeName[];
}

/**
 * On the node, in this order: cordon (NodeCordoned{byPlan}), EtcdLeaderMoved if `moveEtcdLeader` is set, evict
 * (EvictionRefused when the refusing budget or message changes), NodeEmptied. After the pool's timeout DrainTimedOut
 * with its policy; with `quarantine` the decider adds NodeQuarantined; with `force` pods are deleted only before
 * forceUntil, then NodeEmptied{forcedPods}. A surge node without a Node object is empty. Resumable: a node cordoned by
 * this plan stays byPlan, even after a crash between cordon and event.
 */
export interface EmptyNode extends RolloutTask {
  readonly type: 'EmptyNode';
  readonly operation: string;
  readonly node: NodeName;
  readonly pool: PoolStrategy;
  /**
   * false: nothing is cordoned or evicted, only the etcd leadership is transferred; NodeEmptied{evictedPods: 0} ends
   * it.
   */
  readonly drain: boolean;
  /** The member that must become leader instead of this node's; null: no transfer is needed. */
  readonly moveEtcdLeader: NodeName | null;
  /** RFC 3339: the time of the cordon, from which the timeout counts; null: not yet. */
  readonly since: string | null;
}

/**
 * DesiredVersionsSet{software, change, changesAllowed: true} in the node's own stream. The agent's NodeReady of that
 * revision ends it.
 */
export interface ChangeNode extends RolloutTask {
  readonly type: 'ChangeNode';
  readonly operation: string;
  readonly node: NodeName;
  readonly software: SoftwareVersions;
  readonly change: NodeChange;
  /** A worker rolls back to its former software (G3): a lower minor is allowed in this case. */
  readonly rollback: boolean;
}

/**
 * If `uncordon`: NodeUncordoned. Then DesiredVersionsSet{changesAllowed: false, no change} in the node's stream, and
 * finally UpgradeWithdrawn{leftFailed}. `uncordon` is false for a node that this plan did not cordon, and for a node
 * that is leftFailed.
 */
export interface ReleaseNode extends RolloutTask {
  readonly type: 'ReleaseNode';
  readonly operation: string;
  /**
   * For a failed node that is given up: `settle` makes its current software the desired software; `let-go` uncordons
   * it.
   */
  readonly stage?: 'settle' | 'let-go';
  readonly node: NodeName;
  readonly uncordon: boolean;
  readonly unmark: boolean;
  readonly leftFailed: boolean;
  /** The desired software of the node afterwards. */
  readonly software: SoftwareVersions;
}

/**
 * UpgradeHookSucceeded | UpgradeHookBlocked | UpgradeHookFailed of this attempt; the next attempt is a separate task,
 * once it is due.
 */
export interface CallHook extends RolloutTask {
  readonly type: 'CallHook';
  readonly point: HookPoint;
  readonly hook: string;
  readonly attempt: number;
  /** The operation that drains the node; absent: the upgrade as a whole. A failed call does not fail the operation. */
  readonly during?: string;
}

export type AnyRolloutTask =
  | CallHook
  | CheckUpgrade
  | TakeSnapshot
  | StageNodes
  | MarkWorkers
  | UnmarkWorkers
  | BeginProbes
  | EndProbes
  | UpgradeAddons
  | ReplaceNodes
  | CheckGates
  | EmptyNode
  | ChangeNode
  | ReleaseNode;

export type RolloutTaskType =
  | 'CallHook'
  | 'CheckUpgrade'
  | 'TakeSnapshot'
  | 'StageNodes'
  | 'MarkWorkers'
  | 'UnmarkWorkers'
  | 'BeginProbes'
  | 'EndProbes'
  | 'UpgradeAddons'
  | 'ReplaceNodes'
  | 'CheckGates'
  | 'EmptyNode'
  | 'ChangeNode'
  | 'ReleaseNode';

/** Attempts of a step whose failure ends no operation: nothing else would continue it, so it is not given up. */
export const UNTIL_DONE = 1_000_000;

interface NamedTask {
  readonly type: string;
  readonly operation?: string;
  readonly stage?: unknown;
  readonly node?: unknown;
  readonly point?: unknown;
  readonly hook?: unknown;
  readonly attempt?: unknown;
  readonly during?: unknown;
}

/**
 * Identifies a task within its upgrade: a desired task is published once. One operation may drain or stage several
 * nodes.
 */
export const keyOf = ({ type, operation, stage, node, point, hook, attempt, during }: NamedTask): string =>
  [
    type,
    point,
    hook,
    attempt === undefined ? undefined : String(attempt),
    during,
    operation,
    stage,
    type === 'EmptyNode' || type === 'CallHook' || type === 'StageNodes' ? node : undefined,
  ]
    .filter((part) => typeof part === 'string')
    .join('/');
