import { type ClusterView, type ConditionView, oldestVersion } from '@fairlead/contracts';
import type { HoldsDoc } from '../holds/holds.projection.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import { nodeView } from '../nodes/nodes.view.js';
import type { OperationsDoc } from '../operations/operations.projection.js';
import { operationView } from '../operations/operations.view.js';
import { currentStepOf } from '../operations/step.views.js';
import type { ClusterDoc, Mark } from './clusters.projection.js';

/** The rows that make up the view of a cluster. */
export interface ClusterRows {
  readonly cluster: ClusterDoc;
  /** Sequence of the event that changed the cluster's row last. */
  readonly seq: number;
  readonly nodes: readonly NodeDoc[];
  readonly operations: OperationsDoc | undefined;
  readonly holds?: HoldsDoc | undefined;
}

const isReady = (node: NodeDoc): boolean => node.isReady && !node.isLost;

const condition = (cluster: ClusterDoc, type: ConditionView['type'], mark: Mark): ConditionView => {
  const at = cluster.marks[mark];
  if (at !== undefined) return { type, status: 'True', reason: '', message: '', lastTransitionTime: at };
  const failed = cluster.phase === 'Failed';
  return {
    type,
    status: failed ? 'False' : 'Unknown',
    reason: failed ? cluster.reason : 'InProgress',
    message: cluster.message,
    lastTransitionTime: failed ? cluster.changedAt : cluster.createdAt,
  };
};

const readyCondition = ({ cluster, nodes }: ClusterRows): ConditionView => {
  const base = condition(cluster, 'Ready', 'ready');
  const away = nodes.filter((node) => !node.isRemoving && !isReady(node));
  if (cluster.phase === 'Deleting')
    return { ...base, status: 'False', reason: 'Deleting', message: '', lastTransitionTime: cluster.changedAt };
  if (base.status !== 'True' || away.length === 0) return base;
  const latest = away.map((node) => node.changedAt).reduce((one, other) => (one > other ? one : other));
  const names = away.map((node) => node.name).join(', ');
  return {
    ...base,
    status: 'False',
    reason: 'NodesNotReady',
    message: `not Ready: ${names}`,
    lastTransitionTime: latest,
  };
};

/** Only of a cluster with a health check. */
const remediationConditions = ({ cluster: { health } }: ClusterRows): readonly ConditionView[] => {
  if (health === undefined) return [];
  const type = 'RemediationAllowed';
  const suspended = Object.values(health.suspended);
  const [first] = suspended;
  if (first === undefined) return [{ type, status: 'True', reason: '', message: '', lastTransitionTime: health.since }];
  const { reason, since: lastTransitionTime } = first;
  const message = suspended.map((suspension) => suspension.message).join('; ');
  return [{ type, status: 'False', reason, message, lastTransitionTime }];
};

const conditionsOf = (rows: ClusterRows): ConditionView[] => [
  condition(rows.cluster, 'Accepted', 'accepted'),
  condition(rows.cluster, 'InfrastructureReady', 'machines'),
  condition(rows.cluster, 'ControlPlaneReady', 'controlPlane'),
  condition(rows.cluster, 'NetworkReady', 'network'),
  readyCondition(rows),
  ...remediationConditions(rows),
];

const ENDED = {
  Succeeded: 'done',
  Failed: 'failed',
  Rejected: 'rejected',
  Superseded: 'superseded',
  Running: 'running',
} as const;

const progressOf = ({ nodes, operations }: ClusterRows): ClusterView['progress'] => {
  const latest = operations?.operations.at(-1);
  if (operations === undefined || latest === undefined) return null;
  const view = operationView(operations.uid, latest, nodes);
  return {
    operation: latest.kind,
    currentStep: view.currentStep,
    title: currentStepOf(view.steps)?.title ?? ENDED[latest.phase],
    nodesReady: nodes.filter(isReady).length,
    nodesTotal: nodes.length,
    steps: view.steps,
  };
};

/** An upgrade changes what was asked for: the cluster is as old as the oldest of its control planes. */
const versionOf = ({ cluster, nodes }: ClusterRows): string => {
  const versions = nodes.flatMap(({ role, software: { kubelet } }) =>
    role === 'control-plane' && kubelet !== undefined ? [`v${kubelet.replace(/^v/, '')}`] : [],
  );
  return oldestVersion(versions) ?? cluster.spec.kubernetes.version;
};

/** CB-Ladybug's Cluster without its secrets, and our own fields. */
export const clusterView = (rows: ClusterRows): ClusterView => {
  const { cluster, seq, nodes, holds } = rows;
  const { spec } = cluster;
  return {
    name: cluster.name,
    kind: 'Cluster',
    status: { phase: cluster.phase, reason: cluster.reason, message: cluster.message },
    mcis: cluster.name,
    namespace: cluster.namespace,
    k8sVersion: versionOf(rows),
    cpLeader: cluster.leader,
    cpGroup: `${cluster.name}-cp`,
    networkCni: spec.kubernetes.networkCni,
    label: spec.label,
    installMonAgent: spec.installMonAgent,
    loadbalancer: spec.kubernetes.loadbalancer,
    etcd: spec.kubernetes.etcd,
    description: spec.description,
    createdTime: cluster.createdAt,
    serviceType: spec.serviceType,
    nodes: nodes.map((node) => nodeView(node, holds)),
    uid: cluster.uid,
    singleNode: spec.singleNode,
    endpoint: cluster.endpoint,
    podCidr: spec.kubernetes.podCidr,
    serviceCidr: spec.kubernetes.serviceCidr,
    serviceDnsDomain: spec.kubernetes.serviceDnsDomain,
    conditions: conditionsOf(rows),
    progress: progressOf(rows),
    lastSeq: seq,
  };
};
