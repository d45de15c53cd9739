import * as z from 'zod';
import { KubernetesRelease } from './kubernetes.release.js';
import { KubernetesVersion } from './cluster-spec.js';
import { GATE_MANIFEST_LENGTH_MAX, GateManifest, JobManifest } from './gate.jobs.js';
import { NodeName, PoolName, UpgradeId } from './ids.js';
import { limitedRecord } from './limited.record.js';
import { NodeRole } from './machines.js';
import { RequestTime } from './time.js';

const PERCENT = /^(100|[1-9]?\d)%$/;

const nodeShare = <Nodes extends z.ZodInt>(nodes: Nodes) =>
  z.union([nodes, z.string().regex(PERCENT, 'must be a number, or a percentage such as 25%')]);

/** A number of nodes, or a percentage. */
export const NodeShare = nodeShare(z.int().min(0));
export type NodeShare = z.infer<typeof NodeShare>;

/** More than any cluster has, so that it can stand for all nodes. */
const NODES_MAX = 10_000;

/** The form in requests. */
export const NodeShareRequest = nodeShare(z.int().min(0).max(NODES_MAX));

/** The share of this number of nodes, not rounded. */
export const shareOf = (share: NodeShare, nodes: number): number =>
  typeof share === 'number' ? share : (Number(share.slice(0, -1)) * nodes) / 100;

export const DRAIN_TIMEOUT_POLICIES = ['stop', 'quarantine', 'force'] as const;

/** The parts of a strategy. Requests limit all of them; events in the log may predate the limits. */
interface StrategyParts<Name extends z.ZodString, Pool extends z.ZodType, Manifest extends z.ZodType> {
  readonly nodes: z.ZodInt;
  readonly seconds: z.ZodInt;
  readonly milliseconds: z.ZodInt;
  readonly status: z.ZodInt;
  readonly name: Name;
  readonly url: z.ZodURL;
  readonly time: z.ZodISODateTime;
  readonly clock: z.ZodString;
  readonly manifest: Manifest;
  /** Overrides of `workers` by pool name. */
  readonly byPool: (pool: ReturnType<typeof poolStrategy>) => Pool;
}

type Parts = StrategyParts<z.ZodString, z.ZodType, z.ZodType>;

const poolStrategy = ({ nodes, seconds, time }: Pick<Parts, 'nodes' | 'seconds' | 'time'>) =>
  z.strictObject({
    maxUnavailable: nodeShare(nodes).default(1),
    maxSurge: nodeShare(nodes).default(0),
    canary: z.boolean().default(true).describe('One node first, and its gates, before any other of its pool (D1)'),
    soakSeconds: seconds.default(0).describe('Rest after the canary and after each batch'),
    drainTimeoutSeconds: seconds.default(900),
    onDrainTimeout: z.enum(DRAIN_TIMEOUT_POLICIES).default('stop'),
    forceUntil: time.optional().describe('With onDrainTimeout force: no pod is forced after this moment'),
    maxBlockedNodes: nodes.default(0).describe('With quarantine: stop when more nodes than this are left'),
    skipDrainForPatches: z.boolean().default(false).describe('A change within a minor version need not drain (D6)'),
  });

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const maintenanceWindow = ({ clock }: Pick<Parts, 'clock'>) =>
  z.strictObject({
    days: z.array(z.enum(WEEKDAYS)).min(1).max(WEEKDAYS.length),
    from: clock.describe('UTC'),
    to: clock.describe('UTC; earlier than from: on the next day'),
  });

const userGate = <Manifest extends z.ZodType>({
  name,
  url,
  status,
  manifest,
}: Pick<StrategyParts<z.ZodString, z.ZodType, Manifest>, 'name' | 'url' | 'status' | 'manifest'>) =>
  z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('http'),
      name,
      url,
      status: status.default(200),
      secretName: PoolName.optional().describe('The hook secret that signs its requests; absent: they are not signed'),
    }),
    z.strictObject({
      kind: z.literal('job'),
      name,
      namespace: name,
      manifest: manifest.describe('A Job of batch/v1 with metadata.name. In requests also as YAML or JSON'),
    }),
  ]);

const probe = ({ name, url, milliseconds }: Pick<Parts, 'name' | 'url' | 'milliseconds'>) =>
  z.strictObject({ name, url, everyMs: milliseconds.default(500) });

const upgradeStrategy = <Pool extends z.ZodType, Manifest extends z.ZodType>(
  parts: StrategyParts<z.ZodString, Pool, Manifest>,
) =>
  z.strictObject({
    workers: poolStrategy(parts).prefault({}),
    pools: parts.byPool(poolStrategy(parts)).describe('In place of workers, by the name of the pool'),
    gates: z.array(userGate(parts)).max(20).default([]),
    probes: z.array(probe(parts)).max(20).default([]),
    windows: z.array(maintenanceWindow(parts)).max(20).default([]).describe('No node begins outside; empty: always'),
    consecutiveFailuresMax: parts.nodes.min(1).default(2).describe('Stop at so many failed nodes in a row (E)'),
    failedShareMax: nodeShare(parts.nodes)
      .default('10%')
      .describe('Stop when more nodes of a pool than this have failed (E)'),
    excusedNodes: z.array(NodeName).max(1_000).default([]).describe('Nodes that need not be Ready (B2)'),
    stopOnProbeFailure: z.boolean().default(true).describe('A failing probe pauses; false: it is only reported'),
    twoStep: z
      .boolean()
      .default(false)
      .describe('First the new binaries with the old emulated version, then the version (G5)'),
  });

/** The form in the log. */
const RECORDED = {
  nodes: z.int().min(0),
  seconds: z.int().min(0),
  milliseconds: z.int().min(100),
  status: z.int(),
  name: z.string(),
  url: z.url(),
  time: z.iso.datetime(),
  clock: z.string().regex(/^\d{2}:\d{2}$/),
  // Events of earlier releases have a text.
  manifest: z.union([JobManifest, z.string()]),
  byPool: (pool: ReturnType<typeof poolStrategy>) => z.record(z.string(), pool).default({}),
};

const POOLS_MAX = 100;
const URL_LENGTH_MAX = 2_048;
const WEEK_SECONDS = 7 * 86_400;

/** The form in requests. */
const REQUESTED = {
  nodes: z.int().min(0).max(NODES_MAX),
  seconds: z.int().min(0).max(WEEK_SECONDS),
  milliseconds: z.int().min(100).max(60_000),
  status: z.int().min(100).max(599),
  name: z.string().min(1).max(63),
  url: z.url().max(URL_LENGTH_MAX),
  time: RequestTime,
  clock: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of the day from 00:00 to 23:59'),
  manifest: z.union([GateManifest, z.string().min(1).max(GATE_MANIFEST_LENGTH_MAX)]),
  byPool: (pool: ReturnType<typeof poolStrategy>) => limitedRecord(PoolName, pool, POOLS_MAX).default({}),
};

/** How the workers of a pool are upgraded. Rules D1 to D7 of the upgrade rules. */
export const PoolStrategy = poolStrategy(RECORDED);
export type PoolStrategy = z.infer<typeof PoolStrategy>;

/** A user-defined check before each node; while it fails, the next node waits and the check is repeated. */
export const UserGate = userGate(RECORDED);
export type UserGate = z.infer<typeof UserGate>;

/** A service or the API, probed continuously from several nodes; one failure pauses the rollout. */
export const Probe = probe(RECORDED);
export type Probe = z.infer<typeof Probe>;

/** The form in requests, and in the log. */
export const MaintenanceWindow = maintenanceWindow(REQUESTED);
export type MaintenanceWindow = z.infer<typeof MaintenanceWindow>;

export const UpgradeStrategy = upgradeStrategy(RECORDED);
export type UpgradeStrategy = z.infer<typeof UpgradeStrategy>;

export const UpgradeStrategyRequest = upgradeStrategy(REQUESTED);
export type UpgradeStrategyRequest = z.infer<typeof UpgradeStrategyRequest>;

/** What to upgrade; at least one of them. */
export const UpgradeTarget = z.strictObject({
  kubernetes: KubernetesVersion.optional(),
  software: z.record(z.string(), z.string()).optional().describe('Other packages by name, e.g. containerd'),
  renewCertificates: z.boolean().default(false),
  reboot: z.boolean().default(false),
});
export type UpgradeTarget = z.infer<typeof UpgradeTarget>;

/**
 * The steps of an etcd restore from a snapshot (G4); all nodes complete one before any begins the next. bootstrap-svc
 * does `place`, upgrade-svc does `verify`, agents do the others; `undo` runs only if a step before `start` failed.
 */
/** Steps that belong to no operation of a plan, or to one that has ended. */
export const UPGRADE_STEPS = ['BeginProbes', 'EndProbes', 'UnmarkWorkers', 'ReleaseNode'] as const;
export type UpgradeStep = (typeof UPGRADE_STEPS)[number];

export const RESTORE_STEPS = ['place', 'stop', 'restore', 'start', 'verify', 'refresh', 'undo'] as const;
export type RestoreStep = (typeof RESTORE_STEPS)[number];

/** The agent's part in an etcd restore. */
export const EtcdChange = z.strictObject({
  step: z.enum(['stop', 'restore', 'start', 'refresh', 'undo']),
  restoreId: z.string().describe('Names what is kept aside on the node'),
  snapshotFile: z.string().describe('Where the snapshot lies on a control plane'),
  peerUrl: z.string().nullable().describe('Of the member on this node; null: a worker'),
  initialCluster: z.string().describe('name=peerURL of every member, the same on each (etcd --initial-cluster)'),
  token: z.string().describe('A new one, so that no member joins the previous cluster'),
});
export type EtcdChange = z.infer<typeof EtcdChange>;

/** Maximum attempts of an agent for one phase of a change and one revision; after that an operator must retry. */
export const CHANGE_ATTEMPTS_MAX = 3;

/**
 * A boot since the request satisfies it. `bootId` is the boot known at that time: if it is unchanged, no comparison of
 * clocks is needed.
 */
export const RebootCondition = z.strictObject({ since: z.iso.datetime(), bootId: z.string().nullable() });
export type RebootCondition = z.infer<typeof RebootCondition>;

/** One change that an agent makes to its node, exactly once: its id is stored on the node. */
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
    .describe(
      "https://host:port that a control plane's kubelet uses while its own API server is exchanged; put back before the kubelet itself is exchanged (A2)",
    ),
  stopApiServerFirst: z
    .boolean()
    .describe('etcd will restart: the API server gets SIGTERM and 20 s to end before kubeadm runs (C3)'),
  emulatedVersion: z.string().nullable(),
  ignoredPreflightErrors: z
    .array(z.string())
    .optional()
    .describe('Checks of kubeadm that an operator overrode; absent: none'),
  unlessBooted: RebootCondition.optional().describe('The reboot is needed only if the node has not booted since'),
  etcd: EtcdChange.optional().describe('The change is a step of a restore of etcd, and nothing else'),
});
export type NodeChange = z.infer<typeof NodeChange>;

/** `kubeadm upgrade plan` and `kubeadm upgrade apply --dry-run` of that version, which need not be installed. */
export const KubeadmDryRun = z.strictObject({
  kubernetes: KubernetesVersion,
  ignoredPreflightErrors: z.array(z.string()).describe('Checks of kubeadm that an operator overrode'),
});
export type KubeadmDryRun = z.infer<typeof KubeadmDryRun>;

/** The kinds of operations, in their order within one step of a path. */
export const PLAN_OPERATION_KINDS = [
  'stage',
  'snapshot-etcd',
  'control-plane',
  'replace',
  'addons',
  'book-surge',
  'mark-workers',
  'worker',
  'return-surge',
] as const;

/** One step of a plan, with its reason. */
export const PlanOperation = z.strictObject({
  id: z.string().describe('Unique within the plan, in order'),
  kind: z.enum(PLAN_OPERATION_KINDS),
  node: NodeName.nullable(),
  nodes: z.array(NodeName).describe('All nodes that it concerns: those staged, marked or replaced; of a node: itself'),
  role: NodeRole.nullable(),
  pool: z.string().nullable(),
  batch: z
    .int()
    .min(0)
    .describe(
      'Begins when every operation of the batches before has ended; within it as many as the budget of the pool',
    ),
  canary: z.boolean().describe('The first of its pool; the others wait for its gates (D1)'),
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
  permanent: z
    .literal(true)
    .optional()
    .describe('Only another request cures it; absent: a change in the cluster or the passing of time may'),
});
export type Finding = z.infer<typeof Finding>;

/** How many nodes of a pool may be unavailable at a time, as numbers. */
export const PlannedPool = z.strictObject({
  name: z.string(),
  nodes: z.int().min(0).describe('Nodes of the pool, held ones too: of these the shares are taken'),
  atOnce: z.int().min(1),
  surge: z.int().min(0).describe('Surge nodes while the pool is upgraded'),
});
export type PlannedPool = z.infer<typeof PlannedPool>;

/** Immutable once in the log. */
export const UpgradePlan = z.strictObject({
  upgradeId: UpgradeId,
  target: UpgradeTarget,
  path: z.array(KubernetesVersion).describe('The versions on the way, the present one first'),
  strategy: UpgradeStrategy,
  pools: z.array(PlannedPool),
  operations: z.array(PlanOperation),
  held: z.array(NodeName).describe('Left out: held by their user'),
  current: z.array(NodeName).describe('Left out: they have everything already'),
  apiServers: z
    .record(NodeName, KubernetesVersion)
    .optional()
    .describe(
      'What the API server of each control plane runs when the plan is made; one that does not answer is absent',
    ),
  findings: z.array(Finding),
  predictedSeconds: z.number().min(0),
  releases: z
    .array(KubernetesRelease)
    .min(1)
    .optional()
    .describe('Those of the path that are not built in, or have changed since; absent: none'),
});
export type UpgradePlan = z.infer<typeof UpgradePlan>;

/** The rules of upgrades. `overridable`: an operator may override it, for one upgrade. */
/** Taints nodes that a rollout has not reached yet, so that pods prefer upgraded nodes (D3). */
export const UPGRADE_TAINT = 'fairlead.dev/upgrade-pending';

export const UPGRADE_RULES = {
  A1: { title: 'API servers are at most one minor version apart, and skip none', overridable: false },
  A2: {
    title: 'No kubelet is newer than the oldest API server, nor more than three minor versions older',
    overridable: false,
  },
  A3: { title: 'Controller manager and scheduler are never newer than an API server', overridable: false },
  A4: { title: 'Upgrade to the latest patch first, then one minor version at a time', overridable: false },
  A5: { title: 'kubeadm has the version of the target', overridable: false },
  A6: { title: 'Every intermediate state keeps the version skew policy', overridable: false },
  B1: { title: 'One operation of a cluster at a time', overridable: false },
  B2: { title: 'The cluster is healthy', overridable: true },
  B3: { title: 'etcd is healthy, and its members are the control planes', overridable: false },
  B4: { title: 'There is a recent snapshot of etcd off its node', overridable: true },
  B5: {
    title: 'Nothing uses APIs, flags, feature gates or cgroup v1 that the target version removes',
    overridable: true,
  },
  B6: { title: 'No webhook can block the control plane', overridable: true },
  B7: { title: 'Pods can be evicted and have room elsewhere', overridable: true },
  B8: { title: 'Certificates outlive the upgrade, and clocks agree', overridable: true },
  B9: { title: 'Every node has disk space, packages and images', overridable: true },
  B10: { title: 'etcd is upgraded one minor version at a time, from a version that supports it', overridable: true },
  B11: { title: 'Nothing that people changed by hand is lost', overridable: true },
  B12: { title: 'kubeadm can migrate the Corefile', overridable: true },
  B13: { title: 'kubeadm accepts the upgrade', overridable: true },
  B14: {
    title: 'Add-ons of the manifest support the target version, and those that go first are deployed',
    overridable: true,
  },
  C1: { title: 'Cluster and etcd are healthy before each control plane', overridable: false },
  C2: { title: 'A control plane is drained, and etcd is led by another member', overridable: false },
  C3: { title: 'The API server stops before its etcd does', overridable: false },
  C4: { title: 'kubeadm upgrade apply runs once per step, on the first control plane', overridable: false },
  C5: { title: 'A control plane is done when its components were seen to work', overridable: false },
  C6: { title: 'The kubelet of a control plane is upgraded while the node is drained', overridable: false },
  C7: { title: 'Control planes have a surge only if they are replaced', overridable: false },
  C8: { title: 'etcd keeps its quorum while a member is away', overridable: false },
  C9: { title: 'Addons are upgraded after the last control plane and before any worker', overridable: true },
  D1: { title: 'A canary goes first', overridable: true },
  D2: { title: 'No more nodes are away than the budget of the pool', overridable: false },
  D3: { title: 'Evicted pods prefer nodes that are done', overridable: true },
  D4: { title: 'A node is drained, changed and seen Ready, in this order', overridable: false },
  D5: { title: 'Pods are never forced off a node without a time limit', overridable: false },
  D6: { title: 'A new minor version of the kubelet needs a drained node', overridable: false },
  D7: { title: 'No node begins outside the maintenance windows or while a user gate fails', overridable: true },
  E1: { title: 'Nothing begins while more nodes look dead than is plausible', overridable: false },
  E2: { title: 'Too many nodes failed in a row', overridable: true },
  E3: { title: 'Too large a share of a pool has failed', overridable: true },
  E4: { title: 'Too many nodes could not be drained', overridable: true },
  E5: { title: 'The cluster is less healthy than before', overridable: true },
  E6: { title: 'The API server cannot be reached', overridable: false },
  E7: { title: 'A control plane, or an operation on the whole cluster, has failed', overridable: false },
  F1: { title: 'Certificates are renewed on one control plane after the other', overridable: false },
  G1: { title: 'What has failed is fixed and retried first', overridable: false },
  G2: { title: 'No minor version of etcd is downgraded', overridable: false },
  G3: { title: 'A failed worker may be rolled back to its previous software', overridable: false },
  G4: { title: 'A snapshot is restored only as an operation of its own', overridable: false },
  G5: { title: 'In two steps, new binaries first emulate the previous version', overridable: false },
} as const;
export type UpgradeRule = keyof typeof UPGRADE_RULES;

export const isUpgradeRule = (rule: string): rule is UpgradeRule => Object.hasOwn(UPGRADE_RULES, rule);

export const GATE_STAGES = ['before', 'after', 'finish'] as const;
export type GateStage = (typeof GATE_STAGES)[number];

interface GateDefinition {
  readonly rule: UpgradeRule;
  /** The condition under which the gate passes. */
  readonly sentence: string;
  /** What an operator does if the gate does not pass. */
  readonly help: string;
}

const KUBE_SYSTEM = 'See "kubectl -n kube-system get pods -o wide" and the logs of the pods that are not Ready.';
const ETCD_MEMBER =
  'See the logs of etcd on the node ("crictl logs") and its disk; the gate is checked again until its time is over.';

/** Checks before an operation, after it, and at the end of a step. `user:<name>` is a user gate. */
export const GATES = {
  'cluster-healthy': {
    rule: 'B2',
    sentence: 'every node that is not excused is Ready, and so are the pods of kube-system',
    help: `Fix or remove the nodes that are not Ready ("fairlead node list <cluster>"). ${KUBE_SYSTEM}`,
  },
  'etcd-healthy': {
    rule: 'B3',
    sentence: 'every etcd member is started and healthy, none is a learner, and there is no alarm',
    help: ETCD_MEMBER,
  },
  'etcd-quorum': {
    rule: 'C8',
    sentence: 'etcd keeps its quorum without this member',
    help: 'Fix the unhealthy member of etcd first.',
  },
  'etcd-leader': {
    rule: 'C2',
    sentence: 'etcd has a leader that is a node of the cluster',
    help: ETCD_MEMBER,
  },
  'api-answers': {
    rule: 'E6',
    sentence: 'the API answers at its load-balanced address',
    help: 'Check the load balancer and the API servers: "kubectl get --raw /readyz?verbose".',
  },
  'static-pods': {
    rule: 'C5',
    sentence: 'the static pods of the node run the images of the target and are Ready',
    help: 'See "crictl ps -a" and the logs of the kubelet on the node (journalctl -u kubelet).',
  },
  'api-server': {
    rule: 'C5',
    sentence: "/readyz answers at the node's own address",
    help: 'See the logs of kube-apiserver on the node ("crictl logs").',
  },
  'etcd-member': {
    rule: 'C5',
    sentence: 'the etcd member of the node is healthy and has caught up',
    help: ETCD_MEMBER,
  },
  leases: {
    rule: 'C5',
    sentence: 'kube-controller-manager and kube-scheduler renew their leases',
    help: KUBE_SYSTEM,
  },
  'node-ready': {
    rule: 'C6',
    sentence: 'the node is Ready, with the kubelet of the target',
    help: 'See "kubectl describe node" and the logs of the kubelet on the node (journalctl -u kubelet).',
  },
  daemonsets: {
    rule: 'D4',
    sentence: 'the DaemonSet pods of the node are Ready',
    help: 'See "kubectl get pods -A -o wide" and the logs of the pods that are not Ready.',
  },
  'kube-proxy': { rule: 'C9', sentence: 'kube-proxy of the target has rolled out on every node', help: KUBE_SYSTEM },
  dns: { rule: 'C9', sentence: 'CoreDNS of the target has rolled out', help: KUBE_SYSTEM },
  'add-ons': {
    rule: 'C9',
    sentence: 'no add-on of the manifest has failed or was changed outside Fairlead',
    help: 'See "fairlead addon list <cluster>". Correct the add-on in the manifest, or remove it from there.',
  },
} as const satisfies Readonly<Record<string, GateDefinition>>;
export type GateName = keyof typeof GATES | `user:${string}`;

/** A user-defined gate of the strategy (D7). */
export const USER_GATE = {
  rule: 'D7',
  sentence: 'its URL answers with the expected status, or its Job succeeds',
  help: 'Fix what the gate checks. It is checked again every 30 seconds for at most a day, then the node fails.',
} as const satisfies GateDefinition;

export const UPGRADE_MODES = ['dry-run', 'ask', 'go'] as const;

/** Why a snapshot is no longer kept: there are newer ones, or it is too old. */
export const SNAPSHOT_ENDS = ['count', 'age'] as const;
export type SnapshotEnd = (typeof SNAPSHOT_ENDS)[number];
