import { timestamp } from '../clock/clock.js';
import { isActive, type Pod } from '../objects/core.types.js';
import { controllerOf, objectKey } from '../objects/kube.object.js';
import {
  CONTROLLER_REVISIONS,
  DEPLOYMENTS,
  JOBS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  REPLICA_SETS,
  STATEFUL_SETS,
} from '../resources/builtin.resources.js';
import type { ObjectStore } from '../store/object.store.js';
import type { ReplicaSet } from '../objects/workload.types.js';
import { planAdoption } from '../workloads/adoption.planner.js';
import { planDeployment } from '../workloads/deployment.planner.js';
import { planJob } from '../workloads/job.planner.js';
import { planReplicaSet } from '../workloads/replicaset.planner.js';
import { planStatefulSet } from '../workloads/statefulset.planner.js';
import type { Controller } from './controller.js';
import { byKey, controlled, keysOf, keysOfOwnerOrSelf, type World } from './world.js';

/**
 * Pods in the owner's namespace without a controller. Searched only if pods are missing, because there are many pods
 * and few orphans.
 */
const orphans = (store: ObjectStore, owner: ReplicaSet): readonly Pod[] => {
  const active = controlled(store, PODS, owner).filter(isActive).length;
  if (active >= (owner.spec.replicas ?? 1)) return [];
  return store.list(PODS, owner.metadata.namespace).filter((pod) => controllerOf(pod) === undefined && isActive(pod));
};

export const deploymentController = ({ store, clock }: World): Controller => ({
  name: 'deployment-controller',
  keysFor: (change) => keysOfOwnerOrSelf(change, DEPLOYMENTS, [REPLICA_SETS]),
  allKeys: () => keysOf(store, DEPLOYMENTS),
  plan: (key) => {
    const deployment = byKey(store, DEPLOYMENTS, key);
    if (deployment === undefined) return [];
    const adoption = planAdoption(deployment, REPLICA_SETS, store.list(REPLICA_SETS, deployment.metadata.namespace));
    if (adoption.length > 0) return adoption;
    return planDeployment({ deployment, replicaSets: controlled(store, REPLICA_SETS, deployment), nowMs: clock.now() });
  },
});

export const replicaSetController = ({ store, clock }: World): Controller => ({
  name: 'replicaset-controller',
  keysFor: (change) => keysOfOwnerOrSelf(change, REPLICA_SETS, [PODS]),
  allKeys: () => keysOf(store, REPLICA_SETS),
  plan: (key) => {
    const replicaSet = byKey(store, REPLICA_SETS, key);
    if (replicaSet === undefined) return [];
    const adoption = planAdoption(replicaSet, PODS, orphans(store, replicaSet));
    if (adoption.length > 0) return adoption;
    return planReplicaSet({ replicaSet, pods: controlled(store, PODS, replicaSet), nowMs: clock.now() });
  },
});

export const statefulSetController = ({ store, clock }: World): Controller => ({
  name: 'statefulset-controller',
  keysFor: (change) => keysOfOwnerOrSelf(change, STATEFUL_SETS, [PODS, CONTROLLER_REVISIONS]),
  allKeys: () => keysOf(store, STATEFUL_SETS),
  plan: (key) => {
    const statefulSet = byKey(store, STATEFUL_SETS, key);
    if (statefulSet === undefined) return [];
    return planStatefulSet({
      statefulSet,
      pods: controlled(store, PODS, statefulSet),
      claims: store.list(PERSISTENT_VOLUME_CLAIMS, statefulSet.metadata.namespace),
      revisions: controlled(store, CONTROLLER_REVISIONS, statefulSet),
      nowMs: clock.now(),
    });
  },
});

export const jobController = ({ store, clock }: World): Controller => ({
  name: 'job-controller',
  keysFor: (change) => keysOfOwnerOrSelf(change, JOBS, [PODS]),
  allKeys: () => store.list(JOBS).map(objectKey),
  plan: (key) => {
    const job = byKey(store, JOBS, key);
    if (job === undefined) return [];
    return planJob({ job, pods: controlled(store, PODS, job), now: timestamp(clock.now()), nowMs: clock.now() });
  },
});
