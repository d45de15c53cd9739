import { again, event, remove, replace, type Operation } from '../operations/operation.js';
import { timeOf } from '../clock/clock.js';
import { isReady, isTerminal, type Node, type Pod, type Taint } from '../objects/core.types.js';
import { conditionOf, withCondition, type Condition } from '../objects/kube.object.js';
import { NODES, PODS } from '../resources/builtin.resources.js';
import { toleranceSeconds } from '../scheduling/taints.js';
import { readyCondition, type Lack } from './node.planner.js';

export interface NodeWorld {
  readonly node: Node;
  /** The pods assigned to it. */
  readonly pods: readonly Pod[];
  /** When its kubelet stopped; undefined while it runs. */
  readonly stoppedMs: number | undefined;
  readonly networkReady: boolean;
  readonly runtimeHangs: boolean;
  /** Since when its kubelet runs without a container runtime; absent if it has one. */
  readonly runtimeStoppedMs?: number | undefined;
  readonly diskFull?: boolean;
  readonly monitorGraceMs: number;
  readonly now: string;
  readonly nowMs: number;
}

const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
const DISK_PRESSURE = 'node.kubernetes.io/disk-pressure';
/** The taints that the node controller owns; all others are left unchanged. */
const OWN_TAINTS = [NOT_READY, UNREACHABLE, UNSCHEDULABLE, DISK_PRESSURE];
/**
 * A kubelet considers its runtime down after failing to list containers for 30 s: three quarters of the default grace
 * period.
 */
const RUNTIME_SHARE_OF_GRACE = 0.75;

/** The combined effect of kubelet and node controller: the node's conditions, its taints, and evicted pods. */
export const planNodeLifecycle = (world: NodeWorld): readonly Operation[] => {
  const { node, stoppedMs, nowMs, monitorGraceMs } = world;
  const lostMs = stoppedMs === undefined ? undefined : stoppedMs + monitorGraceMs;
  const downMs = runtimeDownMs(world);
  const next = tainted(withReady(world, lostMs !== undefined && lostMs <= nowMs), world.now);
  return [
    replace(NODES, next, 'its conditions follow its kubelet'),
    ...announce(node, next),
    ...(lostMs !== undefined && lostMs > nowMs ? [again(lostMs)] : []),
    ...(downMs !== undefined && downMs > nowMs ? [again(downMs)] : []),
    ...evict({ ...world, node: next }),
    ...markUnready(world, next),
  ];
};

/** When its kubelet reports the container runtime as down; undefined while the runtime runs. */
const runtimeDownMs = ({ runtimeStoppedMs, monitorGraceMs }: NodeWorld): number | undefined =>
  runtimeStoppedMs === undefined ? undefined : runtimeStoppedMs + monitorGraceMs * RUNTIME_SHARE_OF_GRACE;

const lackOf = (world: NodeWorld): Lack | undefined => {
  if (world.runtimeHangs || (runtimeDownMs(world) ?? Infinity) <= world.nowMs) return 'runtime';
  return world.networkReady ? undefined : 'network';
};

const withReady = (world: NodeWorld, lost: boolean): Node => {
  const { node, stoppedMs, now } = world;
  // A stopped kubelet sends no updates: its last state remains until the grace period ends.
  if (stoppedMs !== undefined && !lost) return node;
  const conditions = lost
    ? unknown(node.status?.conditions ?? [], now)
    : known(node.status?.conditions ?? [], { lack: lackOf(world), diskFull: world.diskFull === true, now });
  return { ...node, status: { ...node.status, conditions } };
};

const unknown = (conditions: readonly Condition[], now: string): readonly Condition[] =>
  conditions.map((condition) =>
    condition.status === 'Unknown'
      ? condition
      : {
          ...condition,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: now,
        },
  );

type Word = readonly [type: string, status: 'True' | 'False', reason: string, message: string];

/** The conditions that a kubelet reports besides Ready. */
const wordsOf = (diskFull: boolean): readonly Word[] => [
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  diskFull
    ? ['DiskPressure', 'True', 'KubeletHasDiskPressure', 'kubelet has disk pressure']
    : ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
];

interface Kubelet {
  readonly lack: Lack | undefined;
  readonly diskFull: boolean;
  readonly now: string;
}

const known = (conditions: readonly Condition[], { lack, diskFull, now }: Kubelet): readonly Condition[] => {
  const ready = readyCondition(lack, now);
  const heartbeat = conditions.find(({ type }) => type === 'Ready')?.lastHeartbeatTime ?? now;
  const others = wordsOf(diskFull).map(([type, status, reason, message]): Condition => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: heartbeat,
    lastTransitionTime: now,
  }));
  // Heartbeat times are computed on read, so storing each would be a needless write.
  return [...others, { ...ready, lastHeartbeatTime: heartbeat }].reduce(withCondition, conditions);
};

const tainted = (node: Node, now: string): Node => {
  const ready = conditionOf(node, 'Ready')?.status ?? 'Unknown';
  const desired: Taint[] = [
    ...(node.spec.unschedulable === true ? [{ key: UNSCHEDULABLE, effect: 'NoSchedule' } as const] : []),
    ...(conditionOf(node, 'DiskPressure')?.status === 'True'
      ? [{ key: DISK_PRESSURE, effect: 'NoSchedule' } as const]
      : []),
    ...(ready === 'True' ? [] : both(ready === 'Unknown' ? UNREACHABLE : NOT_READY)),
  ];
  const present = node.spec.taints ?? [];
  const same = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;
  const kept = present.filter(
    (taint) => !OWN_TAINTS.includes(taint.key) || desired.some((other) => same(taint, other)),
  );
  const added = desired
    .filter((taint) => !present.some((other) => same(taint, other)))
    .map((taint) => ({ ...taint, timeAdded: now }));
  return kept.length === present.length && added.length === 0
    ? node
    : { ...node, spec: { ...node.spec, taints: [...kept, ...added] } };
};

const both = (key: string): readonly Taint[] => [
  { key, effect: 'NoSchedule' },
  { key, effect: 'NoExecute' },
];

const announce = (before: Node, after: Node): readonly Operation[] => {
  const [was, is] = [isReady(before), isReady(after)];
  if (was === is) return [];
  const name = after.metadata.name;
  return [event(after, is ? 'NodeReady' : 'NodeNotReady', `Node ${name} status is now: Node${is ? '' : 'Not'}Ready`)];
};

/** Evicts pods from a node with NoExecute taints when their toleration expires. */
const evict = ({ node, pods, nowMs }: NodeWorld): readonly Operation[] => {
  const taints = (node.spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (taints.length === 0) return [];
  const since = Math.min(...taints.map(({ timeAdded }) => (timeAdded === undefined ? nowMs : timeOf(timeAdded))));
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && !isTerminal(pod))
    .flatMap((pod) => {
      const seconds = toleranceSeconds(taints, pod.spec.tolerations);
      if (seconds === Number.POSITIVE_INFINITY) return [];
      const dueMs = since + seconds * 1000;
      if (dueMs > nowMs) return [again(dueMs)];
      return [
        event(pod, 'TaintManagerEviction', `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`),
        remove(PODS, pod, `it does not tolerate ${taints.map(({ key }) => key).join(', ')} any longer`),
      ];
    });
};

/** The state of pods on a lost node is unknown, so they are marked unready and services exclude them. */
const markUnready = ({ pods, now, stoppedMs }: NodeWorld, node: Node): readonly Operation[] => {
  if (stoppedMs === undefined || conditionOf(node, 'Ready')?.status !== 'Unknown') return [];
  return pods.filter(isReady).map((pod) => {
    const condition = { type: 'Ready', status: 'False', reason: 'NodeNotReady', lastTransitionTime: now } as const;
    const conditions = withCondition(pod.status?.conditions, condition);
    return replace(PODS, { ...pod, status: { ...pod.status, conditions } }, 'its node is lost');
  });
};
