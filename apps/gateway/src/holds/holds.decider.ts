import {
  isRefusal,
  refuse,
  type EventData,
  type Fact,
  type NodeName,
  type NodeSelection,
  type Refusal,
} from '@fairlead/contracts';
import { type Command, type Decider } from '@fairlead/event-sourcing';
import { hasPool, isForeign, membershipAfter, type ClusterMembership } from '../lifecycle/membership.js';
import { selectNodes } from '../lifecycle/selection.rules.js';

export type Scope = EventData<'UpdatesDisabledSet'>['scope'];

export type SetUpdates = Command<
  'SetUpdates',
  {
    readonly namespace: string;
    readonly cluster: string;
    readonly scope: Scope;
    readonly disabled: boolean;
    readonly reason: string;
  }
>;

/** Of nodes that are selected. Each has a hold of its own, whatever joins their pools later. */
export type SetNodeUpdates = Command<
  'SetNodeUpdates',
  {
    readonly namespace: string;
    readonly cluster: string;
    readonly select: NodeSelection;
    readonly disabled: boolean;
    readonly reason: string;
  }
>;
export type HoldsCommand = SetUpdates | SetNodeUpdates;

/** The cluster of a name, and what of it is held. */
export interface HoldsState {
  readonly cluster: ClusterMembership | undefined;
  /** By scope; the reason. */
  readonly held: ReadonlyMap<string, string>;
}

const keyOf = (scope: Scope): string => (scope.kind === 'node' ? `node/${scope.node}` : `pool/${scope.pool}`);

/** Why a node, or its pool, is held; undefined: neither is. */
export const holdOn = ({ held, cluster }: HoldsState, node: string): string | undefined =>
  held.get(`node/${node}`) ?? held.get(`pool/${cluster?.nodes[node]?.pool}`);

const unknownScope = (cluster: ClusterMembership, { data }: SetUpdates): Refusal | undefined => {
  const { scope, namespace, cluster: name } = data;
  if (scope.kind === 'node')
    return Object.hasOwn(cluster.nodes, scope.node)
      ? undefined
      : refuse('node.unknown', { namespace, cluster: name, node: scope.node });
  return hasPool(cluster, scope.pool)
    ? undefined
    : refuse('pool.unknown', { namespace, cluster: name, pool: scope.pool });
};

const facts = (
  { held }: HoldsState,
  uid: ClusterMembership['uid'],
  scopes: readonly Scope[],
  { disabled, reason }: SetUpdates['data'] | SetNodeUpdates['data'],
): readonly Fact<'UpdatesDisabledSet'>[] | Refusal => {
  if (disabled && reason.trim() === '') return refuse('upgrade.reason-missing', {}, 'reason');
  return scopes.flatMap((scope) => {
    const before = held.get(keyOf(scope));
    const isSo = disabled ? before === reason : before === undefined;
    return isSo ? [] : [{ type: 'UpdatesDisabledSet', data: { uid, scope, disabled, reason } } as const];
  });
};

const set = (state: HoldsState, command: HoldsCommand): readonly Fact<'UpdatesDisabledSet'>[] | Refusal => {
  const { namespace, cluster: name } = command.data;
  const { cluster } = state;
  if (cluster === undefined) return refuse('cluster.unknown', { namespace, cluster: name });
  if (command.type === 'SetUpdates')
    return unknownScope(cluster, command) ?? facts(state, cluster.uid, [command.data.scope], command.data);
  const selected = selectNodes(cluster.nodes, command.data.select, command.data);
  if (isRefusal(selected)) return selected;
  if (selected.length === 0) return refuse('node.none-selected', { namespace, cluster: name, done: 'held' }, 'select');
  const scopes = selected.map((node): Scope => ({ kind: 'node', node: node as NodeName }));
  return facts(state, cluster.uid, scopes, command.data);
};

/** What people hold out of changes, and release. A rollout that is under way leaves what is held after it began, too. */
export const holds: Decider<HoldsState, HoldsCommand, Fact<'UpdatesDisabledSet'>> = {
  initial: { cluster: undefined, held: new Map() },
  reads: 'cluster',

  decide: set,

  evolve: (state, event) => {
    const cluster = membershipAfter(state.cluster, event);
    if (event.type === 'ClusterRequested' || cluster === undefined) return { ...holds.initial, cluster };
    if (isForeign(cluster, event)) return { ...state, cluster };
    if (event.type !== 'UpdatesDisabledSet') return { ...state, cluster };
    const { scope, disabled, reason } = event.data;
    const held = new Map(state.held);
    if (disabled) held.set(keyOf(scope), reason);
    else held.delete(keyOf(scope));
    return { cluster, held };
  },
};
