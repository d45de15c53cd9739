import {
  UPGRADE_RULES,
  isUpgradeRule,
  type Cause,
  type EventData,
  type Finding,
  type StoredEvent,
} from '@fairlead/contracts';
import { durationKeyOf } from '../plan/durations.js';
import { refusing } from '../rules/finding.js';
import { g2NoWayBackOverEtcd } from '../rules/rollback.rules.js';
import { again, evolveByAgents, evolveOperations, withOperation } from './operation.evolve.js';
import { isUnwell, operationsOf, type ClusterState, type OperationState, type Upgrade } from './rollout.state.js';

export const newUpgrade = (request: EventData<'UpgradeRequested'>): Upgrade => ({
  id: request.upgradeId,
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
  halted: null,
  failuresInARow: 0,
  probesFailing: {},
  probesKnown: [],
  marked: [],
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
    refusing('B1', {
      sentence: 'the plan that was approved is not the plan that waits',
      facts: { approved: planHash, planned: upgrade.planHash },
      help: 'Look at the plan again, and approve its hash.',
    }),
  );
};

const overridden = (upgrade: Upgrade, { rule }: EventData<'UpgradeRuleOverridden'>): Upgrade => {
  if (isUpgradeRule(rule) && UPGRADE_RULES[rule].overridable) {
    const rules = { ...upgrade, overridden: [...upgrade.overridden, rule] };
    return upgrade.status === 'rejected' ? { ...rules, status: 'checking', run: upgrade.run + 1 } : rules;
  }
  return refused(
    upgrade,
    'UpgradeRuleOverridden',
    refusing('B1', {
      sentence: `rule ${rule} cannot be taken upon oneself`,
      facts: { rule },
      help: 'Repair its cause.',
    }),
  );
};

/** What failed is looked at again; the run counts, so that jobs from before are no longer desired. */
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

/** Left out, a control plane would leave API servers of two versions behind for good. */
const skipAsked = (upgrade: Upgrade, { node, reason }: EventData<'UpgradeNodeSkipRequested'>): Upgrade => {
  const left = operationsOf(upgrade).filter(
    ({ operation, state }) => operation.node === node && state.status !== 'done',
  );
  if (left.length > 0 && left.every(({ operation }) => operation.kind === 'worker'))
    return left.reduce(
      (before, { operation }) => withOperation(before, operation.id, () => ({ leaveOut: reason })),
      upgrade,
    );
  return refused(
    upgrade,
    'UpgradeNodeSkipRequested',
    refusing('A1', {
      sentence:
        left.length === 0 ? `nothing is left to do on ${node}` : `${node} is a control plane, and none may stay behind`,
      facts: { node },
      help: left.length === 0 ? 'Look at its status.' : 'Retry it, or abort the rollout.',
    }),
  );
};

/** Why a node may not go back: etcd's data is past its minor (G2), or it is no failed worker (G3). */
const noWayBack = (upgrade: Upgrade, node: string): Finding => {
  const changed = operationsOf(upgrade).find(
    ({ operation }) => operation.node === node && operation.role === 'control-plane' && operation.change !== null,
  )?.operation;
  const [over] = g2NoWayBackOverEtcd(changed?.change?.kubernetes ?? '', `v${changed?.from['kubeadm'] ?? ''}`);
  return (
    over ??
    refusing('G3', {
      sentence: `${node} is no worker that failed in this rollout`,
      facts: { node },
      help: 'Only a failed worker gets its former software back; retry a control plane, leave healthy nodes.',
    })
  );
};

/** The failed operation of the node is done the other way round (G3); whether it may be is asked when it would begin. */
const rollbackAsked = (upgrade: Upgrade, { node }: EventData<'NodeRollbackRequested'>): Upgrade => {
  const failed = operationsOf(upgrade).find(
    ({ operation, state }) => operation.node === node && state.status === 'failed' && operation.role === 'worker',
  );
  if (failed === undefined) return refused(upgrade, 'NodeRollbackRequested', noWayBack(upgrade, node));
  const reset = withOperation(upgrade, failed.operation.id, (state) => again({ ...state, rollingBack: true }));
  return { ...reset, run: upgrade.run + 1, resumeAsked: upgrade.halted !== null };
};

/** What people ask of an upgrade that is known. */
const evolveByRequests = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'UpgradeApproved':
      return approved(upgrade, event.data);
    case 'UpgradePauseRequested':
      return { ...upgrade, pauseAsked: event.data.reason, resumeAsked: false };
    case 'UpgradeResumeRequested': {
      const resumed = { ...upgrade, pauseAsked: null, probesKnown: Object.keys(upgrade.probesFailing) };
      return upgrade.halted === null ? { ...resumed, resumeAsked: upgrade.paused !== null } : retried(resumed);
    }
    case 'UpgradeAbortRequested':
      return { ...upgrade, abortAsked: event.data.reason };
    case 'UpgradeRetryRequested':
      return retried(upgrade);
    case 'UpgradeNodeSkipRequested':
      return skipAsked(upgrade, event.data);
    case 'UpgradeRuleOverridden':
      return overridden(upgrade, event.data);
    case 'NodeRollbackRequested':
      return rollbackAsked(upgrade, event.data);
    default:
      return upgrade;
  }
};

const planned = (upgrade: Upgrade, { plan, planHash, mode }: EventData<'UpgradePlanned'>): Upgrade => {
  const known = { ...upgrade, plan, planHash };
  if (mode === 'dry-run') return { ...known, status: 'ended', end: 'dry-run' };
  const mustAsk = mode === 'ask' || plan.findings.some(({ severity }) => severity === 'ask');
  return { ...known, status: 'planned', approved: !mustAsk };
};

/** The course of the whole, as we told it. */
const evolveCourse = (cluster: ClusterState, upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'UpgradeRejected':
      return { ...upgrade, status: 'rejected' };
    case 'UpgradePlanned':
      return planned(upgrade, event.data);
    case 'RolloutStarted': {
      const unwellBefore = Object.values(cluster.nodes)
        .filter(isUnwell)
        .map(({ name }) => name);
      return { ...upgrade, status: 'running', startedAt: event.meta.time, unwellBefore };
    }
    case 'RolloutPaused':
      return { ...upgrade, paused: { by: event.data.by, reason: event.data.reason }, pauseAsked: null };
    case 'RolloutResumed':
      return { ...upgrade, paused: null, halted: null, resumeAsked: false };
    case 'RolloutHalted':
      return { ...upgrade, halted: { rule: event.data.rule, cause: event.data.cause }, paused: null };
    case 'RolloutAborted':
      return { ...upgrade, status: 'ended', end: 'aborted' };
    case 'RolloutCompleted':
      return { ...upgrade, status: 'ended', end: 'completed' };
    case 'UpgradeCommandRefused':
      return { ...upgrade, refused: upgrade.refused.filter(({ request }) => request !== event.data.request) };
    default:
      return evolveOperations(upgrade, event);
  }
};

/** Failures in a row are those of nodes that ended one after the other. */
const countFailures = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  if (event.type === 'OperationFailed' && event.data.nextAttemptAt === null && event.data.node !== null)
    return { ...upgrade, failuresInARow: upgrade.failuresInARow + 1 };
  if (event.type === 'OperationCompleted' && event.data.node !== null) return { ...upgrade, failuresInARow: 0 };
  return upgrade;
};

const probeKey = (data: { readonly node: string; readonly probe: string }): string => `${data.node}/${data.probe}`;

const evolveProbes = (upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'ProbeFailed':
      return {
        ...upgrade,
        probesFailing: {
          ...upgrade.probesFailing,
          [probeKey(event.data)]: `${event.data.probe} does not answer ${event.data.node}: ${event.data.message}`,
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

/** What is to be known of it by the operation that waits for the extra machines of this pool, or for their end. */
const withTrouble = (upgrade: Upgrade, kind: 'book-surge' | 'return-surge', pool: string, trouble: Cause): Upgrade => {
  const open = operationsOf(upgrade).find(
    ({ operation, state }) => operation.kind === kind && operation.pool === pool && state.status === 'open',
  );
  return open === undefined ? upgrade : withOperation(upgrade, open.operation.id, () => ({ trouble }));
};

const withoutSurge = (upgrade: Upgrade, pool: string): Upgrade => ({
  ...upgrade,
  surging: upgrade.surging.filter((name) => name !== pool),
});

/** Why extra machines do not come, or do not go. */
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

/** Extra nodes of pools, as far as they were asked for and given back. */
const evolveSurge = (cluster: ClusterState, upgrade: Upgrade, event: StoredEvent): Upgrade => {
  switch (event.type) {
    case 'SurgeRequested':
      return { ...upgrade, surging: [...withoutSurge(upgrade, event.data.pool).surging, event.data.pool] };
    case 'SurgeReleased':
      return withoutSurge(upgrade, event.data.pool);
    default:
      return surgeTrouble(cluster, upgrade, event);
  }
};

const speaksOf = (upgrade: Upgrade, event: StoredEvent): boolean =>
  !('upgradeId' in event.data) || event.data.upgradeId === upgrade.id;

export const evolveUpgrade = (cluster: ClusterState, upgrade: Upgrade, event: StoredEvent): Upgrade => {
  if (!speaksOf(upgrade, event)) return upgrade;
  const told = evolveCourse(cluster, evolveByRequests(upgrade, event), event);
  return evolveSurge(cluster, evolveProbes(evolveByAgents(countFailures(told, event), event), event), event);
};

/** What an operation took is what the next of its kind is predicted to take. */
export const learn = (cluster: ClusterState, event: StoredEvent): ClusterState => {
  if (event.type !== 'OperationCompleted' || cluster.upgrade === null) return cluster;
  const operation = cluster.upgrade.plan?.operations.find(({ id }) => id === event.data.operation);
  if (operation === undefined || operation.change?.reboot === true) return cluster;
  // Extra nodes that no one asked for take no time, and say nothing of those that someone asks for.
  const { kind, id } = operation;
  const isSurge = kind === 'book-surge' || kind === 'return-surge';
  if (isSurge && cluster.upgrade.operations[id]?.effect !== true) return cluster;
  const seconds = Math.round(event.data.tookMs / 100) / 10;
  return { ...cluster, durations: { ...cluster.durations, [durationKeyOf(operation)]: seconds } };
};
