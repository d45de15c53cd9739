import * as z from 'zod';

/** Whom events name when an autoscaler has scaled a pool. */
export const AUTOSCALER_ACTOR = 'system/autoscaler';

/** Names the client certificate of an autoscaler. */
export const AutoscalerCredentialId = z.string().regex(/^[0-9a-f]{16}$/);
export type AutoscalerCredentialId = z.infer<typeof AutoscalerCredentialId>;
