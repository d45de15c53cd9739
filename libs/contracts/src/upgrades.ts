import { z } from 'zod';
import { KubernetesVersion } from './cluster-spec.js';
import { NodeName } from './ids.js';
import { NodeRole } from './machines.js';

/** `u-` and a short text of its own; unique within a cluster's history. */
export const UpgradeId = z
  .string()
  .regex(/^u-[0-9a-z]{6,32}$/)
  .brand<'UpgradeId'>();
export type UpgradeId = z.infer<typeof UpgradeId>;

/** So many nodes, or so many of each hundred. */
export const NodeShare = z.union([z.int().min(0), z.string().regex(/^(100|[1-9]?\d)%$/)]);
export type NodeShare = z.infer<typeof NodeShare>;

export const DRAIN_TIMEOUT_POLICIES = ['stop', 'quarantine', 'force'] as const;

/** How the workers of a pool go. Rules D1 to D7 of the upgrade rules. */
export const PoolStrategy = z.strictObject({
  maxUnavailable: NodeShare.default(1),
  maxSurge: NodeShare.default(0),
  canary: z.boolean().default(true).describe('One node first, and its gates, before any other of its pool (D1)'),
  soakSeconds: z.int().min(0).default(0).describe('Rest after the canary and after each batch'),
  drainTimeoutSeconds: z.int().min(0).default(900),
  onDrainTimeout: z.enum(DRAIN_TIMEOUT_POLICIES).default('stop'),
  forceUntil: z.iso.datetime().optional().describe('With onDrainTimeout force: no pod is forced after this moment'),
  maxBlockedNodes: z.int().min(0).default(0).describe('With quarantine: stop when more nodes than this are left'),
  skipDrainForPatches: z.boolean().default(false).describe('A change within a minor version need not drain (D6)'),
});
export type PoolStrategy = z.infer<typeof PoolStrategy>;

/** A question of the user's own before each node; failing holds the next node back and is asked again. */
export const UserGate = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('http'), name: z.string(), url: z.url(), status: z.int().default(200) }),
  z.strictObject({ kind: z.literal('job'), name: z.string(), namespace: z.string(), manifest: z.string() }),
]);
export type UserGate = z.infer<typeof UserGate>;

/** A service or the API, asked all the time from several nodes; one failure pauses the roll-out. */
export const Probe = z.strictObject({ name: z.string(), url: z.url(), everyMs: z.int().min(100).default(500) });
export type Probe = z.infer<typeof Probe>;

export const MaintenanceWindow = z.strictObject({
  days: z.array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])).min(1),
  from: z
    .string()
    .regex(/^\d{2}:\d{2}$/)
    .describe('UTC'),
  to: z
    .string()
    .regex(/^\d{2}:\d{2}$/)
    .describe('UTC; earlier than from: on the next day'),
});
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>;

export const UpgradeStrategy = z.strictObject({
  workers: PoolStrategy.prefault({}),
  pools: z.record(z.string(), PoolStrategy).default({}).describe('In place of workers, by the name of the pool'),
  gates: z.array(UserGate).max(20).default([]),
  probes: z.array(Probe).max(20).default([]),
  windows: z.array(MaintenanceWindow).max(20).default([]).describe('No node begins outside; empty: always'),
  consecutiveFailuresMax: z.int().min(1).default(2).describe('Stop at so many failed nodes in a row (E)'),
  twoStep: z
    .boolean()
    .default(false)
    .describe('First the new binaries with the old emulated version, then the version (G5)'),
});
export type UpgradeStrategy = z.infer<typeof UpgradeStrategy>;

/** What shall change; at least one of them. */
export const UpgradeTarget = z.strictObject({
  kubernetes: KubernetesVersion.optional(),
  software: z.record(z.string(), z.string()).optional().describe('Other packages by name, e.g. containerd'),
  renewCertificates: z.boolean().default(false),
  reboot: z.boolean().default(false),
});
export type UpgradeTarget = z.infer<typeof UpgradeTarget>;

/** What an agent does to its node in one go, once: its id is remembered on the node. */
export const NodeChange = z.strictObject({
  id: z.string(),
  kubeadm: z
    .enum(['apply', 'node'])
    .nullable()
    .describe('kubeadm upgrade apply on the first control plane, node elsewhere'),
  kubernetes: KubernetesVersion.nullable(),
  renewCertificates: z.boolean(),
  reboot: z.boolean(),
  balancedEndpoint: z
    .string()
    .nullable()
    .describe("https://host:port that a control plane's kubelet uses while its own API server is exchanged"),
  emulatedVersion: z.string().nullable(),
});
export type NodeChange = z.infer<typeof NodeChange>;

/** One step of a plan, with its reason. */
export const PlanOperation = z.strictObject({
  id: z.string().describe('Unique within the plan, in order'),
  kind: z.enum(['snapshot-etcd', 'stage', 'control-plane', 'addons', 'worker']),
  node: NodeName.nullable(),
  role: NodeRole.nullable(),
  pool: z.string().nullable(),
  batch: z.int().min(0).describe('Operations of one batch may run at the same time, within the budget of their pool'),
  from: z.record(z.string(), z.string()),
  to: z.record(z.string(), z.string()),
  change: NodeChange.nullable(),
  drain: z.boolean(),
  reason: z.string(),
  predictedSeconds: z.number().min(0),
});
export type PlanOperation = z.infer<typeof PlanOperation>;

/** A finding of a check before or during an upgrade. */
export const Finding = z.strictObject({
  rule: z.string().regex(/^[A-G]\d+$/),
  severity: z.enum(['refuse', 'ask', 'inform']),
  sentence: z.string(),
  facts: z.record(z.string(), z.unknown()),
  help: z.string().describe('What to do about it'),
});
export type Finding = z.infer<typeof Finding>;

/** Immutable once it is in the log. */
export const UpgradePlan = z.strictObject({
  upgradeId: UpgradeId,
  target: UpgradeTarget,
  path: z.array(KubernetesVersion).describe('The versions on the way, the present one first'),
  strategy: UpgradeStrategy,
  operations: z.array(PlanOperation),
  held: z.array(NodeName).describe('Left out: held by their user'),
  findings: z.array(Finding),
  predictedSeconds: z.number().min(0),
});
export type UpgradePlan = z.infer<typeof UpgradePlan>;
