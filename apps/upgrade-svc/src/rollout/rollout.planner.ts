import type { Probe } from '@fairlead/contracts';
import { jobsOf } from './operation.planner.js';
import { keyOf, type AnyRolloutJob, type RolloutJob } from './rollout.jobs.js';
import { trackedOf, type KnownCluster, type Rollout, type RolloutNode, type Upgrade } from './rollout.state.js';

/** Soft taints that a roll-out has left when it ended. */
const tidying = ({ uid, nodes }: KnownCluster, { id, run, marked }: Upgrade): readonly AnyRolloutJob[] => {
  const left = marked.filter((node) => nodes[node] !== undefined);
  return left.length === 0 ? [] : [{ uid, upgradeId: id, run, type: 'UnmarkWorkers', nodes: left }];
};

/** More eyes see no more of a service, and each asks every API server's balancer twice a second. */
const WATCHERS_MAX = 5;
const WATCHING_CONTROL_PLANES = 2;

/** The nodes that ask what people use: of both kinds, by name, so that every look has the same ones. */
const watchers = ({ nodes, extra }: KnownCluster): readonly RolloutNode[] => {
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

const watching = (cluster: KnownCluster, { id, run, wish }: Upgrade): readonly AnyRolloutJob[] => {
  const { probes } = wish.strategy;
  if (probes.length === 0) return [];
  const blind = watchers(cluster).filter(({ wanted }) => !sameProbes(wanted?.probes ?? [], probes));
  const nodes = blind.map(({ name }) => name);
  return nodes.length === 0 ? [] : [{ uid: cluster.uid, upgradeId: id, run, type: 'BeginProbes', nodes, probes }];
};

const unwatching = ({ uid, nodes }: KnownCluster, { id, run }: Upgrade): readonly AnyRolloutJob[] => {
  const left = Object.values(nodes).filter(({ wanted }) => (wanted?.probes ?? []).length > 0);
  const names = left.map(({ name }) => name);
  return names.length === 0 ? [] : [{ uid, upgradeId: id, run, type: 'EndProbes', nodes: names }];
};

/**
 * Every job that is wanted now: what the process asks for, and what a job looks at before it begins. What is to be said comes
 * from advance.planner.ts.
 */
export const jobs = (state: Rollout): readonly AnyRolloutJob[] => {
  if (state.status === 'absent' || state.life === 'deleting' || state.upgrade === null) return [];
  const { upgrade } = state;
  switch (upgrade.status) {
    case 'checking':
      return [{ uid: state.uid, upgradeId: upgrade.id, run: upgrade.run, type: 'CheckUpgrade' }];
    case 'running':
      return [...watching(state, upgrade), ...trackedOf(upgrade).flatMap((tracked) => jobsOf(state, upgrade, tracked))];
    case 'ended':
      return [...tidying(state, upgrade), ...unwatching(state, upgrade)];
    case 'rejected':
    case 'planned':
      return [];
  }
};

/** The job as it is wanted now: a handler works on this one, for what was delivered may be older than the state. */
export const currentJob = (state: Rollout, job: RolloutJob): AnyRolloutJob | undefined =>
  state.status === 'absent' || state.uid !== job.uid
    ? undefined
    : jobs(state).find(
        (wanted) => wanted.upgradeId === job.upgradeId && wanted.run === job.run && keyOf(wanted) === keyOf(job),
      );

/** Whether somebody still wants the job. */
export const isWanted = (state: Rollout, job: RolloutJob): boolean =>
  job.type === 'AdvanceRollout'
    ? state.status === 'known' && state.uid === job.uid
    : currentJob(state, job) !== undefined;
