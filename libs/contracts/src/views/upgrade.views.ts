import * as z from 'zod';
import { paged } from './list.views.js';
import { NodeRole } from '../machines.js';
import { UPGRADE_MODES, Finding, UpgradePlan, UpgradeTarget } from '../upgrades.js';
import { time } from './time.js';

/** Responses of the routes about upgrades, holds, etcd and certificates. */

const ms = z.int().min(0);

export const UPGRADE_PHASES = [
  'Planning',
  'Waiting',
  'Rejected',
  'Planned',
  'Approved',
  'Running',
  'Paused',
  'Halted',
  'Aborting',
  'Aborted',
  'Completed',
] as const;
export const UpgradePhase = z
  .enum(UPGRADE_PHASES)
  .describe(
    'Waiting waits until its findings hold no longer; Planned waits for its approval, unless it is a dry run; Halted waits for a person to decide',
  );
export type UpgradePhase = z.infer<typeof UpgradePhase>;

export const UPGRADE_NODE_PHASES = [
  'Waiting',
  'Preparing',
  'Draining',
  'Changing',
  'Verifying',
  'Done',
  'Failed',
  'LeftFailed',
  'Skipped',
  'Held',
  'Quarantined',
] as const;
export const UpgradeNodePhase = z.enum(UPGRADE_NODE_PHASES);
export type UpgradeNodePhase = z.infer<typeof UpgradeNodePhase>;

const FindingView = Finding.meta({ id: 'Finding', description: 'What a rule found in an upgrade' });

const AttemptView = {
  attempt: z.int().min(0).describe('0: not begun'),
  attemptsMax: z.int().min(0),
  nextAttemptAt: time.nullable(),
  failure: z.string().describe('Why the latest attempt failed; empty when it did not'),
};

export const UpgradeOperationView = z
  .strictObject({
    id: z.string(),
    kind: z.string(),
    node: z.string().nullable(),
    batch: z.int(),
    state: z.enum(['waiting', 'running', 'done', 'failed', 'skipped']),
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    elapsedMs: ms.nullable().describe('Up to now while it runs'),
    predictedMs: ms,
    ...AttemptView,
  })
  .meta({ id: 'UpgradeOperation', description: 'An operation of the plan, predicted and real' });
export type UpgradeOperationView = z.infer<typeof UpgradeOperationView>;

export const UpgradeNodeView = z
  .strictObject({
    name: z.string(),
    role: NodeRole.nullable(),
    pool: z.string(),
    phase: UpgradeNodePhase,
    step: z.string().nullable().describe('What its agent does now: stage, kubeadm, kubelet, runtime, reboot, ...'),
    waitsFor: z.string().describe('In one sentence; empty when it no longer waits'),
    from: z.string().describe('What changes, as it was: "kubelet 1.33.13"'),
    to: z.string(),
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    elapsedMs: ms.nullable().describe('Up to now while it is under way'),
    predictedMs: ms,
    operationsDone: z.int(),
    operationsTotal: z.int(),
    ...AttemptView,
  })
  .meta({ id: 'UpgradeNode', description: 'How far an upgrade is on one node' });
export type UpgradeNodeView = z.infer<typeof UpgradeNodeView>;

const summary = {
  id: z.string(),
  kind: z.literal('Upgrade'),
  namespace: z.string(),
  cluster: z.string(),
  mode: z.enum(UPGRADE_MODES),
  phase: UpgradePhase,
  message: z
    .string()
    .describe('What it waits for or why it ended, in one sentence; empty when there is nothing to say'),
  target: UpgradeTarget,
  actor: z.string(),
  requestedAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  elapsedMs: ms.nullable().describe('Since the rollout began, up to now or to its end'),
  predictedMs: ms.nullable().describe('What the plan predicts for all of it'),
  nodesDone: z.int(),
  nodesTotal: z.int(),
};

export const UpgradeSummary = z.strictObject(summary).meta({ id: 'UpgradeSummary' });
export type UpgradeSummary = z.infer<typeof UpgradeSummary>;

export const UpgradeList = z
  .strictObject({ kind: z.literal('UpgradeList'), items: z.array(UpgradeSummary), ...paged })
  .meta({ id: 'UpgradeList' });
export type UpgradeList = z.infer<typeof UpgradeList>;

export const UpgradeView = z
  .strictObject({
    ...summary,
    uid: z.string(),
    pools: z.array(z.string()).nullable().describe('Worker pools that take part; null: all'),
    controlPlane: z.boolean(),
    overrides: z.array(z.strictObject({ rule: z.string(), reason: z.string(), actor: z.string() })),
    findings: z.array(FindingView).describe('Why it was rejected, or what its author should know'),
    planHash: z.string().nullable(),
    plan: UpgradePlan.meta({ id: 'UpgradePlan' }).nullable(),
    approvedBy: z.string().nullable(),
    nodes: z.array(UpgradeNodeView),
    operations: z.array(UpgradeOperationView),
    nextActions: z.array(z.string()).describe('What a person can do when it has halted or is paused'),
    lastSeq: z.int().describe('Sequence of the latest event that changed this view'),
  })
  .meta({ id: 'Upgrade', description: 'A change of software, certificates or boots: its plan and how far it is' });
export type UpgradeView = z.infer<typeof UpgradeView>;

export const UpdatesView = z
  .strictObject({
    kind: z.literal('Updates'),
    scope: z.enum(['node', 'pool']),
    name: z.string(),
    disabled: z.boolean(),
    reason: z.string(),
    actor: z.string(),
    since: time,
  })
  .meta({ id: 'Updates', description: 'Whether a node or a pool is excluded from changes' });
export type UpdatesView = z.infer<typeof UpdatesView>;

export const NodeUpdatesView = UpdatesView.omit({ scope: true, name: true })
  .extend({
    kind: z.literal('NodeUpdates'),
    nodes: z.array(z.string()).describe('Those that were selected'),
    changed: z.array(z.string()).describe('Those of them that were not so before'),
  })
  .meta({ id: 'NodeUpdates', description: 'Nodes that are excluded from changes, or not any more' });
export type NodeUpdatesView = z.infer<typeof NodeUpdatesView>;

/**
 * Why a snapshot was taken: by schedule, by command, before an upgrade changes control planes, before a control plane
 * is removed or changes.
 */
export const SNAPSHOT_REASONS = ['schedule', 'command', 'upgrade', 'removal', 'change'] as const;
/** open: verification is pending; unverified: none was requested, or it could not run. */
export const VERIFICATION_STATES = ['open', 'unverified', 'verified', 'invalid'] as const;

const SnapshotVerification = z
  .strictObject({
    state: z.enum(VERIFICATION_STATES),
    at: time.nullable().describe('When that was found; null: it was never tried'),
    message: z.string().describe('Of one that failed'),
  })
  .meta({ id: 'SnapshotVerification', description: 'Whether etcd was restored from it into a scratch etcd' });

export const EtcdSnapshotView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('EtcdSnapshot'),
    node: z.string().describe('Whose member was saved'),
    takenAt: time,
    ageSeconds: z.int().min(0).describe('What a restore would lose'),
    bytes: z.int(),
    revision: z.int(),
    keys: z.int(),
    sha256: z.string(),
    upgrade: z.string().nullable().describe('The upgrade that it was taken for'),
    reason: z.enum(SNAPSHOT_REASONS),
    verification: SnapshotVerification,
    restorable: z.boolean().describe('Whether its content is kept by Fairlead'),
    kubernetesVersion: z.string().nullable().describe('That it was taken of; null: not recorded'),
    etcdVersion: z.string().nullable().describe('That it was taken of; null: not recorded'),
  })
  .meta({ id: 'EtcdSnapshot' });
export type EtcdSnapshotView = z.infer<typeof EtcdSnapshotView>;

export const EtcdSnapshotList = z
  .strictObject({ kind: z.literal('EtcdSnapshotList'), items: z.array(EtcdSnapshotView) })
  .meta({ id: 'EtcdSnapshotList' });
export type EtcdSnapshotList = z.infer<typeof EtcdSnapshotList>;

export const EtcdRequestView = z
  .strictObject({
    id: z.string(),
    kind: z.literal('EtcdRequest'),
    what: z.enum(['snapshot', 'restore', 'verification']),
    phase: z.enum(['Running', 'Succeeded', 'Failed']),
    snapshot: z.string().nullable(),
    message: z.string(),
    actor: z.string(),
    requestedAt: time,
    finishedAt: time.nullable(),
  })
  .meta({ id: 'EtcdRequest', description: 'What became of a request about etcd' });
export type EtcdRequestView = z.infer<typeof EtcdRequestView>;

export const CertificateView = z
  .strictObject({
    node: z.string(),
    name: z.string(),
    expiresAt: time,
    daysLeft: z.int().describe('Whole days; negative when it is over'),
    reportedAt: time,
  })
  .meta({ id: 'Certificate' });
export type CertificateView = z.infer<typeof CertificateView>;

export const CertificateList = z
  .strictObject({ kind: z.literal('CertificateList'), items: z.array(CertificateView) })
  .meta({ id: 'CertificateList' });
export type CertificateList = z.infer<typeof CertificateList>;
