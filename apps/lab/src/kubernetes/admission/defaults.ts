import { asJson, isJsonObject, type JsonObject } from '../objects/json.js';
import type { Namespace, Pod, Secret, Service } from '../objects/core.types.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import type { DaemonSet, Deployment, Job, ReplicaSet, StatefulSet } from '../objects/workload.types.js';
import { qualifiedName, type ResourceDefinition } from '../resources/resource.js';
import { admitPod, defaultTemplate } from './pod.defaults.js';

/** Sets the defaults that the API server sets when an object of this type is created or changed. */
export const withDefaults = (resource: ResourceDefinition, draft: Draft): Draft => {
  const admit = DEFAULTS[qualifiedName(resource)];
  return admit === undefined ? draft : admit(draft);
};

/** Each function receives only objects of its own resource, whose shape is already validated. This is the only cast. */
const of =
  <T extends KubeObject>(fill: (draft: Draft<T>) => Draft<T>) =>
  (draft: Draft): Draft =>
    fill(draft as unknown as Draft<T>) as unknown as Draft;

const deployment = (draft: Draft<Deployment>): Draft<Deployment> => {
  const strategy = draft.spec.strategy ?? {};
  const type = strategy.type ?? 'RollingUpdate';
  return {
    ...draft,
    spec: {
      ...draft.spec,
      replicas: draft.spec.replicas ?? 1,
      template: defaultTemplate(draft.spec.template),
      revisionHistoryLimit: draft.spec.revisionHistoryLimit ?? 10,
      progressDeadlineSeconds: draft.spec.progressDeadlineSeconds ?? 600,
      strategy:
        type === 'Recreate'
          ? { type }
          : { type, rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%', ...strategy.rollingUpdate } },
    },
  };
};

const replicaSet = (draft: Draft<ReplicaSet>): Draft<ReplicaSet> => ({
  ...draft,
  spec: { ...draft.spec, replicas: draft.spec.replicas ?? 1, template: defaultTemplate(draft.spec.template) },
});

const daemonSet = (draft: Draft<DaemonSet>): Draft<DaemonSet> => {
  const type = draft.spec.updateStrategy?.type ?? 'RollingUpdate';
  return {
    ...draft,
    spec: {
      ...draft.spec,
      template: defaultTemplate(draft.spec.template),
      revisionHistoryLimit: draft.spec.revisionHistoryLimit ?? 10,
      updateStrategy:
        type === 'OnDelete'
          ? { type }
          : { type, rollingUpdate: { maxSurge: 0, maxUnavailable: 1, ...draft.spec.updateStrategy?.rollingUpdate } },
    },
  };
};

const statefulSet = (draft: Draft<StatefulSet>): Draft<StatefulSet> => {
  const type = draft.spec.updateStrategy?.type ?? 'RollingUpdate';
  return {
    ...draft,
    spec: {
      ...draft.spec,
      replicas: draft.spec.replicas ?? 1,
      serviceName: draft.spec.serviceName ?? '',
      podManagementPolicy: draft.spec.podManagementPolicy ?? 'OrderedReady',
      template: defaultTemplate(draft.spec.template),
      revisionHistoryLimit: draft.spec.revisionHistoryLimit ?? 10,
      updateStrategy:
        type === 'OnDelete'
          ? { type }
          : { type, rollingUpdate: { partition: 0, ...draft.spec.updateStrategy?.rollingUpdate } },
    },
  };
};

const job = (draft: Draft<Job>): Draft<Job> => ({
  ...draft,
  spec: {
    ...draft.spec,
    parallelism: draft.spec.parallelism ?? 1,
    ...(draft.spec.completions === undefined && draft.spec.parallelism !== undefined
      ? {}
      : { completions: draft.spec.completions ?? 1 }),
    backoffLimit: draft.spec.backoffLimit ?? 6,
    suspend: draft.spec.suspend ?? false,
    template: defaultTemplate(draft.spec.template),
  },
});

const service = (draft: Draft<Service>): Draft<Service> => ({
  ...draft,
  spec: {
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ...draft.spec,
    type: draft.spec.type ?? 'ClusterIP',
    ...(draft.spec.ports === undefined
      ? {}
      : {
          ports: draft.spec.ports.map((port) => ({
            ...port,
            protocol: port.protocol ?? 'TCP',
            targetPort: port.targetPort ?? port.port,
          })),
        }),
  } as Service['spec'],
  status: draft.status ?? { loadBalancer: {} },
});

const namespace = (draft: Draft<Namespace>): Draft<Namespace> => ({
  ...draft,
  metadata: {
    ...draft.metadata,
    labels: { ...draft.metadata.labels, 'kubernetes.io/metadata.name': draft.metadata.name ?? '' },
  },
  spec: { ...draft.spec, finalizers: draft.spec?.finalizers ?? ['kubernetes'] },
  status: draft.status ?? { phase: 'Active' },
});

/** `stringData` is write-only: its values move into `data`. */
const secret = (draft: Draft<Secret>): Draft<Secret> => {
  const { stringData, ...rest } = asJson(draft);
  const added = isJsonObject(stringData)
    ? Object.entries(stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')] as const)
    : [];
  return {
    ...(rest as unknown as Draft<Secret>),
    type: draft.type ?? 'Opaque',
    ...(added.length === 0 && draft.data === undefined
      ? {}
      : { data: { ...draft.data, ...Object.fromEntries(added) } }),
  };
};

const event = (draft: Draft): Draft =>
  ({
    count: 1,
    type: 'Normal',
    reportingComponent: '',
    reportingInstance: '',
    source: {},
    ...(asJson(draft) as JsonObject),
  }) as unknown as Draft;

const claim = (draft: Draft): Draft => ({ ...draft, status: draft.status ?? { phase: 'Pending' } });

const volume = (draft: Draft): Draft => ({ ...draft, status: draft.status ?? { phase: 'Available' } });

const DEFAULTS: Readonly<Record<string, (draft: Draft) => Draft>> = {
  pods: of<Pod>((draft) => admitPod(draft)),
  services: of<Service>(service),
  namespaces: of<Namespace>(namespace),
  secrets: of<Secret>(secret),
  events: event,
  persistentvolumeclaims: claim,
  persistentvolumes: volume,
  'deployments.apps': of<Deployment>(deployment),
  'replicasets.apps': of<ReplicaSet>(replicaSet),
  'daemonsets.apps': of<DaemonSet>(daemonSet),
  'statefulsets.apps': of<StatefulSet>(statefulSet),
  'jobs.batch': of<Job>(job),
};
