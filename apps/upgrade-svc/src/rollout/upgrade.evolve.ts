import {
  fillTemplate,
  without,
  PAUSE_REASONS,
  UPGRADE_RULES,
  isUpgradeRule,
  type Cause,
  type EventData,
  type Finding,
  type RolloutFactType,
  type StoredEvent,
  type UpgradeRequestType,
} from '@fairlead/contracts';
import { durationKeyOf, timesOf } from '../plan/durations.js';
import { finding } from '../rules/finding.js';
import { g2NoWayBackOverEtcd } from '../rules/rollback.rules.js';
import {
  again,
  evolveByAgents,
  OPERATION_FACTS,
  withOperation,
  withoutSurge,
  type EvolveUpgrade,
} from './operation.evolve.js';
import {
  isUnhealthy,
  operationsOf,
  stepKeyOf,
  type ClusterState,
  type OperationState,
  type Upgrade,
} from './rollout.state.js';

export const newUpgrade = (
  request: EventData<'UpgradeRequested'>,
  { version, upgrade }: Pick<ClusterState, 'version' | 'upgrade'>,
): Upgrade => ({
  id: request.upgradeId,
  from: version,
  request,
  overridden: request.overrides.map(({ rule }) => rule),
  status: 'checking',
  end: null,
  run: 1,
  plan: null,
  planHash: null,
  approved: false,
  operations: {},
  startedAt: null,
  leader: null,
  paused: null,
  pauseAsked: null,
  resumeAsked: false,
  abortAsked: null,
  abortAskedAt: null,
  halted: null,
  failuresInARow: 0,
  probesFailing: {},
  probesKnown: [],
  // Marks that an earlier upgrade could not remove are removed after this one.
  marked: upgrade?.marked ?? [],
  surging: [],
  refused: [],
  unwellBefore: [],
});

const refused = (upgrade: Upgrade, request: StoredEvent['type'], finding: Finding): Upgrade => ({
  ...upgrade,
  refused: [...upgrade.refused, { request, finding }],
});

const approved = (upgrade: Upgrade, { planHash }: EventData<'UpgradeApproved'>): Upgrade => {
  if (upgrade.status === 'planned' && upgrade.planHash === planHash) return { ...upgrade, approved: true };
  return refused(
    upgrade,
    'UpgradeApproved',
    finding('B1.plan-changed', { approved: planHash, planned: upgrade.planHash }),
  );
};

const overridden = (upgrade: Upgrade, { rule }: EventData<'UpgradeRuleOverridden'>): Upgrade => {
  if (isUpgradeRule(rule) && UPGRADE_RULES[rule].overridable) {
    const rules = { ...upgrade, overridden: [...upgrade.overridden, rule] };
    return upgrade.status === 'rejected' ? { ...rules, status: 'checking', run: upgrade.run + 1 } : rules;
  }
  return refused(upgrade, 'UpgradeRuleOverridden', finding('B1.not-overridable', { rule }));
};

/** Evaluates failed operations again; a new run makes tasks of the previous one void. */
const retried = (upgrade: Upgrade): Upgrade => {
  const run = upgrade.run + 1;
  if (upgrade.status === 'rejected') return { ...upgrade, status: 'checking', run };
  const failed = operationsOf(upgrade).filter(
    ({ state }) => state.status === 'failed' || state.status === 'quarantined',
  );
  const operations = failed.reduce<Readonly<Record<string, OperationState>>>(
    (all, { operation, state }) => ({ ...all, [operation.id]: again(state) }),
    upgrade.operations,
  );
  return { ...upgrade, run, operations, failuresInARow: 0, resumeAsked: upgrade.halted !== null };
};

/** A skipped control plane would leave API servers of two versions permanently. */
const skipAsked = (upgrade: Upgrade, { data, meta }: StoredEvent<'UpgradeNodeSkipRequested'>): Upgrade => {
  const { node, reason } = data;
  const left = operationsOf(upgrade).filter(
    ({ operation, state }) => operation.node === node && state.status !== 'done',
  );
  if (left.length > 0 && left.every(({ operation }) => operation.kind === 'worker'))
    return left.reduce(
      (before, { operation }) =>
        withOperation(before, operation.id, () => ({ leaveOut: reason, leaveOutAt: meta.time })),
      upgrade,
    );
  return refused(
    upgrade,
    'UpgradeNodeSkipRequested',
    finding(left.length === 0 ? 'A1.nothing-left' : 'A1.not-skippable', { node }),
  );
};

/** Why a node cannot be rolled back: etcd has passed its minor (G2), or it is not a failed worker (G3). */
const noWayBack = (upgrade: Upgrade, node: string): Finding => {
  const changed = operationsOf(upgrade).find(
    ({ operation }) => operation.node === node && operation.role === 'control-plane' && operation.change !== null,
  )?.operation;
  const [over] = g2NoWayBackOverEtcd(
    [changed?.change?.kubernetes ?? '', `v${changed?.from['kubeadm'] ?? ''}`],
    upgrade.plan?.releases,
  );
  return over ?? finding('G3.not-a-failed-worker', { node });
};

/** Reverses the failed operation of the node (G3); whether that is allowed is checked before it starts. */
const rollbackAsked = (upgrade: Upgrade, { node }: EventData<'NodeRollbackRequested'>): Upgrade => {
  const failed = operationsOf(upgrade).find(
    ({ operation, state }) => operation.node === node && state.status === 'failed' && operation.role === 'worker',
  );
  if (failed === undefined) return refused(upgrade, 'NodeRollbackRequested', noWayBack(upgrade, node));
  const reset = withOperation(upgrade, failed.operation.id, (state) => again({ ...state, rollingBack: true }));
  return { ...reset, run: upgrade.run + 1, resumeAsked: upgrade.halted !== null };
};

const unchanged = (upgrade: Upgrade): Upgrade => upgrade;

/** The effect of each request on its upgrade; a missing type does not compile. */
const REQUESTS: { readonly [Type in UpgradeRequestType]: EvolveUpgrade<Type> } = {
  UpgradeApproved: (upgrade, { data }) => approved(upgrade, data),
  UpgradePauseRequested: (upgrade, { data }) => ({ ...upgrade, pauseAsked: data.reason, resumeAsked: false }),
  UpgradeResumeRequested: (upgrade) => {
    const resumed = { ...upgrade, pauseAsked: null, probesKnown: Object.keys(upgrade.probesFailing) };
    return upgrade.halted === null ? { ...resumed, resumeAsked: upgrade.paused !== null } : retried(resumed);
  },
  UpgradeAbortRequested: (upgrade, { data, meta }) => ({
    ...upgrade,
    abortAsked: data.reason,
    abortAskedAt: meta.time,
  }),
  UpgradeRetryRequested: retried,
  UpgradeNodeSkipRequested: skipAsked,
  UpgradeRuleOverridden: (upgrade, { data }) => overridden(upgrade, data),
  NodeRollbackRequested: (upgrade, { data }) => rollbackAsked(upgrade, data),
  // A new upgrade (rollout.evolve.ts), holds (cluster.evolve.ts), and requests unrelated to upgrades.
  UpgradeRequested: unchanged,
  UpdatesDisabledSet: unchanged,
  EtcdSnapshotRequested: unchanged,
  EtcdRestoreRequested: unchanged,
  EtcdSnapshotVerificationRequested: unchanged,
};

/** An earlier plan is void: the next check makes a new one. */
const waiting: EvolveUpgrade<'UpgradeWaiting'> = (upgrade, { data: { findings }, meta: { time } }) => ({
  ...upgrade,
  ...{ status: 'checking', plan: null, planHash: null, approved: false, run: upgrade.run + 1 },
  waits: { findings, since: time },
});

const planned = (
  { waits: _past, ...upgrade }: Upgrade,
  { plan, planHash, mode }: EventData<'UpgradePlanned'>,
): Upgrade => {
  const known = { ...upgrade, plan, planHash };
  if (mode === 'dry-run') return { ...known, status: 'ended', end: 'dry-run' };
  const mustAsk = mode === 'ask' || plan.findings.some(({ severity }) => severity === 'ask');
  return { ...known, status: 'planned', approved: !mustAsk };
};

/** The effect of each upgrade-svc fact on its upgrade; a missing type does not compile. */
const FACTS: { readonly [Type in RolloutFactType]: EvolveUpgrade<Type> } = {
  ...OPERATION_FACTS,
  UpgradeRejected: (upgrade) => ({ ...upgrade, status: 'rejected' }),
  UpgradeWaiting: waiting,
  UpgradePlanned: (upgrade, { data }) => planned(upgrade, data),
  RolloutStarted: (upgrade, { meta }) => ({ ...upgrade, status: 'running', startedAt: meta.time }),
  RolloutPaused: (upgrade, { data: { by, reason } }) => ({ ...upgrade, paused: { by, reason }, pauseAsked: null }),
  RolloutResumed: (upgrade) => ({ ...upgrade, paused: null, halted: null, resumeAsked: false }),
  RolloutHalted: (upgrade, { data: { rule, cause } }) => ({ ...upgrade, halted: { rule, cause }, paused: null }),
  RolloutAborted: (upgrade) => ({ ...upgrade, status: 'ended', end: 'aborted' }),
  RolloutCompleted: (upgrade) => ({ ...upgrade, status: 'ended', end: 'completed' }),
  UpgradeStepFailed: (upgrade, { data: { step, node, cause } }) => ({
    ...upgrade,
    failingSteps: { ...upgrade.failingSteps, [stepKeyOf({ step, node })]: { step, node, message: cause.message } },
  }),
  UpgradeStepRecovered: (upgrade, { data }) => ({
    ...upgrade,
    failingSteps: without(upgrade.failingSteps ?? {}, stepKeyOf(data)),
  }),
  UpgradeCommandRefused: (upgrade, { data }) => ({
    ...upgrade,
    refused: upgrade.refused.filter(({ request }) => request !== data.request),
  }),
  // Hooks are folded together with their declaration (rollout.evolve.ts).
  UpgradeHookBlocked: unchanged,
  UpgradeHookSucceeded: unchanged,
  UpgradeHookFailed: unchanged,
  // Requested snapshots and restores, and certificates: not part of an upgrade.
  EtcdSnapshotFailed: unchanged,
  EtcdBackupFailed: unchanged,
  EtcdSnapshotDeleted: unchanged,
  ControlPlaneRemovalPrepared: unchanged,
  ControlPlaneRemovalBlocked: unchanged,
  ControlPlaneRemovalUnblocked: unchanged,
  EtcdRestoreStarted: unchanged,
  EtcdRestoreAdvanced: unchanged,
  EtcdRestoreFailed: unchanged,
  EtcdRestored: unchanged,
  CertificatesExpiring: unchanged,
};

const ABOUT_UPGRADES: { readonly [type: string]: EvolveUpgrade<never> | undefined } = { ...REQUESTS, ...FACTS };

const evolveCourse = (upgrade: Upgrade, event: StoredEvent): Upgrade =>
  ABOUT_UPGRADES[event.type]?.(upgrade, event as StoredEvent<never>) ?? upgrade;

/** E5 concerns nodes that were healthy when the rollout started. */
const withUnwellBefore = (cluster: ClusterState, upgrade: Upgrade, event: StoredEvent): Upgrade => {
  if (event.type !== 'RolloutStarted') return upgrade;
  const unwell = Object.values(cluster.nodes).filter(isUnhealthy);
  return { ...upgrade, unwellBefore: unwell.map(({ name }) => name) };
};

const probeKey = (data: { readonly node: string; readonly probe: string }): string => `${data.node}/${data.probe}`;

const evolveProbes = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'ProbeFailed':
      return {
        ...upgrade,
        probesFailing: {
          ...upgrade.probesFailing,
          [probeKey(event.data)]: fillTemplate(PAUSE_REASONS.probe.sentence, event.data),
        },
      };
    case 'ProbeRecovered': {
      const { [probeKey(event.data)]: _well, ...probesFailing } = upgrade.probesFailing;
      const probesKnown = upgrade.probesKnown.filter((key) => key !== probeKey(event.data));
      return { ...upgrade, probesFailing, probesKnown };
    }
    default:
      return upgrade;
  }
};

/** Records the problem on the operation that waits for this pool's surge machines, or for their deletion. */
const withTrouble = (upgrade: Upgrade, kind: 'book-surge' | 'return-surge', pool: string, trouble: Cause): Upgrade => {
  const open = operationsOf(upgrade).find(
    ({ operation, state }) => operation.kind === kind && operation.pool === pool && state.status === 'open',
  );
  return open === undefined ? upgrade : withOperation(upgrade, open.operation.id, () => ({ trouble }));
};

/** Why surge machines are not created or not deleted. */
const surgeTrouble = ({ extra }: ClusterState, upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'SurgeFailed': {
      const { pool, cause } = event.data;
      return withTrouble(withoutSurge(upgrade, pool), 'book-surge', pool, cause);
    }
    case 'BootstrapStepFailed': {
      const { step, node, cause, nextAttemptAt } = event.data;
      const machine = node === undefined ? undefined : extra[node];
      if (machine?.upgradeId !== upgrade.id || nextAttemptAt !== null) return upgrade;
      return withTrouble(upgrade, step === 'RemoveNode' ? 'return-surge' : 'book-surge', machine.pool, cause);
    }
    case 'ClusterFailed':
      return upgrade.surging.reduce(
        (before, pool) => withTrouble(before, 'book-surge', pool, event.data.cause),
        upgrade,
      );
    default:
      return upgrade;
  }
};

/** What infra-svc says of a replacement that this upgrade has requested. */
const replacementAfter = (
  { replacement }: OperationState,
  event: StoredEvent,
): Pick<OperationState, 'replacement' | 'trouble'> | undefined => {
  if (replacement === undefined) return undefined;
  switch (event.type) {
    case 'NodeReplacementPlanned': {
      const { rollout, requestId } = event.data;
      if (rollout !== replacement.requestId) return undefined;
      return { trouble: null, replacement: { ...replacement, begun: [...replacement.begun, requestId] } };
    }
    case 'NodeReplacementReady': {
      const { requestId, newNode } = event.data;
      if (!replacement.begun.includes(requestId)) return undefined;
      return { trouble: null, replacement: { ...replacement, joined: [...replacement.joined, newNode] } };
    }
    case 'PoolRolloutCompleted':
      return event.data.requestId === replacement.requestId
        ? { trouble: null, replacement: { ...replacement, isDone: true } }
        : undefined;
    case 'PoolRolloutFailed':
      return event.data.requestId === replacement.requestId ? { trouble: event.data.cause, replacement } : undefined;
    default:
      return undefined;
  }
};

const evolveReplacements = (upgrade: Upgrade, event: StoredEvent): Upgrade =>
  operationsOf(upgrade).reduce((before, { operation, state }) => {
    const change = replacementAfter(state, event);
    return change === undefined ? before : withOperation(before, operation.id, () => change);
  }, upgrade);

const speaksOf = (upgrade: Upgrade, event: StoredEvent): boolean =>
  !('upgradeId' in event.data) || event.data.upgradeId === upgrade.id;

export const evolveUpgrade = (cluster: ClusterState, upgrade: Upgrade, event: StoredEvent): Upgrade => {
  if (!speaksOf(upgrade, event)) return upgrade;
  const course = withUnwellBefore(cluster, evolveCourse(upgrade, event), event);
  return evolveReplacements(surgeTrouble(cluster, evolveProbes(evolveByAgents(course, event), event), event), event);
};

/** The duration of an operation becomes the prediction for the next one of its kind. */
export const learn = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  if (event.type !== 'OperationCompleted' || cluster.upgrade === null) return cluster;
  const operation = cluster.upgrade.plan?.operations.find(({ id }) => id === event.data.operation);
  if (operation === undefined || operation.change?.reboot === true) return cluster;
  // An operation without requested surge nodes takes no time, so its duration does not count.
  const { kind, id } = operation;
  const isSurge = kind === 'book-surge' || kind === 'return-surge';
  if (isSurge && cluster.upgrade.operations[id]?.effect !== true) return cluster;
  const seconds = Math.round(event.data.tookMs / timesOf(operation) / 100) / 10;
  return { ...cluster, durations: { ...cluster.durations, [durationKeyOf(operation)]: seconds } };
};
