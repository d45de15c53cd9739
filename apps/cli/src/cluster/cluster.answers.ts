import type { ClusterView, FleetRow, NodeView } from '../api/views.js';
import type { CommandOutput } from '../output/format.js';
import { formatDuration } from '../output/duration.js';
import { optional, prose, tableText, type Table } from '../output/table.js';
import { wrappedLines } from '../output/wrap.js';
import { attemptOf } from '../progress/operation.words.js';

/** Clusters and nodes in the `--output` formats. */

const age = (createdTime: string, nowMs: number): string =>
  createdTime === '' ? '' : formatDuration(nowMs - Date.parse(createdTime));

const nodesOf = ({ progress, nodes }: ClusterView): string =>
  progress === null ? String(nodes.length) : `${progress.nodesReady}/${progress.nodesTotal}`;

const isStuck = ({ reasons }: ClusterView['status']): boolean => reasons.includes('StepTimedOut');

/** The reason of the state if there is one, otherwise the current activity. */
const doingOf = ({ status, progress, lease }: ClusterView): string => {
  if (status.reason !== '') return status.reason;
  if (status.phase === 'Pending' && lease !== undefined && lease.startsAt !== null)
    return `starts at ${lease.startsAt}`;
  return status.phase === 'Provisioned' || status.state === 'Paused' || isStuck(status)
    ? status.reasons.join(', ')
    : (progress?.title ?? '');
};

const clusterRow = (cluster: ClusterView, nowMs: number): readonly string[] => [
  cluster.name,
  cluster.status.state,
  nodesOf(cluster),
  cluster.k8sVersion,
  age(cluster.createdTime, nowMs),
  doingOf(cluster),
];

/** Why the cluster makes no progress or has failed, with the attempts, and what the user can do. */
const waitingText = ({ status, conditions, progress }: ClusterView, nowMs: number): readonly string[] => {
  const failures = (progress?.steps ?? []).flatMap(({ title, failure }) =>
    failure === null ? [] : [`${title}: ${failure.sentence} (${attemptOf(failure, nowMs)})`],
  );
  const because = conditions
    .filter(({ type, message, reason, status: is }) =>
      message === '' ? false : status.reasons.includes(reason) || (type === 'HookBlocked' && is === 'True'),
    )
    .map(({ message }) => message);
  const stuck = conditions.filter(({ reason }) => reason === 'StepTimedOut').map(({ message }) => message);
  const others = status.message === '' ? [...new Set(because)] : [status.message];
  const whys = failures.length > 0 ? [...stuck, ...failures] : others;
  const since = status.state === 'Failed' ? sinceOf(conditions) : '';
  return [
    ...whys.map((why) => `${status.state}${since}: ${why}`),
    ...azimuthText(status),
    ...(progress?.nextActions ?? []).map((one) => `  ${one}`),
  ];
};

/** An earlier release returns none. */
export const azimuthText = ({ azimuthPhase }: ClusterView['status']): readonly string[] =>
  (azimuthPhase as string | undefined) === undefined ? [] : [`  azimuth's phase: ${azimuthPhase}`];

const sinceOf = (conditions: ClusterView['conditions']): string => {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined ? '' : ` since ${ready.lastTransitionTime}`;
};

const CLUSTER_COLUMNS = ['name', 'state', 'ready', 'version', optional('age', 1), prose('message')];

/** Only if at least one cluster has an end. */
const endRow = ({ lease }: ClusterView): readonly string[] => [lease?.endsAt ?? ''];

export const clustersAnswer = (
  clusters: readonly ClusterView[],
  nowMs: number,
): CommandOutput & { readonly table: Table } => {
  const haveEnds = clusters.some(({ lease }) => lease !== undefined);
  return {
    data: clusters,
    table: {
      columns: haveEnds ? [...CLUSTER_COLUMNS, optional('expires', 2)] : CLUSTER_COLUMNS,
      rows: clusters.map((cluster) => [...clusterRow(cluster, nowMs), ...(haveEnds ? endRow(cluster) : [])]),
      empty: 'There are no clusters in this namespace.',
    },
    names: clusters.map(({ name }) => name),
  };
};

/** Clusters of several namespaces, each with its namespace. */
export const clustersOfAll = (
  clusters: readonly ClusterView[],
  nowMs: number,
): CommandOutput & { readonly table: Table } => ({
  data: clusters,
  table: {
    columns: ['namespace', ...CLUSTER_COLUMNS],
    rows: clusters.map((cluster) => [cluster.namespace, ...clusterRow(cluster, nowMs)]),
    empty: 'There are no clusters.',
  },
  names: clusters.map(({ namespace, name }) => `${namespace}/${name}`),
});

/** Clusters as they were at an earlier moment. */
export const pastClustersAnswer = (rows: readonly FleetRow[], withNamespace: boolean): CommandOutput => ({
  data: rows,
  table: {
    columns: [
      ...(withNamespace ? ['namespace'] : []),
      ...['name', 'state', 'ready', 'version', optional('since', 1), prose('message')],
    ],
    rows: rows.map(({ namespace, name, state, nodesReady, nodesTotal, version, since, reason, operation }) => [
      ...(withNamespace ? [namespace] : []),
      ...[name, state, `${nodesReady}/${nodesTotal}`, version, since],
      reason === '' ? (operation?.title ?? '') : reason,
    ]),
    empty: 'There were no clusters.',
  },
  names: rows.map(({ namespace, name }) => (withNamespace ? `${namespace}/${name}` : name)),
});

export const clusterAnswer = (cluster: ClusterView, nowMs: number): CommandOutput & { readonly table: Table } => ({
  ...clustersAnswer([cluster], nowMs),
  data: cluster,
});

/** If the answer has a single cluster, it is printed with more detail. */
export const oneClusterAnswer = (cluster: ClusterView, nowMs: number): CommandOutput => {
  const answer = clusterAnswer(cluster, nowMs);
  const more = waitingText(cluster, nowMs);
  if (cluster.status.state === 'Running' || more.length === 0) return answer;
  const { table } = answer;
  return { ...answer, table: (columns) => [tableText(table, columns), '', ...wrappedLines(more, columns)].join('\n') };
};

/** How the node deviates from a healthy node as requested. */
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

/** The items that differ from the desired state. */
const driftOf = ({ drift }: NodeView): string =>
  drift === undefined ? '' : [...new Set(drift.differences.map(({ item }) => item))].join(', ');

export const nodesAnswer = (
  nodes: readonly NodeView[],
  nowMs: number,
  empty = 'The cluster has no nodes.',
): CommandOutput => ({
  data: nodes,
  table: {
    columns: [
      ...['name', 'pool', 'state', 'version'],
      ...[
        optional('machine type', 2),
        optional('address', 1),
        optional('age', 3),
        optional('drift', 4),
        prose('message'),
      ],
    ],
    rows: nodes.map((node) => [
      node.name,
      node.pool,
      node.phase,
      node.software['kubelet'] === undefined ? '' : `v${node.software['kubelet'].replace(/^v/, '')}`,
      node.spec,
      node.publicIp,
      age(node.createdTime, nowMs),
      driftOf(node),
      statusOf(node),
    ]),
    empty,
  },
  names: nodes.map(({ name }) => name),
});
