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
import { nodeRequestsAfter, NO_NODE_REQUESTS, type NodeRequests } from './node.requests.js';
import { openActionsAfter, type OpenAction } from './node.actions.js';
import { phaseAfter } from './cluster.phase.js';

export interface MemberNode extends Member {
  readonly connection: string;
  /** Those that Fairlead sets on its Node. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What requests about the nodes of a cluster have to know of it. */
export interface ClusterMembership {
  readonly uid: ClusterUid;
  readonly phase: ClusterPhase;
  /** null: it is not paused. */
  readonly pause: ClusterPause | null;
  readonly nodes: Members<MemberNode>;
  /** Requests for nodes that are not done. */
  readonly additions: NodeRequests;
  /** Requests about nodes that are not over. */
  readonly actions: readonly OpenAction[];
}

const begin = ({ data }: StoredEvent<'ClusterRequested'>): ClusterMembership => ({
  uid: data.uid,
  phase: 'Pending',
  pause: null,
  nodes: {},
  additions: NO_NODE_REQUESTS,
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

const entering = (event: StoredEvent): readonly MemberNode[] =>
  event.type === 'VmsPlanned'
    ? event.data.machines.map((plan) => ({
        ...newMember(plan),
        ...{ connection: plan.connection, labels: { 'kubernetes.io/hostname': plan.name } },
      }))
    : [];

const withLabels = (nodes: Members<MemberNode>, name: string, labels: MemberNode['labels']): Members<MemberNode> =>
  withMember(nodes, name, { labels: { ...nodes[name]?.labels, ...labels } });

const nodesAfter = (before: Members<MemberNode>, event: StoredEvent): Members<MemberNode> => {
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
export const isForeign = ({ uid }: ClusterMembership, event: StoredEvent): boolean =>
  'uid' in event.data && event.data.uid !== uid;

/** The cluster of a name after an event; undefined: there is none. */
export const membershipAfter = (
  cluster: ClusterMembership | undefined,
  event: StoredEvent,
): ClusterMembership | undefined => {
  if (event.type === 'ClusterRequested') return begin(event);
  if (cluster === undefined || isForeign(cluster, event)) return cluster;
  if (event.type === 'ClusterDeleted') return undefined;
  const additions = nodeRequestsAfter(cluster.additions, event);
  const phase = phaseAfter(cluster.phase, event);
  const pause = pauseAfter(cluster.pause, event);
  const actions = openActionsAfter(cluster.actions, event);
  return { ...cluster, phase, pause, additions, actions, nodes: nodesAfter(cluster.nodes, event) };
};

export const isShrinking = ({ nodes }: ClusterMembership): boolean =>
  Object.values(nodes).some(({ leaving }) => leaving);

export const hasPool = ({ nodes }: ClusterMembership, pool: string): boolean =>
  Object.values(nodes).some((node) => node.pool === pool);

/** The names of the pools that workers are in, in order. */
export const workerPoolsOf = ({ nodes }: ClusterMembership): readonly string[] =>
  [...new Set(Object.values(nodes).flatMap(({ role, pool }) => (role === 'worker' ? [pool] : [])))].sort();
