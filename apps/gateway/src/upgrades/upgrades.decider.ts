import {
  isRefusal,
  refuse,
  type EventData,
  type Fact,
  type NodeName,
  type NodeRole,
  type Refusal,
  type StoredEvent,
  type UpgradePath,
  type UpgradePhase,
} from '@fairlead/contracts';
import { declaredAfter, type Declared } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { refuseBesideActions } from '../lifecycle/node.actions.js';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import { isGrowing } from '../lifecycle/node.requests.js';
import {
  isForeign,
  isShrinking,
  membershipAfter,
  workerPoolsOf,
  type ClusterMembership,
} from '../lifecycle/membership.js';
import { isOpen, latestUpgradeAfter, refuseBeside, wayOn, type PhasedUpgrade } from '../lifecycle/upgrade.phase.js';

/** Whose cluster it is about, for the sentences of refusals. */
interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

type About = Readonly<UpgradePath>;

export type RequestUpgrade = Command<
  'RequestUpgrade',
  NamedCluster & Omit<EventData<'UpgradeRequested'>, 'uid'> & { readonly actor: string }
>;
/** What is requested, whoever asks for which cluster. */
export type UpgradeOrder = Omit<RequestUpgrade['data'], keyof NamedCluster | 'mode' | 'actor'>;
export type ApproveUpgrade = Command<'ApproveUpgrade', About & { readonly planHash: string }>;
export type PauseUpgrade = Command<'PauseUpgrade', About & { readonly reason: string }>;
export type ResumeUpgrade = Command<'ResumeUpgrade', About>;
export type AbortUpgrade = Command<'AbortUpgrade', About & { readonly reason: string }>;
export type RetryUpgrade = Command<'RetryUpgrade', About>;
export type SkipNode = Command<'SkipNode', About & { readonly node: string; readonly reason: string }>;
export type OverrideRule = Command<'OverrideRule', About & { readonly rule: string; readonly reason: string }>;
export type RollBackNode = Command<'RollBackNode', About & { readonly node: string }>;

/** What people do with an upgrade that there is. */
export type SteeringCommand =
  ApproveUpgrade | PauseUpgrade | ResumeUpgrade | AbortUpgrade | RetryUpgrade | SkipNode | OverrideRule | RollBackNode;
export type UpgradeCommand = RequestUpgrade | SteeringCommand;

type UpgradeRequestFact = Fact<
  | 'UpgradeRequested'
  | 'UpgradeApproved'
  | 'UpgradePauseRequested'
  | 'UpgradeResumeRequested'
  | 'UpgradeAbortRequested'
  | 'UpgradeRetryRequested'
  | 'UpgradeNodeSkipRequested'
  | 'UpgradeRuleOverridden'
  | 'NodeRollbackRequested'
>;

interface PlannedOperation {
  readonly node: NodeName | null;
  readonly role: NodeRole | null;
}

interface Upgrade extends PhasedUpgrade {
  readonly actor: string;
  readonly requestHash: string;
  readonly planHash: string | undefined;
  /** The operations of the plan that are about one node or about none. */
  readonly operations: ReadonlyMap<string, PlannedOperation>;
  /** The plan waits for an approval, whatever its mode is. */
  readonly mustBeApproved: boolean;
  /** Nodes that could not be drained and stay as they are, until someone retries or skips them. */
  readonly quarantined: ReadonlySet<string>;
  /** Operations whose latest attempt failed. */
  readonly failed: ReadonlySet<string>;
  readonly completed: ReadonlySet<string>;
  /** Nodes that were left out after all. */
  readonly skipped: ReadonlySet<string>;
  readonly isPauseAsked: boolean;
  readonly overridden: ReadonlySet<string>;
}

/** The cluster of a name, and its upgrades. */
export interface UpgradesState {
  readonly cluster: ClusterMembership | undefined;
  readonly declared: Declared | undefined;
  readonly latest: Upgrade | undefined;
  /** How those before the latest ended. */
  readonly over: ReadonlyMap<string, UpgradePhase>;
}

/** How many ended upgrades a name remembers: enough to distinguish "over" from "unknown", and a repetition from a new request. */
const OVER_MAX = 100;

const unknownCluster = ({ namespace, cluster }: NamedCluster): Refusal =>
  refuse('cluster.unknown', { namespace, cluster });

const unknownPool = (cluster: ClusterMembership, { data }: RequestUpgrade): Refusal | undefined => {
  const known = workerPoolsOf(cluster);
  const asked = [
    ...(data.pools ?? []).map((pool, index) => ({ pool, field: `pools[${index}]` })),
    ...Object.keys(data.strategy.pools).map((pool) => ({ pool, field: `strategy.pools.${pool}` })),
  ];
  const stranger = asked.find(({ pool }) => !known.includes(pool));
  return (
    stranger &&
    refuse(
      'upgrade.pool-unknown',
      { cluster: data.cluster, pool: stranger.pool, pools: known.join(', ') },
      stranger.field,
    )
  );
};

/** Why no upgrade may begin now (B1): something else is under way, or the cluster is not there to be upgraded. */
const hindrance = (
  cluster: ClusterMembership,
  { namespace, cluster: name, waitsForChecks }: RequestUpgrade['data'],
): Refusal | undefined => {
  if (cluster.phase === 'Deleting') return refuse('cluster.deleting', { cluster: name });
  const paused = refuseWhilePaused(cluster.pause, { namespace, cluster: name }, 'upgrade');
  if (paused !== undefined) return paused;
  if (cluster.phase !== 'Provisioned') return refuse('cluster.not-ready', { action: 'upgrade', phase: cluster.phase });
  // One that may wait does so, until nodes have come or left (B1).
  if (waitsForChecks !== true && (isGrowing(cluster.additions) || isShrinking(cluster)))
    return refuse('cluster.busy', { namespace, cluster: name, action: 'upgrade' });
  return refuseBesideActions(cluster.actions, { namespace, cluster: name }, 'upgrade');
};

/** The version of a cluster with a template is another one by another template. A dry run changes nothing. */
const fixedVersion = (declared: Declared | undefined, { data }: RequestUpgrade): Refusal | undefined => {
  const { kubernetes } = data.target;
  if (declared?.template === undefined || kubernetes === undefined || data.mode === 'dry-run') return undefined;
  if (declared.spec.version === kubernetes) return undefined;
  return refuse('template.version-fixed', { cluster: data.cluster, template: declared.template.name }, 'version');
};

const isRepetition = (latest: Upgrade, { data }: RequestUpgrade): boolean =>
  latest.requestHash === data.requestHash && latest.actor === data.actor && latest.mode === data.mode;

/** What was not requested is not begun again after an operator has given it up. */
const isGivenUp = (latest: Upgrade, command: RequestUpgrade): boolean =>
  latest.phase === 'Aborted' && command.data.actor.startsWith('system/') && isRepetition(latest, command);

const request = (state: UpgradesState, command: RequestUpgrade): readonly UpgradeRequestFact[] | Refusal => {
  const { namespace, cluster: name, actor: _actor, ...request } = command.data;
  const { cluster, declared, latest, over } = state;
  if (cluster === undefined) return unknownCluster(command.data);
  if (latest?.id === request.upgradeId || over.has(request.upgradeId)) return nothing;
  if (latest !== undefined && isGivenUp(latest, command)) return nothing;
  const isSuperseded = latest?.phase === 'Waiting' && request.declared === true && !isRepetition(latest, command);
  if (latest !== undefined && isOpen(latest) && !isSuperseded) {
    // The same request of the same person is a repetition, e.g. after an answer that was lost; but not of what is given up.
    if (latest.phase !== 'Aborting' && isRepetition(latest, command)) return nothing;
    return refuseBeside(latest, { namespace, cluster: name }, 'upgrade');
  }
  return (
    fixedVersion(declared, command) ??
    hindrance(cluster, command.data) ??
    unknownPool(cluster, command) ?? [{ type: 'UpgradeRequested', data: { uid: cluster.uid, ...request } }]
  );
};

const ACTIONS: Readonly<Record<SteeringCommand['type'], string>> = {
  ApproveUpgrade: 'approve',
  PauseUpgrade: 'pause',
  ResumeUpgrade: 'resume',
  AbortUpgrade: 'abort',
  RetryUpgrade: 'retry',
  SkipNode: 'skip a node',
  OverrideRule: 'override a rule',
  RollBackNode: 'roll a node back',
};

const wrongPhase = ({ type, data }: SteeringCommand, phase: UpgradePhase): Refusal =>
  refuse('upgrade.phase', {
    action: ACTIONS[type],
    namespace: data.namespace,
    cluster: data.cluster,
    upgrade: data.upgrade,
    phase,
    wayOn: wayOn({ phase, pause: null }, data.cluster),
  });

type Steered = Pick<EventData<'UpgradeResumeRequested'>, 'uid' | 'upgradeId'>;
type Decision = readonly UpgradeRequestFact[] | Refusal;

const approve = (upgrade: Upgrade, command: ApproveUpgrade, ids: Steered): Decision => {
  const { planHash, upgrade: id } = command.data;
  if (upgrade.mode === 'dry-run') return refuse('upgrade.not-approvable', { upgrade: id });
  if (upgrade.planHash === undefined) return refuse('upgrade.not-planned', { upgrade: id });
  if (upgrade.planHash !== planHash)
    return refuse('upgrade.hash-mismatch', { upgrade: id, actual: upgrade.planHash, given: planHash }, 'planHash');
  const waits = upgrade.phase === 'Planned' && upgrade.mustBeApproved;
  return waits ? [{ type: 'UpgradeApproved', data: { ...ids, planHash } }] : nothing;
};

const pause = (upgrade: Upgrade, command: PauseUpgrade, ids: Steered): Decision => {
  if (upgrade.isPauseAsked) return nothing;
  if (!['Approved', 'Running', 'Paused'].includes(upgrade.phase)) return wrongPhase(command, upgrade.phase);
  return [{ type: 'UpgradePauseRequested', data: { ...ids, reason: command.data.reason } }];
};

const resume = (upgrade: Upgrade, command: ResumeUpgrade, ids: Steered): Decision => {
  const stands = upgrade.phase === 'Paused' || upgrade.phase === 'Halted' || upgrade.isPauseAsked;
  if (stands) return [{ type: 'UpgradeResumeRequested', data: ids }];
  return upgrade.phase === 'Running' ? nothing : wrongPhase(command, upgrade.phase);
};

const retry = (upgrade: Upgrade, command: RetryUpgrade, ids: Steered): Decision => {
  if (!['Running', 'Paused', 'Halted'].includes(upgrade.phase)) return wrongPhase(command, upgrade.phase);
  if (upgrade.failed.size + upgrade.quarantined.size === 0 && upgrade.phase !== 'Halted')
    return refuse('upgrade.nothing-failed', { upgrade: upgrade.id, cluster: command.data.cluster });
  return [{ type: 'UpgradeRetryRequested', data: ids }];
};

/** The operations of one node, by their ids. */
const operationsOf = ({ operations }: Upgrade, node: string): ReadonlyMap<string, PlannedOperation> =>
  new Map([...operations].filter(([, operation]) => operation.node === node));

type NodeOfPlan = Pick<SkipNode['data'], 'node' | 'namespace' | 'cluster'>;

/** Refuses names that the plan does not hold. */
const planned = (
  upgrade: Upgrade,
  { node, namespace, cluster }: NodeOfPlan,
): ReadonlyMap<string, PlannedOperation> | Refusal => {
  if (upgrade.planHash === undefined) return refuse('upgrade.not-planned', { upgrade: upgrade.id });
  const operations = operationsOf(upgrade, node);
  return operations.size > 0
    ? operations
    : refuse('upgrade.node-not-planned', { node, namespace, cluster, upgrade: upgrade.id }, 'node');
};

const isControlPlane = (operations: ReadonlyMap<string, PlannedOperation>): boolean =>
  [...operations.values()].some(({ role }) => role === 'control-plane');

const skip = (upgrade: Upgrade, command: SkipNode, ids: Steered): Decision => {
  const { node, reason } = command.data;
  const operations = planned(upgrade, command.data);
  if (isRefusal(operations)) return operations;
  if (upgrade.skipped.has(node)) return nothing;
  if ([...operations.keys()].every((id) => upgrade.completed.has(id)))
    return refuse('upgrade.node-done', { node }, 'node');
  if (isControlPlane(operations))
    return refuse('upgrade.skip-worker-only', { node, cluster: command.data.cluster }, 'node');
  return [{ type: 'UpgradeNodeSkipRequested', data: { ...ids, node: node as NodeName, reason } }];
};

const override = (upgrade: Upgrade, { data: { rule, reason } }: OverrideRule, ids: Steered): Decision =>
  upgrade.overridden.has(rule) ? nothing : [{ type: 'UpgradeRuleOverridden', data: { ...ids, rule, reason } }];

const rollBack = (upgrade: Upgrade, { data }: RollBackNode, ids: Steered): Decision => {
  const { node } = data;
  const operations = planned(upgrade, data);
  if (isRefusal(operations)) return operations;
  const { cluster } = data;
  if (isControlPlane(operations)) return refuse('upgrade.rollback-worker-only', { node, cluster }, 'node');
  if (![...operations.keys()].some((id) => upgrade.failed.has(id)) || upgrade.quarantined.has(node))
    return refuse('upgrade.node-not-failed', { node, cluster }, 'node');
  return [{ type: 'NodeRollbackRequested', data: { ...ids, node: node as NodeName } }];
};

const steer = ({ cluster, latest, over }: UpgradesState, command: SteeringCommand): Decision => {
  const { data } = command;
  if (cluster === undefined) return unknownCluster(data);
  const earlier = over.get(data.upgrade);
  if (earlier !== undefined) return wrongPhase(command, earlier);
  if (latest?.id !== data.upgrade) return refuse('upgrade.unknown', { ...data });
  if (command.type === 'ApproveUpgrade' && latest.mode === 'dry-run')
    return refuse('upgrade.not-approvable', { upgrade: latest.id });
  if (!isOpen(latest)) return wrongPhase(command, latest.phase);
  const paused = refuseWhilePaused(cluster.pause, data, `${ACTIONS[command.type]} (upgrade ${latest.id})`);
  if (paused !== undefined) return paused;
  // What is being aborted is finished or let go, whatever else is asked of it.
  if (latest.phase === 'Aborting' && command.type !== 'AbortUpgrade') return wrongPhase(command, latest.phase);
  const ids = { uid: cluster.uid, upgradeId: latest.id };
  switch (command.type) {
    case 'ApproveUpgrade':
      return approve(latest, command, ids);
    case 'PauseUpgrade':
      return pause(latest, command, ids);
    case 'ResumeUpgrade':
      return resume(latest, command, ids);
    case 'AbortUpgrade':
      return latest.phase === 'Aborting'
        ? nothing
        : [{ type: 'UpgradeAbortRequested', data: { ...ids, reason: command.data.reason } }];
    case 'RetryUpgrade':
      return retry(latest, command, ids);
    case 'SkipNode':
      return skip(latest, command, ids);
    case 'OverrideRule':
      return override(latest, command, ids);
    case 'RollBackNode':
      return rollBack(latest, command, ids);
  }
};

const begun = (phased: PhasedUpgrade, { data, meta }: StoredEvent<'UpgradeRequested'>): Upgrade => ({
  ...phased,
  actor: meta.actor,
  requestHash: data.requestHash,
  planHash: undefined,
  operations: new Map(),
  mustBeApproved: false,
  quarantined: new Set(),
  failed: new Set(),
  completed: new Set(),
  skipped: new Set(),
  isPauseAsked: false,
  overridden: new Set(data.overrides.map(({ rule }) => rule)),
});

const added = (names: ReadonlySet<string>, name: string): ReadonlySet<string> => new Set(names).add(name);
const removed = (names: ReadonlySet<string>, name: string): ReadonlySet<string> =>
  new Set([...names].filter((one) => one !== name));

const withPlan = (upgrade: Upgrade, { plan, planHash }: EventData<'UpgradePlanned'>): Upgrade => ({
  ...upgrade,
  planHash,
  mustBeApproved: upgrade.mode === 'ask' || plan.findings.some(({ severity }) => severity === 'ask'),
  operations: new Map(plan.operations.map(({ id, node, role }) => [id, { node, role }])),
});

const progressed = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'UpgradePlanned':
      return withPlan(upgrade, event.data);
    case 'UpgradePauseRequested':
      return { ...upgrade, isPauseAsked: true };
    case 'UpgradeResumeRequested':
    case 'RolloutResumed':
      return { ...upgrade, isPauseAsked: false };
    case 'UpgradeRuleOverridden':
      return { ...upgrade, overridden: added(upgrade.overridden, event.data.rule) };
    case 'OperationStarted':
      return { ...upgrade, failed: removed(upgrade.failed, event.data.operation) };
    case 'OperationFailed':
      return { ...upgrade, failed: added(upgrade.failed, event.data.operation) };
    case 'OperationCompleted':
      return {
        ...upgrade,
        failed: removed(upgrade.failed, event.data.operation),
        completed: added(upgrade.completed, event.data.operation),
      };
    case 'NodeQuarantined':
      return { ...upgrade, quarantined: added(upgrade.quarantined, event.data.node) };
    case 'UpgradeRetryRequested':
      return { ...upgrade, quarantined: new Set() };
    case 'NodeSkipped':
      return {
        ...upgrade,
        skipped: added(upgrade.skipped, event.data.node),
        quarantined: removed(upgrade.quarantined, event.data.node),
      };
    default:
      return upgrade;
  }
};

/** One that is followed by another while it waits has ended by that. */
const remembered = ({ over, latest }: UpgradesState): UpgradesState['over'] => {
  if (latest === undefined) return over;
  const phase = latest.phase === 'Waiting' ? 'Aborted' : latest.phase;
  return new Map([...over, [latest.id, phase] as const].slice(-OVER_MAX));
};

/** What people may ask of the upgrades of a cluster. Whether a plan is safe is upgrade-svc's to say. */
export const upgrades: Decider<UpgradesState, UpgradeCommand, UpgradeRequestFact> = {
  initial: { cluster: undefined, declared: undefined, latest: undefined, over: new Map() },
  reads: 'cluster',

  decide: (state, command) => (command.type === 'RequestUpgrade' ? request(state, command) : steer(state, command)),

  evolve: (state, event) => {
    const cluster = membershipAfter(state.cluster, event);
    const declared = declaredAfter(state.declared, event);
    if (event.type === 'ClusterRequested' || cluster === undefined) return { ...upgrades.initial, cluster, declared };
    if (isForeign(cluster, event)) return state;
    const phased = latestUpgradeAfter(state.latest, event);
    if (event.type === 'UpgradeRequested' && phased !== undefined)
      return { cluster, declared, latest: begun(phased, event), over: remembered(state) };
    if (state.latest === undefined || !('upgradeId' in event.data) || event.data.upgradeId !== state.latest.id)
      return { ...state, cluster, declared };
    return {
      ...state,
      cluster,
      declared,
      latest: {
        ...progressed(state.latest, event),
        phase: phased?.phase ?? state.latest.phase,
        started: phased?.started ?? state.latest.started,
        pause: phased?.pause ?? null,
      },
    };
  },
};
