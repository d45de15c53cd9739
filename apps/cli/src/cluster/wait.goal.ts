import { CONDITION_TYPES } from '@fairlead/contracts';
import { InvalidArgumentError } from 'commander';
import { nearest } from '../command/nearest.js';
import type { Described } from './cluster.describe.js';
import { isGone } from './watch.effects.js';

/** The goal of `fairlead cluster wait`. */
export type Goal =
  | { readonly kind: 'ready' | 'deleted' }
  | { readonly kind: 'condition'; readonly type: string; readonly status: string };

const STATUSES: readonly string[] = ['True', 'False', 'Unknown'];
const NAMED_MAX = 3;

/**
 * Parses `ready`, `deleted`, or a condition: `NodesReady`, `HookBlocked=False`, or, as in kubectl, `condition=Ready`.
 */
export const goal = (text: string): Goal => {
  if (text === 'ready' || text === 'deleted') return { kind: text };
  const [name = '', status = 'True'] = text.replace(/^condition=/, '').split('=');
  const type = CONDITION_TYPES.find((one) => one.toLowerCase() === name.toLowerCase());
  const asked = STATUSES.find((one) => one.toLowerCase() === status.toLowerCase());
  if (type !== undefined && asked !== undefined) return { kind: 'condition', type, status: asked };
  if (type !== undefined) throw new InvalidArgumentError(`The status of a condition is ${STATUSES.join(', ')}.`);
  const alike = nearest(name, CONDITION_TYPES, (one) => [one]).slice(0, NAMED_MAX);
  const meant = alike.length === 0 ? '' : ` Did you mean ${alike.join(' or ')}?`;
  throw new InvalidArgumentError(`Give ready, deleted, or a condition of the cluster, such as NodesReady.${meant}`);
};

/** The goal in a few words, after "to be". */
export const goalWords = (of: Goal): string => {
  switch (of.kind) {
    case 'ready':
      return 'Ready';
    case 'deleted':
      return 'deleted';
    case 'condition':
      return `${of.type}=${of.status}`;
  }
};

/** Without hooks, nothing is blocked, and the cluster does not have the condition. */
const ABSENT_IS_FALSE: readonly string[] = ['HookBlocked'];

const hasCondition = ({ cluster }: Described, of: { readonly type: string; readonly status: string }): boolean => {
  const stated = cluster?.conditions.find(({ type }) => type === of.type)?.status;
  const isAbsent = cluster !== null && stated === undefined && ABSENT_IS_FALSE.includes(of.type);
  return (isAbsent ? 'False' : stated) === of.status;
};

export const isReached = (of: Goal, described: Described): boolean => {
  const { cluster } = described;
  switch (of.kind) {
    case 'ready':
      return cluster?.status.phase === 'Provisioned' && cluster.status.state === 'Running';
    case 'deleted':
      return isGone(described);
    case 'condition':
      return hasCondition(described, of);
  }
};

/** The goal cannot be reached anymore: the cluster is deleted, or its creation has failed. */
export const isHopeless = (of: Goal, described: Described): boolean => {
  if (of.kind === 'deleted') return false;
  return isGone(described) || (of.kind === 'ready' && described.cluster?.status.state === 'Failed');
};
