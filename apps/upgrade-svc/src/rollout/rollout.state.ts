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
  type UpgradePlan,
  type UpgradeRule,
  type GateStage,
} from '@fairlead/contracts';
import { NO_SAVES, type EtcdSaves, type Health, type HookState } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import type { AddonStandings } from '../rules/addon.standings.js';
import { NO_HOLDS, type Holds } from '../holds/holds.js';
import type { Durations } from '../plan/durations.js';

/** A node as events describe it. */
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
  /** The revision that it is Ready with. */
  readonly readyRevision: number;
  /** Since when it is not Ready or silent; null: it is well. */
  readonly unwellSince: string | null;
  /** Since when it is Ready without a break, and not silent; null: it is not. */
  readonly readySince: string | null;
}

/** How far the emptying of one node has come. */
export interface DrainState {
  /** Since null: it is retried, and its time begins again. */
  readonly cordon: { readonly byPlan: boolean; readonly since: string | null } | null;
  readonly emptied: boolean;
  readonly timedOut: { readonly policy: 'stop' | 'quarantine' | 'force'; readonly pods: readonly string[] } | null;
  /** Pods that were refused last, by the budget or the words that refuse them. */
  readonly refused: Readonly<Record<string, readonly string[]>>;
  /** In which words an eviction was refused last; null: none was. */
  readonly words: string | null;
}

/** How far an operation has come: facts side by side; its phase follows from them (operation.planner.ts). */
export interface OperationState {
  readonly status: 'waiting' | 'open' | 'done' | 'failed' | 'skipped' | 'quarantined';
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** It gave way once, and does not do so again. */
  readonly postponed: boolean;
  readonly passed: Readonly<Record<GateStage, readonly string[]>>;
  /** When the last of the gates before it passed; absent: none has. */
  readonly gatesPassedAt?: string;
  /** The gate that does not hold, with its message. */
  readonly failing: { readonly gate: string; readonly message: string } | null;
  readonly allowed: boolean;
  /** It was allowed once, in this try or an earlier one: what its node is like is this plan's affair. */
  readonly touched: boolean;
  /** By node: an operation that gives surge nodes back empties several. */
  readonly drains: Readonly<Record<string, DrainState>>;
  readonly leaderMoved: boolean;
  /** The revision that was set for this operation, and when. */
  readonly revision: number | null;
  readonly changedAt: string | null;
  readonly nodeReady: boolean;
  /** Since when its agent says so: from then on the gates after it have their time. */
  readonly readyAt: string | null;
  readonly uncordoned: boolean;
  readonly withdrawn: boolean;
  /** What the effect of an operation came to: snapshot taken, nodes marked, addons there. */
  readonly effect: boolean;
  readonly effectAt: string | null;
  readonly staged: readonly NodeName[];
  /** When the last of them had all, in this try. */
  readonly stagedAt: string | null;
  /** What nodes said last of files and images that they could not bring. */
  readonly unstaged: Readonly<Record<string, string>>;
  readonly failure: {
    readonly cause: Cause;
    readonly attempt: number;
    readonly attemptsMax: number;
    readonly nextAttemptAt: string | null;
    readonly at: string;
  } | null;
  /** Someone wants it left out; it ends as soon as it has let go of its node. */
  readonly leaveOut: string | null;
  readonly leaveOutAt: string | null;
  /** Someone wants it tried again; that begins when its permission is withdrawn, so that nothing of the last try is under way. */
  readonly retryDesired: boolean;
  /** Why what it waits for will not come. */
  readonly trouble: Cause | null;
  /** What its agent failed at last, and tries again. */
  readonly problem: Cause | null;
  /** The node gets its former software back. */
  readonly rollingBack: boolean;
}

export interface Pause {
  readonly by: EventData<'RolloutPaused'>['by'];
  readonly reason: string;
}

export interface Refused {
  readonly request: string;
  readonly finding: Finding;
}

/** One upgrade, from its request to its end. */
export interface Upgrade {
  readonly id: UpgradeId;
  readonly request: EventData<'UpgradeRequested'>;
  readonly overridden: readonly string[];
  readonly status: 'checking' | 'rejected' | 'planned' | 'running' | 'ended';
  readonly end: 'dry-run' | 'completed' | 'aborted' | 'replaced' | null;
  /** Counts the retries that people asked for. */
  readonly run: number;
  readonly plan: UpgradePlan | null;
  readonly planHash: string | null;
  readonly approved: boolean;
  readonly operations: Readonly<Record<string, OperationState>>;
  readonly startedAt: string | null;
  readonly leader: NodeName | null;
  readonly paused: Pause | null;
  /** What people request of it that is not yet stated: paused and resumed are facts of ours. */
  readonly pauseAsked: string | null;
  readonly resumeAsked: boolean;
  readonly abortAsked: string | null;
  readonly abortAskedAt: string | null;
  readonly halted: { readonly rule: string; readonly cause: Cause } | null;
  readonly failuresInARow: number;
  /** Failing probes by `<node>/<probe>`, and those that someone knows of and goes on nevertheless. */
  readonly probesFailing: Readonly<Record<string, string>>;
  readonly probesKnown: readonly string[];
  readonly marked: readonly NodeName[];
  /** Pools for which surge nodes were asked, and not given back. */
  readonly surging: readonly string[];
  readonly refused: readonly Refused[];
  /** Nodes that were unwell when it began. */
  readonly unwellBefore: readonly NodeName[];
  /** What a declared one waits for, and since when it is the same; absent: it does not wait. */
  readonly waits?: { readonly findings: readonly Finding[]; readonly since: string };
  /** The version of the cluster when it was requested. */
  readonly from: KubernetesVersion;
}

/** A machine beyond the requested size of its pool, from its name to its end. */
export interface SurgeMachine {
  readonly name: NodeName;
  readonly upgradeId: UpgradeId;
  readonly pool: string;
  readonly leaving: boolean;
  /** The operation that gave it back last; null: none has. */
  readonly returnedBy: string | null;
  /** Since when it cannot be taken out of its cluster; null: it can, or that is not tried. */
  readonly stuckSince: string | null;
}

export interface ClusterState {
  readonly status: 'known';
  readonly uid: ClusterUid;
  readonly version: KubernetesVersion;
  readonly life: 'building' | 'ready' | 'failed' | 'deleting';
  /** The whole cluster is paused: nothing follows from anything. Absent: it is not. */
  readonly isPaused?: true;
  /** Seconds that nodes of a pool must be Ready until they count as available; absent: none declares any. */
  readonly minReady?: Readonly<Record<string, number>>;
  /** How nodes are emptied; absent: no manifest says it. */
  readonly drain?: DrainPolicy;
  /** Of upgrades; absent: the cluster declares none. */
  readonly hooks?: HookState;
  /** Add-ons of the manifest, by name; absent: it has none. */
  readonly addons?: AddonStandings;
  /** https://host:port of the load balancer. */
  readonly endpoint: string | null;
  readonly nodes: Readonly<Record<string, RolloutNode>>;
  /** Removals and additions under way, by what they are about. */
  readonly repairs: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, SurgeMachine>>;
  readonly holds: Holds;
  readonly saves: EtcdSaves;
  readonly upgrade: Upgrade | null;
  /** Asked for while another was open; it will be rejected. */
  readonly refusedUpgrades: readonly UpgradeId[];
  /** Declared while another was under way: it begins when that has ended. Absent: none. */
  readonly nextUpgrade?: { readonly request: EventData<'UpgradeRequested'>; readonly isStated: boolean };
  /** Another version was declared while they waited, by the upgrade that takes their place. Absent: none. */
  readonly superseded?: Readonly<Record<UpgradeId, UpgradeId>>;
  /** Seconds that operations of this cluster took, the last of each kind. */
  readonly durations: Durations;
}

export type Rollout = { readonly status: 'absent' } | ClusterState;

export const ABSENT: Rollout = { status: 'absent' };

/** The budget that refuses an eviction, else in which words it is refused. */
export const refuserOf = ({ budget, message }: Pick<EventData<'EvictionRefused'>, 'budget' | 'message'>): string =>
  budget ?? message;

const NOT_DRAINED: DrainState = { cordon: null, emptied: false, timedOut: null, refused: {}, words: null };

export const drainOf = ({ drains }: Pick<OperationState, 'drains'>, node: NodeName | null): DrainState =>
  (node === null ? undefined : drains[node]) ?? NOT_DRAINED;

/** What is tried again has its whole time again; who cordoned the nodes stays known. */
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

/** An operation of the plan, and how far it has come. */
export interface OperationProgress {
  readonly operation: PlanOperation;
  readonly state: OperationState;
}

const progress = new WeakMap<Upgrade, readonly OperationProgress[]>();

/** In the order of the plan. Remembered for as long as the state is: it is asked for many times a decision. */
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

/** It has failed, and what follows is not decided yet. */
export const hasFailed = ({ state }: OperationProgress): boolean => state.status === 'failed' && !state.retryDesired;

/** Open, or failed with a permission that is still to be withdrawn: something of it is not at rest. */
export const isInFlight = ({ operation, state }: OperationProgress): boolean =>
  state.status === 'open' ||
  (state.status === 'failed' && operation.node !== null && state.allowed && !state.withdrawn);

/**
 * Whether its node is away or may be: since it was first allowed, until it was let go. One that could not be emptied still
 * does its work, and has a limit of its own (E4).
 */
export const isAway = (progress: OperationProgress): boolean =>
  progress.operation.node !== null && progress.state.touched && !hasEnded(progress);

/** Nodes that this plan touched and has not brought to their end: their health is looked at by their own gates. */
export const touchedNodes = (upgrade: Upgrade): readonly NodeName[] =>
  operationsOf(upgrade).flatMap(({ operation, state }) =>
    operation.node !== null && state.touched && state.status !== 'done' ? [operation.node] : [],
  );

/** Whether an operator has overridden the rule, and may. */
export const isOverridden = ({ overridden }: Upgrade, rule: UpgradeRule): boolean =>
  UPGRADE_RULES[rule].overridable && overridden.includes(rule);

/** A manifest declares its version: it is given up by an operator or by another declaration alone. */
export const isDeclared = ({ request }: Pick<Upgrade, 'request'>): boolean => request.declared === true;

/** Nothing of it has begun, and repairs and other declarations go first. */
export const isWaiting = ({ status, waits }: Upgrade): boolean => status === 'checking' && waits !== undefined;

/** How often the findings that a declared upgrade waits for are looked at. */
export const LOOK_AGAIN_MS = 15_000;

/** When its cluster is looked at again after news of it; null: it does not wait. */
export const looksAgainAt = ({ status, waits }: Upgrade): string | null =>
  status === 'checking' && waits !== undefined ? later(waits.since, LOOK_AGAIN_MS) : null;

export const isOpen = (upgrade: Upgrade): boolean => upgrade.status !== 'ended' && upgrade.status !== 'rejected';

/** It was well once and is not: a machine that has yet to become a node is not unwell. */
export const isUnwell = ({ ready, lost, readyRevision }: RolloutNode): boolean => readyRevision > 0 && (!ready || lost);
