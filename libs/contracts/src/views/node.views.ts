import * as z from 'zod';
import { paged } from './list.views.js';
import { NodeRole } from '../machines.js';
import { NodeActionKind } from '../node-actions.js';
import { time } from './time.js';

/**
 * CB-Ladybug's fields keep their names, without the admin kubeconfig and the SSH keys that it returned in every
 * response; Fairlead's own fields follow them.
 */

export const NODE_PHASES = ['Planned', 'Bootstrapping', 'Joining', 'Ready', 'NotReady', 'Lost', 'Removing'] as const;
export const NodePhase = z.enum(NODE_PHASES);
export type NodePhase = z.infer<typeof NodePhase>;

export const NODE_STAGES = [
  'planned',
  'created',
  'reached',
  'agent-started',
  'initialized',
  'bootstrapped',
  'joined',
  'ready',
  'drained',
  'removed',
] as const;
export const NodeStage = z.enum(NODE_STAGES);
export type NodeStage = z.infer<typeof NodeStage>;

export const NODE_STATES = ['waiting', 'running', 'failed', 'ready', 'not-ready', 'lost'] as const;

export const NodeProgressView = z
  .strictObject({
    name: z.string(),
    role: NodeRole,
    stage: NodeStage.describe('The latest stage that it reached'),
    since: time.describe('When it reached the stage, or when its state changed after that'),
    state: z.enum(NODE_STATES),
    ready: z
      .boolean()
      .optional()
      .describe('Whether Kubernetes calls it Ready, e.g. while it is drained; absent: as its state shows'),
    reason: z.string().describe('Why it is not Ready, in one sentence; empty when nothing is wrong'),
    version: z.string().describe('Version of its kubelet, e.g. v1.34.4; empty until its agent reported it'),
  })
  .meta({ id: 'NodeProgress', description: 'How far a node is' });
export type NodeProgressView = z.infer<typeof NodeProgressView>;

export const NodeNetworkView = z
  .strictObject({
    state: z.enum(['waiting', 'applied', 'failed']).describe('waiting: its agent has not answered yet'),
    revision: z.string().describe('Of the content'),
    since: time,
    message: z.string().describe('What failed, in the words of its tool; empty when nothing did'),
  })
  .meta({
    id: 'NodeNetwork',
    description: 'Firewall and SSH server, as the manifest declares them; absent: nothing is declared',
  });
export type NodeNetworkView = z.infer<typeof NodeNetworkView>;

export const NodeView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Node'),
    qualifiedName: z.string().describe('<provider>.<pool>.<name>, by which requests can name it, too'),
    publicIp: z.string(),
    privateIp: z.string(),
    addresses: z
      .array(z.strictObject({ type: z.enum(['InternalIP', 'ExternalIP', 'VirtualIP']), address: z.string() }))
      .describe(
        'All that are known, those of further interfaces of its host included; VirtualIP: a virtual address that it holds',
      ),
    role: NodeRole,
    spec: z.string(),
    csp: z.string(),
    createdTime: z.string().describe('When its machine ran; empty before'),
    cspLabel: z.string().describe('key=value'),
    regionLabel: z.string().describe('key=value'),
    zoneLabel: z.string().describe('key=value'),
    labels: z
      .record(z.string(), z.string())
      .describe('Labels that Fairlead sets on it, by which it can be selected; others are known to Kubernetes alone'),
    phase: NodePhase,
    stage: NodeStage.describe('The latest stage that it reached'),
    leader: z.boolean(),
    connection: z.string(),
    ready: z.boolean().describe('Kubernetes calls it Ready, and its agent sends heartbeats'),
    reason: z.string().describe('Why it is not Ready, in one sentence; empty when it is'),
    software: z.record(z.string(), z.string()).describe('Versions that its agent reported'),
    pool: z.string(),
    extraFor: z
      .string()
      .optional()
      .describe('The upgrade for which it is a surge node; absent: it is part of the size of its pool'),
    updatesDisabled: z.string().nullable().describe('Why it or its pool is excluded from changes; null: it is not'),
    remediation: z
      .string()
      .optional()
      .describe(
        'What its health check leads to, or why nothing is done, in one sentence; absent: it is healthy, or has none',
      ),
    drift: z
      .strictObject({
        since: time,
        differences: z.array(
          z.strictObject({
            item: z.string(),
            what: z.string(),
            observed: z.string(),
            desired: z.string(),
            needsDrain: z.literal(true).optional().describe('Its repair may stop pods; absent: it may not'),
          }),
        ),
        message: z.string().describe('What is done about it, or why nothing is; empty: nothing is known'),
      })
      .optional()
      .describe('What of the node differs from what is desired of it; absent: nothing does'),
    cordon: z
      .strictObject({ reason: z.string(), actor: z.string(), since: time })
      .optional()
      .describe('Why and for whom Fairlead cordoned it, until someone asks for the end; absent: it did not'),
    network: NodeNetworkView.optional(),
    changedAt: time.describe('When the latest event about it happened'),
  })
  .meta({ id: 'Node', description: 'A node of a cluster, from the moment that its machine is planned' });
export type NodeView = z.infer<typeof NodeView>;

export const NodeList = z
  .strictObject({ kind: z.literal('NodeList'), items: z.array(NodeView), ...paged })
  .meta({ id: 'NodeList' });
export type NodeList = z.infer<typeof NodeList>;

export const MachineView = z
  .strictObject({
    name: z.string(),
    role: NodeRole,
    pool: z.string(),
    leader: z.boolean(),
    connection: z.string(),
    spec: z.string(),
    status: z.enum(['planned', 'running']),
    providerId: z.string().nullable(),
    publicIp: z.string().nullable(),
    privateIp: z.string().nullable(),
    sshPort: z.int().nullable(),
    csp: z.string().nullable(),
    region: z.string().nullable(),
    zone: z.string().nullable(),
    plannedAt: time,
    createdAt: time.nullable(),
  })
  .meta({ id: 'Machine', description: 'A machine under a node, as its provider knows it' });
export type MachineView = z.infer<typeof MachineView>;

export const MachineList = z
  .strictObject({ kind: z.literal('MachineList'), items: z.array(MachineView), ...paged })
  .meta({ id: 'MachineList' });
export type MachineList = z.infer<typeof MachineList>;

export const NodeActionView = z
  .strictObject({
    kind: z.literal('NodeAction'),
    action: NodeActionKind,
    nodes: z.array(z.string()).describe('The nodes that it is about, in the order in which they begin'),
    operation: z.string().nullable().describe('Shows how far it is; null: there was nothing to do'),
  })
  .meta({ id: 'NodeAction', description: 'What nodes were asked to do' });
export type NodeActionView = z.infer<typeof NodeActionView>;

export const NodeReplacementsView = z
  .strictObject({
    kind: z.literal('NodeReplacements'),
    nodes: z.array(z.string()).describe('The nodes that are replaced, control planes first'),
    operations: z.array(z.string()).describe('One for each pool with nodes among them: they show how far it is'),
  })
  .meta({ id: 'NodeReplacements', description: 'Nodes that are replaced by rollouts of their pools' });
export type NodeReplacementsView = z.infer<typeof NodeReplacementsView>;

export const NodeExecView = z
  .strictObject({
    kind: z.literal('NodeExec'),
    id: z.string(),
    node: z.string(),
    state: z.enum(['running', 'finished', 'failed']).describe('failed: it did not run, or its outcome is unknown'),
    exitCode: z.int().nullable().describe('null: it has not finished. 124: it was ended by its time limit'),
    stdout: z.string().describe('Base64; empty until it has finished'),
    stderr: z.string().describe('Base64; empty until it has finished'),
    truncated: z.boolean().describe('Only the beginning of its output was kept'),
    tookMs: z.int().nullable(),
    message: z.string().describe('Why it failed; empty: it did not'),
  })
  .meta({ id: 'NodeExec', description: 'A command on a node, and what came of it' });
export type NodeExecView = z.infer<typeof NodeExecView>;
