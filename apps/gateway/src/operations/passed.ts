import type { NodeDoc } from '../nodes/nodes.projection.js';
import type { Group, PassedOf, Planned } from './steps.js';

/** What of a node tells how far it is. */
export type NodeProgress = Pick<NodeDoc, 'name' | 'role' | 'leader' | 'planSeq' | 'milestones'>;

const belongs = ({ role, leader }: Pick<NodeDoc, 'role' | 'leader'>, group: Group): boolean => {
  switch (group) {
    case 'all':
      return true;
    case 'follower':
      return role === 'control-plane' && !leader;
    case 'worker':
      return role === 'worker';
  }
};

/** How many of the machines are in each group. */
export const countPlanned = (before: Planned, machines: readonly Pick<NodeDoc, 'role' | 'leader'>[]): Planned => ({
  all: before.all + machines.length,
  follower: before.follower + machines.filter((machine) => belongs(machine, 'follower')).length,
  worker: before.worker + machines.filter((machine) => belongs(machine, 'worker')).length,
});

/** Counts nodes by milestone. */
export const passedOfNodes =
  (nodes: readonly NodeProgress[]): PassedOf =>
  (milestone, group) => {
    const members = nodes.filter((node) => belongs(node, group));
    const times = members.flatMap(({ milestones }) => milestones[milestone] ?? []);
    const lastAt = times.length === 0 ? null : times.reduce((one, other) => (one > other ? one : other));
    return { done: times.length, lastAt };
  };
