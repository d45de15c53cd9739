import * as z from 'zod';

/** Pods created after a drain began: the drain neither evicts them nor waits for them. */
export const ReturnedPods = z
  .array(z.strictObject({ pod: z.string().describe('namespace/name'), reason: z.string() }))
  .min(1)
  .max(20)
  .describe('The first pods that were created on the node after its drain began, and why; they stay. Absent: none');
