import { POOL_LABEL, readinessAfter, type Machine, type Readiness, type StoredEvent } from '@fairlead/contracts';
import type { Selectable } from './selection.rules.js';

/** A machine of a pool, with the labels that Fairlead sets, and how its node is. */
export interface SelectableNode extends Selectable, Readiness {
  readonly lost: boolean;
}

/** The nodes of a cluster that a request can select, by their names. */
export type SelectableNodes = ReadonlyMap<string, SelectableNode>;

export const NO_NODES: SelectableNodes = new Map();

const change = (
  nodes: SelectableNodes,
  name: string,
  to: (node: SelectableNode) => Partial<SelectableNode>,
): SelectableNodes => {
  const node = nodes.get(name);
  return node === undefined ? nodes : new Map(nodes).set(name, { ...node, ...to(node) });
};

const planned = (nodes: SelectableNodes, { machines }: StoredEvent<'VmsPlanned'>['data']): SelectableNodes => {
  const fresh = machines.filter(({ name }) => !nodes.has(name));
  const added = fresh.map(({ name, role, pool }): [string, SelectableNode] => [
    name,
    { role, pool, labels: { 'kubernetes.io/hostname': name }, ready: false, lost: false },
  ]);
  return new Map([...nodes, ...added]);
};

/** The labels that a node has because of its machine. */
export const machineLabels = ({ labels, pool, csp, region, zone }: Machine): Readonly<Record<string, string>> => ({
  ...labels,
  [POOL_LABEL]: pool,
  'topology.cloud-barista.github.io/csp': csp,
  'topology.kubernetes.io/region': region,
  'topology.kubernetes.io/zone': zone,
});

/** The nodes after an event of their cluster. */
export const selectableAfter = (nodes: SelectableNodes, event: StoredEvent): SelectableNodes => {
  switch (event.type) {
    case 'VmsPlanned':
      return planned(nodes, event.data);
    case 'VmCreated': {
      const { machine } = event.data;
      return change(nodes, machine.name, ({ labels }) => ({ labels: { ...labels, ...machineLabels(machine) } }));
    }
    case 'NodeLabelsSet':
      return change(nodes, event.data.node, ({ labels }) => ({ labels: { ...labels, ...event.data.labels } }));
    case 'NodeReady':
      return change(nodes, event.data.node, (node) => ({ ...readinessAfter(node, event.type), lost: false }));
    case 'NodeNotReady':
    case 'NodeMissing':
    case 'NodeReturned':
    case 'NodeReadinessContradicted':
    case 'NodeReadinessConfirmed':
      return change(nodes, event.data.node, (node) => readinessAfter(node, event.type));
    case 'NodeLost':
      return change(nodes, event.data.node, () => ({ lost: true }));
    case 'NodeRecovered':
      return change(nodes, event.data.node, () => ({ lost: false }));
    case 'VmDeleted':
      return new Map([...nodes].filter(([name]) => name !== event.data.name));
    default:
      return nodes;
  }
};
