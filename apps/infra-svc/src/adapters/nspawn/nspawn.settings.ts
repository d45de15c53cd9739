import { HostProfile, fnv1a32 } from '@fairlead/contracts';
import { addressPlanOf, DEFAULT_SYSTEM, HOST_RANGE, HOST_SYSTEMS, type HostSystem } from '@fairlead/nspawn';
import { z } from 'zod';

const Folder = z.string().regex(/^\/[^:,\\\s"]*$/, 'an absolute path without blanks, colons, commas and quotes');

/** Settings of an `nspawn` connection. */
export const NspawnSettings = z.object({
  stateDir: Folder.describe('Where the hosts are kept, in a folder of the connection'),
  cacheDir: Folder.optional().describe('Where the root file system is kept'),
  mirror: Folder.optional().describe("Kubernetes' own files, made by npm run kubernetes:build"),
  system: z
    .enum(Object.keys(HOST_SYSTEMS) as [HostSystem, ...HostSystem[]])
    .default(DEFAULT_SYSTEM)
    .describe('What hosts are made of'),
  networkCidr: z
    .string()
    .refine((cidr) => addressPlanOf(cidr) !== undefined, `a network of /16 to /26 within ${HOST_RANGE}`)
    .optional(),
  zones: z.array(z.string().min(1)).min(1).default(['local-1']),
  profile: HostProfile.optional().describe('What shall differ from what the provider says of its hosts'),
});
export type NspawnSettings = z.infer<typeof NspawnSettings>;

/** The network of a connection that names none: it follows from the name, so that two connections rarely want the same one. */
export const defaultCidr = (connection: string): string => `198.18.${fnv1a32(connection) % 256}.0/24`;
