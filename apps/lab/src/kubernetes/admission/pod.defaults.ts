import type { Container, Pod, PodSpec, PodTemplate, Toleration } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';

/** The API server's defaults for the pod spec of a pod or of a template (pkg/apis/core/v1/defaults.go). */
const defaultPodSpec = (spec: PodSpec): PodSpec => ({
  ...spec,
  restartPolicy: spec.restartPolicy ?? 'Always',
  terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
  ...withDefaults(spec, { dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler', securityContext: {} }),
  containers: (spec.containers ?? []).map(defaultContainer),
  ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(defaultContainer) }),
});

export const defaultTemplate = (template: PodTemplate): PodTemplate => ({
  ...template,
  spec: defaultPodSpec(template.spec),
});

const defaultContainer = (container: Container): Container => ({
  ...container,
  ...(container.ports === undefined
    ? {}
    : { ports: container.ports.map((port) => ({ ...port, protocol: port.protocol ?? 'TCP' })) }),
  resources: defaultRequests(container.resources ?? {}),
  ...withDefaults(container, {
    imagePullPolicy: pullPolicy(container.image ?? ''),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  }),
});

type Resources = NonNullable<Container['resources']>;

/** A limit without a request also sets the request. */
const defaultRequests = (resources: Resources): Resources =>
  resources.limits === undefined
    ? resources
    : { ...resources, requests: { ...resources.limits, ...resources.requests } };

const pullPolicy = (image: string): string => {
  const tag = /:([^/:@]+)$/.exec(image)?.[1];
  return image.includes('@') || (tag !== undefined && tag !== 'latest') ? 'IfNotPresent' : 'Always';
};

const withDefaults = (target: object, defaults: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(defaults).map(([key, value]) => [key, (target as Record<string, unknown>)[key] ?? value]),
  );

/** Kubernetes' DefaultTolerationSeconds admission: how long a pod remains on an unreachable node. */
const NODE_GONE_TOLERATION_SECONDS = 300;

const toleration = (key: string): Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: NODE_GONE_TOLERATION_SECONDS,
});

const NODE_GONE_KEYS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

const PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

/** Defaults and admission of a new pod: service account, tolerations, priority. */
export const admitPod = (pod: Draft<Pod>): Draft<Pod> => {
  const spec = defaultPodSpec(pod.spec);
  const tolerations = spec.tolerations ?? [];
  const missing = NODE_GONE_KEYS.filter(
    (key) =>
      !tolerations.some(
        (given) =>
          (given.key === key || given.key === undefined || given.key === '') &&
          (given.effect ?? 'NoExecute') === 'NoExecute',
      ),
  );
  return {
    ...pod,
    spec: {
      ...spec,
      serviceAccountName: spec.serviceAccountName ?? 'default',
      priority: PRIORITIES[spec.priorityClassName ?? ''] ?? spec.priority ?? 0,
      ...withDefaults(spec, {
        serviceAccount: spec.serviceAccountName ?? 'default',
        enableServiceLinks: true,
        preemptionPolicy: 'PreemptLowerPriority',
      }),
      tolerations: [...tolerations, ...missing.map(toleration)],
    },
    status: pod.status ?? { phase: 'Pending', qosClass: qosClass(spec) },
  };
};

/** Guaranteed, Burstable or BestEffort (pkg/apis/core/v1/helper/qos). */
export const qosClass = (spec: PodSpec): string => {
  const resources = [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources: given }) => given ?? {});
  const some = resources.some(({ requests, limits }) => sized(requests) || sized(limits));
  if (!some) return 'BestEffort';
  const exact = resources.every(({ requests, limits }) =>
    ['cpu', 'memory'].every(
      (name) => limits?.[name] !== undefined && limits[name] === (requests?.[name] ?? limits[name]),
    ),
  );
  return exact ? 'Guaranteed' : 'Burstable';
};

const sized = (list: Resources['requests']): boolean => list?.['cpu'] !== undefined || list?.['memory'] !== undefined;
