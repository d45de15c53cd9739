import { again, create, event, remove, replace, type Operation } from '../operations/operation.js';
import { isActive, isReady, isTerminal, type PersistentVolumeClaim, type Pod } from '../objects/core.types.js';
import { controllerReference, type Draft } from '../objects/kube.object.js';
import type { ControllerRevision, StatefulSet } from '../objects/workload.types.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS } from '../resources/builtin.resources.js';
import { isAvailable, nextAvailableMs } from './availability.js';
import { podFromTemplate } from './pod.template.js';
import { planRevisions, REVISION_LABEL } from './revisions.js';

export interface StatefulSetWorld {
  readonly statefulSet: StatefulSet;
  /** The pods that it controls. */
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly revisions: readonly ControllerRevision[];
  readonly nowMs: number;
}

/** Numbered pods, created in order and updated in reverse order, each once the one before it is available. */
export const planStatefulSet = (world: StatefulSetWorld): readonly Operation[] => {
  const { statefulSet, pods, revisions } = world;
  if (statefulSet.metadata.deletionTimestamp !== undefined) return [];
  const inUse = new Set(pods.map(({ metadata }) => metadata.labels?.[REVISION_LABEL] ?? ''));
  const revision = planRevisions(statefulSet, revisions, inUse);
  const size = planSize(world, revision.hash);
  return [
    ...revision.operations,
    ...size,
    ...(size.length === 0 ? planUpdate(world, revision.hash) : []),
    ...report(world, { hash: revision.hash, name: revision.name }),
  ];
};

const nameOf = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata.name}-${ordinal}`;

const podAt = ({ statefulSet, pods }: StatefulSetWorld, ordinal: number): Pod | undefined =>
  pods.find(({ metadata }) => metadata.name === nameOf(statefulSet, ordinal));

const ordinalOf = (pod: Pod): number => Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);

const ordinalsOf = ({ statefulSet }: StatefulSetWorld): readonly number[] =>
  Array.from({ length: statefulSet.spec.replicas ?? 1 }, (_, ordinal) => ordinal);

const serves = ({ statefulSet, nowMs }: StatefulSetWorld, pod: Pod | undefined): boolean =>
  pod !== undefined && isActive(pod) && isAvailable(pod, statefulSet.spec.minReadySeconds ?? 0, nowMs);

/**
 * Creates missing pods from the lowest number up and deletes surplus ones from the highest down, one at a time unless
 * the policy is Parallel.
 */
const planSize = (world: StatefulSetWorld, hash: string): readonly Operation[] => {
  const { statefulSet, pods } = world;
  const parallel = statefulSet.spec.podManagementPolicy === 'Parallel';
  const ordinals = ordinalsOf(world);
  const ended = pods.filter((pod) => isTerminal(pod) && pod.metadata.deletionTimestamp === undefined);
  if (ended.length > 0) return ended.map((pod) => remove(PODS, pod, 'it has ended and is recreated'));
  const missing = ordinals.filter((ordinal) => podAt(world, ordinal) === undefined);
  if (parallel)
    return [
      ...missing.flatMap((ordinal) => add(world, ordinal, hash)),
      ...surplus(world).flatMap((pod) => drop(statefulSet, pod)),
    ];
  const [first] = missing;
  const waiting = ordinals.find((ordinal) => !serves(world, podAt(world, ordinal)));
  if (first !== undefined) return waiting === first ? add(world, first, hash) : [];
  const [last] = surplus(world);
  if (last === undefined || waiting !== undefined) return [];
  return pods.some(({ metadata }) => metadata.deletionTimestamp !== undefined) ? [] : drop(statefulSet, last);
};

const surplus = ({ statefulSet, pods }: StatefulSetWorld): readonly Pod[] =>
  pods
    .filter((pod) => isActive(pod) && ordinalOf(pod) >= (statefulSet.spec.replicas ?? 1))
    .sort((a, b) => ordinalOf(b) - ordinalOf(a));

const add = (world: StatefulSetWorld, ordinal: number, hash: string): readonly Operation[] => {
  const { statefulSet, claims } = world;
  const name = nameOf(statefulSet, ordinal);
  const templates = statefulSet.spec.volumeClaimTemplates ?? [];
  const desired = templates.map((template) => claimDraft(statefulSet, template, `${template.metadata.name}-${name}`));
  return [
    ...desired
      .filter((draft) => !claims.some(({ metadata }) => metadata.name === draft.metadata.name))
      .map((draft) => create(PERSISTENT_VOLUME_CLAIMS, draft, `${name} needs it`)),
    create(PODS, numberedPod(statefulSet, ordinal, hash), `number ${ordinal} is missing`),
    event(statefulSet, 'SuccessfulCreate', `create Pod ${name} in StatefulSet ${statefulSet.metadata.name} successful`),
  ];
};

const claimDraft = (
  statefulSet: StatefulSet,
  template: Draft<PersistentVolumeClaim>,
  name: string,
): Draft<PersistentVolumeClaim> => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name,
    namespace: statefulSet.metadata.namespace ?? '',
    labels: { ...statefulSet.spec.selector.matchLabels },
  },
  spec: template.spec,
});

const numberedPod = (statefulSet: StatefulSet, ordinal: number, hash: string): Draft<Pod> => {
  const name = nameOf(statefulSet, ordinal);
  const labels = {
    [REVISION_LABEL]: hash,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
  };
  const draft = podFromTemplate(statefulSet, statefulSet.spec.template, { name, labels });
  const volumes = (statefulSet.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata.name ?? '',
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
  return {
    ...draft,
    metadata: { ...draft.metadata, ownerReferences: [controllerReference(statefulSet)] },
    spec: {
      ...draft.spec,
      hostname: name,
      subdomain: statefulSet.spec.serviceName ?? '',
      ...(volumes.length === 0 ? {} : { volumes: [...(draft.spec.volumes ?? []), ...volumes] }),
    },
  };
};

const drop = (statefulSet: StatefulSet, pod: Pod): readonly Operation[] => [
  remove(PODS, pod, 'there are too many'),
  event(
    statefulSet,
    'SuccessfulDelete',
    `delete Pod ${pod.metadata.name} in StatefulSet ${statefulSet.metadata.name} successful`,
  ),
];

/** Replaces old pods from the highest number down to the partition, one at a time while all others are available. */
const planUpdate = (world: StatefulSetWorld, hash: string): readonly Operation[] => {
  const { statefulSet } = world;
  if (statefulSet.spec.updateStrategy?.type === 'OnDelete') return [];
  const partition = statefulSet.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  for (const ordinal of ordinalsOf(world).toReversed()) {
    if (ordinal < partition) return [];
    const pod = podAt(world, ordinal);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return [];
    if (pod.metadata.labels?.[REVISION_LABEL] !== hash) return drop(statefulSet, pod);
    if (!serves(world, pod)) return [];
  }
  return [];
};

const report = (
  world: StatefulSetWorld,
  update: { readonly hash: string; readonly name: string },
): readonly Operation[] => {
  const { statefulSet, pods, nowMs } = world;
  const { minReadySeconds = 0 } = statefulSet.spec;
  const active = pods.filter(isActive);
  const updated = active.filter(({ metadata }) => metadata.labels?.[REVISION_LABEL] === update.hash).length;
  const done = updated === active.length && active.length === (statefulSet.spec.replicas ?? 1);
  const currentRevision = done ? update.name : (statefulSet.status?.currentRevision ?? update.name);
  const status = {
    ...statefulSet.status,
    replicas: active.length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    currentReplicas: done ? active.length : active.length - updated,
    updatedReplicas: updated,
    currentRevision,
    updateRevision: update.name,
    observedGeneration: statefulSet.metadata.generation ?? 1,
  };
  const nextMs = minReadySeconds === 0 ? undefined : nextAvailableMs(active, minReadySeconds, nowMs);
  return [
    replace(STATEFUL_SETS, { ...statefulSet, status }, 'the status follows the pods'),
    ...(nextMs === undefined ? [] : [again(nextMs)]),
  ];
};
