import type { EventData } from '@fairlead/contracts';
import { isAwaited } from '@fairlead/domain';
import type { EffectFact } from './rollout.commands.js';
import {
  drainOf,
  NEW_OPERATION,
  refuserOf,
  type ClusterState,
  type DrainState,
  type OperationState,
} from './rollout.state.js';

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text) => other.includes(text));

/** Webhooks may deny every request with a different message. */
const REFUSALS_MAX = 50;

const isNewRefusal = ({ refused }: DrainState, data: EventData<'EvictionRefused'>): boolean => {
  const before = refused[refuserOf(data)];
  return before === undefined ? Object.keys(refused).length < REFUSALS_MAX : !sameTexts(before, data.pods);
};

type HookFact = Extract<EffectFact, { type: `UpgradeHook${string}` }>;

const isOfHook = (fact: EffectFact): fact is HookFact => fact.type.startsWith('UpgradeHook');

/** Whether the fact is new for an open operation. */
const isChangeOf = (state: OperationState, fact: Exclude<EffectFact, HookFact>): boolean => {
  switch (fact.type) {
    case 'GatePassed':
      return !state.passed[fact.data.stage].includes(fact.data.gate);
    case 'GateFailed':
      return state.failing?.gate !== fact.data.gate || state.failing.message !== fact.data.message;
    case 'NodeCordoned':
      return (drainOf(state, fact.data.node).cordon?.since ?? null) === null;
    case 'EvictionRefused':
      return isNewRefusal(drainOf(state, fact.data.node), fact.data);
    case 'NodeEmptied':
      return !drainOf(state, fact.data.node).emptied;
    case 'DrainTimedOut':
      // `force` ends by itself (D5): pods that remain are reported under the policy that follows.
      return drainOf(state, fact.data.node).timedOut?.policy !== fact.data.policy;
    case 'NodeUncordoned':
      return !state.uncordoned;
    case 'UpgradeWithdrawn':
      return state.allowed && !state.withdrawn;
    case 'EtcdLeaderMoved':
      return !state.leaderMoved;
    case 'EtcdSnapshotTaken':
    case 'NodesMarked':
    case 'AddonsUpgraded':
    case 'PoolReplacementRequested':
    case 'NodesUnmarked':
      return !state.effect;
  }
};

/** A fact is recorded once, if its operation is still open; a requested snapshot does not depend on an operation. */
export const isChange = ({ upgrade, hooks }: ClusterState, fact: EffectFact): boolean => {
  if (fact.type === 'EtcdSnapshotTaken' && fact.data.upgradeId === null) return true;
  if (upgrade === null || fact.data.upgradeId !== upgrade.id) return false;
  if (isOfHook(fact))
    return (fact.data.point === 'BeforeUpgrade') === (upgrade.status === 'planned') && isAwaited(hooks, fact.data);
  if (fact.type === 'NodesUnmarked') return fact.data.nodes.some((node) => upgrade.marked.includes(node));
  const { operation } = fact.data;
  if (operation === null) return false;
  const state = upgrade.operations[operation] ?? NEW_OPERATION;
  const letsGo = fact.type === 'UpgradeWithdrawn' || fact.type === 'NodeUncordoned';
  const atWork = state.status === 'open' || ((state.status === 'failed' || state.status === 'quarantined') && letsGo);
  return atWork && isChangeOf(state, fact);
};
