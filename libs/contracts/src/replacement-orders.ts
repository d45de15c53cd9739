import * as z from 'zod';

export const REPLACEMENT_ORDERS = ['create-first', 'remove-first'] as const;
/** Whether the new node joins before or after the old one leaves. */
export const ReplacementOrder = z.enum(REPLACEMENT_ORDERS);
export type ReplacementOrder = z.infer<typeof ReplacementOrder>;
