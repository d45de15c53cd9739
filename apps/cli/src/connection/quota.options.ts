import type { Quota } from '@fairlead/contracts';
import type { Command } from 'commander';
import type { QuotaChange } from '../api/views.js';
import { integerBetween } from '../command/parsers.js';
import { usageFailure } from '../failures.js';

const LIMIT_MAX = 1_000_000;
const NONE = 'none';

type Limit = number | typeof NONE;

export interface QuotaOptions {
  readonly clusters?: Limit;
  readonly nodes?: Limit;
  readonly cores?: Limit;
  /** false: removes all limits. */
  readonly limits: boolean;
}

/** `--clusters --nodes --cores --no-limits` */
export const withQuota = (command: Command): Command => {
  const count = integerBetween(0, LIMIT_MAX);
  const limit = (text: string): Limit => (text === NONE ? NONE : count(text));
  return command
    .option('--clusters <count|none>', 'maximum number of clusters, or "none" to remove this limit', limit)
    .option('--nodes <count|none>', 'maximum number of machines, or "none" to remove this limit', limit)
    .option('--cores <count|none>', 'maximum number of CPUs of these machines, or "none" to remove this limit', limit)
    .option('--no-limits', 'remove all limits');
};

/** The changes by the options; undefined if there are none, and the quota is only displayed. */
export const quotaChangeOf = ({ clusters, nodes, cores, limits }: QuotaOptions): QuotaChange | undefined => {
  const given = Object.entries({ clusters, nodes, cores }).flatMap(([what, limit]) =>
    limit === undefined ? [] : [[what, limit === NONE ? null : limit] as const],
  );
  if (limits) return given.length === 0 ? undefined : Object.fromEntries(given);
  if (given.length > 0) throw usageFailure('--no-limits and a limit exclude each other', 'Leave out one of them.');
  return { clusters: null, nodes: null, cores: null };
};

export const quotaText = (quota: Quota | undefined): string =>
  Object.entries(quota ?? {})
    .map(([what, limit]) => `${what} ${limit}`)
    .join(', ');

const LISTS = new Intl.ListFormat('en', { type: 'conjunction' });

/** `of`: `connection site`. */
export const quotaSentence = (of: string, quota: Quota | undefined): string => {
  const limits = Object.entries(quota ?? {}).map(
    ([what, limit]) => `${limit} ${limit === 1 ? what.slice(0, -1) : what}`,
  );
  return limits.length === 0 ? `The ${of} has no quota.` : `The ${of} may have ${LISTS.format(limits)}.`;
};
