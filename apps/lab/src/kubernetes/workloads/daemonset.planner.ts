import { again, create, event, remove, replace, type Operation } from '../operations/operation.js';
import {
  isActive,
  isReady,
  isTerminal,
  type Node,
  type Pod,
  type PodSpec,
  type PodTemplate,
  type Toleration,
} from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { remembered } from '../objects/remembered.js';
import { scaledValue } from '../objects/quantity.js';
import type { ControllerRevision, DaemonSet } from '../objects/workload.types.js';
import { DAEMON_SETS, PODS } from '../resources/builtin.resources.js';
import { selectsNode } from '../scheduling/node.fit.js';
import { untolerated } from '../scheduling/taints.js';
import { isAvailable, nextAvailableMs } from './availability.js';
import { podFromTemplate, templateHash } from './pod.template.js';
import { planRevisions, REVISION_LABEL } from './revisions.js';

export interface DaemonSetWorld {
  readonly daemonSet: DaemonSet;
  readonly nodes: readonly Node[];
  /** The pods that it controls. */
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  readonly nowMs: number;
}

/** Daemon pods tolerate nodes that other pods do not (pkg/controller/daemon/util, AddOrUpdateDaemonPodTolerations). */
const DAEMON_TOLERATIONS: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK_TOLERATION: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

const tolerationsOf = ({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] => [
  ...tolerations,
  ...DAEMON_TOLERATIONS,
  ...(hostNetwork === true ? [HOST_NETWORK_TOLERATION] : []),
];

interface NodePods {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** The share of one node in the status of a DaemonSet. */
export interface NodeCounts {
  readonly desired: number;
  readonly misscheduled: number;
  readonly scheduled: number;
  readonly ready: number;
  readonly available: number;
  readonly updated: number;
}

export const NO_COUNTS: NodeCounts = {
  desired: 0,
  misscheduled: 0,
  scheduled: 0,
  ready: 0,
  available: 0,
  updated: 0,
};

export const plusCounts = (one: NodeCounts, other: NodeCounts, sign: 1 | -1 = 1): NodeCounts => ({
  desired: one.desired + sign * other.desired,
  misscheduled: one.misscheduled + sign * other.misscheduled,
  scheduled: one.scheduled + sign * other.scheduled,
  ready: one.ready + sign * other.ready,
  available: one.available + sign * other.available,
  updated: one.updated + sign * other.updated,
});

/** A node by name, and the DaemonSet's pods for it; undefined if there is no such node. */
export interface DaemonNodeWorld {
  readonly daemonSet: DaemonSet;
  readonly node: Node | undefined;
  readonly pods: readonly Pod[];
  readonly nowMs: number;
}

export const nodeCounts = ({ daemonSet, node, pods, nowMs }: DaemonNodeWorld): NodeCounts => {
  const active = pods.filter(isActive);
  if (node === undefined) return NO_COUNTS;
  if (!runsOn(daemonSet, node)) return { ...NO_COUNTS, misscheduled: active.length };
  const { minReadySeconds = 0, template } = daemonSet.spec;
  const hash = templateHash(template);
  const count = (holds: (pod: Pod) => boolean): number => (active.some(holds) ? 1 : 0);
  return {
    desired: 1,
    misscheduled: 0,
    scheduled: count(() => true),
    ready: count(isReady),
    available: count((pod) => isAvailable(pod, minReadySeconds, nowMs)),
    updated: count((pod) => pod.metadata.labels?.[REVISION_LABEL] === hash),
  };
};

/** Plans the pod of one node. */
export const planNodePod = ({ daemonSet, node, pods }: DaemonNodeWorld): readonly Operation[] =>
  node !== undefined && runsOn(daemonSet, node)
    ? fill(daemonSet, { node, pods }, templateHash(daemonSet.spec.template))
    : pods.filter(isActive).map((pod) => remove(PODS, pod, 'it may not run on its node'));

/** One pod on every matching node; changes of the template are rolled out a few pods at a time. */
export const planDaemonSet = (world: DaemonSetWorld): readonly Operation[] => {
  const { daemonSet, nodes, pods, revisions, nowMs } = world;
  if (daemonSet.metadata.deletionTimestamp !== undefined) return [];
  const inUse = new Set(pods.map(({ metadata }) => metadata.labels?.[REVISION_LABEL] ?? ''));
  const revision = planRevisions(daemonSet, revisions, inUse);
  const placed = byTarget(pods);
  const matching = nodes
    .filter((node) => runsOn(daemonSet, node))
    .map((node) => ({ node, pods: placed.get(node.metadata.name) ?? [] }));
  const all = [...nodes.map((node) => [node.metadata.name, node] as const), ...absent(placed, nodes)].map(
    ([name, node]) => ({ daemonSet, node, pods: placed.get(name) ?? [], nowMs }),
  );
  const counts = all.reduce((sum, one) => plusCounts(sum, nodeCounts(one)), NO_COUNTS);
  return [
    ...revision.operations,
    ...all.flatMap(planNodePod),
    ...rollingUpdate(world, matching, revision.hash),
    reportStatus(daemonSet, counts),
    ...lookAgain(world),
  ];
};

export const byTarget = (pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> => {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const group = groups.get(targetOf(pod)) ?? [];
    group.push(pod);
    groups.set(targetOf(pod), group);
  }
  return groups;
};

/** Names of deleted nodes that still have pods. */
const absent = (
  placed: ReadonlyMap<string, readonly Pod[]>,
  nodes: readonly Node[],
): readonly (readonly [string, undefined])[] => {
  const names = new Set(nodes.map(({ metadata }) => metadata.name));
  return [...placed.keys()].filter((name) => !names.has(name)).map((name) => [name, undefined] as const);
};

const judgeOf = remembered(({ spec }: PodTemplate) => {
  const tolerations = tolerationsOf(spec);
  return remembered(
    (node: Node) => selectsNode(spec, node) && untolerated(node.spec.taints, tolerations) === undefined,
  );
});

const runsOn = (daemonSet: DaemonSet, node: Node): boolean => judgeOf(daemonSet.spec.template)(node);

/** The target node of a daemon pod, also before it is scheduled. */
export const targetOf = ({ spec }: Pod): string =>
  spec.nodeName ??
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchFields?.[0]
    ?.values?.[0] ??
  '';

const fill = (daemonSet: DaemonSet, { node, pods }: NodePods, hash: string): readonly Operation[] => {
  const ended = pods.filter((pod) => isTerminal(pod) && pod.metadata.deletionTimestamp === undefined);
  if (ended.length > 0) return ended.map((pod) => remove(PODS, pod, 'it has ended and is recreated'));
  if (pods.length > 0) return [];
  return [create(PODS, daemonPod(daemonSet, node, hash), `${node.metadata.name} has none`)];
};

const daemonPod = (daemonSet: DaemonSet, node: Node, hash: string): Draft<Pod> => {
  const draft = podFromTemplate(daemonSet, daemonSet.spec.template, { labels: { [REVISION_LABEL]: hash } });
  const term = { matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [node.metadata.name] }] };
  return {
    ...draft,
    spec: {
      ...draft.spec,
      affinity: {
        ...draft.spec.affinity,
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
      },
      tolerations: tolerationsOf(daemonSet.spec.template.spec),
    },
  };
};

/** Deletes old pods so that new ones can replace them, at most as many as may be unavailable. */
const rollingUpdate = (
  { daemonSet, nowMs }: DaemonSetWorld,
  matching: readonly NodePods[],
  hash: string,
): readonly Operation[] => {
  if (daemonSet.spec.updateStrategy?.type === 'OnDelete') return [];
  const { maxUnavailable = 1 } = daemonSet.spec.updateStrategy?.rollingUpdate ?? {};
  const allowed = Math.max(1, scaledValue(maxUnavailable, matching.length, 'up'));
  const { minReadySeconds = 0 } = daemonSet.spec;
  const serves = (pod: Pod): boolean => isActive(pod) && isAvailable(pod, minReadySeconds, nowMs);
  const old = matching
    .flatMap(({ pods }) => pods)
    .filter((pod) => isActive(pod) && pod.metadata.labels?.[REVISION_LABEL] !== hash);
  const broken = old.filter((pod) => !serves(pod));
  const unavailable = matching.filter(({ pods }) => !pods.some(serves)).length;
  const healthy = old.filter(serves).slice(0, Math.max(0, allowed - unavailable));
  return [...broken, ...healthy].flatMap((pod) => [
    remove(PODS, pod, 'its template has changed'),
    event(daemonSet, 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`),
  ]);
};

export const reportStatus = (daemonSet: DaemonSet, counts: NodeCounts): Operation => {
  const status = {
    ...daemonSet.status,
    currentNumberScheduled: counts.scheduled,
    desiredNumberScheduled: counts.desired,
    numberMisscheduled: counts.misscheduled,
    numberReady: counts.ready,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
    updatedNumberScheduled: counts.updated,
    observedGeneration: daemonSet.metadata.generation ?? 1,
  };
  return replace(DAEMON_SETS, { ...daemonSet, status }, 'the status follows the pods');
};

const lookAgain = ({ daemonSet, pods, nowMs }: DaemonSetWorld): readonly Operation[] => {
  const { minReadySeconds = 0 } = daemonSet.spec;
  const nextMs = minReadySeconds === 0 ? undefined : nextAvailableMs(pods, minReadySeconds, nowMs);
  return nextMs === undefined ? [] : [again(nextMs)];
};
