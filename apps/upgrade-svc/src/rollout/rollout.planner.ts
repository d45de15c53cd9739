import type { Probe } from '@fairlead/contracts';
import { hookCalls } from './hooks.planner.js';
import { tasksOf } from './operation.planner.js';
import type { AnyRolloutTask } from './rollout.tasks.js';
import { looksAgainAt, type ClusterState, type Rollout, type RolloutNode } from './rollout.state.js';
import { rolloutView, type RolloutView } from './rollout.view.js';

const baseOf = ({ cluster, upgrade }: RolloutView) => ({
  uid: cluster.uid,
  upgradeId: upgrade.id,
  run: upgrade.run,
});

/** Soft taints left by a rollout that has ended. */
const unmarking = (view: RolloutView): readonly AnyRolloutTask[] => {
  const nodes = view.upgrade.marked.filter((node) => view.cluster.nodes[node] !== undefined);
  return nodes.length === 0 ? [] : [{ ...baseOf(view), type: 'UnmarkWorkers', nodes }];
};

/** More probing nodes do not reveal more, and each of them sends two requests per second to every load balancer. */
const WATCHERS_MAX = 5;
const WATCHING_CONTROL_PLANES = 2;

/** The nodes that run probes: control planes and workers, sorted by name so that the selection is stable. */
const watchers = ({ nodes, extra }: ClusterState): readonly RolloutNode[] => {
  const staying = Object.values(nodes).filter(({ name }) => extra[name] === undefined);
  const byName = staying.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const some = byName.filter(({ role }) => role === 'control-plane').slice(0, WATCHING_CONTROL_PLANES);
  const others = byName.filter((node) => !some.includes(node)).toSorted((one, other) => rank(one) - rank(other));
  return [...some, ...others.slice(0, WATCHERS_MAX - some.length)];
};

/** Workers before further control planes, because services are used on workers. */
const rank = ({ role }: RolloutNode): number => (role === 'worker' ? 0 : 1);

const sameProbes = (one: readonly Probe[], other: readonly Probe[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const watching = (view: RolloutView): readonly AnyRolloutTask[] => {
  const { probes } = view.upgrade.request.strategy;
  if (probes.length === 0) return [];
  const blind = watchers(view.cluster).filter(({ desired }) => !sameProbes(desired?.probes ?? [], probes));
  const nodes = blind.map(({ name }) => name);
  return nodes.length === 0 ? [] : [{ ...baseOf(view), type: 'BeginProbes', nodes, probes }];
};

const unwatching = (view: RolloutView): readonly AnyRolloutTask[] => {
  const left = Object.values(view.cluster.nodes).filter(({ desired }) => (desired?.probes ?? []).length > 0);
  const nodes = left.map(({ name }) => name);
  return nodes.length === 0 ? [] : [{ ...baseOf(view), type: 'EndProbes', nodes }];
};

/** All tasks desired now. Facts are decided in advance.planner.ts. */
export const tasks = (state: Rollout, now: string): readonly AnyRolloutTask[] => {
  if (state.status === 'absent' || state.life === 'deleting') return [];
  const view = rolloutView(state);
  if (view === null) return [];
  switch (view.upgrade.status) {
    case 'checking':
      return (looksAgainAt(view.upgrade) ?? now) > now ? [] : [{ ...baseOf(view), type: 'CheckUpgrade' }];
    case 'running':
      return [...watching(view), ...view.operations.flatMap(tasksOf), ...hookCalls(view, now)];
    case 'ended':
      return [...unmarking(view), ...unwatching(view), ...hookCalls(view, now)];
    case 'planned':
      return hookCalls(view, now);
    case 'rejected':
      return [...unmarking(view), ...unwatching(view)];
  }
};
