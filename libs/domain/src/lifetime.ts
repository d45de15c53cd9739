import {
  durationMs,
  type Duration,
  type StoredEvent,
  type ClusterUid,
  earlierBy,
  type ClusterLease,
  without,
} from '@fairlead/contracts';

/** The limited lifetime of a cluster. A plain JSON value. */
export interface Lifetime {
  readonly uid: ClusterUid;
  readonly lease: ClusterLease;
  /** RFC 3339: when its end was last declared or moved. Warnings that were due earlier are skipped. */
  readonly since: string;
  /** Warnings already recorded for this end. */
  readonly warned: readonly Duration[];
  /** Ends confirmed by providers, by connection. */
  readonly reserved: Readonly<Record<string, string>>;
}

/**
 * The effective end: the earliest of the declared one and those that providers have confirmed, at which they would
 * reclaim the machines.
 */
export const endOf = ({ lease, reserved }: Pick<Lifetime, 'lease' | 'reserved'>): string =>
  Object.values(reserved).reduce((end, other) => (other < end ? other : end), lease.endsAt);

/** When the deletion of the cluster starts. */
export const deletionAtOf = (lifetime: Pick<Lifetime, 'lease' | 'reserved'>): string =>
  earlierBy(endOf(lifetime), lifetime.lease.gracePeriod);

/** Warnings not recorded yet, with their times. */
const openWarnings = (lifetime: Lifetime): readonly { readonly warning: Duration; readonly at: string }[] =>
  lifetime.lease.warnings
    .filter((warning) => !lifetime.warned.includes(warning))
    .map((warning) => ({ warning, at: earlierBy(endOf(lifetime), warning) }))
    .filter(({ at }) => at > lifetime.since);

/** Due warnings, earliest first. */
export const warningsDue = (lifetime: Lifetime, now: string): readonly Duration[] =>
  openWarnings(lifetime)
    .filter(({ at }) => at <= now)
    .map(({ warning }) => warning)
    .toSorted((one, other) => durationMs(other) - durationMs(one));

/** When the next warning or the deletion is due; may be in the past. */
export const nextMomentOf = (lifetime: Lifetime): string =>
  openWarnings(lifetime).reduce((next, { at }) => (at < next ? at : next), deletionAtOf(lifetime));

/** A new end has its own warnings. */
const moved = (before: Lifetime, after: Lifetime, time: string): Lifetime =>
  endOf(before) === endOf(after) ? after : { ...after, since: time, warned: [] };

const begin = (uid: ClusterUid, lease: ClusterLease | undefined, since: string): Lifetime | undefined =>
  lease === undefined ? undefined : { uid, lease, since, warned: [], reserved: {} };

const changed = (lifetime: Lifetime, event: StoredEvent): Lifetime | undefined => {
  const { reserved } = lifetime;
  switch (event.type) {
    case 'ClusterSpecChanged': {
      const { lease } = event.data.spec;
      return lease === undefined ? undefined : { ...lifetime, lease };
    }
    case 'ReservationConfirmed':
      return { ...lifetime, reserved: { ...reserved, [event.data.connection]: event.data.endsAt } };
    case 'ReservationReleased':
      return { ...lifetime, reserved: without(reserved, event.data.connection) };
    case 'ClusterExpiring':
      return { ...lifetime, warned: [...lifetime.warned, event.data.warning] };
    case 'ClusterDeletionRequested':
    case 'ClusterDeleted':
      return undefined;
    default:
      return lifetime;
  }
};

/** The lifetime of a cluster after an event; undefined: unlimited, or its deletion has begun. */
export const lifetimeAfter = (lifetime: Lifetime | undefined, event: StoredEvent): Lifetime | undefined => {
  const { time } = event.meta;
  if (event.type === 'ClusterRequested') return begin(event.data.uid, event.data.spec.lease, time);
  if (lifetime === undefined)
    return event.type === 'ClusterSpecChanged' ? begin(event.data.uid, event.data.spec.lease, time) : undefined;
  if (!('uid' in event.data) || event.data.uid !== lifetime.uid) return lifetime;
  const after = changed(lifetime, event);
  return after === undefined || after === lifetime ? after : moved(lifetime, after, time);
};
