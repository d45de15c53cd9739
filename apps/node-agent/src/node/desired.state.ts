import {
  ChangesAllowedUntil,
  KubeadmDryRun,
  KubernetesRelease,
  NodeChange,
  Probe,
  SoftwareVersions,
} from '@fairlead/contracts';
import * as z from 'zod';

/** What is desired of the node. */
export const Desired = z.strictObject({
  revision: z.int().min(1),
  software: SoftwareVersions,
  changesAllowed: z.boolean(),
  changesAllowedUntil: ChangesAllowedUntil.optional(),
  change: NodeChange.strip().optional(),
  stage: z.strictObject({ id: z.string(), software: SoftwareVersions, dryRun: KubeadmDryRun.optional() }).optional(),
  /** What the agent may repair without a drain, until it is Ready with this revision. */
  repair: z.string().optional(),
  probes: z.array(Probe.strip()).optional(),
  releases: z.array(KubernetesRelease).optional(),
  /** Id of the event that set it; null: the initial one, from the configuration. */
  event: z.string().nullable(),
});
export type Desired = z.infer<typeof Desired>;
