import * as z from 'zod';
import { CNIS, Cni, ETCDS, LOAD_BALANCERS, RootDiskRequest, ServiceType, ImageName } from '../cluster-spec.js';
import { ConnectionName } from '../ids.js';
import { Firewall } from '../network/firewall.js';
import { Sshd } from '../network/sshd.js';
import { TEXT_LENGTH_MAX } from '../text.limits.js';
import { ManifestAuthentication } from '../authentication.js';
import { DrainPolicy } from './drain.policy.js';
import { EtcdSnapshotMaxAge, ManifestEtcdBackups } from './etcd.backups.js';
import { ManifestHealthCheck } from './health.check.js';
import { Hooks } from './hooks.js';
import { controlPlaneReplicas, poolFields } from './pool.fields.js';
import { ControlPlaneRollout, PoolRollout } from './pool.rollout.js';

const text = z.string().max(TEXT_LENGTH_MAX);

const machines = {
  connection: ConnectionName.optional().describe('Name of a registered connection'),
  machineType: z.string().min(1).max(TEXT_LENGTH_MAX).optional(),
  rootDisk: RootDiskRequest.optional(),
  image: ImageName.optional(),
  health: ManifestHealthCheck.optional(),
  zones: poolFields.zones.optional(),
};

/** A partial cluster spec. Omitted fields are left to each cluster. */
export const TemplateCluster = z
  .strictObject({
    version: text.min(1).describe('A Kubernetes version, with or without the "v"'),
    serviceType: ServiceType.optional(),
    loadBalancer: z.enum(LOAD_BALANCERS).optional(),
    network: z
      .strictObject({
        podCidr: text.optional(),
        serviceCidr: text.optional(),
        dnsDomain: text.optional(),
        cni: Cni.optional().meta({ enum: CNIS }),
      })
      .optional(),
    storage: z.strictObject({ nfs: z.strictObject({ server: text.min(1), path: text.min(1) }) }).optional(),
    controlPlane: z
      .strictObject({
        replicas: controlPlaneReplicas.optional(),
        ...machines,
        etcd: z.enum(ETCDS).optional(),
        rollout: ControlPlaneRollout.optional(),
      })
      .optional(),
    pools: z
      .strictObject({
        ...machines,
        rollout: PoolRollout.optional(),
        minReadySeconds: poolFields.minReadySeconds.optional(),
        deletePolicy: poolFields.deletePolicy.optional(),
      })
      .optional()
      .describe('Of every pool of the cluster'),
    drain: DrainPolicy.optional(),
    hooks: Hooks.optional(),
    etcdBackups: ManifestEtcdBackups.optional(),
    etcdSnapshotMaxAge: EtcdSnapshotMaxAge.optional(),
    authentication: ManifestAuthentication.optional(),
    firewall: Firewall.optional(),
    sshd: Sshd.optional(),
  })
  .meta({
    id: 'TemplateCluster',
    description: 'What clusters of the template are declared with. What is left out is for each cluster to declare',
  });
export type TemplateCluster = z.infer<typeof TemplateCluster>;
