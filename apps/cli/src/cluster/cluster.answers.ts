import type { ClusterView, NodeView } from '../api/api.ports.js';
import type { Answer } from '../output/format.js';
import { formatDuration } from '../output/duration.js';

/** Clusters and nodes in the forms of `--output`. */

const age = (createdTime: string, nowMs: number): string =>
  createdTime === '' ? '' : formatDuration(nowMs - Date.parse(createdTime));

const nodesOf = ({ progress, nodes }: ClusterView): string =>
  progress === null ? String(nodes.length) : `${progress.nodesReady}/${progress.nodesTotal}`;

/** The reason of a failure is worth a column, and so is that of another state; else what happens now. */
const doingOf = ({ status, progress, lease }: ClusterView): string => {
  if (status.reason !== '') return status.reason;
  if (status.phase === 'Pending' && lease !== undefined && lease.startsAt !== null)
    return `starts at ${lease.startsAt}`;
  return status.phase === 'Provisioned' || status.state === 'Paused'
    ? status.reasons.join(', ')
    : (progress?.title ?? '');
};

const clusterRow = (cluster: ClusterView, nowMs: number): readonly string[] => [
  cluster.name,
  cluster.status.phase,
  cluster.status.state,
  nodesOf(cluster),
  cluster.k8sVersion,
  age(cluster.createdTime, nowMs),
  doingOf(cluster),
];

const CLUSTER_COLUMNS = ['name', 'phase', 'state', 'ready', 'version', 'age', 'status'];

/** Only where some have an end. */
const endRow = ({ lease }: ClusterView): readonly string[] => [lease?.endsAt ?? ''];

export const clustersAnswer = (clusters: readonly ClusterView[], nowMs: number): Answer => {
  const haveEnds = clusters.some(({ lease }) => lease !== undefined);
  return {
    data: clusters,
    table: {
      columns: haveEnds ? [...CLUSTER_COLUMNS, 'ends'] : CLUSTER_COLUMNS,
      rows: clusters.map((cluster) => [...clusterRow(cluster, nowMs), ...(haveEnds ? endRow(cluster) : [])]),
      empty: 'There are no clusters in this namespace.',
    },
    names: clusters.map(({ name }) => name),
  };
};

/** Of several namespaces: each cluster with its own. */
export const clustersOfAll = (clusters: readonly ClusterView[], nowMs: number): Answer => ({
  data: clusters,
  table: {
    columns: ['namespace', ...CLUSTER_COLUMNS],
    rows: clusters.map((cluster) => [cluster.namespace, ...clusterRow(cluster, nowMs)]),
    empty: 'There are no clusters.',
  },
  names: clusters.map(({ namespace, name }) => `${namespace}/${name}`),
});

export const clusterAnswer = (cluster: ClusterView, nowMs: number): Answer => ({
  ...clustersAnswer([cluster], nowMs),
  data: cluster,
});

/** What sets the node apart from one that is as requested. */
const statusOf = ({ reason, extraFor, updatesDisabled, remediation = '', cordon }: NodeView): string =>
  [
    reason,
    extraFor === undefined ? '' : 'extra until the upgrade ends',
    updatesDisabled === null ? '' : `held: ${updatesDisabled}`,
    cordon === undefined ? '' : `cordoned by ${cordon.actor}: ${cordon.reason}`,
    remediation,
  ]
    .filter(Boolean)
    .join('; ');

export const nodesAnswer = (nodes: readonly NodeView[], nowMs: number): Answer => ({
  data: nodes,
  table: {
    columns: ['name', 'phase', 'role', 'version', 'spec', 'address', 'age', 'status'],
    rows: nodes.map((node) => [
      node.name,
      node.phase,
      node.role,
      node.software['kubelet'] === undefined ? '' : `v${node.software['kubelet'].replace(/^v/, '')}`,
      node.spec,
      node.publicIp,
      age(node.createdTime, nowMs),
      statusOf(node),
    ]),
    empty: 'The cluster has no nodes.',
  },
  names: nodes.map(({ name }) => name),
});
