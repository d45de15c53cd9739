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
import { podFromTemplate } from './pod.template.js';
import { planRevisions, REVISION_LABEL } from './revisions.js';

export interface DaemonSetWorld {
  readonly daemonSet: DaemonSet;
  readonly nodes: readonly Node[];
  /** The pods that it controls. */
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  readonly nowMs: number;
}

/** Daemons stay where other pods may not be (pkg/controller/daemon/util, AddOrUpdateDaemonPodTolerations). */
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

interface Seat {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** One pod on every node that it fits on; the template's changes reach them a few at a time. */
export const planDaemonSet = (world: DaemonSetWorld): readonly Operation[] => {
  const { daemonSet, nodes, pods, revisions } = world;
  if (daemonSet.metadata.deletionTimestamp !== undefined) return [];
  const inUse = new Set(pods.map(({ metadata }) => metadata.labels?.[REVISION_LABEL] ?? ''));
  const revision = planRevisions(daemonSet, revisions, inUse);
  const placed = byTarget(pods);
  const seats = nodes
    .filter((node) => runsOn(daemonSet, node))
    .map((node) => ({ node, pods: placed.get(node.metadata.name) ?? [] }));
  const seatNames = new Set(seats.map(({ node }) => node.metadata.name));
  const elsewhere = pods.filter((pod) => !seatNames.has(targetOf(pod)));
  return [
    ...revision.operations,
    ...seats.flatMap((seat) => fill(daemonSet, seat, revision.hash)),
    ...elsewhere.filter(isActive).map((pod) => remove(PODS, pod, 'it may not run on its node')),
    ...rollingUpdate(world, seats, revision.hash),
    ...report(world, { seats, misplaced: misplaced(elsewhere, nodes), hash: revision.hash }),
  ];
};

const byTarget = (pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> => {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const group = groups.get(targetOf(pod)) ?? [];
    group.push(pod);
    groups.set(targetOf(pod), group);
  }
  return groups;
};

/** Pods on nodes of the cluster that are not for them; those of nodes that are gone do not count. */
const misplaced = (elsewhere: readonly Pod[], nodes: readonly Node[]): number => {
  const names = new Set(nodes.map(({ metadata }) => metadata.name));
  return elsewhere.filter((pod) => isActive(pod) && names.has(targetOf(pod))).length;
};

const judgeOf = remembered(({ spec }: PodTemplate) => {
  const tolerations = tolerationsOf(spec);
  return remembered((node: Node) => selectsNode(spec, node) && untolerated(node.spec.taints, tolerations) === undefined);
});

const runsOn = (daemonSet: DaemonSet, node: Node): boolean => judgeOf(daemonSet.spec.template)(node);

/** The node that a daemon pod is for, also while it waits for the scheduler. */
const targetOf = ({ spec }: Pod): string =>
  spec.nodeName ??
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchFields?.[0]
    ?.values?.[0] ??
  '';

const fill = (daemonSet: DaemonSet, { node, pods }: Seat, hash: string): readonly Operation[] => {
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

/** Old pods end so that new ones can take their place, never more at once than may be unavailable. */
const rollingUpdate = (
  { daemonSet, nowMs }: DaemonSetWorld,
  seats: readonly Seat[],
  hash: string,
): readonly Operation[] => {
  if (daemonSet.spec.updateStrategy?.type === 'OnDelete') return [];
  const { maxUnavailable = 1 } = daemonSet.spec.updateStrategy?.rollingUpdate ?? {};
  const allowed = Math.max(1, scaledValue(maxUnavailable, seats.length, 'up'));
  const { minReadySeconds = 0 } = daemonSet.spec;
  const serves = (pod: Pod): boolean => isActive(pod) && isAvailable(pod, minReadySeconds, nowMs);
  const old = seats
    .flatMap(({ pods }) => pods)
    .filter((pod) => isActive(pod) && pod.metadata.labels?.[REVISION_LABEL] !== hash);
  const broken = old.filter((pod) => !serves(pod));
  const unavailable = seats.filter(({ pods }) => !pods.some(serves)).length;
  const healthy = old.filter(serves).slice(0, Math.max(0, allowed - unavailable));
  return [...broken, ...healthy].flatMap((pod) => [
    remove(PODS, pod, 'its template has changed'),
    event(daemonSet, 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`),
  ]);
};

interface Standing {
  readonly seats: readonly Seat[];
  readonly misplaced: number;
  readonly hash: string;
}

const report = (
  { daemonSet, pods, nowMs }: DaemonSetWorld,
  { seats, misplaced: numberMisscheduled, hash }: Standing,
): readonly Operation[] => {
  const { minReadySeconds = 0 } = daemonSet.spec;
  const seated = seats.map((seat) => seat.pods.filter(isActive));
  const count = (holds: (pod: Pod) => boolean): number => seated.filter((own) => own.some(holds)).length;
  const available = count((pod) => isAvailable(pod, minReadySeconds, nowMs));
  const status = {
    ...daemonSet.status,
    currentNumberScheduled: count(() => true),
    desiredNumberScheduled: seats.length,
    numberMisscheduled,
    numberReady: count(isReady),
    numberAvailable: available,
    numberUnavailable: seats.length - available,
    updatedNumberScheduled: count((pod) => pod.metadata.labels?.[REVISION_LABEL] === hash),
    observedGeneration: daemonSet.metadata.generation ?? 1,
  };
  const nextMs = minReadySeconds === 0 ? undefined : nextAvailableMs(pods, minReadySeconds, nowMs);
  return [
    replace(DAEMON_SETS, { ...daemonSet, status }, 'the status follows the pods'),
    ...(nextMs === undefined ? [] : [again(nextMs)]),
  ];
};
