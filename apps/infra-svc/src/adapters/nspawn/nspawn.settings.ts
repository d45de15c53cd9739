import { fnv1a32, NspawnSettings } from '@fairlead/contracts';
import { addressPlanOf, HOST_RANGE } from '@fairlead/nspawn';
import type { z } from 'zod';

/** Settings of an `nspawn` connection with a network that hosts can have. What an earlier release let in beside them is not looked at. */
export const HostSettings = NspawnSettings.strip().refine(
  ({ networkCidr }) => networkCidr === undefined || addressPlanOf(networkCidr) !== undefined,
  { path: ['networkCidr'], error: `a network of /16 to /26 within ${HOST_RANGE}` },
);
export type HostSettings = z.infer<typeof HostSettings>;

/** The network of a connection that names none: it follows from the name, so that two connections rarely want the same one. */
export const defaultCidr = (connection: string): string => `198.18.${fnv1a32(connection) % 256}.0/24`;
