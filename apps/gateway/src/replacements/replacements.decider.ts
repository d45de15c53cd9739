import { isRefusal, refuse, type Fact, type NodeName, type NodeSelection, type Refusal } from '@fairlead/contracts';
import { type Command, type Decider } from '@fairlead/event-sourcing';
import { holds, holdOn, type HoldsState } from '../holds/holds.decider.js';
import { failedRolloutOf, isGrowing, isReplaced } from '../lifecycle/node.requests.js';
import { refuseBesideActions } from '../lifecycle/node.actions.js';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import type { ClusterMembership } from '../lifecycle/membership.js';
import { selectNodes } from '../lifecycle/selection.rules.js';
import { blocksOthers, latestUpgradeAfter, refuseBeside, type PhasedUpgrade } from '../lifecycle/upgrade.phase.js';

/** Nodes that are selected are replaced by rollouts of their pools. */
export type ReplaceNodes = Command<
  'ReplaceNodes',
  {
    readonly namespace: string;
    readonly cluster: string;
    readonly requestId: string;
    readonly select: NodeSelection;
    readonly reason: string;
  }
>;

export interface ReplacementsState {
  readonly nodes: HoldsState;
  readonly upgrade: PhasedUpgrade | undefined;
}

type Data = ReplaceNodes['data'];

const ACTION = 'replace nodes';
const named = ({ namespace, cluster }: Data): { namespace: string; cluster: string } => ({ namespace, cluster });

const blockingWork = (cluster: ClusterMembership, { upgrade }: ReplacementsState, data: Data): Refusal | undefined => {
  const { pause, phase, additions, actions } = cluster;
  const paused = refuseWhilePaused(pause, data, ACTION);
  if (paused !== undefined) return paused;
  if (phase !== 'Provisioned') return refuse('cluster.not-ready', { action: ACTION, phase });
  if (isGrowing(additions)) return refuse('cluster.busy', { ...named(data), action: ACTION });
  if (upgrade !== undefined && blocksOthers(upgrade)) return refuseBeside(upgrade, named(data), ACTION);
  return refuseBesideActions(actions, data, ACTION);
};

/** Why a node that was named cannot be replaced. */
const faultOf = (
  { additions, nodes: members }: ClusterMembership,
  nodes: HoldsState,
  { node, of }: { readonly node: string; readonly of: Data },
): Refusal | undefined => {
  if (members[node]?.leaving === true) return refuse('node.leaving', { node });
  if (isReplaced(additions, node)) return refuse('node.being-replaced', { ...named(of), node });
  const isKept = [...additions.values()].some(({ nodes: kept }) => kept.includes(node));
  if (isKept) return refuse('node.not-joined', { ...named(of), node });
  const reason = holdOn(nodes, node);
  return reason === undefined ? undefined : refuse('node.held', { ...named(of), node, reason });
};

/** Nodes that were named must all be able to; of a pool, or of all, those that are not take no part. */
const takingPart = (cluster: ClusterMembership, nodes: HoldsState, of: Data): readonly NodeName[] | Refusal => {
  const selected = selectNodes(cluster.nodes, of.select, of);
  if (isRefusal(selected)) return selected;
  const faults = selected.map((node) => faultOf(cluster, nodes, { node, of }));
  const [first] = of.select.nodes.length > 0 ? faults.flatMap((fault) => fault ?? []) : [];
  if (first !== undefined) return first;
  const able = selected.filter((_node, at) => faults[at] === undefined) as NodeName[];
  return able.length === 0 ? refuse('node.none-selected', { ...named(of), done: 'replaced' }, 'select') : able;
};

const decide = (
  state: ReplacementsState,
  { data }: ReplaceNodes,
): readonly Fact<'PoolRolloutRequested'>[] | Refusal => {
  const { cluster } = state.nodes;
  if (cluster === undefined) return refuse('cluster.unknown', named(data));
  const hindrance = blockingWork(cluster, state, data);
  if (hindrance !== undefined) return hindrance;
  const nodes = takingPart(cluster, state.nodes, data);
  if (isRefusal(nodes)) return nodes;
  const poolOf = (node: string): string => cluster.nodes[node]?.pool ?? '';
  const pools = [...new Set(nodes.map(poolOf))];
  const stopped = pools.find((pool) => failedRolloutOf(cluster.additions, pool) !== undefined);
  if (stopped !== undefined) return refuse('pool.rollout-failed', { ...named(data), pool: stopped });
  const { uid } = cluster;
  const reason = data.reason === '' ? {} : { reason: data.reason };
  return pools.map((pool) => ({
    type: 'PoolRolloutRequested',
    data: {
      ...{ uid, requestId: `${data.requestId}-${pool}`, pool },
      ...{ nodes: nodes.filter((node) => poolOf(node) === pool), ...reason },
    },
  }));
};

/** What people may ask for nodes to be replaced by new ones. */
export const replacements: Decider<ReplacementsState, ReplaceNodes, Fact<'PoolRolloutRequested'>> = {
  initial: { nodes: holds.initial, upgrade: undefined },
  reads: 'cluster',
  decide,

  evolve: (state, event) => {
    const nodes = holds.evolve(state.nodes, event);
    if (event.type === 'ClusterRequested' || nodes.cluster === undefined) return { nodes, upgrade: undefined };
    if ('uid' in event.data && event.data.uid !== nodes.cluster.uid) return state;
    return { nodes, upgrade: latestUpgradeAfter(state.upgrade, event) };
  },
};
