import type {
  ClusterUid,
  GateName,
  GateStage,
  HookPoint,
  NodeChange,
  NodeName,
  PoolStrategy,
  Probe,
  SoftwareVersions,
  UpgradeId,
} from '@fairlead/contracts';

/**
 * What the rollout asks of the world: the data of its tasks. A handler ensures the effect, then records what came of it
 * (`RecordFact`, one fact at a time or several). A fact that is known already is not stated again.
 *
 * A handler that throws has failed an attempt: rollout.reconciler.ts states it, with the time of the next.
 */
export interface RolloutTask {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly upgradeId: UpgradeId;
  /** Counts the retries that users asked for: tasks of an earlier run are void. */
  readonly run: number;
  readonly type: RolloutTaskType;
  /** Absent: it is about the upgrade as a whole. */
  readonly operation?: string;
  readonly node?: NodeName;
}

/**
 * Gathers ClusterFacts (read only), calls `checkUpgrade(view, facts)`, and records by `RecordCheck`:
 * UpgradeRejected | UpgradePlanned.
 */
export interface CheckUpgrade extends RolloutTask {
  readonly type: 'CheckUpgrade';
}

/** EtcdSnapshotTaken{operation}: saved, its status read, lying off its node. */
export interface TakeSnapshot extends RolloutTask {
  readonly type: 'TakeSnapshot';
  readonly operation: string;
}

/**
 * DesiredVersionsSet{stage, changesAllowed as it is} for each node; the agents answer NodeChangeProgressed{change: stage.id,
 * phase: stage, status: done}, and the operation ends when all have. `node`: a control plane, whose turn it is; all workers are
 * one task.
 */
export interface StageNodes extends RolloutTask {
  readonly type: 'StageNodes';
  readonly operation: string;
  readonly nodes: readonly NodeName[];
  readonly stage: { readonly id: string; readonly software: SoftwareVersions };
}

/** NodesMarked: each gets the taint PreferNoSchedule (D3); those that are gone are left out. */
export interface MarkWorkers extends RolloutTask {
  readonly type: 'MarkWorkers';
  readonly operation: string;
  readonly nodes: readonly NodeName[];
}

/** NodesUnmarked: the taint is off these nodes again. Asked for node by node as they are done, and for the rest at the end. */
export interface UnmarkWorkers extends RolloutTask {
  readonly type: 'UnmarkWorkers';
  readonly nodes: readonly NodeName[];
}

/**
 * DesiredVersionsSet{probes, all else as it is} for each node: from now on they ask what the strategy names, all the time, whatever
 * else becomes desired of them.
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

/** AddonsUpgraded: what kubeadm does not upgrade fits the target. Gates of stage finish follow. */
export interface UpgradeAddons extends RolloutTask {
  readonly type: 'UpgradeAddons';
  readonly operation: string;
  /** Kubernetes version that they must fit. */
  readonly kubernetes: string | null;
}

/**
 * GatePassed for each of `gates` that holds, in this order; GateFailed when one does not, stated when its reason changes. A gate
 * that does not hold is asked again (requeueAfter) for as long as the task is desired: the rollout knows since when, and ends
 * it. Gates that passed are not asked again: the state knows them. `user:<name>` is in the plan's strategy. Facts of
 * etcd-leader: {leader: NodeName}.
 */
export interface CheckGates extends RolloutTask {
  readonly type: 'CheckGates';
  readonly operation: string;
  readonly stage: GateStage;
  readonly gates: readonly GateName[];
  /** Of the operation's node, when stage is after: what must be seen there. */
  readonly software: SoftwareVersions;
  /** Need be neither Ready nor healthy members of etcd: the node itself, and others that this plan left unfinished. */
  readonly excused: readonly NodeName[];
}

/**
 * On the node, in this order: cordon (NodeCordoned{byPlan}), if `moveEtcdLeader` EtcdLeaderMoved, evict (EvictionRefused when
 * who refuses changes), NodeEmptied. On the pool's timeout DrainTimedOut with its policy; with `quarantine` the decider adds
 * NodeQuarantined; with `force` pods go only before forceUntil, then NodeEmptied{forcedPods}. A surge node that Kubernetes
 * does not know any more is empty.
 * Resumable: a node that was cordoned by this plan stays byPlan, also after a crash between cordon and event.
 */
export interface EmptyNode extends RolloutTask {
  readonly type: 'EmptyNode';
  readonly operation: string;
  readonly node: NodeName;
  readonly pool: PoolStrategy;
  /** false: nothing is cordoned or evicted, only the lead of etcd is moved; NodeEmptied{evictedPods: 0} ends it. */
  readonly drain: boolean;
  /** The member that must lead instead of this node's; null: it need not be moved. */
  readonly moveEtcdLeader: NodeName | null;
  /** RFC 3339: when the cordon began, from which the timeout counts; null: not yet. */
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
  /** A worker goes back to its former software (G3): a lower minor is allowed this once. */
  readonly rollback: boolean;
}

/**
 * If `uncordon`: NodeUncordoned. Then DesiredVersionsSet{changesAllowed: false, no change} in the node's stream, and at last
 * UpgradeWithdrawn{leftFailed}. `uncordon` is false for what this plan did not cordon, and for a node that is leftFailed.
 */
export interface ReleaseNode extends RolloutTask {
  readonly type: 'ReleaseNode';
  readonly operation: string;
  /** Of a node that failed and is given up: settle, what it has becomes desired of it; let-go, it takes pods again. */
  readonly stage?: 'settle' | 'let-go';
  readonly node: NodeName;
  readonly uncordon: boolean;
  readonly unmark: boolean;
  readonly leftFailed: boolean;
  /** What stays desired of the node. */
  readonly software: SoftwareVersions;
}

/**
 * UpgradeHookSucceeded | UpgradeHookBlocked | UpgradeHookFailed of this attempt; the next is a task of its own, when it is
 * due.
 */
export interface CallHook extends RolloutTask {
  readonly type: 'CallHook';
  readonly point: HookPoint;
  readonly hook: string;
  readonly attempt: number;
  /** The operation that drains the node; absent: it is about the upgrade as a whole. A call that fails is no failure of it. */
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
  | 'CheckGates'
  | 'EmptyNode'
  | 'ChangeNode'
  | 'ReleaseNode';

interface Named {
  readonly type: string;
  readonly operation?: string;
  readonly stage?: unknown;
  readonly node?: unknown;
  readonly point?: unknown;
  readonly hook?: unknown;
  readonly attempt?: unknown;
  readonly during?: unknown;
}

/** Names a task inside its upgrade: while it is desired it is published once. One operation may empty or stage several nodes. */
export const keyOf = ({ type, operation, stage, node, point, hook, attempt, during }: Named): string =>
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
