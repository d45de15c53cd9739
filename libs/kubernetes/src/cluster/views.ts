import { parseQuantity } from '../quantity.js';
import type {
  V1DaemonSet,
  V1Deployment,
  V1LabelSelector,
  V1Node,
  V1Pod,
  V1PodTemplateSpec,
} from '@kubernetes/client-node';
import type { NodeView, PodView, Resources, WorkloadView } from '../cluster.ports.js';

export const CORDONED_BY = 'fairlead.dev/cordoned-by';
export const EXCLUDED_BY = 'fairlead.dev/excluded-by';
export const EXCLUDE_FROM_LOAD_BALANCERS = 'node.kubernetes.io/exclude-from-external-load-balancers';
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const MIRROR = 'kubernetes.io/config.mirror';
const MILLI = 1_000;

/** In base units; 0 for what is no quantity. */
const quantityOf = (text: string | undefined): number => parseQuantity(text ?? '') ?? 0;

const resourcesOf = (amounts: Readonly<Record<string, string>> | undefined): Resources => ({
  cpuMillis: Math.round(quantityOf(amounts?.['cpu']) * MILLI),
  memoryBytes: Math.round(quantityOf(amounts?.['memory'])),
});

const plus = (a: Resources, b: Resources): Resources => ({
  cpuMillis: a.cpuMillis + b.cpuMillis,
  memoryBytes: a.memoryBytes + b.memoryBytes,
});

export const nodeView = ({ metadata, spec, status }: V1Node): NodeView => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name: metadata?.name ?? '',
    registered: { uid: metadata?.uid ?? '', atMs: metadata?.creationTimestamp?.getTime() ?? 0 },
    providerId: spec?.providerID ?? null,
    controlPlane: metadata?.labels?.[CONTROL_PLANE] !== undefined,
    internalIp: status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? null,
    ready: ready?.status === 'True',
    message: ready?.message ?? 'Kubernetes has no word of its readiness',
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    containerRuntime: status?.nodeInfo?.containerRuntimeVersion ?? '',
    unschedulable: spec?.unschedulable === true,
    cordonedBy: metadata?.annotations?.[CORDONED_BY] ?? null,
    allocatable: resourcesOf(status?.allocatable),
    images: (status?.images ?? []).map(({ names, sizeBytes }) => ({ names: names ?? [], bytes: sizeBytes ?? 0 })),
  };
};

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed'] as const;

export const podView = ({ metadata, spec, status }: V1Pod): PodView => {
  const controller = metadata?.ownerReferences?.find((owner) => owner.controller === true);
  const first = spec?.containers[0];
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    node: spec?.nodeName ?? '',
    phase: PHASES.find((phase) => phase === status?.phase) ?? 'Unknown',
    ready: status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false,
    deleting: metadata?.deletionTimestamp !== undefined,
    mirror: metadata?.annotations?.[MIRROR] !== undefined,
    controller: controller === undefined ? null : { kind: controller.kind, name: controller.name },
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    priority: spec?.priority ?? 0,
    image: first?.image ?? '',
    args: [...(first?.command ?? []), ...(first?.args ?? [])],
    requests: (spec?.containers ?? [])
      .map(({ resources }) => resourcesOf(resources?.requests))
      .reduce(plus, { cpuMillis: 0, memoryBytes: 0 }),
    emptyDir: spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined) ?? false,
    claims: (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
      claim === undefined ? [] : [claim.claimName],
    ),
  };
};

const versionOf = (template: V1PodTemplateSpec | undefined): string =>
  /:([\w][\w.-]*)(@|$)/.exec(template?.spec?.containers[0]?.image ?? '')?.[1] ?? 'unknown';

export const daemonSetView = ({ metadata, spec, status }: V1DaemonSet): WorkloadView => ({
  kind: 'DaemonSet',
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
  desired: status?.desiredNumberScheduled ?? 0,
  ready: status?.numberReady ?? 0,
  updated: status?.updatedNumberScheduled ?? 0,
  former: Math.max(0, (status?.currentNumberScheduled ?? 0) - (status?.updatedNumberScheduled ?? 0)),
  observed: (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0),
  version: versionOf(spec?.template),
});

export const deploymentView = ({ metadata, spec, status }: V1Deployment): WorkloadView => ({
  kind: 'Deployment',
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
  desired: spec?.replicas ?? 1,
  ready: status?.readyReplicas ?? 0,
  updated: status?.updatedReplicas ?? 0,
  former: Math.max(0, (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0)),
  observed: (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0),
  version: versionOf(spec?.template),
});

/** Kubernetes' label selectors: every requirement must hold; a selector without any selects everything. */
export const selects = (selector: V1LabelSelector, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
  (selector.matchExpressions ?? []).every(({ key, operator, values }) => {
    const value = labels[key];
    switch (operator) {
      case 'In':
        return value !== undefined && (values ?? []).includes(value);
      case 'NotIn':
        return value === undefined || !(values ?? []).includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
      default:
        return false;
    }
  });
