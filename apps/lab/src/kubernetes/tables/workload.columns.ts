import type { PodSpec } from '../objects/core.types.js';
import { selectorText, type LabelSelector } from '../objects/label.selector.js';
import type { KubeObject } from '../objects/kube.object.js';
import { conditionOf } from '../objects/kube.object.js';
import type { DaemonSet, Deployment, Job, ReplicaSet, StatefulSet } from '../objects/workload.types.js';
import { humanDuration } from './age.js';
import { AGE, count, NAME, text, wide, type Column } from './column.js';

interface Workload extends KubeObject {
  readonly spec: { readonly template: { readonly spec: PodSpec }; readonly selector?: LabelSelector };
}

const TEMPLATE_COLUMNS: readonly Column<Workload>[] = [
  wide(text('Containers', ({ spec }) => spec.template.spec.containers.map(({ name }) => name).join(','))),
  wide(text('Images', ({ spec }) => spec.template.spec.containers.map(({ image }) => image).join(','))),
];
const SELECTOR: Column<Workload> = wide(text('Selector', ({ spec }) => selectorText(spec.selector)));

export const DEPLOYMENT_COLUMNS: readonly Column<Deployment>[] = [
  NAME,
  text('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`),
  count('Up-to-date', ({ status }) => status?.updatedReplicas),
  count('Available', ({ status }) => status?.availableReplicas),
  AGE,
  ...TEMPLATE_COLUMNS,
  SELECTOR,
];

export const REPLICA_SET_COLUMNS: readonly Column<ReplicaSet>[] = [
  NAME,
  count('Desired', ({ spec }) => spec.replicas),
  count('Current', ({ status }) => status?.replicas),
  count('Ready', ({ status }) => status?.readyReplicas),
  AGE,
  ...TEMPLATE_COLUMNS,
  SELECTOR,
];

export const DAEMON_SET_COLUMNS: readonly Column<DaemonSet>[] = [
  NAME,
  count('Desired', ({ status }) => status?.desiredNumberScheduled),
  count('Current', ({ status }) => status?.currentNumberScheduled),
  count('Ready', ({ status }) => status?.numberReady),
  count('Up-to-date', ({ status }) => status?.updatedNumberScheduled),
  count('Available', ({ status }) => status?.numberAvailable),
  text('Node Selector', ({ spec }) => {
    const selector = Object.entries(spec.template.spec.nodeSelector ?? {});
    return selector.length === 0 ? undefined : selector.map(([key, value]) => `${key}=${value}`).join(',');
  }),
  AGE,
  ...TEMPLATE_COLUMNS,
  SELECTOR,
];

export const STATEFUL_SET_COLUMNS: readonly Column<StatefulSet>[] = [
  NAME,
  text('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`),
  AGE,
  ...TEMPLATE_COLUMNS,
];

const jobStatus = (job: Job): string => {
  if (conditionOf(job, 'Complete')?.status === 'True') return 'Complete';
  if (conditionOf(job, 'Failed')?.status === 'True') return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return job.spec.suspend === true ? 'Suspended' : 'Running';
};

export const JOB_COLUMNS: readonly Column<Job>[] = [
  NAME,
  text('Status', jobStatus),
  text('Completions', ({ spec, status }) => `${status?.succeeded ?? 0}/${spec.completions ?? 1}`),
  text('Duration', ({ status }, nowMs) => {
    if (status?.startTime === undefined) return '';
    const end = status.completionTime === undefined ? nowMs : Date.parse(status.completionTime);
    return humanDuration(end - Date.parse(status.startTime));
  }),
  AGE,
  ...TEMPLATE_COLUMNS,
  SELECTOR,
];
