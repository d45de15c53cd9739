import * as z from 'zod';
import { ClusterName, Namespace, NodeName, UpgradeId } from './ids.js';
import { limitedRecord } from './limited.record.js';
import { NodeSelection } from './requests.js';
import { TEXT_LENGTH_MAX } from './text.limits.js';
import { UpgradeStrategyRequest } from './upgrades.js';

/** Bodies, queries and paths of the routes about upgrades, holds, etcd and certificates. */

const text = z.string().max(TEXT_LENGTH_MAX);
const reason = text.default('').describe('Why; recorded in the history');

/** Maximum packages, pools or overrides per request. */
const ENTRIES_MAX = 100;

const Override = z.strictObject({
  rule: text.describe('A rule of the upgrade rules, e.g. B4').meta({ pattern: '^[A-G][0-9]+$' }),
  reason: text.describe('Why this may be so here').meta({ minLength: 1 }),
});

export const UpgradeRequest = z
  .strictObject({
    version: text.optional().describe('The Kubernetes version to go to, with or without the "v"'),
    software: limitedRecord(text, text, ENTRIES_MAX)
      .optional()
      .describe('Other packages by name, e.g. { "containerd": "1.7.24" }'),
    renewCertificates: z.boolean().default(false).describe('Renew every certificate of the control plane'),
    reboot: z.boolean().default(false).describe('Boot every node that takes part, once'),
    pools: z
      .array(text)
      .max(ENTRIES_MAX)
      .nullable()
      .default(null)
      .describe('Worker pools that take part; left out: all, []: none'),
    controlPlane: z.boolean().default(true).describe('Whether control planes take part'),
    strategy: UpgradeStrategyRequest.prefault({}),
    overrides: z
      .array(Override)
      .max(ENTRIES_MAX)
      .default([])
      .describe('Safety rules to override, of those that allow it'),
    waitForChecks: z
      .boolean()
      .default(false)
      .describe(
        'true: while a check fails that may hold later, it waits, with the finding as its reason, and is checked again every 15 seconds; false: it is rejected',
      ),
    approved: z
      .boolean()
      .default(false)
      .describe('true: it runs as soon as it is planned; false: the plan waits for its approval by hash'),
  })
  .meta({
    id: 'UpgradeRequest',
    description: 'What to change: at least one of version, software, renewCertificates and reboot',
    examples: [{ version: 'v1.34.4' }, { renewCertificates: true, pools: [] }],
  });
export type UpgradeRequest = z.infer<typeof UpgradeRequest>;

export const UpgradeQuery = z.strictObject({
  dryRun: z
    .enum(['true', 'false'])
    .default('false')
    .describe('true: only the plan. The answer waits for it, at most 30 seconds unless Prefer: wait=N says otherwise'),
});
export type UpgradeQuery = z.infer<typeof UpgradeQuery>;

export const UpgradeApproval = z
  .strictObject({ planHash: text.describe('Of the plan that you have read') })
  .meta({ id: 'UpgradeApproval' });
export type UpgradeApproval = z.infer<typeof UpgradeApproval>;

export const UpgradeReason = z.strictObject({ reason }).meta({ id: 'UpgradeReason' });
export type UpgradeReason = z.infer<typeof UpgradeReason>;

export const UpgradeSkip = z.strictObject({ node: text, reason }).meta({ id: 'UpgradeSkip' });
export type UpgradeSkip = z.infer<typeof UpgradeSkip>;

export const UpgradeOverride = Override.meta({
  id: 'UpgradeOverride',
  description: 'A safety rule to override for one upgrade; the history records it with your name',
});
export type UpgradeOverride = z.infer<typeof UpgradeOverride>;

export const UpgradeRollback = z
  .strictObject({ node: text.describe('A worker whose change failed') })
  .meta({ id: 'UpgradeRollback' });
export type UpgradeRollback = z.infer<typeof UpgradeRollback>;

export const UpdatesRequest = z
  .strictObject({
    disabled: z.boolean().describe('true: held out of every change until it is false again; others go on'),
    reason: text.default('').describe('Why; needed to hold'),
  })
  .meta({ id: 'UpdatesRequest' });
export type UpdatesRequest = z.infer<typeof UpdatesRequest>;

export const NodeUpdatesRequest = UpdatesRequest.extend({ select: NodeSelection }).meta({
  id: 'NodeUpdatesRequest',
  description: 'Nodes to hold or to release',
  examples: [{ select: { labels: { tier: 'web' } }, disabled: true, reason: 'a long test runs' }],
});
export type NodeUpdatesRequest = z.infer<typeof NodeUpdatesRequest>;

export const EtcdRestoreRequest = z
  .strictObject({
    snapshot: text,
    confirm: text.default('').describe("The cluster's own name: everything since the snapshot will be lost"),
    confirmVersion: text
      .default('')
      .describe('The Kubernetes version of the snapshot, where the cluster runs another one by now'),
  })
  .meta({ id: 'EtcdRestoreRequest' });
export type EtcdRestoreRequest = z.infer<typeof EtcdRestoreRequest>;

export const EtcdSnapshotPath = z.object({
  namespace: Namespace,
  cluster: ClusterName,
  snapshot: z.string().min(1).max(TEXT_LENGTH_MAX),
});
export type EtcdSnapshotPath = z.infer<typeof EtcdSnapshotPath>;

export const UpgradePath = z.object({ namespace: Namespace, cluster: ClusterName, upgrade: UpgradeId });
export type UpgradePath = z.infer<typeof UpgradePath>;

/** A pool name follows the rules of machine names: a DNS label. */
export const PoolPath = z.object({ namespace: Namespace, cluster: ClusterName, pool: NodeName });
export type PoolPath = z.infer<typeof PoolPath>;
export const EtcdRequestPath = z.object({
  namespace: Namespace,
  cluster: ClusterName,
  request: z.string().min(1).max(63),
});
export type EtcdRequestPath = z.infer<typeof EtcdRequestPath>;
