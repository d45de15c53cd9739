import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import type { ClusterView, NodeView } from '../api/views.js';
import type { Branch, Mark } from '../progress/tree.js';
import { partBranches, type AroundObjects } from './object.branches.js';

export interface ObjectTreeOptions {
  /** Opens what is well and equal too: every condition and every node. */
  readonly all: boolean;
}

/** So many of equal nodes are named; the rest is a number. */
const NAMED_MAX = 5;

type Condition = ClusterView['conditions'][number];

/** The objects of a cluster as a tree: what is wrong first, equal nodes in one line. */
export const objectTreeOf = (cluster: ClusterView, { all, ...around }: ObjectTreeOptions & AroundObjects): Branch => {
  const { name, namespace, k8sVersion, endpoint, status, virtualAddresses = [] } = cluster;
  const pools = poolsOf(cluster).map(([pool, nodes]) => poolBranch(pool, nodes, all));
  const conditions = conditionBranches(cluster, all);
  return {
    mark: markOfCluster(cluster),
    label: `${namespace}/${name}`,
    detail: [status.state, k8sVersion, endpoint].filter(Boolean).join(', '),
    children: [...conditions, ...pools, ...virtualAddresses.map(addressBranch), ...partBranches(cluster, around)],
  };
};

const markOfCluster = ({ status }: ClusterView): Mark => {
  switch (status.state) {
    case 'Running':
      return 'done';
    case 'Failed':
      return 'failed';
    case 'Degraded':
      return 'trouble';
    case 'Provisioning':
    case 'Maintaining':
    case 'Deleting':
      return 'running';
    case 'Paused':
      return 'waiting';
  }
};

// --- conditions -------------------------------------------------------------------------------------------------------------------

/** Those that the state follows from come first; without `all`, those that are as they should be are counted. */
const conditionBranches = ({ conditions, status }: ClusterView, all: boolean): readonly Branch[] => {
  const isWell = ({ reason }: Condition): boolean => reason === '';
  const decides = ({ reason }: Condition): boolean => status.reasons.includes(reason);
  const wrong = conditions.filter((condition) => !isWell(condition));
  const well = conditions.filter(isWell);
  const shown = [...wrong.filter(decides), ...wrong.filter((condition) => !decides(condition)), ...(all ? well : [])];
  const branches = shown.map(conditionBranch);
  if (all || well.length === 0) return branches;
  const label = `${well.length} other ${well.length === 1 ? 'condition is' : 'conditions are'} normal`;
  return [...branches, { mark: 'done', label, children: [] }];
};

const conditionBranch = ({ type, status, reason, message, lastTransitionTime }: Condition): Branch => ({
  mark: reason === '' ? 'done' : status === 'Unknown' ? 'waiting' : 'trouble',
  label: `${type} is ${status}${reason === '' ? '' : ` (${reason})`}`,
  detail: `since ${lastTransitionTime}${message === '' ? '' : `: ${message}`}`,
  children: [],
});

// --- pools and nodes --------------------------------------------------------------------------------------------------------------

/** The control planes, then the pools in the order of their names. */
const poolsOf = ({ nodes }: ClusterView): readonly (readonly [string, readonly NodeView[]])[] => {
  const pools = new Map<string, NodeView[]>();
  for (const node of nodes) pools.set(node.pool, [...(pools.get(node.pool) ?? []), node]);
  const rank = (pool: string): string => (pool === CONTROL_PLANE_POOL ? '' : pool);
  return [...pools].toSorted(([one], [other]) => (rank(one) < rank(other) ? -1 : 1));
};

const poolBranch = (pool: string, nodes: readonly NodeView[], all: boolean): Branch => {
  const children = groupsOf(nodes, all).map(groupBranch);
  const ready = nodes.filter((node) => node.ready).length;
  return {
    mark: children.some(({ mark }) => mark === 'trouble') ? 'trouble' : ready === nodes.length ? 'done' : 'running',
    label: pool === CONTROL_PLANE_POOL ? 'Control plane' : `Pool ${pool}`,
    detail: `${ready} of ${nodes.length} Ready`,
    children,
  };
};

type Group = readonly [NodeView, ...NodeView[]];

const versionOf = ({ software: { kubelet } }: NodeView): string =>
  kubelet === undefined ? '' : `v${kubelet.replace(/^v/, '')}`;

/** A node about which there is something to say has a line of its own. */
const groupsOf = (nodes: readonly NodeView[], all: boolean): readonly Group[] => {
  const groups = new Map<string, Group>();
  for (const node of nodes) {
    const isSpecial = all || node.reason !== '' || node.cordon !== undefined || node.phase === 'Lost';
    const key = isSpecial ? node.name : `${node.phase} ${versionOf(node)} ${node.spec}`;
    const [first, ...others] = groups.get(key) ?? [];
    groups.set(key, first === undefined ? [node] : [first, ...others, node]);
  }
  return [...groups.values()];
};

const markOfNode = ({ phase, reason }: NodeView): Mark => {
  switch (phase) {
    case 'Ready':
      return reason === '' ? 'done' : 'trouble';
    case 'Lost':
    case 'NotReady':
      return 'trouble';
    case 'Planned':
      return 'waiting';
    case 'Bootstrapping':
    case 'Joining':
    case 'Removing':
      return reason === '' ? 'running' : 'trouble';
  }
};

/** `3 nodes  Ready since …, v1.34.4, lab.medium: demo-w-1, demo-w-2, demo-w-3` */
const groupBranch = (group: Group): Branch => {
  const [node] = group;
  const since = group.reduce((latest, { changedAt }) => (changedAt > latest ? changedAt : latest), '');
  const words = [`${node.phase} since ${since}`, versionOf(node), node.spec].filter(Boolean).join(', ');
  const more = group.length - NAMED_MAX;
  const names = group.slice(0, NAMED_MAX).map(({ name }) => name);
  const see = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return {
    mark: markOfNode(node),
    label: group.length === 1 ? node.name : `${group.length} nodes`,
    detail: group.length === 1 ? words : `${words}: ${see}`,
    children: troublesOf(node).map((label) => ({ mark: 'trouble', label, children: [] })),
  };
};

const troublesOf = ({ reason, cordon }: NodeView): readonly string[] => [
  ...(reason === '' ? [] : [reason]),
  ...(cordon === undefined ? [] : [`cordoned since ${cordon.since} by ${cordon.actor}: ${cordon.reason}`]),
];

const addressBranch = ({ name, address, holder }: NonNullable<ClusterView['virtualAddresses']>[number]): Branch => ({
  mark: holder === null ? 'trouble' : 'done',
  label: `Virtual address ${name}`,
  detail: `${address}, ${holder === null ? 'held by no node' : `held by ${holder}`}`,
  children: [],
});
