import type { ClusterUid, StoredEvent } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';

export interface Hold {
  readonly reason: string;
  readonly actor: string;
  readonly since: string;
}

type HoldsByName = Readonly<Record<string, Hold>>;

/** What of a cluster is excluded from changes. */
export interface HoldsDoc {
  readonly uid: ClusterUid;
  readonly nodes: HoldsByName;
  readonly pools: HoldsByName;
}

const none = (uid: ClusterUid): HoldsDoc => ({ uid, nodes: {}, pools: {} });

const changed = (holds: HoldsByName, name: string, { data, meta }: StoredEvent<'UpdatesDisabledSet'>): HoldsByName => {
  const { [name]: _before, ...others } = holds;
  return data.disabled ? { ...others, [name]: { reason: data.reason, actor: meta.actor, since: meta.time } } : others;
};

/** One row per cluster in which something was ever held. */
export const holdsProjection: Projection<HoldsDoc> = {
  name: 'holds',
  table: 'holds',

  keys: ({ type, meta }) =>
    type === 'UpdatesDisabledSet' || type === 'ClusterDeleted' ? [clusterKey(meta.namespace, meta.cluster)] : [],

  evolve: (doc, event) => {
    if (event.type === 'ClusterDeleted') return doc?.uid === event.data.uid ? undefined : doc;
    if (event.type !== 'UpdatesDisabledSet') return doc;
    const { uid, scope } = event.data;
    const known = doc?.uid === uid ? doc : none(uid);
    return scope.kind === 'node'
      ? { ...known, nodes: changed(known.nodes, scope.node, event) }
      : { ...known, pools: changed(known.pools, scope.pool, event) };
  },
};

/** Why a node is excluded from changes: for its own sake, or with its pool. */
export const holdOf = (
  holds: HoldsDoc | undefined,
  node: { readonly name: string; readonly pool: string },
): Hold | undefined => holds?.nodes[node.name] ?? holds?.pools[node.pool];
