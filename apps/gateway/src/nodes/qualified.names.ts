import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import type { NodeDoc } from './nodes.projection.js';

type Named = Pick<NodeDoc, 'name' | 'role' | 'pool' | 'connection' | 'machine'>;

const poolOf = ({ role, pool }: Named): string => (role === 'control-plane' ? CONTROL_PLANE_POOL : pool);

/** `<provider>.<pool>.<name>`; of a machine that is only planned, its connection stands for the provider. */
export const qualifiedNameOf = (node: Named): string =>
  `${node.machine?.csp ?? node.connection}.${poolOf(node)}.${node.name}`;

const PARTS = 3;
const LENGTH_MAX = 200;

/** Names contain no dots. */
export const isQualified = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= LENGTH_MAX && name.split('.').length === PARTS;

/** The name of the node, if it is of this provider, or connection, and of this pool; otherwise what was given. */
export const plainName = (given: string, nodes: readonly Named[]): string => {
  const [origin, pool, name] = given.split('.');
  const isMeant = (node: Named): boolean =>
    node.name === name && poolOf(node) === pool && (node.machine?.csp === origin || node.connection === origin);
  return nodes.find(isMeant)?.name ?? given;
};
