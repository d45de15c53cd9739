import { without, type EventData, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { onFailureOf, replacedIn, replacementIn, type Replacement } from '@fairlead/domain';
import { isOnItsWay, newHostsOf, type Cluster, type Host } from './bootstrap.state.js';

/** The request that added the node; undefined: it was created with the cluster, or is a surge node. */
export const requestOfNode = ({ requests }: Cluster, node: NodeName): string | undefined =>
  Object.keys(requests).find((requestId) => requests[requestId]?.nodes.includes(node));

/** Requests with nodes that are still joining. */
export const openRequestsOf = (cluster: Cluster): readonly string[] => [
  ...new Set(newHostsOf(cluster).flatMap(({ machine }) => requestOfNode(cluster, machine.name) ?? [])),
];

/** The nodes of a request that are not part of the cluster: a Ready node stays if the others are kept. */
export const failingNodesOf = (cluster: Cluster, requestId: string): readonly NodeName[] => {
  const request = cluster.requests[requestId];
  return (request?.nodes ?? []).filter((name) => {
    const host = cluster.hosts[name];
    return host !== undefined && isOnItsWay(host) && !(request?.onFailure === 'keep' && isPart(host));
  });
};

const isPart = ({ joinedAt, ready }: Host): boolean => joinedAt !== null && ready;

const mapHosts = (cluster: Cluster, change: (host: Host) => Host): Cluster => ({
  ...cluster,
  hosts: Object.fromEntries(Object.entries(cluster.hosts).map(([name, host]) => [name, change(host)])),
});

/** Existing hosts leave; announced ones leave as soon as they exist. */
const leave = (cluster: Cluster, nodes: readonly NodeName[]): Cluster => {
  const yetToCome = nodes.filter((name) => cluster.hosts[name] === undefined);
  const going = mapHosts(cluster, (host) =>
    nodes.includes(host.machine.name) && !host.settled && host.removal === 'none'
      ? { ...host, removal: 'desired' }
      : host,
  );
  return { ...going, unwanted: [...going.unwanted, ...yetToCome] };
};

const failed = (cluster: Cluster, { requestId, nodes, onFailure }: EventData<'NodesFailed'>): Cluster => {
  if (onFailure === 'rollback') {
    return leave({ ...cluster, requests: without(cluster.requests, requestId) }, nodes);
  }
  const own = cluster.requests[requestId]?.nodes ?? [];
  return mapHosts(cluster, (host) => {
    if (nodes.includes(host.machine.name)) return { ...host, failed: true };
    return own.includes(host.machine.name) && isPart(host) ? { ...host, settled: true } : host;
  });
};

const abandoned = (cluster: Cluster, { requestId, nodes }: EventData<'NodesAbandoned'>): Cluster => {
  const own = cluster.requests[requestId]?.nodes ?? [];
  return leave({ ...cluster, requests: without(cluster.requests, requestId) }, [...new Set([...own, ...nodes])]);
};

/**
 * A request is done once none of its nodes is still joining. A request whose machines are not announced yet is not
 * done.
 */
const settled = (cluster: Cluster): Cluster => ({
  ...cluster,
  provisioned: true,
  requests: Object.fromEntries(
    Object.entries(cluster.requests).filter(
      ([, { nodes, announced }]) => !announced || nodes.some((name) => isOpen(cluster.hosts[name])),
    ),
  ),
});

/** A node that is already being replaced, or does not exist, is not replaced again. */
const replace = (cluster: Cluster, { requestId, node, order }: Replacement): Cluster => {
  const { hosts, requests } = cluster;
  const isReplaced = Object.values(requests).some(({ replaces }) => replaces?.node === node);
  if (hosts[node] === undefined || isReplaced) return cluster;
  const request = { onFailure: onFailureOf({ order }), nodes: [], announced: false, replaces: { node, order } };
  return { ...cluster, requests: { ...requests, [requestId]: request } };
};

/** Starts its removal unless it is in progress. */
const goes = (cluster: Cluster, node: NodeName): Cluster => {
  const host = cluster.hosts[node];
  const isStaying = host?.removal === 'none' || host?.removal === 'stuck';
  return isStaying ? { ...cluster, hosts: { ...cluster.hosts, [node]: { ...host, removal: 'desired' } } } : cluster;
};

/** Replacements whose new nodes are part of the cluster, or will be with its next ClusterReady. */
export const replacementsReady = ({ uid, requests, hosts }: Cluster): readonly EventData<'NodeReplacementReady'>[] =>
  Object.entries(requests).flatMap(([requestId, { nodes, replaces }]) => {
    const [newNode] = nodes;
    const host = newNode === undefined ? undefined : hosts[newNode];
    const isReady = host !== undefined && host.removal === 'none' && isPart(host);
    return replaces === undefined || newNode === undefined || !isReady
      ? []
      : [{ uid, requestId, node: replaces.node, newNode }];
  });

const isOpen = (host: Host | undefined): boolean => host !== undefined && !host.settled && host.removal === 'none';

/** An abandoned node that became Ready after its timeout is part of the cluster again. */
const lateReady = (cluster: Cluster, node: NodeName, time: string): Cluster => {
  const host = cluster.hosts[node];
  if (host?.failed !== true || !host.ready) return cluster;
  const part: Host = { ...host, failed: false, settled: true, joinedAt: host.joinedAt ?? time };
  return { ...cluster, hosts: { ...cluster.hosts, [node]: part } };
};

/** Applies a request for more nodes, or for a replacement. */
export const evolveRequests = (cluster: Cluster, event: StoredEvent): Cluster => {
  const replacement = replacementIn(event);
  const leaving = replacedIn(event);
  const after = evolveRequest(replacement === undefined ? cluster : replace(cluster, replacement), event);
  return leaving === undefined ? after : goes(after, leaving);
};

const evolveRequest = (cluster: Cluster, event: StoredEvent): Cluster => {
  const { requests } = cluster;
  switch (event.type) {
    case 'NodesRequested': {
      const { requestId, onFailure = 'rollback' } = event.data;
      return { ...cluster, requests: { ...requests, [requestId]: { onFailure, nodes: [], announced: false } } };
    }
    case 'VmsPlanned': {
      const { requestId, machines } = event.data;
      const request = requestId === undefined ? undefined : requests[requestId];
      if (requestId === undefined || request === undefined) return cluster;
      const nodes = machines.map(({ name }) => name);
      return { ...cluster, requests: { ...requests, [requestId]: { ...request, nodes } } };
    }
    case 'VmsCreated': {
      const names = event.data.machines.map(({ name }) => name);
      const announced = Object.entries(requests).map(([requestId, request]) => {
        const isNamed = request.nodes.some((name) => names.includes(name));
        return [requestId, isNamed ? { ...request, announced: true } : request] as const;
      });
      return { ...cluster, requests: Object.fromEntries(announced) };
    }
    case 'NodeReplacementReady':
    case 'NodesRejected':
      return { ...cluster, requests: without(requests, event.data.requestId) };
    case 'VmsFailed': {
      const { requestId, onFailure } = event.data;
      return onFailure === 'keep' ? cluster : { ...cluster, requests: without(requests, requestId) };
    }
    case 'NodesFailed':
      return failed(cluster, event.data);
    case 'NodesAbandoned':
      return abandoned(cluster, event.data);
    case 'VmDeleted':
      return { ...cluster, unwanted: cluster.unwanted.filter((name) => name !== event.data.name) };
    case 'ClusterReady':
      return settled(cluster);
    case 'NodeReady':
      return lateReady(cluster, event.data.node, event.meta.time);
    default:
      return cluster;
  }
};

/** Retries kept nodes, and nodes whose removal is stuck. */
export const retriedHosts = (cluster: Cluster): Cluster =>
  mapHosts(cluster, (host) => ({
    ...host,
    failed: false,
    removal: host.removal === 'stuck' ? 'desired' : host.removal,
  }));

/** After these events, a cluster that was Ready is Ready again, unless other nodes are still joining. */
export const endsGrowth = ({ type, data }: StoredEvent): boolean =>
  type === 'NodesFailed' ||
  type === 'NodesAbandoned' ||
  (type === 'BootstrapStepFailed' && data.node === undefined && data.nextAttemptAt === null);
