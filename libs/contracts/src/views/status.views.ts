import * as z from 'zod';
import { Cni } from '../cluster-spec.js';

export const StatusView = z
  .strictObject({ kind: z.literal('Status'), code: z.int(), message: z.string() })
  .meta({ id: 'Status', description: 'That something was accepted or done' });
export type StatusView = z.infer<typeof StatusView>;

const RefusalEntry = z.strictObject({
  reason: z.string().describe('Stable code of the refusal catalogue, e.g. cluster.name-taken'),
  message: z.string(),
  field: z.string().optional().describe('Path of what is wrong in the request, e.g. config.kubernetes.podCidr'),
  help: z.string(),
});

export const ErrorView = z
  .strictObject({
    kind: z.literal('Status'),
    code: z.int().describe('The HTTP status'),
    ...RefusalEntry.shape,
    errors: z
      .array(RefusalEntry)
      .describe('Everything that is wrong, in the order of the rules; the first is repeated above'),
    requestId: z.string(),
  })
  .meta({ id: 'Error', description: 'Why a request was refused. Nothing was changed' });
export type ErrorView = z.infer<typeof ErrorView>;

const NetworkView = z.strictObject({
  cni: Cni,
  version: z.string(),
  images: z
    .enum(['registry', 'mirror'])
    .describe("Where its images come from: its project's registry, or a mirror, for hosts that pull none"),
  verifiedOn: z
    .enum(['lab', 'real'])
    .describe('real: run on real hosts. lab: applied to simulated hosts only; its data plane was never run'),
});

export const VersionView = z
  .strictObject({
    kind: z.literal('Version'),
    fairlead: z.string(),
    kubernetes: z.strictObject({ default: z.string(), known: z.array(z.string()) }),
    networks: z.array(NetworkView).describe('The pod networks of new clusters'),
  })
  .meta({ id: 'Version' });
export type VersionView = z.infer<typeof VersionView>;
