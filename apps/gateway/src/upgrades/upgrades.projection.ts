import {
  type Cause,
  holdsStep,
  type ClusterUid,
  type EventData,
  type EventType,
  type Finding,
  type MaintenanceWindow,
  type StoredEvent,
  type UpgradeId,
  type UpgradePhase,
  type UpgradePlan,
  type UpgradeTarget,
  without,
} from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';
import { operationStatesAfter, type OperationStates } from './operation.state.js';
import { pauseSentence, upgradePhaseAfter, type PausedBy, type UpgradeMode } from '../lifecycle/upgrade.phase.js';

/** A gate that does not hold now. */
export interface ClosedGate {
  readonly gate: string;
  readonly message: string;
}

/** An upgrade, without what happens on its nodes: they are rows of their own, so that this one is seldom written. */
export interface UpgradeDoc {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: ClusterUid;
  readonly id: UpgradeId;
  readonly mode: UpgradeMode;
  readonly phase: UpgradePhase;
  /** What a person should know about the phase. */
  readonly message: string;
  readonly actor: string;
  readonly requestedAt: string;
  readonly target: UpgradeTarget;
  readonly pools: readonly string[] | null;
  readonly controlPlane: boolean;
  readonly overrides: readonly { readonly rule: string; readonly reason: string; readonly actor: string }[];
  readonly findings: readonly Finding[];
  readonly plan: UpgradePlan | null;
  readonly planHash: string | null;
  readonly approvedBy: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly nextActions: readonly string[];
  /** Rows of earlier releases have neither. */
  readonly windows?: readonly MaintenanceWindow[];
  readonly pausedBy?: PausedBy | null;
  /** The operations that are about no single node. */
  readonly operations: OperationStates;
  /** Gates about the whole cluster that hold an operation back, by the operation. */
  readonly gates: Readonly<Record<string, ClosedGate>>;
  readonly leftFailed: readonly string[];
  /** What the hook says that holds it; absent: none does. */
  readonly held?: string;
  /** Steps that fail and belong to no open operation, with their causes, by step and node; absent: none. */
  readonly failingSteps?: Readonly<Record<string, string>>;
  /** Who aborted it, and why; absent: it was not aborted by an operator. */
  readonly abortedBy?: { readonly actor: string; readonly reason: string };
}

export const upgradeKey = (namespace: string, cluster: string, upgrade: string): string =>
  `${namespace}/${cluster}/${upgrade}`;

const begin = ({ meta, data }: StoredEvent<'UpgradeRequested'>): UpgradeDoc => ({
  namespace: meta.namespace,
  cluster: meta.cluster,
  uid: data.uid,
  id: data.upgradeId,
  mode: data.mode,
  phase: 'Planning',
  message: 'its rules are being checked',
  actor: meta.actor,
  requestedAt: meta.time,
  target: data.target,
  pools: data.pools,
  controlPlane: data.controlPlane,
  overrides: data.overrides.map((override) => ({ ...override, actor: meta.actor })),
  findings: [],
  plan: null,
  planHash: null,
  approvedBy: null,
  startedAt: null,
  finishedAt: null,
  nextActions: [],
  windows: data.strategy.windows,
  pausedBy: null,
  operations: {},
  gates: {},
  leftFailed: [],
});

const PLANNED: Readonly<Record<UpgradeMode, string>> = {
  'dry-run': '',
  ask: 'the plan waits for its approval',
  go: 'it is about to begin',
};

const gated = (doc: UpgradeDoc, event: StoredEvent<'GateFailed' | 'GatePassed'>): UpgradeDoc => {
  const { operation, gate } = event.data;
  if (event.type === 'GateFailed')
    return { ...doc, gates: { ...doc.gates, [operation]: { gate, message: event.data.message } } };
  return doc.gates[operation]?.gate === gate ? { ...doc, gates: without(doc.gates, operation) } : doc;
};

/** Where it stopped and why, with the rule that stopped it, and the rule that was broken where one was. */
const haltSentence = (rule: string, { operation, target, message }: Cause): string => {
  const broken = /^rule (\w+)$/.exec(operation)?.[1];
  if (broken === rule) return `stopped (${rule}): ${message}`;
  if (broken !== undefined) return `stopped at ${target} (${rule}): ${message} (${broken})`;
  return `stopped at ${target} (${rule}): ${operation} failed: ${message}`;
};

const halted = (doc: UpgradeDoc, { rule, cause, nodes, nextActions }: EventData<'RolloutHalted'>): UpgradeDoc => ({
  ...doc,
  message: haltSentence(rule, cause),
  nextActions,
  leftFailed: nodes,
});

const ABOUT_TO_BEGIN = 'it is about to begin';

const withoutHeld = ({ held: _past, ...doc }: UpgradeDoc): UpgradeDoc => doc;

/** What an upgrade waits for that no pause holds. */
const waiting = ({ held, startedAt }: UpgradeDoc): string => held ?? (startedAt === null ? ABOUT_TO_BEGIN : '');

/** A hook before a step has answered. */
const hooked = (
  before: UpgradeDoc,
  { data }: StoredEvent<'UpgradeHookBlocked' | 'UpgradeHookFailed' | 'UpgradeHookSucceeded'>,
): UpgradeDoc => {
  const { hook, point, node } = data;
  const doc = withoutHeld(before);
  if (!('nextAttemptAt' in data) || data.nextAttemptAt === null) return { ...doc, message: waiting(doc) };
  const why = 'cause' in data ? data.cause.message : data.message;
  const about = node === undefined ? point : `${point} of ${node}`;
  const because = why === '' ? '' : `: ${why}`;
  const held = `the hook ${hook} (${about}) holds it${because}; next attempt at ${data.nextAttemptAt}`;
  return { ...doc, held, message: held };
};

const skipped = (before: UpgradeDoc): UpgradeDoc => {
  const doc = withoutHeld(before);
  return { ...doc, message: before.message === before.held ? waiting(doc) : before.message };
};

const decided = (doc: UpgradeDoc, event: StoredEvent): UpgradeDoc => {
  const { time, actor } = event.meta;
  switch (event.type) {
    case 'UpgradeRejected': {
      const { findings } = event.data;
      return { ...doc, findings, finishedAt: time, message: findings.map(({ sentence }) => sentence).join('; ') };
    }
    case 'UpgradeWaiting': {
      const { findings } = event.data;
      const nextActions = [...new Set(findings.map(({ rule, help }) => `${rule}: ${help}`))];
      const message = findings.map(({ sentence }) => sentence).join('; ');
      return { ...doc, findings, message, nextActions, plan: null, planHash: null, approvedBy: null };
    }
    case 'UpgradePlanned': {
      const { plan, planHash } = event.data;
      const asks = doc.mode !== 'dry-run' && plan.findings.some(({ severity }) => severity === 'ask');
      const mode = asks ? 'ask' : doc.mode;
      return { ...doc, plan, planHash, findings: plan.findings, message: PLANNED[mode], nextActions: [] };
    }
    case 'UpgradeApproved':
      return { ...doc, approvedBy: actor, message: ABOUT_TO_BEGIN };
    case 'UpgradeHookBlocked':
    case 'UpgradeHookFailed':
    case 'UpgradeHookSucceeded':
      return holdsStep(event.data.point) ? hooked(doc, event) : doc;
    case 'HookSkipped':
      return skipped(doc);
    case 'UpgradeRuleOverridden': {
      const { rule, reason } = event.data;
      return { ...doc, overrides: [...doc.overrides, { rule, reason, actor }] };
    }
    case 'UpgradeCommandRefused':
      return { ...doc, message: `${event.data.finding.sentence}; ${event.data.finding.help}` };
    default:
      return doc;
  }
};

const ABORTING = 'nodes in progress are finished, and those that failed are let go';

/** With the reason of who aborted it, and what is left to do about nodes that stay cordoned. */
const aborted = (doc: UpgradeDoc, { data, meta }: StoredEvent<'RolloutAborted'>): UpgradeDoc => {
  const { leftFailed, supersededBy, declaredAgain } = data;
  const { cluster, abortedBy } = doc;
  const ended = supersededBy === undefined ? 'ended early' : `another version was declared: see ${supersededBy}`;
  const again = declaredAgain === undefined ? '' : `; the manifest declares ${declaredAgain} again`;
  const who = abortedBy === undefined ? ended : `aborted by ${abortedBy.actor}`;
  const why = abortedBy === undefined || abortedBy.reason === '' ? '' : `: ${abortedBy.reason}`;
  const left = leftFailed.length === 0 ? '' : `; not Ready and still cordoned: ${leftFailed.join(', ')}`;
  const nextActions = leftFailed.map(
    (node) =>
      `repair ${node}, then let it take pods again: "fairlead node uncordon ${cluster} ${node}"; or replace it: "fairlead node replace ${cluster} ${node}"`,
  );
  return { ...doc, message: `${who}${why}${again}${left}`, leftFailed, finishedAt: meta.time, nextActions };
};

/** Nodes that it could not drain stay as they are when it is complete: cordoned, with their version. */
const stayed = (
  { cluster }: UpgradeDoc,
  quarantined: readonly string[],
): Pick<UpgradeDoc, 'message' | 'nextActions'> => ({
  message: quarantined.length === 0 ? '' : `could not be drained, and stay cordoned: ${quarantined.join(', ')}`,
  nextActions: quarantined.map(
    (node) =>
      `let ${node} take pods again: "fairlead node uncordon ${cluster} ${node}"; once its pods can be evicted, start the upgrade again`,
  ),
});

const rolled = (doc: UpgradeDoc, event: StoredEvent): UpgradeDoc => {
  const { time } = event.meta;
  switch (event.type) {
    case 'RolloutStarted':
      return { ...withoutHeld(doc), startedAt: time, message: '' };
    case 'UpgradePauseRequested':
      return { ...doc, message: ['no further node begins', event.data.reason].filter(Boolean).join(': ') };
    case 'RolloutPaused':
      return doc.phase === 'Aborting'
        ? doc
        : {
            ...doc,
            message: pauseSentence(event.data),
            pausedBy: event.data.by,
          };
    case 'UpgradeResumeRequested':
    case 'UpgradeRetryRequested':
      return { ...doc, message: 'it is about to go on' };
    case 'RolloutResumed':
      return { ...doc, message: waiting(doc), nextActions: [], leftFailed: [], pausedBy: null };
    case 'RolloutHalted':
      return halted(doc, event.data);
    case 'UpgradeAbortRequested': {
      const { reason } = event.data;
      const abortedBy = { actor: event.meta.actor, reason };
      return { ...doc, abortedBy, message: [ABORTING, reason].filter(Boolean).join(': '), nextActions: [] };
    }
    case 'RolloutAborted':
      return aborted(doc, event);
    case 'RolloutCompleted':
      return { ...doc, ...stayed(doc, event.data.quarantined), finishedAt: time };
    default:
      return doc;
  }
};

const failingStepsAfter = (
  before: Readonly<Record<string, string>>,
  event: StoredEvent<'UpgradeStepFailed' | 'UpgradeStepRecovered'>,
): Readonly<Record<string, string>> => {
  const key = `${event.data.step}/${event.data.node ?? ''}`;
  return event.type === 'UpgradeStepFailed' ? { ...before, [key]: sentenceOfEvent(event) } : without(before, key);
};

const change = (doc: UpgradeDoc, event: StoredEvent): UpgradeDoc => {
  switch (event.type) {
    case 'OperationStarted':
    case 'OperationCompleted':
    case 'OperationFailed':
    case 'OperationPostponed':
      return { ...doc, operations: operationStatesAfter(doc.operations, event) };
    case 'SurgeSkipped': {
      const message = `continues without surge nodes in ${event.data.pool}: ${event.data.reason}`;
      return { ...doc, message, operations: operationStatesAfter(doc.operations, event) };
    }
    case 'GateFailed':
    case 'GatePassed':
      return gated(doc, event);
    case 'UpgradeStepFailed':
    case 'UpgradeStepRecovered':
      return { ...doc, failingSteps: failingStepsAfter(doc.failingSteps ?? {}, event) };
    default:
      return rolled(decided(doc, event), event);
  }
};

const CHANGING: ReadonlySet<string> = new Set<EventType>([
  'UpgradeRequested',
  'UpgradeRejected',
  'UpgradeWaiting',
  'UpgradePlanned',
  'UpgradeApproved',
  'UpgradePauseRequested',
  'UpgradeResumeRequested',
  'UpgradeAbortRequested',
  'UpgradeRetryRequested',
  'UpgradeRuleOverridden',
  'UpgradeCommandRefused',
  'SurgeSkipped',
  'UpgradeStepFailed',
  'UpgradeStepRecovered',
  'UpgradeHookBlocked',
  'UpgradeHookSucceeded',
  'UpgradeHookFailed',
  'HookSkipped',
  'RolloutStarted',
  'RolloutPaused',
  'RolloutResumed',
  'RolloutHalted',
  'RolloutAborted',
  'RolloutCompleted',
]);

/** Of what happens in operations and at gates, only what is about no single node. */
const ABOUT_ANY: ReadonlySet<string> = new Set<EventType>([
  'OperationStarted',
  'OperationCompleted',
  'OperationFailed',
  'GateFailed',
  'GatePassed',
]);

const concerns = (event: StoredEvent): boolean =>
  CHANGING.has(event.type) || (ABOUT_ANY.has(event.type) && 'node' in event.data && event.data.node === null);

/** What agents stage ahead names its upgrade and operation: `<upgrade>/<operation>`. */
const stagingOf = (event: StoredEvent): { readonly upgrade: string; readonly operation: string } | undefined => {
  if (event.type !== 'NodeChangeProgressed' || event.data.phase !== 'stage' || event.data.status === 'started')
    return undefined;
  const [upgrade, operation, ...others] = event.data.change.split('/');
  if (upgrade === undefined || operation === undefined || others.length > 0) return undefined;
  return { upgrade, operation };
};

const WORDS_MAX = 1_000;

/** An agent that cannot stage tries again for as long as the operation lasts: meanwhile the operation shows its last words. */
const staged = (doc: UpgradeDoc, { data }: StoredEvent<'NodeChangeProgressed'>, operation: string): UpgradeDoc => {
  const state = doc.operations[operation];
  const kind = doc.plan?.operations.find(({ id }) => id === operation)?.kind;
  if (state?.status !== 'running' || kind !== 'stage') return doc;
  const about = `${data.node}: `;
  const failure = data.status === 'failed' ? `${about}${data.message ?? ''}`.slice(0, WORDS_MAX) : '';
  if (failure === '' && !state.failure.startsWith(about)) return doc;
  return { ...doc, operations: { ...doc.operations, [operation]: { ...state, failure } } };
};

/** One row per upgrade, also of clusters that are gone. Facts about single nodes do not touch it. */
export const upgradesProjection: Projection<UpgradeDoc> = {
  name: 'upgrades',
  table: 'upgrades',

  keys: (event) => {
    const { namespace, cluster } = event.meta;
    const staging = stagingOf(event);
    if (staging !== undefined) return [upgradeKey(namespace, cluster, staging.upgrade)];
    const id = 'upgradeId' in event.data ? (event.data.upgradeId ?? null) : null;
    return concerns(event) && id !== null ? [upgradeKey(namespace, cluster, id)] : [];
  },

  evolve: (doc, event) => {
    if (event.type === 'UpgradeRequested') return doc ?? begin(event);
    const staging = stagingOf(event);
    if (staging !== undefined && event.type === 'NodeChangeProgressed')
      return doc && staged(doc, event, staging.operation);
    return (
      doc && {
        ...change(doc, event),
        phase: upgradePhaseAfter({ phase: doc.phase, started: doc.startedAt !== null }, event),
      }
    );
  },
};
