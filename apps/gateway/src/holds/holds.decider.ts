import { refuse, type EventData, type Fact, type Refusal } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { hasPool, isForeign, presentAfter, type PresentCluster } from '../lifecycle/present.js';

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

/** The cluster of a name, and what of it is held. */
export interface HoldsState {
  readonly cluster: PresentCluster | undefined;
  /** By scope; the reason. */
  readonly held: ReadonlyMap<string, string>;
}

const keyOf = (scope: Scope): string => (scope.kind === 'node' ? `node/${scope.node}` : `pool/${scope.pool}`);

const unknownScope = (cluster: PresentCluster, { data }: SetUpdates): Refusal | undefined => {
  const { scope, namespace, cluster: name } = data;
  if (scope.kind === 'node')
    return cluster.nodes.has(scope.node)
      ? undefined
      : refuse('node.unknown', { namespace, cluster: name, node: scope.node });
  return hasPool(cluster, scope.pool)
    ? undefined
    : refuse('pool.unknown', { namespace, cluster: name, pool: scope.pool });
};

const set = ({ cluster, held }: HoldsState, command: SetUpdates): readonly Fact<'UpdatesDisabledSet'>[] | Refusal => {
  const { namespace, cluster: name, scope, disabled, reason } = command.data;
  if (cluster === undefined) return refuse('cluster.unknown', { namespace, cluster: name });
  const unknown = unknownScope(cluster, command);
  if (unknown !== undefined) return unknown;
  if (disabled && reason.trim() === '') return refuse('upgrade.reason-missing', {}, 'reason');
  const before = held.get(keyOf(scope));
  if (disabled ? before === reason : before === undefined) return nothing;
  return [{ type: 'UpdatesDisabledSet', data: { uid: cluster.uid, scope, disabled, reason } }];
};

/** What people hold out of changes, and release. A rollout that is under way leaves what is held after it began, too. */
export const holds: Decider<HoldsState, SetUpdates, Fact<'UpdatesDisabledSet'>> = {
  initial: { cluster: undefined, held: new Map() },
  reads: 'cluster',

  decide: set,

  evolve: (state, event) => {
    const cluster = presentAfter(state.cluster, event);
    if (event.type === 'ClusterRequested' || cluster === undefined) return { cluster, held: new Map() };
    if (event.type !== 'UpdatesDisabledSet' || isForeign(cluster, event)) return { ...state, cluster };
    const { scope, disabled, reason } = event.data;
    const held = new Map(state.held);
    if (disabled) held.set(keyOf(scope), reason);
    else held.delete(keyOf(scope));
    return { cluster, held };
  },
};
