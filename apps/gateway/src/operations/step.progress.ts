import type { NodeDoc } from '../nodes/nodes.projection.js';
import { isThrough, type ActedNodes } from './node.actions.evolve.js';
import type { Group, StepDefinition } from './steps.js';

/** How many nodes an operation is about. Kept with it, since the nodes may be gone when it is looked at. */
export type Planned = Readonly<Record<Group, number>>;

/** How many nodes are through a step, and when the first and the last of them was. */
export interface StepProgress {
  readonly done: number;
  readonly total: number;
  readonly firstAt: string | undefined;
  readonly lastAt: string | undefined;
}

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

const passedByActed = (acted: ActedNodes): StepProgress => {
  const all = Object.values(acted);
  const times = all.flatMap((one) => (isThrough(one) ? [one.since] : [])).toSorted();
  return { done: times.length, total: all.length, firstAt: times[0], lastAt: times.at(-1) };
};

/** How far the nodes of an operation are with a step about nodes; undefined: it is about none. */
export const progressOf = (
  { passed, deletes, acts }: StepDefinition,
  {
    nodes,
    planned,
    deleted,
    acted = {},
  }: {
    readonly nodes: readonly NodeDoc[];
    readonly planned: Planned;
    readonly deleted: number;
    readonly acted?: ActedNodes | undefined;
  },
): StepProgress | undefined => {
  if (deletes === true) return { done: deleted, total: deleted + nodes.length, firstAt: undefined, lastAt: undefined };
  if (acts === true) return passedByActed(acted);
  if (passed === undefined) return undefined;
  const { milestone, by } = passed;
  const times = nodes
    .filter((node) => belongs(node, by))
    .flatMap(({ milestones }) => milestones[milestone] ?? [])
    .toSorted();
  return { done: times.length, total: planned[by], firstAt: times[0], lastAt: times.at(-1) };
};
