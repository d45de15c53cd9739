import * as z from 'zod';

/** The phases of Cluster API's MachinePool. */
export const POOL_PHASES = [
  'Pending',
  'Provisioning',
  'Provisioned',
  'Running',
  'ScalingUp',
  'ScalingDown',
  'Scaling',
  'Deleting',
  'Failed',
] as const;
export const PoolPhase = z.enum(POOL_PHASES);
export type PoolPhase = z.infer<typeof PoolPhase>;

/** The counters of a set of nodes: 0 <= available <= ready <= replicas, and updated <= replicas. */
export const ReplicaCounts = z.strictObject({
  replicas: z.int().describe('Nodes that it has, without those that leave and surge nodes'),
  readyReplicas: z.int(),
  availableReplicas: z.int().describe('Ready for minReadySeconds'),
  unavailableReplicas: z.int().describe('replicas - availableReplicas'),
  updatedReplicas: z.int().describe('At the declared version, machine and metadata'),
});
export type ReplicaCounts = z.infer<typeof ReplicaCounts>;

export const PoolStatus = z
  .strictObject({
    name: z.string(),
    phase: PoolPhase,
    ...ReplicaCounts.shape,
    bootstrapReady: z
      .boolean()
      .optional()
      .describe('Its bootstrap data exist; never false again. Absent: its nodes are bootstrapped by SSH and need none'),
    providerIDs: z.array(z.string()).describe('Of the machines that run'),
  })
  .meta({ id: 'PoolStatus', description: 'The state of a pool, in the terms of a MachinePool of Cluster API' });
export type PoolStatus = z.infer<typeof PoolStatus>;
