import type { Probe } from '@fairlead/contracts';
import { tasksOf } from './operation.planner.js';
import type { AnyRolloutTask } from './rollout.tasks.js';
import { trackedOf, type ClusterState, type Rollout, type RolloutNode, type Upgrade } from './rollout.state.js';

/** Soft taints that a rollout has left when it ended. */
const tidying = ({ uid, nodes }: ClusterState, { id, run, marked }: Upgrade): readonly AnyRolloutTask[] => {
  const left = marked.filter((node) => nodes[node] !== undefined);
  return left.length === 0 ? [] : [{ uid, upgradeId: id, run, type: 'UnmarkWorkers', nodes: left }];
};

/** More eyes see no more of a service, and each asks every API server's balancer twice a second. */
const WATCHERS_MAX = 5;
const WATCHING_CONTROL_PLANES = 2;

/** The nodes that ask what people use: of both kinds, by name, so that every look has the same ones. */
const watchers = ({ nodes, extra }: ClusterState): readonly RolloutNode[] => {
  const staying = Object.values(nodes).filter(({ name }) => extra[name] === undefined);
  const byName = staying.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const some = byName.filter(({ role }) => role === 'control-plane').slice(0, WATCHING_CONTROL_PLANES);
  const others = byName.filter((node) => !some.includes(node)).toSorted((one, other) => rank(one) - rank(other));
  return [...some, ...others.slice(0, WATCHERS_MAX - some.length)];
};

/** Workers before further control planes: they are where services are used. */
const rank = ({ role }: RolloutNode): number => (role === 'worker' ? 0 : 1);

const sameProbes = (one: readonly Probe[], other: readonly Probe[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const watching = (cluster: ClusterState, { id, run, request }: Upgrade): readonly AnyRolloutTask[] => {
  const { probes } = request.strategy;
  if (probes.length === 0) return [];
  const blind = watchers(cluster).filter(({ desired }) => !sameProbes(desired?.probes ?? [], probes));
  const nodes = blind.map(({ name }) => name);
  return nodes.length === 0 ? [] : [{ uid: cluster.uid, upgradeId: id, run, type: 'BeginProbes', nodes, probes }];
};

const unwatching = ({ uid, nodes }: ClusterState, { id, run }: Upgrade): readonly AnyRolloutTask[] => {
  const left = Object.values(nodes).filter(({ desired }) => (desired?.probes ?? []).length > 0);
  const names = left.map(({ name }) => name);
  return names.length === 0 ? [] : [{ uid, upgradeId: id, run, type: 'EndProbes', nodes: names }];
};

/** All that is desired of the world now. What is stated comes from advance.planner.ts. */
export const tasks = (state: Rollout): readonly AnyRolloutTask[] => {
  if (state.status === 'absent' || state.life === 'deleting' || state.upgrade === null) return [];
  const { upgrade } = state;
  switch (upgrade.status) {
    case 'checking':
      return [{ uid: state.uid, upgradeId: upgrade.id, run: upgrade.run, type: 'CheckUpgrade' }];
    case 'running':
      return [
        ...watching(state, upgrade),
        ...trackedOf(upgrade).flatMap((tracked) => tasksOf(state, upgrade, tracked)),
      ];
    case 'ended':
      return [...tidying(state, upgrade), ...unwatching(state, upgrade)];
    case 'rejected':
    case 'planned':
      return [];
  }
};
