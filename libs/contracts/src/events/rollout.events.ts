import * as z from 'zod';
import { KubernetesVersion } from '../cluster-spec.js';
import { Cause } from '../failures.js';
import { ClusterUid, NodeName, SecretRef, UpgradeId } from '../ids.js';
import {
  Finding,
  GATE_STAGES,
  RESTORE_STEPS,
  SNAPSHOT_ENDS,
  UPGRADE_MODES,
  UPGRADE_STEPS,
  UpgradePlan,
  UpgradeStrategy,
  UpgradeTarget,
} from '../upgrades.js';
import { HOOK_MESSAGE_MAX, hookFields } from './bootstrap.events.js';
import { ReturnedPods } from './drain.events.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const node = NodeName;
const upgradeId = UpgradeId;
const operation = z.string().describe('Id of the operation in the plan');

/** etcd's own quorum check before a control plane leaves. */
const RemovalQuorum = z.strictObject({
  voters: z.int().min(0).describe('Members that vote now, healthy or not'),
  healthy: z.int().min(0).describe('Those of them that are healthy'),
  target: z.int().min(0).describe('Members that vote after the removal'),
});

const time = z.iso.datetime();

/** An etcd snapshot, and what etcdutl reported when it was taken. */
const savedEtcd = {
  snapshot: z.string(),
  sha256: z.string(),
  bytes: z.int(),
  revision: z.int(),
  keys: z.int(),
};

const request = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'gateway', context: 'request', doc, data });

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'upgrade-svc', context: 'rollout', doc, data });

/** Requests about upgrades. Written by the gateway. */
export const upgradeRequestEvents = {
  UpgradeRequested: request(
    'A change of software, new certificates or reboots were requested. Nothing is changed yet.',
    z.strictObject({
      uid,
      upgradeId,
      target: UpgradeTarget,
      pools: z.array(z.string()).nullable().describe('Worker pools that take part; null: all'),
      controlPlane: z.boolean().describe('Whether control planes take part'),
      strategy: UpgradeStrategy,
      mode: z.enum(UPGRADE_MODES).describe('dry-run: the plan only; ask: the plan waits for its approval; go: it runs'),
      overrides: z
        .array(z.strictObject({ rule: z.string(), reason: z.string() }))
        .describe('Safety rules that its author overrides from the start'),
      requestHash: z.string(),
      declared: z
        .literal(true)
        .optional()
        .describe('A manifest declares its version: it waits for what time can cure; absent: it is rejected'),
      waitsForChecks: z
        .literal(true)
        .optional()
        .describe('Its author asked that it waits, too; absent: what time can cure rejects it'),
    }),
  ),
  UpgradeApproved: request(
    'The plan with this hash was approved.',
    z.strictObject({ uid, upgradeId, planHash: z.string() }),
  ),
  UpgradePauseRequested: request('No further node starts.', z.strictObject({ uid, upgradeId, reason: z.string() })),
  UpgradeResumeRequested: request('The rollout continues.', z.strictObject({ uid, upgradeId })),
  UpgradeAbortRequested: request(
    'The rollout ends: nodes in flight are finished or left as failed, and no other starts.',
    z.strictObject({ uid, upgradeId, reason: z.string() }),
  ),
  UpgradeRetryRequested: request('A retry of what failed was requested.', z.strictObject({ uid, upgradeId })),
  UpgradeNodeSkipRequested: request(
    'A node is to be skipped by this rollout.',
    z.strictObject({ uid, upgradeId, node, reason: z.string() }),
  ),
  UpdatesDisabledSet: request(
    'A node or a pool is excluded from changes, or no longer is; others are not affected.',
    z.strictObject({
      uid,
      scope: z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('node'), node }),
        z.strictObject({ kind: z.literal('pool'), pool: z.string() }),
      ]),
      disabled: z.boolean(),
      reason: z.string(),
    }),
  ),
  UpgradeRuleOverridden: request(
    'An operator overrides a safety rule for this upgrade.',
    z.strictObject({ uid, upgradeId, rule: z.string(), reason: z.string() }),
  ),
  NodeRollbackRequested: request(
    'A failed worker is to be rolled back to the software that it had (G3).',
    z.strictObject({ uid, upgradeId, node }),
  ),
  EtcdSnapshotRequested: request('A snapshot of etcd is to be taken.', z.strictObject({ uid, requestId: z.string() })),
  EtcdRestoreRequested: request(
    'etcd is to be restored from a snapshot; everything since is lost (G4).',
    z.strictObject({ uid, requestId: z.string(), snapshot: z.string() }),
  ),
  EtcdSnapshotVerificationRequested: request(
    'A snapshot of etcd is to be restored into a scratch etcd and read.',
    z.strictObject({ uid, requestId: z.string(), ...savedEtcd }),
  ),
} as const;

/** Decisions of upgrade-svc about a rollout. */
export const rolloutFactEvents = {
  UpgradeRejected: fact(
    'The upgrade would break a rule; nothing was touched.',
    z.strictObject({ uid, upgradeId, findings: z.array(Finding).min(1) }),
  ),
  UpgradeWaiting: fact(
    'The upgrade is declared, or was asked to wait: it waits until these findings hold no longer; nothing was touched.',
    z.strictObject({ uid, upgradeId, findings: z.array(Finding).min(1) }),
  ),
  UpgradePlanned: fact(
    'This is what would be done, in order; it never changes.',
    z.strictObject({ uid, upgradeId, plan: UpgradePlan, planHash: z.string(), mode: z.enum(UPGRADE_MODES) }),
  ),
  RolloutStarted: fact(
    'The rollout of the approved plan has started.',
    z.strictObject({ uid, upgradeId, planHash: z.string() }),
  ),
  EtcdSnapshotTaken: fact(
    'A snapshot of etcd was stored off its node, and its status was read.',
    z.strictObject({
      uid,
      upgradeId: upgradeId.nullable(),
      operation: operation.nullable(),
      requestId: z.string().nullable().describe('What it was requested for; null: an upgrade, or the schedule'),
      node,
      ...savedEtcd,
      dataRef: SecretRef.nullable().describe('Where it is sealed'),
      scheduledAt: time.optional().describe('The run of the schedule that it was taken for; absent: it was not'),
      verify: z.boolean().optional().describe('true: it is to be verified'),
      before: node.optional().describe('The control plane that changes next; absent: it was not taken for such a step'),
      kubernetesVersion: z.string().optional().describe('Of the oldest API server; absent: not recorded'),
      etcdVersion: z.string().optional().describe('Of the member that was saved; absent: not recorded'),
    }),
  ),
  EtcdSnapshotFailed: fact(
    'A requested snapshot of etcd could not be taken.',
    z.strictObject({ uid, requestId: z.string(), cause: Cause }),
  ),
  EtcdBackupFailed: fact(
    'A snapshot of etcd by schedule could not be taken; the next run is tried.',
    z.strictObject({ uid, scheduledAt: time, cause: Cause }),
  ),
  EtcdSnapshotDeleted: fact(
    'The content of a snapshot of etcd is deleted, as its retention says.',
    z.strictObject({ uid, snapshot: z.string(), reason: z.enum(SNAPSHOT_ENDS) }),
  ),
  ControlPlaneRemovalPrepared: fact(
    'etcd keeps its quorum without the control plane, is saved, and is led by another member: the control plane may be drained and removed.',
    z.strictObject({
      uid,
      node,
      attempt: z.int().min(1),
      quorum: RemovalQuorum,
      snapshot: z.string(),
      leader: node.nullable().describe('Who leads etcd now; null: it is none of the nodes'),
    }),
  ),
  ControlPlaneRemovalBlocked: fact(
    'The control plane cannot leave now, and stays as it is. etcd is checked repeatedly; recorded when the numbers change, not for each check.',
    z.strictObject({
      uid,
      node,
      attempt: z.int().min(1),
      quorum: RemovalQuorum.nullable().describe('null: etcd could not be asked'),
      cause: Cause,
    }),
  ),
  ControlPlaneRemovalUnblocked: fact(
    'The control plane is no longer blocked: its removal begins again in its turn.',
    z.strictObject({ uid, node, attempt: z.int().min(1).describe('The one that was blocked') }),
  ),
  EtcdRestoreStarted: fact(
    'The restore of etcd from a snapshot begins; these will be its members, none of which was changed yet.',
    z.strictObject({
      uid,
      requestId: z.string(),
      snapshot: z.string(),
      sha256: z.string(),
      bytes: z.int(),
      members: z.array(z.strictObject({ node, peerUrl: z.string() })).min(1),
    }),
  ),
  EtcdRestoreAdvanced: fact(
    'Every node has completed the previous step of a restore of etcd; this step begins.',
    z.strictObject({
      uid,
      requestId: z.string(),
      step: z.enum(RESTORE_STEPS),
      cause: Cause.nullable().describe('With undo: why; null: the steps before went well'),
    }),
  ),
  EtcdRestoreFailed: fact(
    'etcd could not be restored from a snapshot; the cause states in which state it was left.',
    z.strictObject({ uid, requestId: z.string(), snapshot: z.string(), cause: Cause }),
  ),
  EtcdRestored: fact(
    'etcd was restored from a snapshot.',
    z.strictObject({ uid, requestId: z.string(), snapshot: z.string() }),
  ),
  UpgradeCommandRefused: fact(
    'A command for an upgrade was refused; the upgrade is unchanged.',
    z.strictObject({
      uid,
      upgradeId,
      request: z.string().describe('The type of the event that asked'),
      finding: Finding,
    }),
  ),
  OperationStarted: fact(
    'An operation of the plan has started.',
    z.strictObject({ uid, upgradeId, operation, node: node.nullable() }),
  ),
  OperationCompleted: fact(
    'An operation of the plan is done, its gates passed.',
    z.strictObject({ uid, upgradeId, operation, node: node.nullable(), tookMs: z.int().min(0) }),
  ),
  OperationFailed: fact(
    'An operation of the plan failed; it is retried at nextAttemptAt, unless that is null.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      node: node.nullable(),
      cause: Cause,
      attempt: z.int().min(1),
      attemptsMax: z.int().min(1),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  ),
  UpgradeStepFailed: fact(
    'A step of an upgrade that belongs to no open operation failed: it is tried again until it succeeds.',
    z.strictObject({
      uid,
      upgradeId,
      step: z.enum(UPGRADE_STEPS),
      node: node.nullable().describe('null: a step for several nodes'),
      cause: Cause,
      attempt: z.int().min(1),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  ),
  UpgradeStepRecovered: fact(
    'A step of an upgrade that had failed has succeeded, or is no longer needed.',
    z.strictObject({ uid, upgradeId, step: z.enum(UPGRADE_STEPS), node: node.nullable() }),
  ),
  OperationPostponed: fact(
    'A started operation is postponed in favour of others of its kind; the node was not changed.',
    z.strictObject({ uid, upgradeId, operation, node, by: z.enum(['leader', 'pause']), reason: z.string() }),
  ),
  NodesMarked: fact(
    'These nodes are not yet changed, and pods prefer others (a soft taint, D3).',
    z.strictObject({ uid, upgradeId, operation, nodes: z.array(node) }),
  ),
  NodesUnmarked: fact('Pods no longer avoid these nodes.', z.strictObject({ uid, upgradeId, nodes: z.array(node) })),
  SurgeRequested: fact(
    'The surge nodes of a pool during its rollout; infra-svc creates those that are missing.',
    z.strictObject({ uid, upgradeId, operation, pool: z.string(), count: z.int().min(1) }),
  ),
  SurgeReleased: fact(
    'The surge nodes of a pool are no longer needed and will be deleted.',
    z.strictObject({ uid, upgradeId, operation, pool: z.string(), nodes: z.array(node) }),
  ),
  SurgeSkipped: fact(
    'A pool continues without surge nodes, so that fewer of it are away at a time.',
    z.strictObject({ uid, upgradeId, operation, pool: z.string(), reason: z.string() }),
  ),
  PoolReplacementRequested: fact(
    'Nodes of a pool are replaced by new ones of another version, within the limits of its rollout; infra-svc replaces them.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      requestId: z.string(),
      pool: z.string(),
      nodes: z.array(node).min(1),
      version: KubernetesVersion.describe('Of the new nodes'),
      software: z.record(z.string(), z.string()).describe('Packages of the new nodes beside those of the version'),
    }),
  ),
  AddonsUpgraded: fact(
    'The addons of the cluster fit the version of its control plane.',
    z.strictObject({ uid, upgradeId, operation, addons: z.record(z.string(), z.string()) }),
  ),
  EtcdLeaderMoved: fact(
    'Another member leads etcd, so that this node can be changed, rebooted or removed.',
    z.strictObject({
      uid,
      upgradeId: upgradeId.nullable().describe('null: it is rebooted on request, or removed'),
      operation: operation.nullable(),
      node,
      to: node,
    }),
  ),
  UpgradeAllowed: fact(
    'This plan may change the node, and no other plan may.',
    z.strictObject({ uid, upgradeId, operation, node }),
  ),
  NodeCordoned: fact(
    'The node is cordoned; byPlan states whether this plan cordoned it, and therefore uncordons it.',
    z.strictObject({ uid, upgradeId, operation, node, byPlan: z.boolean() }),
  ),
  EvictionRefused: fact(
    'Kubernetes refused to evict pods; recorded when the set of refusals changes, not for each attempt.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      node,
      budget: z.string().nullable().describe('namespace/name of the PodDisruptionBudget; null: another reason'),
      pods: z.array(z.string()).min(1).describe('namespace/name'),
      message: z.string(),
    }),
  ),
  NodeEmptied: fact(
    'Every pod that must leave has left the node.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      node,
      evictedPods: z.int().min(0),
      forcedPods: z.int().min(0),
      tookMs: z.int().min(0),
      returned: ReturnedPods.optional(),
    }),
  ),
  DrainTimedOut: fact(
    'The node could not be drained in time.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      node,
      pods: z.array(z.string()),
      policy: z.enum(['stop', 'quarantine', 'force']),
    }),
  ),
  GatePassed: fact(
    'A gate passed.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      stage: z.enum(GATE_STAGES),
      gate: z.string(),
      rule: z.string(),
      node: node.nullable(),
      facts: z.record(z.string(), z.unknown()),
      waitedMs: z.int(),
    }),
  ),
  GateFailed: fact(
    'A gate does not pass; stated when its reason changes.',
    z.strictObject({
      uid,
      upgradeId,
      operation,
      stage: z.enum(GATE_STAGES),
      gate: z.string(),
      rule: z.string(),
      node: node.nullable(),
      facts: z.record(z.string(), z.unknown()),
      message: z.string(),
    }),
  ),
  NodeUncordoned: fact('The node was uncordoned.', z.strictObject({ uid, upgradeId, operation, node })),
  UpgradeWithdrawn: fact(
    'The permission to change the node is withdrawn; leftFailed: it stays cordoned as it is.',
    z.strictObject({ uid, upgradeId, operation, node, leftFailed: z.boolean() }),
  ),
  NodeSkipped: fact('The node is left as it is.', z.strictObject({ uid, upgradeId, node, reason: z.string() })),
  NodeQuarantined: fact(
    'The node could not be drained and stays cordoned; other nodes continue.',
    z.strictObject({ uid, upgradeId, node, pods: z.array(z.string()) }),
  ),
  UpgradeHookBlocked: fact(
    'A hook of the upgrade asked for more time: the step after it waits, and the hook is called again.',
    z.strictObject({
      ...hookFields,
      upgradeId,
      operation: operation.optional(),
      message: z.string().max(HOOK_MESSAGE_MAX),
      nextAttemptAt: time,
    }),
  ),
  UpgradeHookSucceeded: fact(
    'A hook of the upgrade has answered with Success.',
    z.strictObject({
      ...hookFields,
      upgradeId,
      operation: operation.optional(),
      message: z.string().max(HOOK_MESSAGE_MAX),
    }),
  ),
  UpgradeHookFailed: fact(
    'A hook of the upgrade has failed or did not answer in time.',
    z.strictObject({
      ...hookFields,
      upgradeId,
      operation: operation.optional(),
      cause: Cause,
      nextAttemptAt: time.nullable().describe('When it is asked again; null: it is ignored'),
    }),
  ),
  RolloutPaused: fact(
    'No further node begins.',
    z.strictObject({ uid, upgradeId, by: z.enum(['user', 'probe', 'window', 'gate']), reason: z.string() }),
  ),
  RolloutResumed: fact('The rollout has resumed.', z.strictObject({ uid, upgradeId })),
  RolloutHalted: fact(
    'A rule halts the rollout: nodes in progress are left as they are, and nothing starts until an operator decides.',
    z.strictObject({
      uid,
      upgradeId,
      rule: z.string(),
      cause: Cause,
      nodes: z.array(node),
      nextActions: z.array(z.string()),
    }),
  ),
  RolloutAborted: fact(
    'The rollout was aborted; these nodes were left as failed.',
    z.strictObject({
      uid,
      upgradeId,
      leftFailed: z.array(node),
      supersededBy: upgradeId
        .optional()
        .describe('Another version was declared while it waited; absent: it was aborted'),
      declaredAgain: KubernetesVersion.optional().describe(
        'The version that the manifest declares again; absent: as it is',
      ),
    }),
  ),
  RolloutCompleted: fact(
    'Everything in the plan is done.',
    z.strictObject({
      uid,
      upgradeId,
      upgraded: z.array(node),
      skipped: z.array(node),
      quarantined: z.array(node),
      tookMs: z.int(),
    }),
  ),
  CertificatesExpiring: fact(
    'Certificates of a control plane expire soon and should be renewed, or a kubelet has not renewed its own in time.',
    z.strictObject({ uid, node, earliest: z.iso.datetime(), names: z.array(z.string()) }),
  ),
} as const;
