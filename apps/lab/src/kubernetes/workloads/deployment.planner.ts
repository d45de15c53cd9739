import { timestamp } from '../clock/clock.js';
import { again, create, event, remove, replace, type Operation } from '../operations/operation.js';
import { sameJson } from '../objects/json.js';
import type { PodTemplate } from '../objects/core.types.js';
import { controllerReference, type Draft } from '../objects/kube.object.js';
import type { Deployment, ReplicaSet } from '../objects/workload.types.js';
import { DEPLOYMENTS, REPLICA_SETS } from '../resources/builtin.resources.js';
import { deploymentStatus, progressDeadlineMs } from './deployment.status.js';
import { templateHash } from './pod.template.js';
import { planRollout, type Scaling } from './rollout.planner.js';

export interface DeploymentWorld {
  readonly deployment: Deployment;
  /** The replica sets that it controls. */
  readonly replicaSets: readonly ReplicaSet[];
  readonly nowMs: number;
}

const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

/**
 * One step from the existing replica sets towards the desired one. Every change of a replica set triggers the next
 * step.
 */
export const planDeployment = (world: DeploymentWorld): readonly Operation[] => {
  const { deployment, replicaSets } = world;
  if (deployment.metadata.deletionTimestamp !== undefined) return [];
  const current = replicaSets.find(({ spec }) => sameTemplate(spec.template, deployment.spec.template));
  const old = replicaSets.filter((replicaSet) => replicaSet !== current);
  if (current === undefined && deployment.spec.paused !== true) {
    return [
      create(REPLICA_SETS, newReplicaSet(deployment, old), 'the template has no replica set yet'),
      ...report(world, current),
    ];
  }
  const revised = current === undefined ? undefined : withRevision(current, old);
  const scalings = planRollout({ deployment, current: revised, old });
  return [
    ...(revised === undefined || revised === current
      ? []
      : [replace(REPLICA_SETS, revised, 'an earlier template is desired again')]),
    ...scalings.flatMap((scaling) => scale(deployment, scaling)),
    ...(scalings.length === 0 ? forget(deployment, old) : []),
    ...report(world, revised),
  ];
};

const sameTemplate = (template: PodTemplate, desired: PodTemplate): boolean => {
  const { [HASH_LABEL]: _hash, ...labels } = template.metadata?.labels ?? {};
  return sameJson(
    { ...template, metadata: { ...template.metadata, labels } },
    { ...desired, metadata: { ...desired.metadata, labels: desired.metadata?.labels ?? {} } },
  );
};

const revisionOf = (replicaSet: ReplicaSet): number => Number(replicaSet.metadata.annotations?.[REVISION] ?? 0);

const nextRevision = (old: readonly ReplicaSet[]): number => Math.max(0, ...old.map(revisionOf)) + 1;

/** The current replica set always has the highest revision, also after a rollback. */
const withRevision = (current: ReplicaSet, old: readonly ReplicaSet[]): ReplicaSet => {
  if (revisionOf(current) >= nextRevision(old)) return current;
  const annotations = { ...current.metadata.annotations, [REVISION]: String(nextRevision(old)) };
  return { ...current, metadata: { ...current.metadata, annotations } };
};

const newReplicaSet = (deployment: Deployment, old: readonly ReplicaSet[]): Draft<ReplicaSet> => {
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = templateHash(template);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: {
        [REVISION]: String(nextRevision(old)),
        'deployment.kubernetes.io/desired-replicas': String(deployment.spec.replicas ?? 1),
      },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      // Starts with 0 replicas: the rollout decides how many pods it may have next to the old ones.
      replicas: 0,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
};

const scale = (deployment: Deployment, { replicaSet, to }: Scaling): readonly Operation[] => {
  const from = replicaSet.spec.replicas ?? 0;
  const direction = to > from ? 'up' : 'down';
  return [
    replace(
      REPLICA_SETS,
      { ...replicaSet, spec: { ...replicaSet.spec, replicas: to } },
      `the rollout goes ${direction}`,
    ),
    event(
      deployment,
      'ScalingReplicaSet',
      `Scaled ${direction} replica set ${replicaSet.metadata.name} from ${from} to ${to}`,
    ),
  ];
};

/** Deletes old, empty replica sets beyond the history limit. */
const forget = ({ spec }: Deployment, old: readonly ReplicaSet[]): readonly Operation[] => {
  const empty = old
    .filter((replicaSet) => (replicaSet.spec.replicas ?? 0) === 0 && (replicaSet.status?.replicas ?? 0) === 0)
    .sort((a, b) => revisionOf(a) - revisionOf(b));
  const surplus = Math.max(0, empty.length - (spec.revisionHistoryLimit ?? 10));
  return empty
    .slice(0, surplus)
    .map((replicaSet) => remove(REPLICA_SETS, replicaSet, 'it is beyond the history limit'));
};

const report = (world: DeploymentWorld, current: ReplicaSet | undefined): readonly Operation[] => {
  const { deployment, replicaSets, nowMs } = world;
  const status = deploymentStatus({ deployment, current, replicaSets, now: timestamp(nowMs), nowMs });
  const next = { ...deployment, status };
  const revision = current === undefined ? undefined : current.metadata.annotations?.[REVISION];
  const annotations =
    revision === undefined
      ? deployment.metadata.annotations
      : { ...deployment.metadata.annotations, [REVISION]: revision };
  const deadlineMs = progressDeadlineMs(next);
  return [
    replace(
      DEPLOYMENTS,
      annotations === undefined ? next : { ...next, metadata: { ...next.metadata, annotations } },
      'the status follows the replica sets',
    ),
    ...(deadlineMs === undefined ? [] : [again(deadlineMs)]),
  ];
};
