import { NODE_CONDITIONS_MAX, NODE_PRESSURES, NodeCondition, PUBLISH_ANNOTATIONS, timeMsOf } from '@fairlead/contracts';
import { parseQuantity } from '../quantity.js';
import type {
  V1DaemonSet,
  V1Deployment,
  V1LabelSelector,
  V1Node,
  V1Pod,
  V1PodDisruptionBudget,
  V1PodTemplateSpec,
  V1Service,
  V1Toleration,
} from '@kubernetes/client-node';
import type { BudgetView, NodeView, PodView, Resources, ServiceView, WorkloadView } from '../cluster.ports.js';
import { textOf, type Listed, type Plain } from '../plain.object.js';

export const CORDONED_BY = 'fairlead.dev/cordoned-by';
/** `<mark> <RFC 3339>`: the mark of the node's drain, and its start. */
export const DRAINED_SINCE = 'fairlead.dev/drained-since';
export const EXCLUDED_BY = 'fairlead.dev/excluded-by';
export const EXCLUDE_FROM_LOAD_BALANCERS = 'node.kubernetes.io/exclude-from-external-load-balancers';
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const MIRROR = 'kubernetes.io/config.mirror';
const MILLI = 1_000;

/** In base units; 0 if it is not a quantity. */
const quantityOf = (text: string | undefined): number => parseQuantity(textOf(text)) ?? 0;

const resourcesOf = (amounts: Readonly<Record<string, string>> | undefined): Resources => ({
  cpuMillis: Math.round(quantityOf(amounts?.['cpu']) * MILLI),
  memoryBytes: Math.round(quantityOf(amounts?.['memory'])),
});

const plus = (a: Resources, b: Resources): Resources => ({
  cpuMillis: a.cpuMillis + b.cpuMillis,
  memoryBytes: a.memoryBytes + b.memoryBytes,
});

const IMAGES_MAX = 500;
const ARGS_MAX = 200;
const ARG_LENGTH_MAX = 4 * 1_024;

const countOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);

const KNOWN_CONDITIONS: ReadonlySet<string> = new Set(['Ready', ...NODE_PRESSURES]);

/** Conditions that are not the kubelet's own: any program may set them. */
const ownConditions = (all: readonly unknown[]): readonly NodeCondition[] =>
  all
    .flatMap((one) => {
      const { type, status } = (one ?? {}) as Readonly<Record<string, unknown>>;
      const parsed = NodeCondition.safeParse({ type, status });
      return parsed.success && !KNOWN_CONDITIONS.has(parsed.data.type) ? [parsed.data] : [];
    })
    .toSorted((one, other) => (one.type < other.type ? -1 : 1))
    .slice(0, NODE_CONDITIONS_MAX);

/** Longer than any that is valid, so that what is cut is not. */
const ANNOTATION_KEPT_MAX = 4_096;
const PORTS_MAX = 100;

const publishAnnotations = (all: Readonly<Record<string, string>> | null | undefined): ServiceView['annotations'] =>
  Object.fromEntries(
    Object.entries(PUBLISH_ANNOTATIONS).flatMap(([field, name]) => {
      const value = all?.[name];
      return value === undefined ? [] : [[field, value.slice(0, ANNOTATION_KEPT_MAX)]];
    }),
  );

export const serviceView = ({ metadata, spec }: Listed<V1Service>): ServiceView => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  createdMs: timeMsOf(metadata.creationTimestamp ?? '') ?? 0,
  type: textOf(spec?.type),
  address: textOf(spec?.clusterIP),
  ports: (spec?.ports ?? []).slice(0, PORTS_MAX).map(({ name, port, protocol }) => ({
    name: textOf(name),
    port: Number(port),
    protocol: textOf(protocol ?? 'TCP'),
  })),
  annotations: publishAnnotations(metadata.annotations),
});

export const nodeView = ({ metadata, spec, status }: Listed<V1Node>): NodeView => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const conditions = ownConditions(status?.conditions ?? []);
  return {
    name: metadata.name,
    registered: { uid: metadata.uid ?? '', atMs: timeMsOf(metadata.creationTimestamp) ?? 0 },
    providerId: spec?.providerID === undefined ? null : textOf(spec.providerID),
    controlPlane: metadata.labels?.[CONTROL_PLANE] !== undefined,
    internalIp: textOf(status?.addresses?.find(({ type }) => type === 'InternalIP')?.address) || null,
    ready: ready?.status === 'True',
    message: ready?.message === undefined ? 'Kubernetes has no word of its readiness' : textOf(ready.message),
    pressures: NODE_PRESSURES.filter((pressure) =>
      status?.conditions?.some(({ type, status: value }) => type === pressure && value === 'True'),
    ),
    ...(conditions.length === 0 ? {} : { conditions }),
    kubeletVersion: textOf(status?.nodeInfo?.kubeletVersion),
    containerRuntime: textOf(status?.nodeInfo?.containerRuntimeVersion),
    unschedulable: spec?.unschedulable === true,
    cordonedBy: metadata.annotations?.[CORDONED_BY] ?? null,
    allocatable: resourcesOf(status?.allocatable),
    images: (status?.images ?? []).slice(0, IMAGES_MAX).map(({ names, sizeBytes }) => ({
      names: (names ?? []).map((name) => textOf(name)),
      bytes: countOf(sizeBytes),
    })),
  };
};

const OWN = 'fairlead.dev/';

const ownAnnotations = (all: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => key.startsWith(OWN)));

const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
const FINALIZERS_MAX = 10;

/** Kubernetes' rules for the taint `node.kubernetes.io/unschedulable:NoSchedule`, which has no value. */
const toleratesCordon = ({ key, operator, value, effect }: Plain<V1Toleration>): boolean =>
  (effect === undefined || effect === '' || effect === 'NoSchedule') &&
  (operator === 'Exists'
    ? key === undefined || key === '' || key === UNSCHEDULABLE
    : key === UNSCHEDULABLE && (value === undefined || value === ''));

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed'] as const;

const namesIn = (named: readonly { readonly name: string }[] = []): readonly string[] =>
  named.slice(0, ARGS_MAX).map(({ name }) => textOf(name));

export const podView = ({ metadata, spec, status }: Listed<V1Pod>): PodView => {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller === true);
  const first = spec?.containers[0];
  const mirror = metadata.annotations?.[MIRROR] !== undefined;
  const words = mirror ? [...(first?.command ?? []), ...(first?.args ?? [])] : [];
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    node: textOf(spec?.nodeName),
    phase: PHASES.find((phase) => phase === status?.phase) ?? 'Unknown',
    ready: status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false,
    deleting: metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null,
    createdMs: timeMsOf(metadata.creationTimestamp) ?? 0,
    toleratesCordon: spec?.tolerations?.some((toleration) => toleratesCordon(toleration)) ?? false,
    finalizers: (metadata.finalizers ?? []).slice(0, FINALIZERS_MAX).map((name) => textOf(name)),
    mirror,
    controller: controller === undefined ? null : { kind: controller.kind, name: controller.name },
    labels: metadata.labels ?? {},
    annotations: ownAnnotations(metadata.annotations ?? {}),
    priority: countOf(spec?.priority),
    image: textOf(first?.image),
    args: words.slice(0, ARGS_MAX).map((word) => textOf(word, ARG_LENGTH_MAX)),
    volumes: mirror ? namesIn(spec?.volumes) : [],
    sidecars: mirror ? namesIn(spec?.containers.slice(1)) : [],
    environment: mirror ? namesIn(first?.env) : [],
    requests: (spec?.containers ?? [])
      .map(({ resources }) => resourcesOf(resources?.requests))
      .reduce(plus, { cpuMillis: 0, memoryBytes: 0 }),
    limits: (spec?.containers ?? [])
      .map(({ resources }) => resourcesOf(resources?.limits))
      .reduce(plus, { cpuMillis: 0, memoryBytes: 0 }),
    emptyDir: spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined) ?? false,
    claims: (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
      claim === undefined ? [] : [textOf(claim.claimName)],
    ),
  };
};

const versionOf = (template: Plain<V1PodTemplateSpec> | undefined): string =>
  /:([\w][\w.-]*)(@|$)/.exec(textOf(template?.spec?.containers[0]?.image))?.[1] ?? 'unknown';

export const daemonSetView = ({ metadata, spec, status }: Listed<V1DaemonSet>): WorkloadView => ({
  kind: 'DaemonSet',
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  desired: countOf(status?.desiredNumberScheduled),
  ready: countOf(status?.numberReady),
  updated: countOf(status?.updatedNumberScheduled),
  former: Math.max(0, countOf(status?.currentNumberScheduled) - countOf(status?.updatedNumberScheduled)),
  observed: countOf(status?.observedGeneration) >= (metadata.generation ?? 0),
  version: versionOf(spec?.template),
});

export const deploymentView = ({ metadata, spec, status }: Listed<V1Deployment>): WorkloadView => ({
  kind: 'Deployment',
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  desired: spec?.replicas ?? 1,
  ready: countOf(status?.readyReplicas),
  updated: countOf(status?.updatedReplicas),
  former: Math.max(0, countOf(status?.replicas) - countOf(status?.updatedReplicas)),
  observed: countOf(status?.observedGeneration) >= (metadata.generation ?? 0),
  version: versionOf(spec?.template),
});

/** A selector is kept with its budget. */
const SELECTOR_LENGTH_MAX = 16 * 1_024;

export const budgetView = ({ metadata, spec, status }: Listed<V1PodDisruptionBudget>): BudgetView => {
  const { namespace = '', name } = metadata;
  const selector = spec?.selector;
  if (selector !== undefined && JSON.stringify(selector).length > SELECTOR_LENGTH_MAX)
    throw new TypeError(`the selector of the PodDisruptionBudget ${namespace}/${name} is too long`);
  return {
    namespace,
    name,
    disruptionsAllowed: countOf(status?.disruptionsAllowed),
    covers: (pod) => pod.namespace === namespace && selector !== undefined && selects(selector, pod.labels),
  };
};

/** Kubernetes' label selectors: every requirement must hold; a selector without requirements selects everything. */
export const selects = (selector: Plain<V1LabelSelector>, labels: Readonly<Record<string, string>>): boolean =>
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
