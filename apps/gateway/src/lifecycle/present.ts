import { POOL_LABEL, type ClusterPhase, type ClusterUid, type Machine, type StoredEvent } from '@fairlead/contracts';
import {
  membersAfter,
  newMember,
  pauseAfter,
  withMember,
  type ClusterPause,
  type Member,
  type Members,
} from '@fairlead/domain';
import { additionsAfter, NO_ADDITIONS, type Additions } from './additions.js';
import { openActionsAfter, type OpenAction } from './node.actions.js';
import { phaseAfter } from './cluster.phase.js';

export interface PresentNode extends Member {
  readonly connection: string;
  /** Those that Fairlead sets on its Node. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What requests about the nodes of a cluster have to know of it. */
export interface PresentCluster {
  readonly uid: ClusterUid;
  readonly phase: ClusterPhase;
  /** null: it is not paused. */
  readonly pause: ClusterPause | null;
  readonly nodes: Members<PresentNode>;
  /** Requests for nodes that are not done. */
  readonly additions: Additions;
  /** Requests about nodes that are not over. */
  readonly actions: readonly OpenAction[];
}

const begin = ({ data }: StoredEvent<'ClusterRequested'>): PresentCluster => ({
  uid: data.uid,
  phase: 'Pending',
  pause: null,
  nodes: {},
  additions: NO_ADDITIONS,
  actions: [],
});

/** The labels that a node has because of its machine. */
export const machineLabels = ({ labels, pool, csp, region, zone }: Machine): Readonly<Record<string, string>> => ({
  ...labels,
  [POOL_LABEL]: pool,
  'topology.cloud-barista.github.io/csp': csp,
  'topology.kubernetes.io/region': region,
  'topology.kubernetes.io/zone': zone,
});

const entering = (event: StoredEvent): readonly PresentNode[] =>
  event.type === 'VmsPlanned'
    ? event.data.machines.map((plan) => ({
        ...newMember(plan),
        ...{ connection: plan.connection, labels: { 'kubernetes.io/hostname': plan.name } },
      }))
    : [];

const withLabels = (nodes: Members<PresentNode>, name: string, labels: PresentNode['labels']): Members<PresentNode> =>
  withMember(nodes, name, { labels: { ...nodes[name]?.labels, ...labels } });

const nodesAfter = (before: Members<PresentNode>, event: StoredEvent): Members<PresentNode> => {
  const nodes = membersAfter(before, event, entering(event));
  switch (event.type) {
    case 'VmCreated':
      return withLabels(nodes, event.data.machine.name, machineLabels(event.data.machine));
    case 'NodeLabelsSet':
      return withLabels(nodes, event.data.node, event.data.labels);
    default:
      return nodes;
  }
};

/** Whether the event is about another incarnation of the cluster's name. */
export const isForeign = ({ uid }: PresentCluster, event: StoredEvent): boolean =>
  'uid' in event.data && event.data.uid !== uid;

/** The cluster of a name after an event; undefined: there is none. */
export const presentAfter = (cluster: PresentCluster | undefined, event: StoredEvent): PresentCluster | undefined => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (cluster === undefined || isForeign(cluster, event)) return cluster;
  if (event.type === 'ClusterDeleted') return undefined;
  const additions = additionsAfter(cluster.additions, event);
  const phase = phaseAfter(cluster.phase, event);
  const pause = pauseAfter(cluster.pause, event);
  const actions = openActionsAfter(cluster.actions, event);
  return { ...cluster, phase, pause, additions, actions, nodes: nodesAfter(cluster.nodes, event) };
};

export const isShrinking = ({ nodes }: PresentCluster): boolean => Object.values(nodes).some(({ leaving }) => leaving);

export const hasPool = ({ nodes }: PresentCluster, pool: string): boolean =>
  Object.values(nodes).some((node) => node.pool === pool);

/** The names of the pools that workers are in, in order. */
export const workerPoolsOf = ({ nodes }: PresentCluster): readonly string[] =>
  [...new Set(Object.values(nodes).flatMap(({ role, pool }) => (role === 'worker' ? [pool] : [])))].sort();
