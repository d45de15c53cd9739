import type {
  ClusterUid,
  ConnectionName,
  HostFacts,
  HostId,
  Namespace,
  NodeName,
  StoredEvent,
} from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { LatestFold } from '@fairlead/event-sourcing/jetstream';

/** A host that was admitted to a cluster with its token. */
export interface JoinedHost {
  readonly id: HostId;
  readonly connection: ConnectionName;
  readonly namespace: Namespace;
  readonly cluster: string;
  readonly uid: ClusterUid;
  readonly facts: HostFacts;
  /** The node that it is or becomes; undefined: no pool has claimed it yet. */
  readonly node: NodeName | undefined;
}

type Admission = Omit<JoinedHost, 'node'>;

interface JoinedState {
  readonly admitted: ReadonlyMap<HostId, Admission>;
  readonly nodes: ReadonlyMap<string, NodeName>;
  /** Nodes that left, as `<uid>/<node>`. Only those of joined hosts are kept. */
  readonly left: ReadonlySet<string>;
}

const NOTHING: JoinedState = { admitted: new Map(), nodes: new Map(), left: new Set() };
const HOST = /^host-[0-9a-f]{12}$/;

const key = (uid: string, node: string): string => `${uid}/${node}`;

const withLeft = (known: JoinedState, uid: string, node: string): JoinedState => {
  const isJoined = [...known.nodes.values()].some((name) => name === node);
  return isJoined ? { ...known, left: new Set([...known.left, key(uid, node)]) } : known;
};

/** Filters are read one after the other, so events about one host may arrive out of order. */
export const joinedAfter = (known: JoinedState, event: StoredEvent): JoinedState => {
  switch (event.type) {
    case 'HostAdmitted': {
      const { hostId: id, connection, uid, facts } = event.data;
      const { namespace, cluster } = event.meta;
      const one = { id, connection, namespace: namespace as Namespace, cluster, uid, facts };
      return { ...known, admitted: new Map(known.admitted).set(id, one) };
    }
    case 'VmsPlanned': {
      const joined = event.data.machines.filter(({ adopts }) => adopts !== undefined && HOST.test(adopts.id));
      if (joined.length === 0) return known;
      const nodes = joined.map(({ adopts, name }): [string, NodeName] => [adopts?.id ?? '', name]);
      return { ...known, nodes: new Map([...known.nodes, ...nodes]) };
    }
    case 'NodeRemoved':
      return withLeft(known, event.data.uid, event.data.node);
    case 'VmDeleted':
      return withLeft(known, event.data.uid, event.data.name);
    case 'ClusterDismantled':
    case 'ClusterDeleted': {
      const { uid } = event.data;
      const admitted = [...known.admitted].filter(([, host]) => host.uid !== uid);
      return admitted.length === known.admitted.size ? known : { ...known, admitted: new Map(admitted) };
    }
    default:
      return known;
  }
};

export const hostsIn = ({ admitted, nodes, left }: JoinedState, connection: ConnectionName): readonly JoinedHost[] =>
  [...admitted.values()].flatMap((host) => {
    const node = nodes.get(host.id);
    if (host.connection !== connection || (node !== undefined && left.has(key(host.uid, node)))) return [];
    return [{ ...host, node }];
  });

/** The joined hosts, from the log. */
export interface JoinedHosts {
  on(connection: ConnectionName): Promise<readonly JoinedHost[]>;
}

const FILTERS = [
  'evt.*.*.*.joins.HostAdmitted',
  'evt.*.*.*.machines.VmsPlanned',
  'evt.*.*.*.bootstrap.NodeRemoved',
  'evt.*.*.*.bootstrap.ClusterDismantled',
  'evt.*.*.*.machines.VmDeleted',
  'evt.*.*.*.machines.ClusterDeleted',
] as const;

export class LogJoinedHosts implements JoinedHosts {
  private readonly fold: LatestFold<JoinedState>;

  constructor(store: EventStore) {
    this.fold = new LatestFold<JoinedState>(store, { filters: FILTERS, initial: NOTHING, evolve: joinedAfter });
  }

  async on(connection: ConnectionName): Promise<readonly JoinedHost[]> {
    return hostsIn(await this.fold.latest(), connection);
  }
}
