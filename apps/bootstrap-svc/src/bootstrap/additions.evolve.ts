import type { EventData, NodeName, OnFailure, StoredEvent } from '@fairlead/contracts';
import { isOnItsWay, newHostsOf, type Bootstrap, type Cluster, type Host, type Known } from './bootstrap.state.js';

/** A request for more nodes of a cluster that is Ready already; it ends by itself. */
export interface NodesRequest {
  readonly onFailure: OnFailure;
  /** Its nodes; empty: their machines are not planned yet. */
  readonly nodes: readonly NodeName[];
  /** Their machines run. */
  readonly announced: boolean;
}

type Requests = Cluster['requests'];

const without = (requests: Requests, requestId: string): Requests => {
  const { [requestId]: _gone, ...others } = requests;
  return others;
};

/** The request that a node is of; undefined: it is of the cluster as it was created, or extra. */
export const requestOfNode = ({ requests }: Cluster, node: NodeName): string | undefined =>
  Object.keys(requests).find((requestId) => requests[requestId]?.nodes.includes(node));

/** Requests that have nodes on their way into the cluster. */
export const openRequestsOf = (cluster: Cluster): readonly string[] => [
  ...new Set(newHostsOf(cluster).flatMap(({ machine }) => requestOfNode(cluster, machine.name) ?? [])),
];

/** What of a request is not part of the cluster: a node that is Ready stays if the others are kept. */
export const failingNodesOf = (cluster: Cluster, requestId: string): readonly NodeName[] => {
  const request = cluster.requests[requestId];
  return (request?.nodes ?? []).filter((name) => {
    const host = cluster.hosts[name];
    return host !== undefined && isOnItsWay(host) && !(request?.onFailure === 'keep' && isPart(host));
  });
};

const isPart = ({ joinedAt, ready }: Host): boolean => joinedAt !== null && ready;

const mapHosts = (state: Known, change: (host: Host) => Host): Known => ({
  ...state,
  hosts: Object.fromEntries(Object.entries(state.hosts).map(([name, host]) => [name, change(host)])),
});

/** Hosts that are known leave; hosts that are yet to come leave as soon as they come. */
const leave = (state: Known, nodes: readonly NodeName[]): Known => {
  const unknown = nodes.filter((name) => state.hosts[name] === undefined);
  const going = mapHosts(state, (host) =>
    nodes.includes(host.machine.name) && !host.settled && host.removal === 'none'
      ? { ...host, removal: 'desired' }
      : host,
  );
  return { ...going, unwanted: [...going.unwanted, ...unknown] };
};

const failed = (state: Known, { requestId, nodes, onFailure }: EventData<'NodesFailed'>): Known => {
  if (onFailure === 'rollback') {
    return leave({ ...state, requests: without(state.requests, requestId) }, nodes);
  }
  const own = state.requests[requestId]?.nodes ?? [];
  return mapHosts(state, (host) => {
    if (nodes.includes(host.machine.name)) return { ...host, failed: true };
    return own.includes(host.machine.name) && isPart(host) ? { ...host, settled: true } : host;
  });
};

const abandoned = (state: Known, { requestId, nodes }: EventData<'NodesAbandoned'>): Known => {
  const own = state.requests[requestId]?.nodes ?? [];
  return leave({ ...state, requests: without(state.requests, requestId) }, [...new Set([...own, ...nodes])]);
};

/** A request is done when none of its nodes is still joining. One whose machines are not known yet is not done. */
const settled = (state: Known): Known => ({
  ...state,
  provisioned: true,
  requests: Object.fromEntries(
    Object.entries(state.requests).filter(
      ([, { nodes, announced }]) => !announced || nodes.some((name) => isOpen(state.hosts[name])),
    ),
  ),
});

const isOpen = (host: Host | undefined): boolean => host !== undefined && !host.settled && host.removal === 'none';

/** A node that was given up and became Ready later than anybody waited is part of the cluster after all. */
const lateReady = (state: Known, node: NodeName, time: string): Known => {
  const host = state.hosts[node];
  if (host?.failed !== true || !host.ready) return state;
  const part: Host = { ...host, failed: false, settled: true, joinedAt: host.joinedAt ?? time };
  return { ...state, hosts: { ...state.hosts, [node]: part } };
};

const evolveRequests = (state: Known, event: StoredEvent): Known => {
  const { requests } = state;
  switch (event.type) {
    case 'NodesRequested': {
      const { requestId, onFailure = 'rollback' } = event.data;
      return { ...state, requests: { ...requests, [requestId]: { onFailure, nodes: [], announced: false } } };
    }
    case 'VmsPlanned': {
      const { requestId, machines } = event.data;
      const request = requestId === undefined ? undefined : requests[requestId];
      if (requestId === undefined || request === undefined) return state;
      const nodes = machines.map(({ name }) => name);
      return { ...state, requests: { ...requests, [requestId]: { ...request, nodes } } };
    }
    case 'VmsCreated': {
      const names = event.data.machines.map(({ name }) => name);
      const told = Object.entries(requests).map(([requestId, request]) => {
        const isTold = request.nodes.some((name) => names.includes(name));
        return [requestId, isTold ? { ...request, announced: true } : request] as const;
      });
      return { ...state, requests: Object.fromEntries(told) };
    }
    case 'NodesRejected':
      return { ...state, requests: without(requests, event.data.requestId) };
    case 'VmsFailed': {
      const { requestId, onFailure } = event.data;
      return onFailure === 'keep' ? state : { ...state, requests: without(requests, requestId) };
    }
    case 'NodesFailed':
      return failed(state, event.data);
    case 'NodesAbandoned':
      return abandoned(state, event.data);
    case 'VmDeleted':
      return { ...state, unwanted: state.unwanted.filter((name) => name !== event.data.name) };
    case 'ClusterReady':
      return settled(state);
    case 'NodeReady':
      return lateReady(state, event.data.node, event.meta.time);
    default:
      return state;
  }
};

/** Nodes that were kept are tried again; nodes that were stuck on their way out are, too. */
export const retriedHosts = (state: Known): Known =>
  mapHosts(state, (host) => ({
    ...host,
    failed: false,
    removal: host.removal === 'stuck' ? 'desired' : host.removal,
  }));

const endsGrowth = ({ type, data }: StoredEvent): boolean =>
  type === 'NodesFailed' ||
  type === 'NodesAbandoned' ||
  (type === 'BootstrapStepFailed' && data.node === undefined && data.nextAttemptAt === null);

/** What a request changes in the cluster. A cluster that was Ready is Ready again when nothing is on its way into it. */
export const evolveAdditions = (state: Known, event: StoredEvent): Bootstrap => {
  const after = evolveRequests(state, event);
  if (after.status !== 'building' || !after.provisioned || !endsGrowth(event)) return after;
  if (newHostsOf(after).length > 0) return after;
  const { broken: _broken, ...cluster } = after;
  return { ...cluster, status: 'ready' };
};
