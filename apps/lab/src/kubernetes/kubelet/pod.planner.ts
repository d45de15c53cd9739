import { timeOf } from '../clock/clock.js';
import { again, event, remove, replace, type Operation } from '../operations/operation.js';
import { isTerminal, type Pod, type PodStatus } from '../objects/core.types.js';
import { controllerOf } from '../objects/kube.object.js';
import { PODS } from '../resources/builtin.resources.js';
import { completedStatus, runningStatus, startingStatus, troubledStatus } from './pod.status.js';

/** Annotation of a pod (or its template): how the pod behaves in the simulation. */
const BEHAVIOUR = 'lab.fairlead.dev/behaviour';
/**
 * `never-ready` runs but fails its readiness probe; `crash` and `image-error` never run; `complete` succeeds after the
 * job time.
 */
export type Behaviour = 'normal' | 'never-ready' | 'crash' | 'image-error' | 'complete';

export interface KubeletWorld {
  readonly pod: Pod;
  readonly nodeAddress: string;
  readonly networkReady: boolean;
  /** Returns a free address of the node's pod CIDR. */
  readonly freeAddress: () => string;
  readonly now: string;
  readonly nowMs: number;
  /** When the kubelet first saw the pod, and when it first saw its deletion. */
  readonly seenMs: number;
  readonly deletionSeenMs: number | undefined;
  readonly podStartMs: number;
  readonly podStopMs: number;
  readonly jobRunMs: number;
}

/** The next operations of a running kubelet for one of its pods. */
export const planPod = (world: KubeletWorld): readonly Operation[] => {
  const { pod } = world;
  if (pod.metadata.deletionTimestamp !== undefined) return stop(world);
  if (isTerminal(pod)) return [];
  const phase = pod.status?.phase ?? 'Pending';
  if (phase === 'Running') return behaviourOf(pod) === 'complete' ? complete(world) : recover(world);
  return start(world);
};

const behaviourOf = (pod: Pod): Behaviour => {
  const requested = pod.metadata.annotations?.[BEHAVIOUR];
  switch (requested) {
    case 'never-ready':
    case 'crash':
    case 'image-error':
    case 'complete':
      return requested;
    case undefined:
      break;
  }
  return controllerOf(pod)?.kind === 'Job' ? 'complete' : 'normal';
};

const start = (world: KubeletWorld): readonly Operation[] => {
  const { pod, networkReady, nowMs } = world;
  const dueMs = world.seenMs + world.podStartMs;
  const waits = pod.spec.hostNetwork !== true && !networkReady;
  if (waits || dueMs > nowMs) {
    const starting = status(pod, startingStatus(world));
    return [replace(PODS, starting, 'its containers are being created'), ...(waits ? [] : [again(dueMs)])];
  }
  const behaviour = behaviourOf(pod);
  if (behaviour === 'crash' || behaviour === 'image-error') return trouble(world, behaviour);
  return [
    replace(PODS, status(pod, runningStatus(world, behaviour !== 'never-ready')), 'its containers run'),
    event(pod, 'Started', `Started container ${pod.spec.containers.map(({ name }) => name).join(', ')} (simulated)`),
    ...(behaviour === 'complete' ? [again(nowMs + world.jobRunMs)] : []),
  ];
};

const trouble = (world: KubeletWorld, behaviour: 'crash' | 'image-error'): readonly Operation[] => {
  const words = behaviour === 'crash' ? 'Back-off restarting failed container' : 'Back-off pulling image';
  return [
    replace(PODS, status(world.pod, troubledStatus(world, behaviour)), 'it is asked to fail'),
    event(world.pod, behaviour === 'crash' ? 'BackOff' : 'Failed', `${words} (simulated)`, 'Warning'),
  ];
};

const complete = (world: KubeletWorld): readonly Operation[] => {
  const dueMs =
    timeOf(world.pod.status?.startTime ?? world.pod.metadata.creationTimestamp) + world.podStartMs + world.jobRunMs;
  if (dueMs > world.nowMs) return [again(dueMs)];
  return [replace(PODS, status(world.pod, completedStatus(world)), 'its work is done')];
};

/** The pods of a node that counted as lost were marked unready; their kubelet corrects that. */
const recover = (world: KubeletWorld): readonly Operation[] => {
  const ready = behaviourOf(world.pod) !== 'never-ready';
  const marked = world.pod.status?.conditions?.some(
    ({ type, status: value, reason }) => type === 'Ready' && value === 'False' && reason === 'NodeNotReady',
  );
  return ready && marked === true
    ? [replace(PODS, status(world.pod, runningStatus(world, true)), 'its kubelet is back')]
    : [];
};

const stop = (world: KubeletWorld): readonly Operation[] => {
  const { pod, nowMs, deletionSeenMs = nowMs } = world;
  const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const dueMs = deletionSeenMs + Math.min(world.podStopMs, graceMs);
  if (dueMs > nowMs) return [again(dueMs)];
  return [
    event(pod, 'Killing', `Stopping container ${pod.spec.containers.map(({ name }) => name).join(', ')} (simulated)`),
    remove(PODS, pod, 'its containers have stopped', 0),
  ];
};

const status = (pod: Pod, next: PodStatus): Pod => ({ ...pod, status: next });
