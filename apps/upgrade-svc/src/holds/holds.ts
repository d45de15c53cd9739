import type { EventData, NodeName } from '@fairlead/contracts';

/** Nodes and pools that users hold out of changes, with their reasons. */
export interface Holds {
  readonly nodes: Readonly<Record<string, string>>;
  readonly pools: Readonly<Record<string, string>>;
}

export const NO_HOLDS: Holds = { nodes: {}, pools: {} };

const set = (
  reasons: Readonly<Record<string, string>>,
  name: string,
  reason: string | undefined,
): Readonly<Record<string, string>> => {
  const { [name]: _before, ...others } = reasons;
  return reason === undefined ? others : { ...others, [name]: reason };
};

export const withHold = (holds: Holds, { scope, disabled, reason }: EventData<'UpdatesDisabledSet'>): Holds => {
  const held = disabled ? reason : undefined;
  return scope.kind === 'node'
    ? { ...holds, nodes: set(holds.nodes, scope.node, held) }
    : { ...holds, pools: set(holds.pools, scope.pool, held) };
};

/** Why the node is held; undefined: it is not. Its own hold takes precedence over that of its pool. */
export const heldBecause = (
  holds: Holds,
  node: { readonly name: NodeName; readonly pool: string },
): string | undefined => holds.nodes[node.name] ?? holds.pools[node.pool];
