import * as z from 'zod';

/** Closed by default: the administrators of a cluster can read every secret in it. */
export const LetsCloudController = z
  .boolean()
  .optional()
  .describe(
    'true: clusters may run the cloud controller of the provider, which holds the credential of this connection: whoever administers such a cluster can read it. Left out: they may not',
  );
