import * as z from 'zod';
import { AutoscalerCredentialId } from '../autoscaler.credential.js';
import { POOL_NODES_MAX } from '../cluster.limits.js';
import { ClusterSpec, NodeSet, OnFailure } from '../cluster-spec.js';
import { CreationFailure } from '../creation.failure.js';
import { Sha256 } from '../digests.js';
import { Duration } from '../durations.js';
import { HOOK_POINTS } from '../hook.points.js';
import { ClusterUid, ConnectionName, Namespace, NodeName, PoolName, SecretRef, UpgradeId } from '../ids.js';
import { KUBECONFIG_TTL_SECONDS, KubernetesUser } from '../kubeconfig.limits.js';
import { TemplateCluster } from '../manifest/template.cluster.js';
import { DeclaredSpec } from '../manifest/declared.js';
import { MANIFEST_CHANGES_MAX, ManifestChange } from '../manifest/change.summary.js';
import { Labels } from '../labels.js';
import { TemplateName, TemplateUse } from '../manifest/template.use.js';
import { HostKey } from '../own-hosts.js';
import { PauseReason } from '../pause.request.js';
import { Quota } from '../quota.js';
import { ReplacementOrder } from '../replacement-orders.js';
import { PROVIDER_ID_MAX } from '../watch.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;

/** Users' requests, before anything exists. Written by the gateway. */
export const requestEvents = {
  NamespaceCreated: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'A namespace exists and may hold clusters.',
    data: z.strictObject({ name: Namespace, description: z.string() }),
  }),
  NamespaceQuotaSet: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The quota of all clusters of a namespace together; it replaces the previous one.',
    data: z.strictObject({ name: Namespace, quota: Quota }),
  }),
  HookSecretSet: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'Requests to hooks and gates that name this secret are signed with its value, which is sealed, and for some time also with the previous value.',
    data: z.strictObject({
      name: Namespace,
      secretName: PoolName,
      oldValidUntil: z.iso
        .datetime()
        .optional()
        .describe('Until then the previous value is valid, too; absent: there is none, or it is no longer valid'),
    }),
  }),
  HookSecretDeleted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The value of a hook secret was deleted; hooks that refer to it fail.',
    data: z.strictObject({ name: Namespace, secretName: PoolName }),
  }),
  HookSecretRead: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The value of a hook secret was read back by an administrator of its namespace.',
    data: z.strictObject({ name: Namespace, secretName: PoolName }),
  }),
  AddonSecretSet: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'Add-ons that name this secret get its values, which are sealed.',
    data: z.strictObject({ name: Namespace, secretName: PoolName }),
  }),
  AddonSecretDeleted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The values of an add-on secret were deleted; changes of add-ons that refer to it fail.',
    data: z.strictObject({ name: Namespace, secretName: PoolName }),
  }),
  AddonSecretRead: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The values of an add-on secret were read back by an administrator of its namespace.',
    data: z.strictObject({ name: Namespace, secretName: PoolName }),
  }),
  ClusterTemplateCreated: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'Clusters of the namespace may be declared with the values of this template, which never change.',
    data: z.strictObject({
      name: Namespace,
      template: TemplateName,
      description: z.string(),
      deprecated: z.boolean(),
      cluster: TemplateCluster,
    }),
  }),
  ClusterTemplateChanged: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'The description of a template was changed, or whether it can be chosen for clusters.',
    data: z.strictObject({
      name: Namespace,
      template: TemplateName,
      description: z.string(),
      deprecated: z.boolean(),
    }),
  }),
  ClusterTemplateDeleted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'A template that no cluster uses was deleted.',
    data: z.strictObject({ name: Namespace, template: TemplateName }),
  }),
  NamespaceDeleted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'namespace',
    doc: 'An empty namespace was deleted.',
    data: z.strictObject({ name: Namespace }),
  }),
  ConnectionRegistered: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'A provider can be reached under this name; registering it again replaces its settings.',
    data: z.strictObject({
      name: ConnectionName,
      provider: z.string().describe('lab, ssh, nspawn, ...'),
      region: z.string(),
      zone: z.string(),
      settings: z.record(z.string(), z.unknown()).describe("The provider's own settings, without secrets"),
      secretRef: SecretRef.nullable(),
      namespaces: z
        .array(z.string())
        .optional()
        .describe('Those whose clusters may use it, "*" for all; absent in events from before there were grants: all'),
      quota: Quota.optional().describe('The most that all clusters may take of it together'),
    }),
  }),
  ConnectionVerificationRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'The verification of a connection was requested; hosts that were withheld from its inventory are reset.',
    data: z.strictObject({ name: ConnectionName }),
  }),
  OrphanVmRemovalRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'An administrator requested that an orphaned machine is deleted. It is checked again before that.',
    data: z.strictObject({ name: ConnectionName, id: z.string().min(1).max(PROVIDER_ID_MAX) }),
  }),
  ConnectionRemoved: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'The connection is no longer offered to new clusters.',
    data: z.strictObject({ name: ConnectionName }),
  }),
  HostKeyAccepted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'An administrator accepted an SSH host key: the server must present this one from now on.',
    data: z.strictObject({
      name: ConnectionName,
      host: NodeName.nullable().describe('Its name in the inventory; null: the jump host'),
      address: z.string().describe('<address>:<port> of the server'),
      hostKey: HostKey,
    }),
  }),
  ConnectionCredentialRead: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'The credential of a connection was read back by an administrator of all namespaces.',
    data: z.strictObject({ name: ConnectionName }),
  }),
  HostAccepted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'An administrator accepted a host of an inventory as it is, e.g. after it was reinstalled: it is free for every namespace that the connection is granted to.',
    data: z.strictObject({ name: ConnectionName, host: NodeName }),
  }),
  SshKeyRotationRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'An administrator requested a new SSH key for a connection, on every host that has the present one; a rotation that failed continues.',
    data: z.strictObject({ name: ConnectionName }),
  }),
  SshKeyRotationForced: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'An administrator forced the end of a rotation: the former SSH key is destroyed although hosts still need it.',
    data: z.strictObject({ name: ConnectionName }),
  }),
  ClusterRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A cluster was requested. Nothing exists yet.',
    data: z.strictObject({
      uid,
      spec: ClusterSpec,
      requestHash: z.string().describe('SHA-256 of the request, to know a repetition'),
    }),
  }),
  ClusterSpecChanged: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A manifest was applied: the desired state of the cluster. What it requires is requested in the same decision.',
    data: z.strictObject({
      uid,
      revision: z.int().min(1).describe('How many manifests of the cluster were applied so far'),
      spec: DeclaredSpec,
      labels: Labels.optional().describe('Of the cluster itself; absent: none'),
      changes: z
        .array(ManifestChange)
        .max(MANIFEST_CHANGES_MAX)
        .optional()
        .describe('The first of the changed fields; absent: the first revision, or an earlier release'),
      changesLeftOut: z.int().min(1).optional().describe('How many more fields have changed; absent: none'),
    }),
  }),
  ClusterTemplateChosen: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'From here on the cluster is declared with the values of a template; the manifest that it was resolved into follows in the same decision.',
    data: z.strictObject({ uid, template: TemplateName, revision: TemplateUse.shape.revision }),
  }),
  ClusterRetryRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A retry of what failed was requested: the cluster, nodes that were kept, removals, deletions.',
    data: z.strictObject({
      uid,
      correction: z
        .strictObject({ spec: ClusterSpec, requestHash: z.string() })
        .optional()
        .describe(
          'The request as it is from now on: its creation stopped before a machine was named. Absent: as it was',
        ),
      again: z
        .enum(['due', 'room'])
        .optional()
        .describe(
          'What is declared is tried again by itself: a rollout of a pool is due (due), or a connection or a quota has changed (room). Absent: someone requested it',
        ),
    }),
  }),
  ClusterPaused: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The cluster was paused: no service acts on it until it is resumed.',
    data: z.strictObject({ uid, reason: PauseReason }),
  }),
  ClusterResumed: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A paused cluster was resumed: what was interrupted continues, and time limits start again.',
    data: z.strictObject({ uid, reason: PauseReason }),
  }),
  ClusterDeletionRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The deletion of a cluster was requested; everything that was created for it is deleted, and its history is kept.',
    data: z.strictObject({
      uid,
      failure: CreationFailure.optional().describe(
        'Why its creation failed: the cluster is cleaned up, as its request asked for. Absent: someone asked to delete it, or it ends',
      ),
      lease: z
        .strictObject({ endsAt: z.iso.datetime(), gracePeriod: Duration })
        .optional()
        .describe('The lease that ends; absent: the deletion has another reason'),
    }),
  }),
  ClusterRecreationRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A cluster whose creation failed is requested again: it is deleted, and requested under the same name once it is gone.',
    data: z.strictObject({
      uid,
      successor: z.strictObject({
        uid,
        spec: ClusterSpec,
        requestHash: z.string().describe('SHA-256 of the request, to know a repetition'),
      }),
    }),
  }),
  ClusterRecreationCancelled: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The deletion of the cluster was requested while it was being recreated: it is not requested again.',
    data: z.strictObject({ uid }),
  }),
  ClusterRecordDeleted: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The record of a cluster whose failed creation is cleaned up was deleted: its name is free once everything is gone, and its history is kept.',
    data: z.strictObject({ uid }),
  }),
  ClusterExpiring: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The lease of the cluster ends soon: a requested warning, recorded once for each end.',
    data: z.strictObject({
      uid,
      warning: Duration.describe('How long before the end it was to be recorded'),
      endsAt: z.iso.datetime(),
      deletionAt: z.iso.datetime().describe('When the deletion of the cluster begins'),
    }),
  }),
  HookSkipped: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'An operator skipped a hook: it is not called again at this point.',
    data: z.strictObject({
      uid,
      hook: PoolName,
      point: z.enum(HOOK_POINTS),
      node: NodeName.optional().describe('Absent: it is about the cluster'),
      upgradeId: UpgradeId.optional().describe('The upgrade that it holds'),
      requestId: z.string().optional().describe('The request about nodes that it holds'),
      reason: z.string().describe('Why, in the words of whoever asked'),
    }),
  }),
  NodesRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'More workers or control planes were requested.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      workers: z.array(NodeSet).max(50),
      controlPlane: NodeSet.optional().describe('Control planes that are added; absent: none'),
      onFailure: OnFailure.optional().describe('What becomes of the machines if the request fails; absent: rollback'),
      adopts: z
        .string()
        .min(1)
        .max(PROVIDER_ID_MAX)
        .optional()
        .describe("The provider's id of the machine that becomes the one worker; absent: machines are created"),
    }),
  }),
  NodesAbandoned: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'A request for nodes that is not complete was abandoned: its nodes and machines are deleted.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      nodes: z.array(NodeName),
      superseded: z
        .literal(true)
        .optional()
        .describe('A newer manifest or size asks for other nodes, by the same decision; absent: it was given up'),
    }),
  }),
  NodeRemovalRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The removal of a node, after its drain, was requested.',
    data: z.strictObject({
      uid,
      node: NodeName,
      reason: z
        .string()
        .optional()
        .describe(
          'Why nodes leave and why it is this one, where that was decided for whoever asked; absent: they named it',
        ),
    }),
  }),
  NodeRemovalCancellationRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The cancellation of the removal of a node was requested. The node stays if its drain has not ended by then.',
    data: z.strictObject({
      uid,
      node: NodeName,
      reason: z.string().describe('Why, in the words of whoever asked; empty: not given'),
    }),
  }),
  NodeReplacementRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The replacement of a node by a new one was requested; its pool keeps its size.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      node: NodeName,
      order: ReplacementOrder.describe(
        'create-first: the node leaves once the new one is Ready, and stays if that fails; remove-first: it leaves first',
      ),
      reason: z.string().describe('Why, in the words of whoever asked; empty: not given'),
    }),
  }),
  PoolRolloutRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    doc: 'The machine template of a pool was changed, so nodes whose machines differ are replaced; or the replacement of nodes was requested. It supersedes an earlier rollout of the pool.',
    data: z.strictObject({
      uid,
      requestId: z.string(),
      pool: z.string(),
      nodes: z
        .array(NodeName)
        .min(1)
        .max(POOL_NODES_MAX)
        .optional()
        .describe('Those that are replaced, whatever their machines are like; absent: those whose machines differ'),
      reason: z.string().optional().describe('Why nodes are replaced that someone asked for; absent: not given'),
    }),
  }),
  ClusterQuarantineReleased: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    scope: 'any',
    doc: 'An operator released a cluster whose events a consumer could not process.',
    data: z.strictObject({ service: z.string(), consumer: z.string(), mode: z.enum(['retry', 'skip', 'replay']) }),
  }),
  KubeconfigRead: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'The administrator kubeconfig of the cluster was read.',
    data: z.strictObject({ uid }),
  }),
  KubeconfigRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'An operator requested a kubeconfig with a client certificate of its own.',
    data: z.strictObject({
      uid,
      requestId: z.uuid(),
      user: KubernetesUser,
      ttlSeconds: z.int().min(KUBECONFIG_TTL_SECONDS.min).max(KUBECONFIG_TTL_SECONDS.max),
    }),
  }),
  AutoscalerCredentialIssued: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'A client certificate was signed with which an autoscaler scales the pools of the cluster that have bounds.',
    data: z.strictObject({
      uid,
      id: AutoscalerCredentialId,
      keySha256: Sha256.describe('Of the public key (SubjectPublicKeyInfo, DER): the certificate is known by it'),
      expiresAt: z.iso.datetime(),
    }),
  }),
  AutoscalerCredentialRevoked: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'The client certificate of an autoscaler was revoked.',
    data: z.strictObject({ uid, id: AutoscalerCredentialId }),
  }),
  ApiTokenCreated: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    scope: 'installation',
    doc: 'An API token exists, or has another secret; only the hash of the secret is stored.',
    data: z.strictObject({
      id: z.string(),
      name: z.string(),
      roles: z.array(z.strictObject({ namespace: z.string(), role: z.enum(['viewer', 'operator', 'admin']) })),
      expiresAt: z.iso.datetime().optional().describe('When it ends; absent: it does not end by itself'),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .optional()
        .describe('Of its 256 random bits; absent: its file has it, or it is of an earlier release'),
    }),
  }),
  ApiTokenRevoked: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    scope: 'installation',
    doc: 'The API token was revoked.',
    data: z.strictObject({ id: z.string() }),
  }),
} as const;
