import { oldestVersion, reasonCodeOf, type ClusterView } from '@fairlead/contracts';
import { azimuthPhaseOf } from '../conditions/azimuth.parts.js';
import { conditionsOf, conditionView, lifeOf } from '../conditions/conditions.js';
import type { HoldsDoc } from '../holds/holds.projection.js';
import { isReady, nodeView } from '../nodes/nodes.view.js';
import { operationView } from '../operations/operations.view.js';
import { currentStepOf } from '../operations/step.views.js';
import { allAddons } from './addons.evolve.js';
import { costOf } from '../costs/costs.view.js';
import { serviceViews } from './services.view.js';
import { addressStatuses, addressView } from './virtual-addresses.js';
import { leaseView } from './lease.evolve.js';
import { conditionFacts, type ConditionRows } from './clusters.facts.js';

/** The rows that make up the view of a cluster. */
export interface ClusterRows extends ConditionRows {
  /** Sequence of the event that changed the cluster's row last. */
  readonly seq: number;
  readonly holds?: HoldsDoc | undefined;
}

const ENDED = {
  Succeeded: 'done',
  Failed: 'failed',
  Rejected: 'rejected',
  Cancelled: 'cancelled',
  Superseded: 'superseded',
  Running: 'running',
} as const;

const progressOf = ({ nodes, operations }: ClusterRows): ClusterView['progress'] => {
  const latest = operations?.operations.at(-1);
  if (operations === undefined || latest === undefined) return null;
  const view = operationView(operations, latest, nodes);
  return {
    operation: latest.kind,
    currentStep: view.currentStep,
    title: currentStepOf(view.steps)?.title ?? ENDED[latest.phase],
    nodesReady: nodes.filter(isReady).length,
    nodesTotal: nodes.length,
    steps: view.steps,
    nextActions: view.nextActions,
  };
};

/** An upgrade changes what was asked for: the cluster is as old as the oldest of its control planes. */
const versionOf = ({ cluster, nodes }: ClusterRows): string => {
  const versions = nodes.flatMap(({ role, software: { kubelet } }) =>
    role === 'control-plane' && kubelet !== undefined ? [`v${kubelet.replace(/^v/, '')}`] : [],
  );
  return oldestVersion(versions) ?? cluster.spec.kubernetes.version;
};

const servicesOf = ({ cluster: { publication, identity } }: ClusterRows): Pick<ClusterView, 'services'> => {
  const selection = identity?.selection ?? null;
  const services = publication === undefined ? undefined : serviceViews({ publication: publication.has, selection });
  return services === undefined ? {} : { services };
};

const costIn = ({ cluster, around: { machineHours }, prices, now }: ClusterRows): Pick<ClusterView, 'cost'> =>
  prices === undefined || machineHours?.uid !== cluster.uid ? {} : { cost: costOf(machineHours, prices, now) };

/** CB-Ladybug's Cluster without its secrets, and our own fields. */
export const clusterView = (rows: ClusterRows): ClusterView => {
  const { cluster, seq, nodes, holds } = rows;
  const { spec } = cluster;
  const facts = conditionFacts(rows);
  const conditions = conditionsOf(facts);
  const { state, because } = lifeOf(conditions);
  const around = { holds, suspended: cluster.health?.suspended, virtualAddresses: cluster.virtualAddresses };
  return {
    name: cluster.name,
    kind: 'Cluster',
    status: {
      phase: cluster.phase,
      state,
      azimuthPhase: azimuthPhaseOf(facts, conditions),
      reasons: [...new Set(because.map(({ reason }) => reason).filter((reason) => reason !== ''))],
      reason: reasonCodeOf(cluster.reason),
      message: cluster.message,
    },
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
    nodes: nodes.map((node) => nodeView(node, around)),
    uid: cluster.uid,
    singleNode: spec.singleNode,
    endpoint: cluster.endpoint,
    podCidr: spec.kubernetes.podCidr,
    serviceCidr: spec.kubernetes.serviceCidr,
    serviceDnsDomain: spec.kubernetes.serviceDnsDomain,
    conditions: conditions.map(conditionView),
    ...(cluster.addons === undefined ? {} : { addons: [...allAddons(cluster.addons)] }),
    ...(cluster.virtualAddresses === undefined
      ? {}
      : { virtualAddresses: addressStatuses(cluster.virtualAddresses, nodes).map(addressView) }),
    ...servicesOf(rows),
    ...(cluster.lease === undefined ? {} : { lease: leaseView(cluster.lease) }),
    ...costIn(rows),
    ...(spec.onFailure === undefined ? {} : { onFailure: spec.onFailure }),
    progress: progressOf(rows),
    lastSeq: seq,
  };
};
