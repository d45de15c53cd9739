import * as z from 'zod';
import { Duration, durationMs } from '../durations.js';
import { Namespace, PoolName } from '../ids.js';
import { refuse, type Refusal } from '../refusals.js';
import { Labels } from '../labels.js';

/** The name of the control planes wherever pools are listed. */
const CONTROL_PLANES = 'control-plane';

/**
 * Drain: the pod is evicted. Skip: it is left alone. WaitCompleted: it is not evicted; the drain waits for it to
 * complete.
 */
export const DRAIN_BEHAVIORS = ['Drain', 'Skip', 'WaitCompleted'] as const;
export type DrainBehavior = (typeof DRAIN_BEHAVIORS)[number];

const RULES_MAX = 50;
const NAMES_MAX = 100;
/** Maximum absolute value of an order. */
const ORDER_MAX = 1_000_000;

/** How matching pods leave a node that is drained. */
export const DrainRule = z
  .strictObject({
    name: PoolName.describe('Of the rule: a DNS label, unique in the cluster'),
    behavior: z
      .enum(DRAIN_BEHAVIORS)
      .describe('Drain: they are evicted; Skip: they stay; WaitCompleted: they end by themselves'),
    order: z
      .int()
      .min(-ORDER_MAX)
      .max(ORDER_MAX)
      .optional()
      .describe('Pods of a lower order go first, and must be gone before others are evicted. Left out: 0'),
    pools: z
      .array(PoolName)
      .min(1)
      .max(NAMES_MAX)
      .optional()
      .describe(`On nodes of these pools; ${CONTROL_PLANES}: on control planes. Left out: on every node`),
    namespaces: z.array(Namespace).min(1).max(NAMES_MAX).optional().describe('Left out: in every namespace'),
    labels: Labels.optional().describe('Pods with all of these labels. Left out: all'),
  })
  .meta({ id: 'DrainRule', description: 'Which pods of a node that is drained leave it how' });
export type DrainRule = z.infer<typeof DrainRule>;

/** A task has half an hour, most of which must remain for evictions. */
const DETACH_TIMEOUT_MAX = '20m';
export const DETACH_TIMEOUT_DEFAULT = '5m';

/** How nodes are drained before they leave their cluster. */
export const DrainPolicy = z
  .strictObject({
    rules: z.array(DrainRule).max(RULES_MAX).optional().describe('The first that applies to a pod decides'),
    timeout: Duration.optional().describe(
      'After this time a node that leaves is removed with the pods that are left. Left out: they are waited for, and the cluster is Degraded meanwhile',
    ),
    detachTimeout: Duration.optional().describe(
      `How long the volumes of a node that leaves may take to be detached, at most ${DETACH_TIMEOUT_MAX}. Left out: ${DETACH_TIMEOUT_DEFAULT}`,
    ),
  })
  .meta({ id: 'DrainPolicy', description: 'How nodes are emptied before they leave' });
export type DrainPolicy = z.infer<typeof DrainPolicy>;

/** Faults of a policy. `pools` are the declared ones. */
export const drainFaults = (
  { rules = [], detachTimeout }: DrainPolicy,
  pools: readonly string[],
  path = 'spec.drain',
): readonly Refusal[] => [
  ...rules.flatMap(({ name, behavior, order, pools: of = [] }, at) => {
    const field = `${path}.rules[${at}]`;
    const stranger = of.findIndex((pool) => pool !== CONTROL_PLANES && !pools.includes(pool));
    return [
      ...(rules.findIndex((rule) => rule.name === name) < at
        ? [refuse('drain.rule-twice', { rule: name }, `${field}.name`)]
        : []),
      ...(behavior === 'Skip' && order !== undefined
        ? [refuse('drain.rule-order', { rule: name }, `${field}.order`)]
        : []),
      ...(stranger === -1
        ? []
        : [refuse('drain.rule-pool', { rule: name, pool: of[stranger] ?? '' }, `${field}.pools[${stranger}]`)]),
    ];
  }),
  ...(detachTimeout !== undefined && durationMs(detachTimeout) > durationMs(DETACH_TIMEOUT_MAX)
    ? [refuse('drain.detach-timeout', { given: detachTimeout, max: DETACH_TIMEOUT_MAX }, `${path}.detachTimeout`)]
    : []),
];
