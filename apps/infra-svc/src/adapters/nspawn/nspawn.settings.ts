import { fnv1a32, NspawnSettings } from '@fairlead/contracts';
import { addressPlanOf, HOST_RANGE } from '@fairlead/nspawn';
import type { z } from 'zod';

/**
 * Settings of an `nspawn` connection, with a usable network. Unknown settings, which an earlier release accepted, are
 * ignored.
 */
export const HostSettings = NspawnSettings.strip().refine(
  ({ networkCidr }) => networkCidr === undefined || addressPlanOf(networkCidr) !== undefined,
  { path: ['networkCidr'], error: `a network of /16 to /26 within ${HOST_RANGE}` },
);
export type HostSettings = z.infer<typeof HostSettings>;

/** The default network of a connection, derived from its name so that two connections rarely use the same one. */
export const defaultCidr = (connection: string): string => `198.18.${fnv1a32(connection) % 256}.0/24`;
