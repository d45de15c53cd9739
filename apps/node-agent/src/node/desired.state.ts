import {
  ChangesAllowedUntil,
  KubeadmDryRun,
  KubernetesRelease,
  NodeChange,
  Probe,
  SoftwareVersions,
} from '@fairlead/contracts';
import * as z from 'zod';

/** The desired state of the node. */
export const Desired = z.strictObject({
  revision: z.int().min(1),
  software: SoftwareVersions,
  changesAllowed: z.boolean(),
  changesAllowedUntil: ChangesAllowedUntil.optional(),
  change: NodeChange.strip().optional(),
  stage: z.strictObject({ id: z.string(), software: SoftwareVersions, dryRun: KubeadmDryRun.optional() }).optional(),
  /** The request that permits repairs without a drain until NodeReady of this revision. */
  repair: z.string().optional(),
  probes: z.array(Probe.strip()).optional(),
  releases: z.array(KubernetesRelease).optional(),
  /** The ID of the event that set it; null: the initial state, from the configuration. */
  event: z.string().nullable(),
});
export type Desired = z.infer<typeof Desired>;
