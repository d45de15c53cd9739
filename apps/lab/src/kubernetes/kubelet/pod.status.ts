import type { Container, ContainerStatus, Pod, PodStatus } from '../objects/core.types.js';
import { withCondition, type Condition } from '../objects/kube.object.js';

interface StatusWorld {
  readonly pod: Pod;
  readonly nodeAddress: string;
  readonly freeAddress: () => string;
  readonly now: string;
}

const CONDITION_TYPES = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady'] as const;

const withConditions = (
  { pod, now }: StatusWorld,
  truths: Readonly<Record<(typeof CONDITION_TYPES)[number], boolean>>,
  reason?: string,
): readonly Condition[] => {
  const scheduled = withCondition(pod.status?.conditions, {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: now,
  });
  return CONDITION_TYPES.reduce<readonly Condition[]>(
    (conditions, type) =>
      withCondition(conditions, {
        type,
        status: truths[type] ? 'True' : 'False',
        lastTransitionTime: now,
        ...(truths[type] || reason === undefined ? {} : { reason }),
      }),
    scheduled,
  );
};

const addresses = ({ pod, nodeAddress, freeAddress }: StatusWorld): Partial<PodStatus> => {
  const podIP = pod.spec.hostNetwork === true ? nodeAddress : (pod.status?.podIP ?? freeAddress());
  return { hostIP: nodeAddress, hostIPs: [{ ip: nodeAddress }], podIP, podIPs: [{ ip: podIP }] };
};

const container = (
  { name, image = '' }: Container,
  restartCount: number,
  state: ContainerStatus['state'],
): ContainerStatus => ({
  name,
  image,
  imageID: state.running === undefined && state.terminated === undefined ? '' : `simulated://${image}`,
  ...(state.running === undefined ? {} : { containerID: `simulated://${name}` }),
  ready: false,
  started: state.running !== undefined,
  restartCount,
  state,
  lastState: {},
});

/** Accepted by the kubelet, not running yet. */
export const startingStatus = (world: StatusWorld): PodStatus => ({
  ...world.pod.status,
  phase: 'Pending',
  startTime: world.pod.status?.startTime ?? world.now,
  hostIP: world.nodeAddress,
  hostIPs: [{ ip: world.nodeAddress }],
  conditions: withConditions(
    world,
    { PodReadyToStartContainers: false, Initialized: true, Ready: false, ContainersReady: false },
    'ContainersNotReady',
  ),
  containerStatuses: world.pod.spec.containers.map((each) =>
    container(each, 0, { waiting: { reason: 'ContainerCreating' } }),
  ),
});

export const runningStatus = (world: StatusWorld, ready: boolean): PodStatus => {
  const { pod, now } = world;
  const running = (index: number): ContainerStatus['state'] =>
    pod.status?.containerStatuses?.[index]?.state.running === undefined
      ? { running: { startedAt: now } }
      : (pod.status.containerStatuses[index]?.state ?? {});
  return {
    ...pod.status,
    ...addresses(world),
    phase: 'Running',
    startTime: pod.status?.startTime ?? now,
    conditions: withConditions(
      world,
      { PodReadyToStartContainers: true, Initialized: true, Ready: ready, ContainersReady: ready },
      'ContainersNotReady',
    ),
    containerStatuses: pod.spec.containers.map((each, index) => ({ ...container(each, 0, running(index)), ready })),
  };
};

/** `crash` restarts forever, `image-error` never starts. */
export const troubledStatus = (world: StatusWorld, trouble: 'crash' | 'image-error'): PodStatus => {
  const waiting = trouble === 'crash' ? { reason: 'CrashLoopBackOff' } : { reason: 'ImagePullBackOff' };
  return {
    ...startingStatus(world),
    ...(trouble === 'crash' ? { ...addresses(world), phase: 'Running' as const } : {}),
    containerStatuses: world.pod.spec.containers.map((each) =>
      container(each, trouble === 'crash' ? 5 : 0, { waiting }),
    ),
  };
};

export const completedStatus = (world: StatusWorld): PodStatus => {
  const { pod, now } = world;
  const startedAt = pod.status?.startTime ?? now;
  return {
    ...pod.status,
    phase: 'Succeeded',
    conditions: withConditions(
      world,
      { PodReadyToStartContainers: false, Initialized: true, Ready: false, ContainersReady: false },
      'PodCompleted',
    ),
    containerStatuses: pod.spec.containers.map((each) => ({
      ...container(each, 0, { terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt: now } }),
      started: false,
    })),
  };
};
