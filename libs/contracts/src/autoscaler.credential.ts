import * as z from 'zod';

/** The actor of events in which an autoscaler scales a pool. */
export const AUTOSCALER_ACTOR = 'system/autoscaler';

/** Identifies the client certificate of an autoscaler. */
export const AutoscalerCredentialId = z.string().regex(/^[0-9a-f]{16}$/);
export type AutoscalerCredentialId = z.infer<typeof AutoscalerCredentialId>;
