import * as z from 'zod';
import { Duration, durationMs } from '../durations.js';
import { NodeConditionStatus, NodeConditionType } from '../node.conditions.js';
import { refuse, type Refusal } from '../refusals.js';
import { NodeShareRequest } from '../upgrades.js';

export const REMEDIATION_STRATEGIES = ['none', 'reboot', 'replace', 'reboot-then-replace'] as const;

/** Cluster API's form of a range: both ends are included. */
const UnhealthyRange = z.string().regex(/^\[\d{1,3}-\d{1,3}\]$/, 'must be a range such as [3-5]');

const CONDITIONS_MAX = 10;

const fields = {
  unhealthyAfter: Duration.describe('A node that is not Ready, or sends no heartbeat, for this long is unhealthy'),
  startupTimeout: Duration.describe(
    'A machine that has not become a Ready node for this long is unhealthy; 0s: however long it takes',
  ),
  maxUnhealthy: NodeShareRequest.optional().describe(
    'Number, or percentage rounded down to at least 1. While more nodes of the pool are not well, none is remediated',
  ),
  unhealthyRange: UnhealthyRange.optional().describe(
    'In place of maxUnhealthy: nodes are remediated only while as many are not well, e.g. [1-5]',
  ),
  unhealthyNodeConditions: z
    .array(
      z.strictObject({
        type: NodeConditionType.describe('Of a condition of the Node, such as KernelDeadlock; not Ready'),
        status: NodeConditionStatus,
        timeout: Duration.describe('A node whose condition has had this status for this long is unhealthy'),
      }),
    )
    .max(CONDITIONS_MAX)
    .optional()
    .describe('Conditions of Nodes, set by the kubelet or others, that make a node unhealthy although it is Ready'),
  remediation: z
    .enum(REMEDIATION_STRATEGIES)
    .describe('What is done about an unhealthy node; none: it is reported, and stays as it is'),
  maxRetries: z
    .int()
    .min(0)
    .max(100)
    .describe('How often remediation is repeated for a node and its replacements after it did not help'),
  retryPeriod: Duration.describe('Least time between two of these attempts'),
  minHealthyPeriod: Duration.describe('A node that was well for this long is remediated as if for the first time'),
};

/** When nodes of a pool count as unhealthy, and how they are remediated, with every default filled in. */
export const HealthCheck = z.strictObject(fields).meta({ id: 'HealthCheck' });
export type HealthCheck = z.infer<typeof HealthCheck>;

/** The form that users write. */
export const ManifestHealthCheck = z
  .strictObject({
    ...fields,
    unhealthyAfter: fields.unhealthyAfter.default('5m'),
    startupTimeout: fields.startupTimeout.default('30m'),
    remediation: fields.remediation.default('replace'),
    maxRetries: fields.maxRetries.default(3),
    retryPeriod: fields.retryPeriod.default('20m'),
    minHealthyPeriod: fields.minHealthyPeriod.default('1h'),
  })
  .meta({
    id: 'ManifestHealthCheck',
    description: 'When nodes count as unhealthy, and what is done about it. Left out: nothing is repaired by itself',
  });
export type ManifestHealthCheck = z.infer<typeof ManifestHealthCheck>;

const MAX_UNHEALTHY_DEFAULT = '40%';

export const healthCheckOf = (health: ManifestHealthCheck): HealthCheck =>
  health.unhealthyRange === undefined
    ? { ...health, maxUnhealthy: health.maxUnhealthy ?? MAX_UNHEALTHY_DEFAULT }
    : health;

/** How many nodes of a pool may be unhealthy while remediation continues. */
export interface UnhealthyLimits {
  readonly min: number;
  readonly max: number;
}

const rangeOf = (range: string): UnhealthyLimits => {
  const [min = 0, max = 0] = (range.match(/\d+/g) ?? []).map(Number);
  return { min, max };
};

/** A share of a few nodes can be less than one: any percentage above 0 % allows at least one. */
export const unhealthyLimits = (
  { unhealthyRange, maxUnhealthy = MAX_UNHEALTHY_DEFAULT }: Pick<HealthCheck, 'unhealthyRange' | 'maxUnhealthy'>,
  nodes: number,
): UnhealthyLimits => {
  if (unhealthyRange !== undefined) return rangeOf(unhealthyRange);
  if (typeof maxUnhealthy === 'number') return { min: 0, max: maxUnhealthy };
  const percent = Number(maxUnhealthy.slice(0, -1));
  return { min: 0, max: percent === 0 ? 0 : Math.max(1, Math.floor((percent * nodes) / 100)) };
};

const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600_000;
/** Longer durations are assumed to be typing errors. */
const DURATION_MAX_MS = 7 * DAY_MS;

const DURATIONS = {
  unhealthyAfter: SECOND_MS,
  startupTimeout: 0,
  retryPeriod: 0,
  minHealthyPeriod: 0,
} as const;

/** Faults across fields that are well-formed by themselves. `path` is that of the check in the manifest. */
export const healthCheckFaults = (health: ManifestHealthCheck, path: string): readonly Refusal[] => {
  const { maxUnhealthy, unhealthyRange } = health;
  const durations = Object.entries(DURATIONS).flatMap(([name, min]) => {
    const field = name as keyof typeof DURATIONS;
    const ms = durationMs(health[field]);
    return ms >= min && ms <= DURATION_MAX_MS
      ? []
      : [refuse('health.duration', { field, value: health[field], min: `${min / 1_000}s` }, `${path}.${field}`)];
  });
  const conditions = (health.unhealthyNodeConditions ?? []).flatMap(({ type, timeout }, at) => {
    const where = `${path}.unhealthyNodeConditions[${at}]`;
    if (type === 'Ready') return [refuse('health.ready-condition', {}, `${where}.type`)];
    const ms = durationMs(timeout);
    return ms >= SECOND_MS && ms <= DURATION_MAX_MS
      ? []
      : [refuse('health.duration', { field: 'timeout', value: timeout, min: '1s' }, `${where}.timeout`)];
  });
  const both = maxUnhealthy !== undefined && unhealthyRange !== undefined;
  const { min, max } = rangeOf(unhealthyRange ?? '[1-1]');
  return [
    ...durations,
    ...conditions,
    ...(both ? [refuse('health.two-limits', {}, `${path}.unhealthyRange`)] : []),
    ...(min > max || max === 0
      ? [refuse('health.range', { range: unhealthyRange ?? '' }, `${path}.unhealthyRange`)]
      : []),
  ];
};
