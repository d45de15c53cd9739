import type { ClusterUid, StoredEvent } from '@fairlead/contracts';
import { deletionAtOf, lifetimeAfter, nextMomentOf, pauseAfter, warningsDue, type Lifetime } from '@fairlead/domain';
import { stateOnly, type Reconciler } from '@fairlead/event-sourcing';

/** Data of the task: a warning of the end of this cluster is due, or its deletion, at `dueAt` (RFC 3339). */
export interface EndOfLifetime {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly dueAt: string;
}

/** `lifetime` undefined: the cluster has no end, or is being deleted. */
interface KnownLifetime {
  readonly lifetime?: Lifetime;
  readonly isPaused?: true;
}

const ENDLESS: KnownLifetime = {};

const PAUSED = { reason: '', since: '' };

const evolve = (known: KnownLifetime, event: StoredEvent): KnownLifetime => {
  const lifetime = lifetimeAfter(known.lifetime, event);
  const isPaused = pauseAfter(known.isPaused === true ? PAUSED : null, event) !== null;
  if (lifetime === known.lifetime && isPaused === (known.isPaused === true)) return known;
  if (lifetime === undefined && !isPaused) return ENDLESS;
  return { ...(lifetime === undefined ? {} : { lifetime }), ...(isPaused ? { isPaused } : {}) };
};

/** A pause holds the deletion, and not the warnings. */
const isDue = (lifetime: Lifetime, isPaused: boolean, now: string): boolean =>
  warningsDue(lifetime, now).length > 0 || (!isPaused && deletionAtOf(lifetime) <= now);

/** At the next warning of a cluster, and when its deletion begins. */
export const lifetimeReconciler: Reconciler<KnownLifetime> = {
  name: 'lifetime',
  version: 2,
  context: 'request',
  decider: stateOnly(ENDLESS, evolve),
  worksInPause: true,
  generation: ({ lifetime }) => lifetime?.uid ?? '',
  tasks: ({ lifetime, isPaused = false }, now) => {
    if (lifetime === undefined || !isDue(lifetime, isPaused, now)) return [];
    const data: EndOfLifetime = { uid: lifetime.uid, dueAt: nextMomentOf(lifetime) };
    return [{ type: 'EndLifetime', key: `EndLifetime/${data.dueAt}`, reason: 'its end is near', data }];
  },
  wakeAt: ({ lifetime }, now) => {
    if (lifetime === undefined) return null;
    const next = nextMomentOf(lifetime);
    return next > now ? next : null;
  },
};
