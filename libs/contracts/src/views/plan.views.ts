import * as z from 'zod';

export const PLAN_ACTIONS = [
  'upgrade',
  'create-cluster',
  'create-pool',
  'abandon-nodes',
  'add-nodes',
  'remove-nodes',
  'replace-nodes',
  'label-nodes',
  'configure-network',
  'configure-authentication',
  'delete-pool',
  'balance-addresses',
  'change-addons',
] as const;

/** One step of a change, and its reason. */
export const PlanStep = z
  .strictObject({
    action: z.enum(PLAN_ACTIONS),
    pool: z.string().nullable().describe('null: the cluster'),
    count: z
      .int()
      .describe('How many machines are made, removed or replaced, or nodes, addresses or add-ons are changed'),
    nodes: z
      .array(z.strictObject({ name: z.string(), reason: z.string() }))
      .describe('Those that are removed or replaced'),
    reason: z.string(),
    request: z.string().optional().describe('The request for nodes that is abandoned'),
  })
  .meta({ id: 'PlanStep', description: 'One thing that is done for a change of the spec, and why' });
export type PlanStep = z.infer<typeof PlanStep>;
