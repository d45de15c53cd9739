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

/** Webhooks may deny each time in other words. */
const REFUSALS_MAX = 50;

const isNewRefusal = ({ refused }: DrainState, data: EventData<'EvictionRefused'>): boolean => {
  const before = refused[refuserOf(data)];
  return before === undefined ? Object.keys(refused).length < REFUSALS_MAX : !sameTexts(before, data.pods);
};

type HookFact = Extract<EffectFact, { type: `UpgradeHook${string}` }>;

const isOfHook = (fact: EffectFact): fact is HookFact => fact.type.startsWith('UpgradeHook');

/** Of an operation that is at work, and not known yet. */
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
      // Force ends by itself (D5): what it has not brought about is reported by the policy that follows it.
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
    case 'NodesUnmarked':
      return !state.effect;
  }
};

/** A fact is stated once, by work that is still about something; a snapshot that someone asked for stands by itself. */
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
