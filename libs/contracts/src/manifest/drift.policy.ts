import * as z from 'zod';

/** What happens when a node differs from its desired state. */
export const DriftPolicy = z.enum(['repair', 'report']);
export type DriftPolicy = z.infer<typeof DriftPolicy>;
