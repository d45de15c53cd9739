import * as z from 'zod';
import { KubernetesRelease } from '../kubernetes.release.js';
import { ClusterUid, NodeName } from '../ids.js';
import { KubeadmDryRun, NodeChange, Probe } from '../upgrades.js';
import { ChangesAllowedUntil, DesiredSoftware, SoftwareVersions } from '../software.versions.js';
import { defineEvent } from './definition.js';
import { Time } from '../time.js';

const uid = ClusterUid;
const node = NodeName;

/** The desired state of nodes, and whether they are present. Written by upgrade-svc. */
export const rolloutEvents = {
  DesiredVersionsSet: defineEvent({
    version: 1,
    writer: 'upgrade-svc',
    context: 'desired-<node>',
    doc: 'The node must run exactly this software; its agent may change the node only while changesAllowed, and no longer than changesAllowedUntil.',
    data: z.strictObject({
      uid,
      node,
      revision: z.int().min(1),
      software: DesiredSoftware,
      changesAllowed: z.boolean(),
      changesAllowedUntil: ChangesAllowedUntil.optional(),
      change: NodeChange.optional().describe('More than software: done once, before the node is Ready again'),
      stage: z
        .strictObject({
          id: z.string(),
          software: DesiredSoftware,
          dryRun: KubeadmDryRun.optional().describe('Then kubeadm is run with --dry-run; absent: nothing is run'),
        })
        .optional()
        .describe('What the agent fetches and verifies ahead; it needs no permission, for it changes nothing'),
      repair: z
        .string()
        .optional()
        .describe(
          'The request for which the agent may repair what needs no drain, until it is Ready with this revision',
        ),
      releases: z
        .array(KubernetesRelease)
        .min(1)
        .max(2)
        .optional()
        .describe('Those of the software and of the stage that are not built in, or have changed since; absent: none'),
      probes: z.array(Probe).optional().describe('What the node asks all the time while this is desired'),
    }),
  }),
  NodeLost: defineEvent({
    version: 1,
    writer: 'upgrade-svc',
    context: 'health-<node>',
    doc: 'No heartbeat of the node arrived within the limit; its machine may still run.',
    data: z.strictObject({ uid, node, lastSeenAt: z.iso.datetime().nullable(), limitMs: z.int() }),
  }),
  NodeRecovered: defineEvent({
    version: 1,
    writer: 'upgrade-svc',
    context: 'health-<node>',
    doc: 'A lost node sends heartbeats again.',
    data: z.strictObject({ uid, node, lostForMs: z.int() }),
  }),
  AgentMessagesRejected: defineEvent({
    version: 1,
    writer: 'upgrade-svc',
    context: 'health-<node>',
    doc: 'Messages from the agent of the node were rejected; its cluster continues without them.',
    data: z.strictObject({
      uid,
      node,
      count: z.int().min(1).describe('Since the last event of this type, at this replica'),
      reason: z
        .enum(['invalid', 'other-node', 'other-cluster', 'too-many'])
        .describe('Of the last one: why it counts for nothing'),
      detail: z.string().max(300),
    }),
  }),
} as const;

/** The state of a node. Written only by its own agent. */
export const nodeEvents = {
  NodeInitialized: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The node has all the software that was desired and every setting that kubeadm needs.',
    data: z.strictObject({
      uid,
      node,
      revision: z.int(),
      software: SoftwareVersions,
      os: z.string(),
      kernel: z.string(),
      bootId: z.string(),
      changed: z.array(z.string()),
    }),
  }),
  NodeInitializationFailed: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The agent could not apply the desired state of the node; it continues to try.',
    data: z.strictObject({
      uid,
      node,
      revision: z.int(),
      item: z.string(),
      command: z.string(),
      message: z.string(),
      attempt: z.int(),
    }),
  }),
  NodeReady: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'Kubernetes reports the node as Ready, and it runs the desired software.',
    data: z.strictObject({ uid, node, revision: z.int(), software: SoftwareVersions }),
  }),
  NodeNotReady: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The node is no longer Ready: it is about to change its software, or Kubernetes reports it.',
    data: z.strictObject({
      uid,
      node,
      revision: z.int(),
      reason: z.enum(['SoftwareChange', 'KubernetesNotReady']),
      message: z.string(),
    }),
  }),
  NodeDiverged: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The node differs from what is desired, and its agent may not change it.',
    data: z.strictObject({
      uid,
      node,
      revision: z.int(),
      differences: z
        .array(
          z.strictObject({
            item: z.string(),
            what: z.string(),
            observed: z.string(),
            desired: z.string(),
            needsDrain: z.literal(true).optional().describe('Its repair may stop pods; absent: it may not'),
          }),
        )
        .min(1),
    }),
  }),
  VersionChanged: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'Software of the node has another version than when it was last reported.',
    data: z.strictObject({ uid, node, before: SoftwareVersions, after: SoftwareVersions }),
  }),
  NodeRebooted: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'The node has booted since its agent last ran.',
    data: z.strictObject({
      uid,
      node,
      bootIdBefore: z.string(),
      bootId: z.string(),
      bootedAt: Time.optional().describe('When the boot began, by the clock of the node; absent: unknown'),
    }),
  }),
  NodeChangeProgressed: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'A phase of a change on the node began, ended or failed; each phase is done once, also over crashes and boots.',
    data: z.strictObject({
      uid,
      node,
      revision: z.int(),
      change: z.string().describe('Id of the change, or of what is staged'),
      phase: z.enum([
        'stage',
        'kubeadm',
        'kubelet',
        'certificates',
        'runtime',
        'reboot',
        'etcd-stop',
        'etcd-restore',
        'etcd-start',
        'etcd-undo',
        'kubelet-restart',
      ]),
      status: z.enum(['started', 'done', 'failed']),
      attempt: z.int().min(1),
      tookMs: z.int().min(0).nullable(),
      command: z.string().nullable(),
      message: z.string().nullable().describe('What a failing command said'),
    }),
  }),
  CertificatesReported: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'When the certificates of the kubelet and of the control plane on this node expire; recorded when they change.',
    data: z.strictObject({
      uid,
      node,
      certificates: z.array(z.strictObject({ name: z.string(), expiresAt: Time })),
    }),
  }),
  ProbeFailed: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'A probe of the node failed twice in a row.',
    data: z.strictObject({ uid, node, probe: z.string(), message: z.string() }),
  }),
  ProbeRecovered: defineEvent({
    version: 1,
    writer: 'node-agent',
    context: 'node-<node>',
    doc: 'A probe of the node that had failed succeeds again.',
    data: z.strictObject({ uid, node, probe: z.string(), failedForMs: z.int() }),
  }),
} as const;
