import type { Colors } from 'picocolors/types.js';
import type { Api } from '../api/api.js';
import type {
  ClusterAt,
  ClusterView,
  NodeProgressView,
  NodeView,
  OperationView,
  UpgradeSummary,
} from '../api/views.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';
import type { CommandOutput } from '../output/format.js';
import { wrappedLines } from '../output/wrap.js';
import { operationsOf, unlessUnknown } from '../progress/follow.effects.js';
import { treeOf, type ShownOperation } from '../progress/operation.tree.js';
import { summaryOf } from '../progress/operation.words.js';
import { linesOfTree } from '../progress/tree.text.js';
import { targetText } from '../upgrade/plan.text.js';
import { isUnderWay, nodeWords, type UpgradeNode } from '../upgrade/upgrade.tree.js';
import { azimuthText } from './cluster.answers.js';
import { clusterWithoutSpec } from './cluster.object.js';
import { costText } from './cost.text.js';
import { leaseText } from './lease.text.js';
import type { AroundObjects } from './object.branches.js';
import { objectTreeOf } from './object.tree.js';

export interface DescribeOptions {
  readonly all: boolean;
  readonly nowMs: number;
  readonly columns: number;
  readonly colors: Colors;
}

/** A cluster and what was done with it; cluster: null when it is gone. */
export interface Described {
  readonly at: ClusterAt;
  readonly cluster: ClusterView | null;
  /** Who may connect to its API, in words; undefined: it is gone. */
  readonly apiAccess: string | undefined;
  /** Oldest first. */
  readonly operations: readonly OperationView[];
  /** Those that were to change something, latest first. */
  readonly upgrades: readonly UpgradeSummary[];
  /** What can be done about the latest upgrade, where it waits for someone. */
  readonly upgradeActions: readonly string[];
  /** Nodes that the latest upgrade changes now, with what they wait for. */
  readonly upgradeNodes: readonly UpgradeNode[];
}

/** In which an upgrade waits for a person, or has left something to do. */
const WITH_ACTIONS: ReadonlySet<UpgradeSummary['phase']> = new Set(['Halted', 'Paused', 'Aborted']);
/** In which nodes may be under way, until each is at a safe point. */
const WITH_NODES: ReadonlySet<UpgradeSummary['phase']> = new Set(['Running', 'Paused', 'Aborting']);

export const describedOf = async (api: Api, at: ClusterAt, minSeq = 0): Promise<Described> => {
  const [cluster, manifest, operations, upgrades] = await Promise.all([
    unlessUnknown(api.get('/ns/{namespace}/clusters/{cluster}', at, { query: { minSeq } })),
    unlessUnknown(api.get('/ns/{namespace}/clusters/{cluster}/manifest', at, { query: { minSeq } })),
    api.list('/ns/{namespace}/clusters/{cluster}/operations', at, { query: { minSeq } }),
    unlessUnknown(api.list('/ns/{namespace}/clusters/{cluster}/upgrades', at)),
  ]);
  const changing = (upgrades ?? []).filter(({ mode }) => mode !== 'dry-run');
  const [latest] = changing;
  const isOfInterest = latest !== undefined && (WITH_ACTIONS.has(latest.phase) || WITH_NODES.has(latest.phase));
  const detail = isOfInterest
    ? await unlessUnknown(
        api.get('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', { ...at, upgrade: latest.id }),
      )
    : undefined;
  return {
    at,
    cluster: cluster ?? null,
    apiAccess: manifest?.status?.apiAccess,
    operations: operationsOf(operations),
    upgrades: changing,
    upgradeActions: latest !== undefined && WITH_ACTIONS.has(latest.phase) ? (detail?.nextActions ?? []) : [],
    upgradeNodes: (detail?.nodes ?? []).filter(isUnderWay),
  };
};

/** A cluster with what belongs to it, now or as of an earlier moment. One after the other: each replays the history of that. */
export const objectsOf = async (
  api: Api,
  at: ClusterAt,
  then: number | string | undefined,
): Promise<readonly [ClusterView, AroundObjects]> => {
  const query = then === undefined ? {} : { query: { at: then } };
  const cluster = await api.get('/ns/{namespace}/clusters/{cluster}', at, query);
  const manifest = await unlessUnknown(api.get('/ns/{namespace}/clusters/{cluster}/manifest', at, query));
  const operations = await api.list('/ns/{namespace}/clusters/{cluster}/operations', at, query);
  return [cluster, { manifest, operations: operationsOf(operations) }];
};

/** The objects of a cluster as they are, or were at an earlier moment. */
export const objectsAnswer = (cluster: ClusterView, options: DescribeOptions & AroundObjects): CommandOutput => ({
  data: { cluster: clusterWithoutSpec(cluster) },
  table: linesOfTree(objectTreeOf(cluster, options), options).join('\n'),
  names: [cluster.name],
});

export const describeAnswer = (described: Described, options: DescribeOptions): CommandOutput => {
  const { at, cluster, operations, upgrades } = described;
  const data = { cluster: cluster && clusterWithoutSpec(cluster), operations, upgrades };
  return { data, table: describeLines(described, options).join('\n'), names: [at.cluster] };
};

/** The operation as a tree, and below it what else there is to say. */
export const describeLines = (described: Described, options: DescribeOptions): readonly string[] => [
  ...treeText(described, options),
  ...wrappedLines(restOf(described, options), options.columns),
];

const restOf = (described: Described, options: DescribeOptions): readonly string[] => [
  ...stateText(described.cluster),
  ...accessText(described),
  ...(described.cluster === null ? [] : leaseText(described.cluster, options.nowMs)),
  ...costText(described.cluster),
  ...addonsText(described.cluster),
  ...servicesText(described.cluster),
  ...remediationText(described.cluster),
  ...networkText(described.cluster),
  ...addressesText(described.cluster),
  ...upgradesText(described, options.all),
];

/** The state of the cluster, with the conditions that it follows from, and what else holds it. One that is Running needs no words. */
const stateText = (cluster: ClusterView | null): readonly string[] => {
  if (cluster === null || cluster.status.state === 'Running') return [];
  const { state, reasons } = cluster.status;
  const because = cluster.conditions.filter(
    ({ type, status, reason, message }) =>
      message !== '' && (reasons.includes(reason) || (type === 'HookBlocked' && status === 'True')),
  );
  const causes = [...new Set(because.map(whyText))].map((why) => {
    const types = because.filter((condition) => whyText(condition) === why).map(({ type }) => type);
    const [first = '', ...others] = types;
    return `  ${first} ${why.replace(' (', `${dependentText(others.length)} (`)}`;
  });
  return ['', `State: ${state}`, ...causes, ...azimuthText(cluster.status)];
};

/** `API: https://198.18.0.1:6443, open to its nodes, its pods and Fairlead`. */
const accessText = ({ cluster, apiAccess }: Described): readonly string[] =>
  cluster === null || cluster.endpoint === '' || apiAccess === undefined
    ? []
    : ['', `API: ${cluster.endpoint}, open to ${apiAccess}`];

type Condition = ClusterView['conditions'][number];

/** `is False since 2026-11-21T08:00:00.000Z (NodesLost): no heartbeat from demo-w-1.` */
const whyText = ({ status, reason, message, lastTransitionTime }: Condition): string =>
  `is ${status} since ${lastTransitionTime} (${reason}): ${message}`;

/** A request that is rejected leaves all conditions False for one cause, which is stated once. */
const dependentText = (count: number): string => {
  if (count === 0) return '';
  return count === 1 ? ', as is a condition that depends on it' : `, as are ${count} conditions that depend on it`;
};

/** `coredns v1.13.1 (revision 2): Deployed since 2026-11-21T08:00:00.000Z`, or why it has failed. */
const addonsText = (cluster: ClusterView | null): readonly string[] => {
  const addons = cluster?.addons ?? [];
  if (addons.length === 0) return [];
  return [
    '',
    'Addons:',
    ...addons.map(({ name, version, revision, phase, since, message }) => {
      const what = version === '' ? name : `${name} ${version} (revision ${revision})`;
      return `  ${what}: ${phase} since ${since}${message === '' ? '' : `: ${message}`}`;
    }),
  ];
};

/** `Grafana (monitoring-grafana): https://grafana.demo.example.org`, or why it is not reached there. */
const servicesText = (cluster: ClusterView | null): readonly string[] => {
  const services = cluster?.services ?? [];
  if (services.length === 0) return [];
  return [
    '',
    'Published services:',
    ...services.map(({ key, label, url, available, message }) => {
      const what = label === '' ? key : `${label} (${key})`;
      if (message !== '') return `  ${what}: ${message}`;
      return `  ${what}: ${url}${available ? '' : ', and no control plane is connected for it'}`;
    }),
  ];
};

/** What health checks lead to, and why nothing is done where that is so. */
const remediationText = (cluster: ClusterView | null): readonly string[] => {
  const suspended = (cluster?.conditions ?? [])
    .filter(({ type, status }) => type === 'RemediationAllowed' && status === 'False')
    .map(({ message }) => message);
  const nodes = (cluster?.nodes ?? []).flatMap(({ remediation }) => remediation ?? []);
  const shown = [...new Set([...suspended, ...nodes])];
  return shown.length === 0 ? [] : ['', 'Remediation:', ...shown.map((sentence) => `  ${sentence}`)];
};

/** Nodes that do not have the network configuration that is declared. */
const networkText = (cluster: ClusterView | null): readonly string[] => {
  const nodes = (cluster?.nodes ?? []).flatMap(({ name, network }) =>
    network === undefined || network.state === 'applied' ? [] : [{ name, ...network }],
  );
  if (nodes.length === 0) return [];
  return [
    '',
    'Network:',
    ...nodes.map(
      ({ name, state, since, message }) => `  ${name}: ${state} since ${since}${message === '' ? '' : `: ${message}`}`,
    ),
  ];
};

type AddressView = NonNullable<ClusterView['virtualAddresses']>[number];

const transportText = ({ name, frontendPort, reached, up, of, down }: AddressView['transports'][number]): string => {
  const silent = down.length === 0 ? '' : `; no answer from ${down.join(', ')}`;
  return `    ${name} (port ${frontendPort}): ${reached ? '' : 'not reached, '}${up} of ${of} nodes up${silent}`;
};

/** `ingress (198.18.7.5), held by demo-edge-1`, and how many nodes answer behind each of its ports. */
const addressesText = (cluster: ClusterView | null): readonly string[] => {
  const addresses = cluster?.virtualAddresses ?? [];
  if (addresses.length === 0) return [];
  return [
    '',
    'Virtual addresses:',
    ...addresses.flatMap(({ name, address, holder, transports }) => [
      `  ${name} (${address}), ${holder === null ? 'held by no node' : `held by ${holder}`}`,
      ...(holder === null ? [] : transports.map(transportText)),
    ]),
  ];
};

/** Of upgrades the latest, with the nodes that it changes now; "fairlead upgrade status" shows the others, too. */
const upgradesText = ({ upgrades, upgradeActions, upgradeNodes }: Described, all: boolean): readonly string[] => {
  const [latest, ...earlier] = upgrades.map((upgrade) => `  ${upgradeLine(upgrade)}`);
  if (latest === undefined) return [];
  const nodes = upgradeNodes.map((node) => `    ${node.name}: ${nodeWords(node)}`);
  return [
    '',
    'Upgrades:',
    latest,
    ...nodes,
    ...upgradeActions.map((action) => `    next: ${action}`),
    ...(all ? earlier : []),
  ];
};

/** `2026-11-21T08:00:00.000Z  u-8f3k2m9q, Kubernetes to v1.35.4: Completed, requested by user/ada`. */
const upgradeLine = ({ id, requestedAt, actor, target, phase, message }: UpgradeSummary): string =>
  `${requestedAt}  ${id}, ${targetText({ target })}: ${phase}${message === '' ? '' : `: ${message}`}, requested by ${actor}`;

const STATES: Readonly<Record<NodeView['phase'], NodeProgressView['state']>> = {
  Planned: 'waiting',
  Bootstrapping: 'running',
  Joining: 'running',
  Ready: 'ready',
  NotReady: 'not-ready',
  Lost: 'lost',
  Removing: 'running',
};

const progressOf = ({ name, role, stage, changedAt, phase, ready, reason, software }: NodeView): NodeProgressView => {
  const { kubelet } = software;
  const version = kubelet === undefined ? '' : `v${kubelet.replace(/^v/, '')}`;
  return { name, role, stage, since: changedAt, state: STATES[phase], ready, reason, version };
};

/** All nodes of the cluster; those of the operation as the operation shows them, unless someone has ended it. */
const nodesOf = ({ cluster }: Described, { nodes, phase }: OperationView): readonly NodeProgressView[] => {
  if (cluster === null) return nodes;
  const own = new Map(phase === 'Cancelled' ? [] : nodes.map((node) => [node.name, node]));
  return cluster.nodes.map((node) => own.get(node.name) ?? progressOf(node));
};

const treeText = (described: Described, options: DescribeOptions): readonly string[] => {
  const { at, cluster, operations } = described;
  const latest = operations.at(-1);
  if (latest === undefined) throw neverRequested(at);
  const shown: ShownOperation = {
    at,
    version: cluster?.k8sVersion ?? '',
    state: cluster?.status.state,
    operation: latest,
    nodes: nodesOf(described, latest),
  };
  const lines = linesOfTree(treeOf(shown, options), options);
  const earlier = operations.slice(0, -1).toReversed();
  if (earlier.length === 0) return lines;
  if (!options.all)
    return [
      ...lines,
      '',
      'Before that:',
      ...wrappedLines(
        earlier.map((operation) => `  ${operationLine(operation)}`),
        options.columns,
      ),
    ];
  // Of the nodes of an earlier operation only the present state is known.
  const trees = earlier.flatMap((operation) => [
    '',
    ...linesOfTree(treeOf({ ...shown, state: undefined, operation, nodes: [] }, options), options),
  ]);
  return [...lines, ...trees];
};

const neverRequested = ({ namespace, cluster }: ClusterAt): CliFailure =>
  new CliFailure('not-found', {
    code: 'cluster.unknown',
    message: `No operation on a cluster ${cluster} in the namespace ${namespace} is known`,
    help: 'List the clusters with "fairlead cluster list".',
  });

const operationLine = (operation: OperationView): string => {
  const { kind, startedAt, durationMs, actor } = operation;
  const took = durationMs === null ? '' : `, took ${formatDuration(durationMs)}`;
  return `${startedAt}  ${kind}: ${summaryOf(operation)}${took}, requested by ${actor}`;
};
