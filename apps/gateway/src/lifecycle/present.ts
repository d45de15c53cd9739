import {
  pauseAfter,
  type ClusterPause,
  type ClusterPhase,
  type ClusterUid,
  type NodeRole,
  type StoredEvent,
} from '@fairlead/contracts';
import { additionsAfter, leavingIn, NO_ADDITIONS, type Additions } from './additions.js';
import { openActionsAfter, type OpenAction } from './node.actions.js';
import { phaseAfter } from './cluster.phase.js';

export interface PresentNode {
  readonly role: NodeRole;
  readonly pool: string;
  readonly connection: string;
}

/** What requests about the nodes of a cluster have to know of it. */
export interface PresentCluster {
  readonly uid: ClusterUid;
  readonly phase: ClusterPhase;
  /** null: it is not paused. */
  readonly pause: ClusterPause | null;
  readonly nodes: ReadonlyMap<string, PresentNode>;
  /** Requests for nodes that are not done. */
  readonly additions: Additions;
  /** Nodes that were asked to go and still have a machine. */
  readonly removing: ReadonlySet<string>;
  /** Requests about nodes that are not over. */
  readonly actions: readonly OpenAction[];
}

const begin = ({ data }: StoredEvent<'ClusterRequested'>): PresentCluster => ({
  uid: data.uid,
  phase: 'Pending',
  pause: null,
  nodes: new Map(),
  additions: NO_ADDITIONS,
  removing: new Set(),
  actions: [],
});

const without = (names: ReadonlySet<string>, name: string): ReadonlySet<string> =>
  new Set([...names].filter((one) => one !== name));

const nodesAfter = (cluster: PresentCluster, event: StoredEvent): PresentCluster => {
  switch (event.type) {
    case 'VmsPlanned': {
      const planned = event.data.machines.map(
        ({ name, role, pool, connection }) => [name, { role, pool, connection }] as const,
      );
      return { ...cluster, nodes: new Map([...cluster.nodes, ...planned]) };
    }
    case 'VmDeleted':
      return {
        ...cluster,
        nodes: new Map([...cluster.nodes].filter(([name]) => name !== event.data.name)),
        removing: without(cluster.removing, event.data.name),
      };
    case 'NodeRemovalCancelled':
      return { ...cluster, removing: without(cluster.removing, event.data.node) };
    default: {
      const leaving = leavingIn(event).filter((name) => cluster.nodes.has(name));
      return leaving.length === 0 ? cluster : { ...cluster, removing: new Set([...cluster.removing, ...leaving]) };
    }
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
  return nodesAfter({ ...cluster, phase, pause, additions, actions }, event);
};

export const hasPool = ({ nodes }: PresentCluster, pool: string): boolean =>
  [...nodes.values()].some((node) => node.pool === pool);

/** The names of the pools that workers are in, in order. */
export const workerPoolsOf = ({ nodes }: PresentCluster): readonly string[] =>
  [...new Set([...nodes.values()].flatMap(({ role, pool }) => (role === 'worker' ? [pool] : [])))].sort();
