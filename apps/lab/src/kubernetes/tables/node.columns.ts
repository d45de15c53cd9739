import { isReady, type Node } from '../objects/core.types.js';
import { conditionOf } from '../objects/kube.object.js';
import { AGE, NAME, text, wide, type Column } from './column.js';

const ROLE_PREFIX = 'node-role.kubernetes.io/';

const rolesOf = (node: Node): string | undefined => {
  const roles = Object.keys(node.metadata.labels ?? {})
    .filter((label) => label.startsWith(ROLE_PREFIX))
    .map((label) => label.slice(ROLE_PREFIX.length))
    .sort();
  return roles.length === 0 ? undefined : roles.join(',');
};

const statusOf = (node: Node): string => {
  const ready = conditionOf(node, 'Ready')?.status === 'Unknown' ? 'NotReady' : isReady(node) ? 'Ready' : 'NotReady';
  return node.spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
};

const addressOf = (node: Node, type: string): string | undefined =>
  node.status?.addresses?.find((address) => address.type === type)?.address;

export const NODE_COLUMNS: readonly Column<Node>[] = [
  NAME,
  text('Status', statusOf),
  text('Roles', rolesOf),
  AGE,
  text('Version', (node) => node.status?.nodeInfo?.['kubeletVersion']),
  wide(text('Internal-IP', (node) => addressOf(node, 'InternalIP'))),
  wide(text('External-IP', (node) => addressOf(node, 'ExternalIP'))),
  wide(text('OS-Image', (node) => node.status?.nodeInfo?.['osImage'])),
  wide(text('Kernel-Version', (node) => node.status?.nodeInfo?.['kernelVersion'])),
  wide(text('Container-Runtime', (node) => node.status?.nodeInfo?.['containerRuntimeVersion'])),
];
