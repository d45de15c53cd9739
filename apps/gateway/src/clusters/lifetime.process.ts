import { lifetimeAfter, nextMomentOf, type ClusterUid, type Lifetime, type StoredEvent } from '@fairlead/contracts';
import { job, timer, type Process } from '@fairlead/event-sourcing';

/** Data of the job: something is due of the end of this cluster, at `dueAt` (RFC 3339). */
export interface EndOfLifetime {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly dueAt: string;
}

/** `lifetime` undefined: the cluster has no end, or is being deleted. */
interface Known {
  readonly lifetime?: Lifetime;
}

const TIMER = 'lifetime';

/** After these another moment may be the next one. What was due in a pause is due again when it ends. */
const OCCASIONS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterRequested',
  'ClusterSpecChanged',
  'ReservationConfirmed',
  'ReservationDenied',
  'ReservationReleased',
  'ClusterExpiring',
  'ClusterResumed',
]);

/**
 * Wakes up at the next warning of a cluster, or when its deletion begins. Nothing is kept of clusters without an end. A timer that is set
 * for an end that is declared no more finds nothing to do.
 */
export const lifetimeProcess: Process<Known> = {
  name: 'lifetime',
  version: 1,
  initial: {},
  evolve: (known, event) => {
    const lifetime = lifetimeAfter(known.lifetime, event);
    if (lifetime === known.lifetime) return known;
    return lifetime === undefined ? undefined : { lifetime };
  },
  react: ({ lifetime }, event) =>
    lifetime === undefined || !OCCASIONS.has(event.type) ? [] : [timer(TIMER, nextMomentOf(lifetime))],
  due: ({ lifetime }, { dueAt }) =>
    lifetime === undefined ? [] : [job('EndLifetime', { uid: lifetime.uid, dueAt } satisfies EndOfLifetime)],
};
