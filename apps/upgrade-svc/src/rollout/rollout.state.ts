import {
  type DrainPolicy,
  UPGRADE_RULES,
  type Cause,
  type ClusterUid,
  type EventData,
  type Finding,
  type KubernetesVersion,
  type NodeName,
  type NodeRole,
  type PlanOperation,
  type Probe,
  type SoftwareVersions,
  type UpgradeId,
  type UpgradeStep,
  type UpgradePlan,
  type UpgradeRule,
  type GateStage,
} from '@fairlead/contracts';
import { NO_SAVES, type EtcdSaves, type Health, type HookState } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import type { AddonStandings } from '../rules/addon.standings.js';
import { NO_HOLDS, type Holds } from '../holds/holds.js';
import type { Durations } from '../plan/durations.js';
import type { ReplacementLimits } from '../plan/plan.request.js';

/** A node as described by events. */
export interface RolloutNode extends Health {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  readonly desired: {
    readonly revision: number;
    readonly software: SoftwareVersions;
    readonly changesAllowed: boolean;
    readonly changesAllowedUntil?: EventData<'DesiredVersionsSet'>['changesAllowedUntil'];
    readonly probes: readonly Probe[];
  } | null;
  readonly software: SoftwareVersions;
  /** The revision with which it is Ready. */
  readonly readyRevision: number;
  /** Since when it is not Ready or silent; null: it is healthy. */
  readonly unwellSince: string | null;
  /** Since when it has been Ready and not silent without interruption; null: it is not. */
  readonly readySince: string | null;
}

/** The progress of one node's drain. */
export interface DrainState {
  /** `since` null: the drain is retried, and its timeout starts again. */
  readonly cordon: { readonly byPlan: boolean; readonly since: string | null } | null;
  readonly emptied: boolean;
  readonly timedOut: { readonly policy: 'stop' | 'quarantine' | 'force'; readonly pods: readonly string[] } | null;
  /** Pods whose eviction was last refused, by the budget or the message that refuses it. */
  readonly refused: Readonly<Record<string, readonly string[]>>;
  /** The message of the last refused eviction; null: none. */
  readonly words: string | null;
}

/** The progress of an operation as independent facts, from which its phase is derived (operation.planner.ts). */
export interface OperationState {
  readonly status: 'waiting' | 'open' | 'done' | 'failed' | 'skipped' | 'quarantined';
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** It was postponed once, and is not postponed again. */
  readonly postponed: boolean;
  readonly passed: Readonly<Record<GateStage, readonly string[]>>;
  /** When the last of its `before` gates passed; absent: none has. */
  readonly gatesPassedAt?: string;
  /** The gate that does not hold, with its message. */
  readonly failing: { readonly gate: string; readonly message: string } | null;
  readonly allowed: boolean;
  /** It was allowed in this attempt or an earlier one: this plan is responsible for the state of its node. */
  readonly touched: boolean;
  /** By node: an operation that returns surge nodes drains several. */
  readonly drains: Readonly<Record<string, DrainState>>;
  readonly leaderMoved: boolean;
  /** The revision set for this operation, and when. */
  readonly revision: number | null;
  readonly changedAt: string | null;
  readonly nodeReady: boolean;
  /** Since when its agent has reported that, which starts the timeout of its `after` gates. */
  readonly readyAt: string | null;
  readonly uncordoned: boolean;
  readonly withdrawn: boolean;
  /** The effect of an operation: snapshot taken, nodes tainted, or addons upgraded. */
  readonly effect: boolean;
  readonly effectAt: string | null;
  readonly staged: readonly NodeName[];
  /** When the last of them finished, in this attempt. */
  readonly stagedAt: string | null;
  /** The last reports of nodes about files and images that they could not download. */
  readonly unstaged: Readonly<Record<string, string>>;
  readonly failure: {
    readonly cause: Cause;
    readonly attempt: number;
    readonly attemptsMax: number;
    readonly nextAttemptAt: string | null;
    readonly at: string;
  } | null;
  /** A user skips it; it ends as soon as its node is released. */
  readonly leaveOut: string | null;
  readonly leaveOutAt: string | null;
  /**
   * A user retries it; the retry starts once its permission is withdrawn, so that nothing of the last attempt is still
   * in progress.
   */
  readonly retryDesired: boolean;
  /** Why the awaited result cannot arrive. */
  readonly trouble: Cause | null;
  /** The last error of its agent, which retries. */
  readonly problem: Cause | null;
  /** The node is being rolled back. */
  readonly rollingBack: boolean;
  /** The replacement of its nodes by new ones; absent: none is requested. */
  readonly replacement?: ReplacementState;
}

/** The progress of the replacement of a pool's nodes, which infra-svc drives. */
export interface ReplacementState {
  readonly requestId: string;
  /** The nodes to be replaced. */
  readonly nodes: readonly NodeName[];
  /** Requests of the replacements that have begun. */
  readonly begun: readonly string[];
  /** New nodes that have joined. */
  readonly joined: readonly NodeName[];
  readonly isDone: boolean;
}

export interface Pause {
  readonly by: EventData<'RolloutPaused'>['by'];
  readonly reason: string;
}

export interface Refused {
  readonly request: string;
  readonly finding: Finding;
}

/** A step that is tried until it succeeds. */
export interface FailingStep {
  readonly step: UpgradeStep;
  readonly node: NodeName | null;
  readonly message: string;
}

export const stepKeyOf = ({ step, node }: Pick<FailingStep, 'step' | 'node'>): string => `${step}/${node ?? ''}`;

/** One upgrade, from its request to its end. */
export interface Upgrade {
  readonly id: UpgradeId;
  readonly request: EventData<'UpgradeRequested'>;
  readonly overridden: readonly string[];
  readonly status: 'checking' | 'rejected' | 'planned' | 'running' | 'ended';
  readonly end: 'dry-run' | 'completed' | 'aborted' | 'replaced' | null;
  /** Number of retries requested by users. */
  readonly run: number;
  readonly plan: UpgradePlan | null;
  readonly planHash: string | null;
  readonly approved: boolean;
  readonly operations: Readonly<Record<string, OperationState>>;
  readonly startedAt: string | null;
  readonly leader: NodeName | null;
  readonly paused: Pause | null;
  /** Pending user requests; the pause and the resumption themselves are facts of this service. */
  readonly pauseAsked: string | null;
  readonly resumeAsked: boolean;
  readonly abortAsked: string | null;
  readonly abortAskedAt: string | null;
  readonly halted: { readonly rule: string; readonly cause: Cause } | null;
  readonly failuresInARow: number;
  /** Failing probes by `<node>/<probe>`, and those that a user has acknowledged. */
  readonly probesFailing: Readonly<Record<string, string>>;
  readonly probesKnown: readonly string[];
  readonly marked: readonly NodeName[];
  /** Pools whose surge nodes were requested and not returned. */
  readonly surging: readonly string[];
  readonly refused: readonly Refused[];
  /** Nodes that were unhealthy at its start. */
  readonly unwellBefore: readonly NodeName[];
  /** The findings that a declared upgrade waits for, and since when they are the same; absent: it does not wait. */
  readonly waits?: { readonly findings: readonly Finding[]; readonly since: string };
  /** The last recorded cause of each step that fails and belongs to no open operation, by step and node. Absent: none. */
  readonly failingSteps?: Readonly<Record<string, FailingStep>>;
  /** The version of the cluster when the upgrade was requested. */
  readonly from: KubernetesVersion;
}

/** A machine beyond the requested size of its pool, from its planning to its deletion. */
export interface SurgeMachine {
  readonly name: NodeName;
  readonly upgradeId: UpgradeId;
  readonly pool: string;
  readonly leaving: boolean;
  /** The last operation that returned it; null: none. */
  readonly returnedBy: string | null;
  /** Since when its removal from the cluster fails; null: it does not fail, or was not attempted. */
  readonly stuckSince: string | null;
}

export interface ClusterState {
  readonly status: 'known';
  readonly uid: ClusterUid;
  readonly version: KubernetesVersion;
  readonly life: 'building' | 'ready' | 'failed' | 'deleting';
  /** The whole cluster is paused: no facts and no tasks follow. Absent: it is not. */
  readonly isPaused?: true;
  /** Seconds for which a node must be Ready to be available, by pool; absent: no pool declares any. */
  readonly minReady?: Readonly<Record<string, number>>;
  /** Pools, and the control plane, whose nodes are replaced for another version, with the limits; absent: none. */
  readonly replaced?: Readonly<Record<string, ReplacementLimits>>;
  /** How nodes are drained; absent: no manifest declares it. */
  readonly drain?: DrainPolicy;
  /** Upgrade hooks; absent: the cluster declares none. */
  readonly hooks?: HookState;
  /** Addons of the manifest, by name; absent: none. */
  readonly addons?: AddonStandings;
  /** The https://host:port of the load balancer. */
  readonly endpoint: string | null;
  readonly nodes: Readonly<Record<string, RolloutNode>>;
  /** Removals and additions in progress, by subject. */
  readonly repairs: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, SurgeMachine>>;
  readonly holds: Holds;
  readonly saves: EtcdSaves;
  readonly upgrade: Upgrade | null;
  /** Requested while another one was open; it will be rejected. */
  readonly refusedUpgrades: readonly UpgradeId[];
  /** Declared while another one was open: it starts when that has ended. Absent: none. */
  readonly nextUpgrade?: { readonly request: EventData<'UpgradeRequested'>; readonly isStated: boolean };
  /** Waiting upgrades for which another version was declared, with the upgrade that replaces them. Absent: none. */
  readonly superseded?: Readonly<Record<UpgradeId, UpgradeId>>;
  /** Duration in seconds of the last operation of each kind on this cluster. */
  readonly durations: Durations;
}

export type Rollout = { readonly status: 'absent' } | ClusterState;

export const ABSENT: Rollout = { status: 'absent' };

/** The budget that refuses an eviction, otherwise the message of the refusal. */
export const refuserOf = ({ budget, message }: Pick<EventData<'EvictionRefused'>, 'budget' | 'message'>): string =>
  budget ?? message;

const NOT_DRAINED: DrainState = { cordon: null, emptied: false, timedOut: null, refused: {}, words: null };

export const drainOf = ({ drains }: Pick<OperationState, 'drains'>, node: NodeName | null): DrainState =>
  (node === null ? undefined : drains[node]) ?? NOT_DRAINED;

/** A retried drain has its whole timeout again; it is still known who cordoned the nodes. */
export const restartedDrains = ({ drains }: Pick<OperationState, 'drains'>): OperationState['drains'] =>
  Object.fromEntries(
    Object.entries(drains).map(([node, { cordon }]) => [
      node,
      { ...NOT_DRAINED, cordon: cordon === null ? null : { ...cordon, since: null } },
    ]),
  );

export const NEW_OPERATION: OperationState = {
  status: 'waiting',
  startedAt: null,
  endedAt: null,
  postponed: false,
  passed: { before: [], after: [], finish: [] },
  failing: null,
  allowed: false,
  touched: false,
  drains: {},
  leaderMoved: false,
  revision: null,
  changedAt: null,
  nodeReady: false,
  readyAt: null,
  uncordoned: false,
  withdrawn: false,
  effect: false,
  effectAt: null,
  staged: [],
  stagedAt: null,
  unstaged: {},
  failure: null,
  leaveOut: null,
  leaveOutAt: null,
  retryDesired: false,
  trouble: null,
  problem: null,
  rollingBack: false,
};

export const newCluster = ({ uid, spec }: EventData<'ClusterRequested'>): ClusterState => ({
  status: 'known',
  uid,
  version: spec.kubernetes.version,
  life: 'building',
  endpoint: null,
  nodes: {},
  repairs: {},
  extra: {},
  holds: NO_HOLDS,
  saves: NO_SAVES,
  upgrade: null,
  refusedUpgrades: [],
  durations: {},
});

/** An operation of the plan, with its progress. */
export interface OperationProgress {
  readonly operation: PlanOperation;
  readonly state: OperationState;
}

const progress = new WeakMap<Upgrade, readonly OperationProgress[]>();

/** In plan order. Cached per state, because every decision calls this many times. */
export const operationsOf = (upgrade: Upgrade): readonly OperationProgress[] => {
  const known = progress.get(upgrade);
  if (known !== undefined) return known;
  const all = (upgrade.plan?.operations ?? []).map((operation) => ({
    operation,
    state: upgrade.operations[operation.id] ?? NEW_OPERATION,
  }));
  progress.set(upgrade, all);
  return all;
};

export const hasEnded = ({ state }: OperationProgress): boolean =>
  state.status === 'done' || state.status === 'skipped' || state.status === 'quarantined';

/** It has failed, and is not being retried yet. */
export const hasFailed = ({ state }: OperationProgress): boolean => state.status === 'failed' && !state.retryDesired;

/** Open, or failed with a permission that is not withdrawn yet. */
export const isInFlight = ({ operation, state }: OperationProgress): boolean =>
  state.status === 'open' ||
  (state.status === 'failed' && operation.node !== null && state.allowed && !state.withdrawn);

/**
 * Whether its node is unavailable or may be: from its first permission until its release. A node that could not be
 * drained still works, and has a separate limit (E4).
 */
export const isAway = (progress: OperationProgress): boolean =>
  progress.operation.node !== null && progress.state.touched && !hasEnded(progress);

/** Nodes that this plan started to change and has not finished: their own gates check their health. */
export const touchedNodes = (upgrade: Upgrade): readonly NodeName[] =>
  operationsOf(upgrade).flatMap(({ operation, state }) => {
    if (state.status === 'done') return [];
    return operation.node !== null && state.touched ? [operation.node] : (state.replacement?.nodes ?? []);
  });

/** Nodes of a pool are being replaced by this plan. */
export const isReplacing = (upgrade: Upgrade): boolean =>
  operationsOf(upgrade).some(({ state }) => state.replacement !== undefined && state.status !== 'done');

/** Whether an operator has overridden the rule and it can be overridden. */
export const isOverridden = ({ overridden }: Upgrade, rule: UpgradeRule): boolean =>
  UPGRADE_RULES[rule].overridable && overridden.includes(rule);

/** Findings that may pass with time do not end it: it is declared, or its author asked for that. */
export const waitsForChecks = ({ request }: Pick<Upgrade, 'request'>): boolean =>
  request.declared === true || request.waitsForChecks === true;

/** It has not started, and repairs and other declarations take precedence. */
export const isWaiting = ({ status, waits }: Upgrade): boolean => status === 'checking' && waits !== undefined;

/** Interval at which an upgrade that waits is checked again. */
export const LOOK_AGAIN_MS = 15_000;

/** When a waiting upgrade is checked again after an event of its cluster; null: it does not wait. */
export const looksAgainAt = ({ status, waits }: Upgrade): string | null =>
  status === 'checking' && waits !== undefined ? later(waits.since, LOOK_AGAIN_MS) : null;

export const isOpen = (upgrade: Upgrade): boolean => upgrade.status !== 'ended' && upgrade.status !== 'rejected';

/** Was healthy once and is not now: a machine that has not become a node yet is not unhealthy. */
export const isUnhealthy = ({ ready, lost, readyRevision }: RolloutNode): boolean =>
  readyRevision > 0 && (!ready || lost);
