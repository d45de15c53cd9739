import {
  compareVersions,
  type Finding,
  minorsAhead,
  type NodeName,
  type PlanOperation,
  type UpgradePlan,
  versionRanges,
} from '@fairlead/contracts';
import { findRelease, offeredReleases, ownRows, type OwnReleases } from '@fairlead/domain';
import { finding, when } from '../rules/finding.js';
import { b14Addons } from '../rules/addons.rules.js';
import { c7NoSurge, c7NoTwoSteps } from '../rules/control-plane.rules.js';
import { b5RemovedApis } from '../rules/apis.rules.js';
import { b3EtcdHealthy, b4FreshSnapshot, b10EtcdMinor, b10V2Store, hasVersion } from '../rules/etcd.rules.js';
import { b12Corefile } from '../rules/corefile.rules.js';
import { b13KubeadmAccepts } from '../rules/dry-run.rules.js';
import { b11HandMade } from '../rules/hand-made.rules.js';
import { b8Certificates, b8Clocks, b8Ended, b9Room, b9Source } from '../rules/nodes.rules.js';
import { b7Capacity, b7PodsCanMove } from '../rules/pods.rules.js';
import { asksForNothing, b1OneOperation, b2ClusterHealthy, unreadFindings } from '../rules/preflight.rules.js';
import { b5CgroupV1, b5RemovedSettings } from '../rules/settings.rules.js';
import { b6Webhooks } from '../rules/webhooks.rules.js';
import { g5MayEmulate } from '../rules/rollback.rules.js';
import { a5KubeadmAtTarget, a6NoKubeletAtTheLimit, a6SkewOnTheWay, versionsIn } from '../rules/skew.rules.js';
import { d5ForceIsBounded } from '../rules/workers.rules.js';
import { CONTROL_PLANE_POOL, strategyOf, type PlanInput } from './plan.request.js';
import { changedBy } from './replacement.planner.js';

const nodesWhere = (plan: UpgradePlan, holds: (operation: PlanOperation) => boolean): readonly NodeName[] => [
  ...new Set(plan.operations.filter(holds).flatMap(changedBy)),
];

const isReplacement = ({ kind }: PlanOperation): boolean => kind === 'replace';
const isOfControlPlane = ({ pool, kind }: PlanOperation): boolean =>
  kind === 'control-plane' || (kind === 'replace' && pool === CONTROL_PLANE_POOL);

/** Nodes that get other software, with the Kubernetes versions that they pass through. */
const broughtTo = ({ operations }: UpgradePlan): ReadonlyMap<NodeName, readonly string[]> => {
  const brought = new Map<NodeName, readonly string[]>();
  for (const { node, to } of operations) {
    if (node === null || Object.keys(to).length === 0) continue;
    const version = to['kubeadm'] ?? to['kubelet'];
    const before = brought.get(node) ?? [];
    brought.set(node, version === undefined ? before : [...new Set([...before, `v${version}`])]);
  }
  return brought;
};

const releaseFindings = (own: OwnReleases, target: string): readonly Finding[] => {
  const release = findRelease(own, target);
  const reason = own.withdrawn.get(target);
  if (release === undefined)
    return [
      finding(
        'A4.release-unknown',
        { known: versionRanges(offeredReleases(own).map(({ version }) => version)) },
        { version: target },
      ),
    ];
  return [
    ...when(reason !== undefined, () => finding('A4.release-withdrawn', {}, { version: target, reason: reason ?? '' })),
    ...when(release.verified === 'listed', () => finding('A4.release-listed', {}, { version: target })),
  ];
};

const targetFindings = ({ request, own }: PlanInput, present: string): readonly Finding[] => {
  const { kubernetes } = request.target;
  return [
    ...when(asksForNothing(request.target), () => finding('A4.nothing-requested', {})),
    ...(kubernetes === undefined ? [] : releaseFindings(own, kubernetes)),
    ...when(
      kubernetes !== undefined && minorsAhead(present, kubernetes) === 0 && compareVersions(kubernetes, present) < 0,
      () => finding('A1.earlier-patch', { from: present, to: kubernetes }),
    ),
  ];
};

const etcdFindings = ({ facts, own }: PlanInput, { path }: UpgradePlan): readonly Finding[] =>
  path.slice(1).flatMap((to, index) => {
    const [before, after] = [findRelease(own, path[index] ?? to)?.etcd, findRelease(own, to)?.etcd];
    if (before === undefined || after === undefined) return [];
    // The running version may be another patch than that of its release, which matters for the first step.
    const running = index === 0 ? facts.etcd?.members.find(({ version }) => hasVersion(version))?.version : undefined;
    return [
      ...b10EtcdMinor(index === 0 ? facts.etcd : null, running ?? before, after),
      ...b10V2Store(facts.etcd, before, after),
    ];
  });

const strategyFindings = (input: PlanInput, plan: UpgradePlan): readonly Finding[] => {
  const { strategy } = input.request;
  const pools = plan.pools.filter(({ name }) => name !== CONTROL_PLANE_POOL);
  return [
    ...c7NoSurge(strategy.pools[CONTROL_PLANE_POOL]?.maxSurge),
    ...c7NoTwoSteps(
      strategy.twoStep,
      plan.operations.some((one) => isReplacement(one) && isOfControlPlane(one)),
    ),
    ...pools.flatMap(({ name }) => d5ForceIsBounded(name, strategyOf(strategy, name))),
    ...(strategy.twoStep && plan.path.length > 1 ? g5MayEmulate(plan.path.at(-2) ?? '', plan.path.at(-1) ?? '') : []),
  ];
};

const skewOfPlan = (input: PlanInput, { operations, held, path }: UpgradePlan): readonly Finding[] => {
  const versions = versionsIn(input.facts);
  const changing = new Set(operations.flatMap(changedBy));
  const left = input.facts.nodes.map(({ name }) => name).filter((name) => !changing.has(name) || held.includes(name));
  const newApi = path.length > 1 && minorsAhead(path[0] ?? '', path.at(-1) ?? '') > 0;
  return [
    ...operations.flatMap(a5KubeadmAtTarget),
    ...a6SkewOnTheWay(versions, operations),
    ...(newApi ? a6NoKubeletAtTheLimit(versions, left) : []),
  ];
};

const worldFindings = (input: PlanInput, plan: UpgradePlan): readonly Finding[] => {
  const { facts, request } = input;
  const releases = ownRows(input.own);
  const changed = nodesWhere(plan, (operation) => !isReplacement(operation));
  const upgraded = nodesWhere(
    plan,
    (operation) =>
      isOfControlPlane(operation) && (isReplacement(operation) || typeof operation.change?.kubernetes === 'string'),
  );
  // What was written by hand on a control plane is not on its successor either.
  const rewritten = nodesWhere(
    plan,
    (operation) =>
      (operation.change?.kubeadm ?? null) !== null || (isReplacement(operation) && isOfControlPlane(operation)),
  );
  const drained = nodesWhere(plan, (operation) => operation.drain || isReplacement(operation));
  const renewed = nodesWhere(
    plan,
    (operation) =>
      isReplacement(operation) ||
      (operation.change !== null && (operation.change.renewCertificates || operation.change.kubeadm !== null)),
  );
  const touchesControlPlane = plan.operations.some(isOfControlPlane);
  const takesSnapshot = plan.operations.some(({ kind }) => kind === 'snapshot-etcd');
  const target = plan.path.at(-1) ?? '';
  const endsAtMs = Date.parse(facts.at) + plan.predictedSeconds * 1_000;
  return [
    ...b2ClusterHealthy(facts, request.strategy.excusedNodes),
    ...b3EtcdHealthy(facts, upgraded),
    ...(touchesControlPlane ? b4FreshSnapshot(facts, takesSnapshot) : []),
    ...(plan.path.length > 1 ? [...b5RemovedApis(facts, target), ...b5RemovedSettings(facts, target, releases)] : []),
    ...b5CgroupV1(
      facts,
      target,
      nodesWhere(plan, ({ to }) => to['kubelet'] !== undefined),
    ),
    ...b6Webhooks(facts),
    ...b7PodsCanMove(facts, drained),
    ...plan.pools
      .filter(({ name }) => name !== CONTROL_PLANE_POOL && drained.length > 0)
      .flatMap(({ name, atOnce, surge }) => b7Capacity(facts, name, atOnce - surge)),
    ...b11HandMade(facts, rewritten, plan.path, releases),
    ...b12Corefile(facts.corefile, plan.path, releases),
    ...b13KubeadmAccepts(facts),
    ...b8Certificates(facts, endsAtMs, { renewed, isRenewal: request.target.renewCertificates }),
    ...b8Clocks(facts),
    ...b9Room(facts, changed),
    ...b9Source(facts, broughtTo(plan)),
  ];
};

/** All findings of the rules about a plan and its cluster. */
export const findingsOf = (input: PlanInput, plan: UpgradePlan): readonly Finding[] => {
  const ended = b8Ended(input.facts);
  // Without a valid certificate nothing can be read: report one cause instead of a finding per unread item.
  if (ended.length > 0 && input.facts.unread.length > 0) return ended;
  return [...ended, ...findingsOfReadable(input, plan)];
};

const findingsOfReadable = (input: PlanInput, plan: UpgradePlan): readonly Finding[] => [
  ...targetFindings(input, plan.path[0] ?? 'v0.0.0'),
  ...unreadFindings(input.facts),
  ...b1OneOperation(input.underWay),
  ...skewOfPlan(input, plan),
  ...worldFindings(input, plan),
  ...etcdFindings(input, plan),
  ...strategyFindings(input, plan),
  ...(input.request.target.kubernetes === undefined ? [] : b14Addons(input.addons ?? [], plan.path)),
];
