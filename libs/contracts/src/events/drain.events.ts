import * as z from 'zod';

/** Pods that were made after a drain began: nothing waits for them, and none is evicted. */
export const ReturnedPods = z
  .array(z.strictObject({ pod: z.string().describe('namespace/name'), reason: z.string() }))
  .min(1)
  .max(20)
  .describe('The first pods that were created on the node after its drain began, and why; they stay. Absent: none');
