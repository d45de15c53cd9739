import { refuse, type Fact, type HookPoint, type NodeName, type Refusal, type UpgradeId } from '@fairlead/contracts';
import type { Command, Decider } from '@fairlead/event-sourcing';
import { heldAfter, type HeldBy, type HeldHooks } from '../lifecycle/held.hooks.js';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import { isForeign, membershipAfter, type ClusterMembership } from '../lifecycle/membership.js';

export type SkipHook = Command<
  'SkipHook',
  {
    readonly namespace: string;
    readonly cluster: string;
    readonly hook: string;
    /** Undefined: whatever it holds. */
    readonly point: HookPoint | undefined;
    readonly node: string | undefined;
    readonly reason: string;
  }
>;

export interface HooksState {
  readonly cluster: ClusterMembership | undefined;
  readonly held: HeldHooks;
}

const skip = ({ cluster, held = {} }: HooksState, { data }: SkipHook): readonly Fact<'HookSkipped'>[] | Refusal => {
  const { namespace, cluster: name, hook, point, node, reason } = data;
  if (cluster === undefined) return refuse('cluster.unknown', { namespace, cluster: name });
  const paused = refuseWhilePaused(cluster.pause, { namespace, cluster: name }, 'skip a hook');
  if (paused !== undefined) return paused;
  const isMeant = (one: HeldBy): boolean =>
    one.hook === hook && (point ?? one.point) === one.point && (node ?? one.node) === one.node;
  const skipped = Object.values(held).filter(isMeant);
  const about = [point === undefined ? '' : ` at ${point}`, node === undefined ? '' : ` of ${node}`].join('');
  if (skipped.length === 0) return refuse('hook.holds-nothing', { hook, cluster: name, about });
  return skipped.map((one) => ({
    type: 'HookSkipped',
    data: {
      ...{ uid: cluster.uid, hook, point: one.point, reason },
      ...(one.node === null ? {} : { node: one.node as NodeName }),
      ...(one.upgradeId === undefined ? {} : { upgradeId: one.upgradeId as UpgradeId }),
      ...(one.requestId === undefined ? {} : { requestId: one.requestId }),
    },
  }));
};

/** What people may decide about hooks that hold a cluster, besides declaring others. */
export const hooks: Decider<HooksState, SkipHook, Fact<'HookSkipped'>> = {
  initial: { cluster: undefined, held: undefined },
  reads: 'cluster',
  decide: skip,

  evolve: (state, event) => {
    const cluster = membershipAfter(state.cluster, event);
    if (event.type === 'ClusterRequested' || cluster === undefined) return { cluster, held: undefined };
    return isForeign(cluster, event) ? state : { cluster, held: heldAfter(state.held, event) };
  },
};
