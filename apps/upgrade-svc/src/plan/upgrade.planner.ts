import {
  type Finding,
  type KubeadmDryRun,
  type KubernetesVersion,
  minorsAhead,
  type NodeName,
  type PlannedPool,
  type PlanOperation,
  type SoftwareVersions,
  type UpgradePlan,
} from '@fairlead/contracts';
import { offeredReleases, ownRows, rowsBeyondBuiltIn } from '@fairlead/domain';
import { c2NextLeader } from '../rules/control-plane.rules.js';
import {
  emulatedIn,
  g2NoWayBackOverEtcd,
  g5EmulationEndsFirst,
  g5NoWayBackBetweenSteps,
} from '../rules/rollback.rules.js';
import {
  a4NeverBack,
  a4Path,
  kubeletLagMax,
  newestApiServer,
  oldestApiServer,
  versionsIn,
  type Path,
} from '../rules/skew.rules.js';
import { d2AtOnce, d2Surge } from '../rules/workers.rules.js';
import { stopping, withOverrides } from '../rules/finding.js';
import { afterStep, controlPlaneBatches, type Step } from './control-plane.planner.js';
import { predictedTotal } from './durations.js';
import { EMPTY_PLAN, withBatch, withBatches, type Draft, type Growing } from './plan.builder.js';
import { findingsOf } from './plan.findings.js';
import {
  CONTROL_PLANE_POOL,
  isHeld,
  participants,
  strategyOf,
  type PlannedNode,
  type PlanInput,
} from './plan.request.js';
import { changedBy, limitsOf, versionOfReplacement } from './replacement.planner.js';
import { afterPass, poolSize, workerBatches, type WorkerPass } from './workers.planner.js';

/**
 * State while a plan is built: the version of every node after the operations so far, and the etcd leader if it is
 * known.
 */
interface Progress {
  readonly plan: Growing;
  readonly controlPlanes: readonly PlannedNode[];
  readonly workers: readonly PlannedNode[];
  readonly leader: NodeName | null;
}

const asVersion = (text: string): KubernetesVersion => (text.startsWith('v') ? text : `v${text}`) as KubernetesVersion;

/** The current version is that of the oldest API server; without a target for Kubernetes it does not change. */
const pathOf = (input: PlanInput): Path => {
  const present = asVersion(oldestApiServer(versionsIn(input.facts)) ?? '0.0.0');
  const { kubernetes } = input.request.target;
  if (kubernetes === undefined || !input.request.controlPlane) return { versions: [present], findings: [] };
  const newest = asVersion(newestApiServer(versionsIn(input.facts)) ?? present);
  const offered = offeredReleases(input.own);
  const path = a4NeverBack(a4Path(present, kubernetes, offered), newest, offered);
  const emulated = emulatedIn(input.facts);
  // A1 rejects an older version in any case; G2 and G5 explain why no exception is possible.
  const back =
    minorsAhead(present, kubernetes) < 0
      ? [
          ...g5NoWayBackBetweenSteps(emulated, [present, kubernetes], ownRows(input.own)),
          ...g2NoWayBackOverEtcd([present, kubernetes], ownRows(input.own)),
        ]
      : [];
  return { ...path, findings: [...path.findings, ...back, ...g5EmulationEndsFirst(emulated, present, kubernetes)] };
};

/**
 * If every API server already has the target version, kubelets may still be behind: the same step continues with them.
 */
const stepsOf = ({ versions }: Path, target: KubernetesVersion | null): readonly Step[] => {
  const [present = asVersion('0.0.0'), ...others] = versions.map(asVersion);
  if (others.length === 0) return [{ from: present, to: target, last: true }];
  return others.map((to, index) => ({
    from: index === 0 ? present : (others[index - 1] ?? present),
    to,
    last: index === others.length - 1,
  }));
};

/**
 * Workers that run the addons of the new version although they are not upgraded themselves, held ones included:
 * DaemonSets run on every node. Where images cannot be pulled, these nodes need staged ones. Nodes that are not Ready
 * are skipped.
 */
const addonWorkers = (input: PlanInput): readonly NodeName[] =>
  input.facts.nodes.filter((node) => node.role === 'worker' && node.ready).map(({ name }) => name);

const stageDraft = (
  drafts: readonly Draft[],
  software: SoftwareVersions,
  others: readonly NodeName[],
): readonly Draft[] => {
  const changed = drafts.flatMap(({ node, to }) =>
    node !== null && Object.keys(to).length > 0 ? [node.facts.name] : [],
  );
  // Replaced nodes need nothing staged; other nodes run the addons of the new version.
  const isAnyNew = changed.length > 0 || drafts.some(({ kind }) => kind === 'replace');
  const nodes = isAnyNew ? [...new Set([...changed, ...others])] : [];
  if (nodes.length === 0) return [];
  const reason = 'packages and images are on every node and verified before the first node changes (B9)';
  return [{ kind: 'stage', node: null, nodes, to: software, reason }];
};

const softwareOfDrafts = (drafts: readonly Draft[]): SoftwareVersions =>
  drafts.reduce<SoftwareVersions>((all, { to }) => ({ ...all, ...to }), {});

const withStage = (
  input: PlanInput,
  plan: Growing,
  drafts: readonly Draft[],
  others: readonly NodeName[] = [],
): Growing => withBatch(input, plan, stageDraft(drafts, softwareOfDrafts(drafts), others));

const SNAPSHOT: Draft = {
  kind: 'snapshot-etcd',
  node: null,
  to: {},
  reason: 'a snapshot is taken before any control plane changes (B4)',
};

const addons = ({ to }: Step): Draft => ({
  kind: 'addons',
  node: null,
  to: to === null ? {} : { kubernetes: to, 'kube-proxy': to.slice(1) },
  reason: 'addons fit the new version before any worker is upgraded (C9)',
});

/** An upgrade that ended after its last control plane left the addons, and new machines, at the version before. */
const areAddonsLeft = ({ request, facts, version }: PlanInput, { to }: Step): boolean =>
  request.controlPlane &&
  to !== null &&
  version !== undefined &&
  version !== to &&
  asVersion(oldestApiServer(versionsIn(facts)) ?? '0.0.0') === to;

const controlPlaneStep = (input: PlanInput, before: Progress, step: Step, staged: readonly Draft[]): Progress => {
  const batches = controlPlaneBatches(input, before.controlPlanes, step, before.leader);
  const isDone = batches.length === 0;
  if (isDone && !areAddonsLeft(input, step)) return before;
  const others = step.to === null ? [] : addonWorkers(input);
  const staging = withStage(input, before.plan, [...batches.flat(), ...staged], others);
  const plan = withBatches(input, staging, [...(isDone ? [] : [[SNAPSHOT]]), ...batches, [addons(step)]]);
  if (isDone) return { ...before, plan };
  const names = before.controlPlanes.map(({ facts }) => ({ name: facts.name, done: true }));
  const leader = before.leader === null ? null : (c2NextLeader(before.leader, before.leader, names) ?? before.leader);
  return { ...before, plan, leader, controlPlanes: before.controlPlanes.map((node) => afterStep(input, node, step)) };
};

const workersPass = (input: PlanInput, before: Progress, pass: WorkerPass, isStaged: boolean): Progress => {
  const batches = workerBatches(input, before.workers, pass);
  const staging = isStaged ? before.plan : withStage(input, before.plan, batches.flat());
  return {
    ...before,
    plan: withBatches(input, staging, batches),
    workers: before.workers.map((node) => afterPass(input, node, pass)),
  };
};

/**
 * A6: workers that the step would leave too far behind are upgraded first, to the current version of the control
 * planes.
 */
const wouldLag = (before: Progress, { to }: Step): boolean =>
  to !== null &&
  before.workers.some(({ software }) => {
    const kubelet = software['kubelet'] ?? to;
    return minorsAhead(kubelet, to) > kubeletLagMax(kubelet);
  });

const oneStep = (input: PlanInput, before: Progress, step: Step): Progress => {
  const ready = wouldLag(before, step) ? workersPass(input, before, { to: step.from, last: false }, false) : before;
  if (!step.last) return controlPlaneStep(input, ready, step, []);
  const pass: WorkerPass = { to: step.to, last: true };
  const drafts = workerBatches(input, ready.workers, pass).flat();
  const done = controlPlaneStep(input, ready, step, drafts);
  return workersPass(input, done, pass, done !== ready);
};

const plannedPools = (input: PlanInput, operations: readonly PlanOperation[]): readonly PlannedPool[] => {
  const isReplaced = (pool: string): boolean => operations.some((one) => one.kind === 'replace' && one.pool === pool);
  return [...new Set(operations.flatMap(({ pool }) => (pool === null ? [] : [pool])))].map((name) => {
    const limits = isReplaced(name) ? limitsOf(input, name) : undefined;
    const surge = limits?.surge ?? 0;
    if (name === CONTROL_PLANE_POOL) {
      const nodes = input.facts.nodes.filter(({ role }) => role === 'control-plane').length;
      return { name, nodes, atOnce: 1, surge };
    }
    const strategy = strategyOf(input.request.strategy, name);
    const nodes = poolSize(input, name);
    if (limits !== undefined) return { name, nodes, atOnce: limits.unavailable + surge, surge };
    return { name, nodes, atOnce: d2AtOnce(strategy, nodes), surge: d2Surge(strategy, nodes) };
  });
};

const predicted = (input: PlanInput, operations: readonly PlanOperation[], pools: readonly PlannedPool[]): number =>
  predictedTotal(
    operations,
    ({ pool, kind }) => (kind === 'worker' ? (pools.find(({ name }) => name === pool)?.atOnce ?? 1) : 1),
    ({ kind, pool }) => (kind === 'worker' && pool !== null ? strategyOf(input.request.strategy, pool).soakSeconds : 0),
  );

const heldNodes = (input: PlanInput): readonly NodeName[] =>
  input.facts.nodes.filter((node) => isHeld(input, node)).map(({ name }) => name);

const apiServersIn = ({ facts }: PlanInput): NonNullable<UpgradePlan['apiServers']> =>
  Object.fromEntries(
    versionsIn(facts).flatMap(({ name, apiServer }) => (apiServer === null ? [] : [[name, asVersion(apiServer)]])),
  );

/** Builds the plan even if its findings block it, because findings refer to it. */
const grow = (input: PlanInput, path: Path): UpgradePlan => {
  const leader = input.facts.etcd?.members.find((member) => member.leader)?.node ?? null;
  const start: Progress = {
    plan: EMPTY_PLAN,
    controlPlanes: participants(input, 'control-plane'),
    workers: participants(input, 'worker'),
    leader,
  };
  const { plan } = stepsOf(path, input.request.target.kubernetes ?? null).reduce(
    (before, step) => oneStep(input, before, step),
    start,
  );
  const operations = [...plan.operations];
  const pools = plannedPools(input, operations);
  const touched = new Set(operations.flatMap(changedBy));
  const { upgradeId, target, strategy } = input.request;
  const releases = rowsBeyondBuiltIn(input.own, path.versions);
  return {
    upgradeId,
    target,
    path: path.versions.map(asVersion),
    strategy,
    pools: [...pools],
    operations,
    held: [...heldNodes(input)],
    current: [...start.controlPlanes, ...start.workers]
      .map(({ facts }) => facts.name)
      .filter((name) => !touched.has(name)),
    apiServers: apiServersIn(input),
    findings: [],
    predictedSeconds: predicted(input, operations, pools),
    ...(releases.length === 0 ? {} : { releases: [...releases] }),
  };
};

export type Check =
  | { readonly outcome: 'rejected'; readonly findings: readonly Finding[] }
  | { readonly outcome: 'planned'; readonly plan: UpgradePlan };

/**
 * A path from an unreadable version is rejected in any case; the finding about the version is more useful than the one
 * about the path (A4).
 */
const withoutUnknownPath = ({ facts }: PlanInput, stops: readonly Finding[]): readonly Finding[] => {
  const others = stops.filter(({ rule }) => rule !== 'A4');
  return oldestApiServer(versionsIn(facts)) === undefined && others.length > 0 ? others : stops;
};

/** Builds the plan for these facts, with all findings, whether or not it may run. */
const judge = (input: PlanInput): { readonly plan: UpgradePlan; readonly findings: readonly Finding[] } => {
  const path = pathOf(input);
  const plan = grow(input, path);
  return { plan, findings: [...path.findings, ...findingsOf(input, plan)] };
};

/**
 * Rules that do not prevent the dry run. A finding of any other rule is reported without one: it keeps kubeadm off the
 * node, or makes it fail for the same reason.
 */
const BESIDE_A_DRY_RUN: readonly string[] = ['B4', 'B5', 'B6', 'B10', 'B11', 'B12'];

const isOfApi = ({ kind, pool }: Pick<PlanOperation, 'kind' | 'pool'>): boolean =>
  kind === 'replace' && pool === CONTROL_PLANE_POOL;

export interface DryRunRequest extends KubeadmDryRun {
  readonly node: NodeName;
}

/** The kubeadm dry run that precedes any change: the first step of the plan, on its first control plane. null: none. */
export const dryRunOf = (input: PlanInput): DryRunRequest | null => {
  const { plan, findings } = judge(input);
  const stops = stopping(findings, input.request.overridden);
  if (stops.some(({ rule }) => !BESIDE_A_DRY_RUN.includes(rule))) return null;
  const first = plan.operations.find(({ change, ...operation }) => change?.kubeadm === 'apply' || isOfApi(operation));
  const kubernetes = first?.change?.kubernetes ?? versionOfReplacement(first) ?? null;
  const node = input.facts.nodes.find(({ name }) => name === first?.nodes[0]);
  if (kubernetes === null || node === undefined || node.lost) return null;
  return { node: node.name, kubernetes, ignoredPreflightErrors: first?.change?.ignoredPreflightErrors ?? [] };
};

/**
 * Turns facts and a request into a plan, or into the findings that block it. Pure: a dry run and a run get the same
 * result.
 */
export const planUpgrade = (input: PlanInput): Check => {
  const { plan, findings } = judge(input);
  const { overridden } = input.request;
  const stops = stopping(findings, overridden);
  if (stops.length > 0) return { outcome: 'rejected', findings: [...withoutUnknownPath(input, stops)] };
  return { outcome: 'planned', plan: { ...plan, findings: [...withOverrides(findings, overridden)] } };
};
