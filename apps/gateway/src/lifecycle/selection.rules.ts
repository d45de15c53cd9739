import {
  CONTROL_PLANE_POOL,
  nearestOf,
  refuse,
  type NodeRole,
  type NodeSelection,
  type Refusal,
} from '@fairlead/contracts';

/** What a selection depends on. */
export interface Selectable {
  readonly role: NodeRole;
  readonly pool: string;
  /** Those that Fairlead set on its Node. */
  readonly labels: Readonly<Record<string, string>>;
}

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

type Nodes = Readonly<Record<string, Selectable>>;

const poolOf = ({ role, pool }: Selectable): string => (role === 'control-plane' ? CONTROL_PLANE_POOL : pool);

/** Whether a node is of one of the pools, if any is named, and has all of the labels. */
export const isSelectedBy = ({ pools, labels }: Pick<NodeSelection, 'pools' | 'labels'>, node: Selectable): boolean =>
  (pools.length === 0 || pools.includes(poolOf(node))) &&
  Object.entries(labels).every(([key, value]) => node.labels[key] === value);

/** The nearest name goes into the help: most wrong names are misspelled. */
const unknownNode = (nodes: Nodes, { namespace, cluster }: NamedCluster, name: string, index: number): Refusal => {
  const refusal = refuse('node.unknown', { namespace, cluster, node: name }, `select.nodes[${index}]`);
  const nearest = nearestOf(name, Object.keys(nodes));
  return nearest === undefined ? refusal : { ...refusal, help: `Did you mean ${nearest}?` };
};

const unknownPool = (nodes: Nodes, { namespace, cluster }: NamedCluster, name: string, index: number): Refusal => {
  const refusal = refuse('pool.unknown', { namespace, cluster, pool: name }, `select.pools[${index}]`);
  const nearest = nearestOf(name, [...new Set(Object.values(nodes).map(poolOf))]);
  return nearest === undefined ? refusal : { ...refusal, help: `Did you mean ${nearest}?` };
};

const faultOf = ({ nodes, pools, labels, all }: NodeSelection): Refusal | undefined => {
  const isNamed = nodes.length > 0;
  const isShared = pools.length > 0 || Object.keys(labels).length > 0;
  if (isNamed && (isShared || all))
    return refuse('node.selection-invalid', { detail: 'both names and others are given' }, 'select');
  if (!isNamed && !isShared && !all) return refuse('node.selection-invalid', { detail: 'nothing is given' }, 'select');
  return undefined;
};

/** Control planes before workers, each in the order of their names: the same order for the same request. */
const inOrder = (nodes: Nodes, names: readonly string[]): readonly string[] => {
  const rank = (name: string): number => (nodes[name]?.role === 'control-plane' ? 0 : 1);
  return [...new Set(names)].toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
};

/** The names of the nodes that are selected, in the order in which they begin. */
export const selectNodes = (nodes: Nodes, selection: NodeSelection, of: NamedCluster): readonly string[] | Refusal => {
  const fault = faultOf(selection);
  if (fault !== undefined) return fault;
  const strangers = [
    ...selection.nodes.flatMap((name, index) =>
      Object.hasOwn(nodes, name) ? [] : [unknownNode(nodes, of, name, index)],
    ),
    ...selection.pools.flatMap((name, index) =>
      Object.values(nodes).some((node) => poolOf(node) === name) ? [] : [unknownPool(nodes, of, name, index)],
    ),
  ];
  if (strangers[0] !== undefined) return strangers[0];
  if (selection.nodes.length > 0) return inOrder(nodes, selection.nodes);
  return inOrder(
    nodes,
    Object.entries(nodes).flatMap(([name, node]) => (isSelectedBy(selection, node) ? [name] : [])),
  );
};
