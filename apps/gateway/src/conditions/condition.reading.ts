import { reasonCodeOf, type ClusterLifeState, type ConditionReason, type ConditionView } from '@fairlead/contracts';
import type { ConditionFacts, NodeFacts } from './condition.facts.js';

/** A condition as it is now, and which state of life it calls for; absent: none. */
export interface Reading extends Omit<ConditionView, 'type'> {
  readonly calls?: ClusterLifeState;
}

export type Read = (facts: ConditionFacts) => Reading;

export const MINUTE_MS = 60_000;

/** A message names no more than these. */
export const NAMED_MAX = 5;

export const named = (names: readonly string[]): string => {
  const others = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
};

export const latestOf = (times: readonly string[], otherwise: string): string =>
  times.reduce((one, other) => (one > other ? one : other), times[0] ?? otherwise);

export const earliestOf = (times: readonly string[], otherwise: string): string =>
  times.reduce((one, other) => (one < other ? one : other), times[0] ?? otherwise);

export const holds = (since: string): Reading => ({
  status: 'True',
  reason: '',
  message: '',
  lastTransitionTime: since,
});

/** Of a condition that is True when something is wrong or in progress. */
export const isNot = (since: string): Reading => ({ ...holds(since), status: 'False' });

interface Found {
  readonly status: 'True' | 'False';
  readonly reason: ConditionReason;
  readonly message: string;
  readonly since: string;
  readonly calls?: ClusterLifeState;
}

export const found = ({ since, ...reading }: Found): Reading => ({ ...reading, lastTransitionTime: since });

type Mark = keyof ConditionFacts['marks'];

/** A stage of the creation: it is passed, in progress, or the cluster failed before it. */
export const stage =
  (mark: Mark): Read =>
  ({ marks, phase, reason, message, changedAt, createdAt }) => {
    const passedAt = marks[mark];
    if (passedAt !== undefined) return holds(passedAt);
    if (phase === 'Failed')
      return { status: 'False', reason: reasonCodeOf(reason), message, lastTransitionTime: changedAt };
    return { status: 'Unknown', reason: 'InProgress', message, lastTransitionTime: createdAt };
  };

/** Only what the creation has passed can be lost again. */
export const after =
  (mark: Mark, read: Read): Read =>
  (facts) =>
    facts.marks[mark] === undefined ? stage(mark)(facts) : read(facts);

export const isControlPlane = ({ role }: NodeFacts): boolean => role === 'control-plane';

export const CHANGING: ReadonlySet<string> = new Set(['Planning', 'Approved', 'Running', 'Paused', 'Aborting']);

/** While an upgrade or a restore is in progress, nodes are not Ready in turn, and both have limits of their own. */
export const restarts = ({ upgrade, etcd }: ConditionFacts): boolean =>
  (upgrade !== null && CHANGING.has(upgrade.phase)) || etcd.some(({ what }) => what === 'restore');

export const whenNodesAreAway = (facts: ConditionFacts): ClusterLifeState =>
  restarts(facts) ? 'Maintaining' : 'Degraded';

/** Of those that were Ready once and are meant to stay. */
export const staying = ({ nodes }: ConditionFacts): readonly NodeFacts[] =>
  nodes.filter(({ wasReady, isRemoving }) => wasReady && !isRemoving);

export const timesOf = (some: readonly { readonly since: string }[]): readonly string[] =>
  some.map(({ since }) => since);
