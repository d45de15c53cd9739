import { fillTemplate, HALTS, UPGRADE_RULES, type Cause, type HaltRule, type NodeName } from '@fairlead/contracts';
import { strategyOf } from '../plan/plan.request.js';
import { g1NextActions } from '../rules/rollback.rules.js';
import {
  e1Meltdown,
  e2FailuresInARow,
  e3FailedShare,
  e4BlockedNodes,
  e5HealthRegressed,
  e6Freeze,
  e7EndsTheWay,
  REGRESSION_MS,
} from '../rules/stop.rules.js';
import type { RolloutFact } from './rollout.commands.js';
import {
  hasFailed,
  isOverridden,
  isUnhealthy,
  touchedNodes,
  type OperationProgress,
  type RolloutNode,
} from './rollout.state.js';
import type { RolloutView } from './rollout.view.js';

/** A rule stops the rollout. */
export interface Halt {
  readonly rule: HaltRule;
  readonly cause: Cause;
  readonly nodes: readonly NodeName[];
  readonly role: 'control-plane' | 'worker' | null;
}

const nodesOf = (tracked: readonly OperationProgress[]): readonly NodeName[] =>
  tracked.flatMap(({ operation }) => (operation.node === null ? [] : [operation.node]));

const causeOf = ({ operation, state }: OperationProgress): Cause =>
  state.failure?.cause ?? {
    operation: operation.kind,
    target: operation.node ?? operation.id,
    message: 'no cause was recorded',
  };

/** The rule by which a failure halts the rollout: the one that the operation failed at. */
const ruleOf = ({ operation, state }: OperationProgress): HaltRule => {
  if (Object.values(state.drains).some(({ timedOut }) => timedOut?.policy === 'stop')) return 'D5';
  if (operation.kind === 'book-surge' || operation.kind === 'return-surge') return 'D2';
  if (state.failing !== null && e6Freeze(state.failing.gate)) return 'E6';
  return operation.canary ? 'D1' : 'E7';
};

/**
 * A single failure that halts the rollout: of a control plane, of a step for all nodes, of a canary, or by a rule other
 * than E7.
 */
const byOneFailure = (failed: readonly OperationProgress[]): Halt | undefined => {
  const enough = failed.find(
    (tracked) => e7EndsTheWay(tracked.operation.kind) || tracked.operation.canary || ruleOf(tracked) !== 'E7',
  );
  if (enough === undefined) return undefined;
  return { rule: ruleOf(enough), cause: causeOf(enough), nodes: nodesOf([enough]), role: enough.operation.role };
};

const causeBy = (rule: HaltRule, message: string): Cause => ({
  operation: `rule ${rule}`,
  target: UPGRADE_RULES[rule].title,
  message,
});

const byManyFailures = ({ upgrade }: RolloutView, failed: readonly OperationProgress[]): Halt | undefined => {
  const { consecutiveFailuresMax, failedShareMax } = upgrade.request.strategy;
  const last = failed.at(-1);
  if (last === undefined) return undefined;
  const halt = (rule: HaltRule): Halt => ({ rule, cause: causeOf(last), nodes: nodesOf(failed), role: 'worker' });
  if (e2FailuresInARow(upgrade.failuresInARow, consecutiveFailuresMax)) return halt('E2');
  const share = upgrade.plan?.pools.find(({ name, nodes }) => {
    const ofPool = failed.filter(({ operation }) => operation.pool === name).length;
    return e3FailedShare(ofPool, nodes, failedShareMax);
  });
  return share === undefined ? undefined : halt('E3');
};

const byBlocked = ({ upgrade, operations }: RolloutView): Halt | undefined => {
  const blocked = operations.filter(({ state }) => state.status === 'quarantined');
  const pool = upgrade.plan?.pools.find(({ name }) => {
    const ofPool = blocked.filter(({ operation }) => operation.pool === name).length;
    return e4BlockedNodes(ofPool, strategyOf(upgrade.request.strategy, name).maxBlockedNodes);
  });
  if (pool === undefined || blocked.length === 0) return undefined;
  const nodes = nodesOf(blocked);
  return { rule: 'E4', cause: causeBy('E4', fillTemplate(HALTS.E4.sentence, { nodes })), nodes, role: 'worker' };
};

/** Nodes that were healthy at the start, are not being changed, and are unhealthy now. */
export const regressedNodes = ({ cluster, upgrade }: RolloutView): readonly RolloutNode[] => {
  const touched = new Set(touchedNodes(upgrade));
  return Object.values(cluster.nodes).filter(
    (node) =>
      isUnhealthy(node) &&
      !touched.has(node.name) &&
      !upgrade.unwellBefore.includes(node.name) &&
      cluster.extra[node.name]?.leaving !== true,
  );
};

const byHealth = (view: RolloutView, now: string): Halt | undefined => {
  const worse = regressedNodes(view);
  const since = worse.map(({ unwellSince, lost }) => ({ since: unwellSince ?? now, lost }));
  if (!e5HealthRegressed(since, now)) return undefined;
  const nodes = worse.map(({ name }) => name);
  const cause = causeBy('E5', fillTemplate(HALTS.E5.sentence, { minutes: REGRESSION_MS / 60_000, nodes }));
  return { rule: 'E5', cause, nodes, role: null };
};

/** E1: an implausible number of nodes looks dead; no operation starts while that lasts. */
export const meltdownOf = (view: RolloutView): { readonly dead: number; readonly nodes: number } | undefined => {
  const nodes = Object.values(view.cluster.nodes).length;
  const dead = regressedNodes(view).length;
  return e1Meltdown(nodes, dead) ? { dead, nodes } : undefined;
};

/** The rule that stops the rollout now, unless it is overridden. */
export const haltOf = (view: RolloutView, now: string): Halt | undefined => {
  const failed = view.operations.filter(hasFailed);
  const meltdown = meltdownOf(view) !== undefined;
  const halts = [
    byOneFailure(failed),
    byManyFailures(view, failed),
    byBlocked(view),
    meltdown ? undefined : byHealth(view, now),
  ];
  return halts.find((halt) => halt !== undefined && !isOverridden(view.upgrade, halt.rule));
};

export const haltedFact = ({ cluster, upgrade }: RolloutView, halt: Halt): RolloutFact => ({
  type: 'RolloutHalted',
  data: {
    uid: cluster.uid,
    upgradeId: upgrade.id,
    rule: halt.rule,
    cause: halt.cause,
    nodes: [...halt.nodes],
    nextActions: [...g1NextActions(halt.nodes, halt.role)],
  },
});
