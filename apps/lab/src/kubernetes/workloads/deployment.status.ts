import { timeOf } from '../clock/clock.js';
import { conditionOf, withCondition, type Condition } from '../objects/kube.object.js';
import type { Deployment, ReplicaSet } from '../objects/workload.types.js';
import { rolloutLimits } from './rollout.planner.js';

type DeploymentStatus = NonNullable<Deployment['status']>;

interface Observed {
  readonly deployment: Deployment;
  readonly current: ReplicaSet | undefined;
  readonly replicaSets: readonly ReplicaSet[];
  readonly now: string;
  readonly nowMs: number;
}

const total = (replicaSets: readonly ReplicaSet[], count: (replicaSet: ReplicaSet) => number | undefined): number =>
  replicaSets.reduce((sum, replicaSet) => sum + (count(replicaSet) ?? 0), 0);

/** The status of a deployment, from its replica sets. */
export const deploymentStatus = (observed: Observed): DeploymentStatus => {
  const { deployment, current, replicaSets } = observed;
  const counts: DeploymentStatus = {
    observedGeneration: deployment.metadata.generation ?? 1,
    replicas: total(replicaSets, ({ status }) => status?.replicas),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: total(replicaSets, ({ status }) => status?.readyReplicas),
    availableReplicas: total(replicaSets, ({ status }) => status?.availableReplicas),
    unavailableReplicas: Math.max(
      0,
      total(replicaSets, ({ spec }) => spec.replicas) - total(replicaSets, ({ status }) => status?.availableReplicas),
    ),
  };
  const conditions = withCondition(deployment.status?.conditions, availableCondition(observed, counts));
  return { ...deployment.status, ...counts, conditions: withCondition(conditions, progressing(observed, counts)) };
};

const availableCondition = ({ deployment, now }: Observed, { availableReplicas = 0 }: DeploymentStatus): Condition => {
  const enough = availableReplicas >= (deployment.spec.replicas ?? 1) - rolloutLimits(deployment).unavailable;
  return stamped(deployment, now, {
    type: 'Available',
    status: enough ? 'True' : 'False',
    reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: enough ? 'Deployment has minimum availability.' : 'Deployment does not have minimum availability.',
  });
};

const progressing = (observed: Observed, counts: DeploymentStatus): Condition => {
  const { deployment, current, now, nowMs } = observed;
  const name = current?.metadata.name ?? deployment.metadata.name;
  const state = (status: Condition['status'], reason: string, message: string): Condition => ({
    type: 'Progressing',
    status,
    reason,
    message,
  });
  if (deployment.spec.paused === true)
    return stamped(deployment, now, state('Unknown', 'DeploymentPaused', 'Deployment is paused'));
  if (isComplete(deployment, counts)) {
    return stamped(
      deployment,
      now,
      state('True', 'NewReplicaSetAvailable', `ReplicaSet "${name}" has successfully progressed.`),
    );
  }
  const moved = {
    ...state('True', 'ReplicaSetUpdated', `ReplicaSet "${name}" is progressing.`),
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
  const last = conditionOf(deployment, 'Progressing');
  if (last === undefined || last.reason === 'NewReplicaSetAvailable' || hasMoved(deployment.status, counts))
    return moved;
  const deadlineMs = progressDeadlineMs(deployment);
  if (deadlineMs !== undefined && deadlineMs <= nowMs) {
    return stamped(
      deployment,
      now,
      state('False', 'ProgressDeadlineExceeded', `ReplicaSet "${name}" has timed out progressing.`),
    );
  }
  return last;
};

const isComplete = ({ spec }: Deployment, counts: DeploymentStatus): boolean => {
  const replicas = spec.replicas ?? 1;
  return counts.updatedReplicas === replicas && counts.replicas === replicas && counts.availableReplicas === replicas;
};

const hasMoved = (before: DeploymentStatus | undefined, after: DeploymentStatus): boolean => {
  const old = (status: DeploymentStatus | undefined): number =>
    (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0);
  return (
    (after.updatedReplicas ?? 0) > (before?.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before?.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before?.availableReplicas ?? 0) ||
    after.observedGeneration !== before?.observedGeneration
  );
};

/** When a rollout without progress counts as stuck, or undefined if there is none to wait for. */
export const progressDeadlineMs = (deployment: Deployment): number | undefined => {
  const condition = conditionOf(deployment, 'Progressing');
  if (condition?.reason !== 'ReplicaSetUpdated' || condition.lastUpdateTime === undefined) return undefined;
  return timeOf(condition.lastUpdateTime) + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000;
};

/** An unchanged condition keeps its times, so that the status does not change without a cause. */
const stamped = (deployment: Deployment, now: string, condition: Condition): Condition => {
  const last = conditionOf(deployment, condition.type);
  if (last !== undefined && last.status === condition.status && last.reason === condition.reason)
    return { ...condition, ...times(last) };
  return { ...condition, lastUpdateTime: now, lastTransitionTime: now };
};

const times = ({ lastUpdateTime, lastTransitionTime }: Condition): Partial<Condition> => ({
  ...(lastUpdateTime === undefined ? {} : { lastUpdateTime }),
  ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
});
