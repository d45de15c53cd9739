import {
  durationMs,
  type Duration,
  type StoredEvent,
  type ClusterUid,
  earlierBy,
  type ClusterLease,
  without,
} from '@fairlead/contracts';

/** What is known of the end of a cluster that has one. It is a plain JSON value. */
export interface Lifetime {
  readonly uid: ClusterUid;
  readonly lease: ClusterLease;
  /** RFC 3339: when its end was last declared or moved. A warning whose moment was over by then is none. */
  readonly since: string;
  /** The warnings that were recorded for this end. */
  readonly warned: readonly Duration[];
  /** The ends that providers have confirmed, by connection. */
  readonly reserved: Readonly<Record<string, string>>;
}

/** An end that a provider has not confirmed yet is none: it would take the machines at the one that it has confirmed. */
export const endOf = ({ lease, reserved }: Pick<Lifetime, 'lease' | 'reserved'>): string =>
  Object.values(reserved).reduce((end, other) => (other < end ? other : end), lease.endsAt);

/** When the deletion of the cluster begins. */
export const deletionAtOf = (lifetime: Pick<Lifetime, 'lease' | 'reserved'>): string =>
  earlierBy(endOf(lifetime), lifetime.lease.gracePeriod);

/** The warnings that are still to be recorded, with their moments. */
const openWarnings = (lifetime: Lifetime): readonly { readonly warning: Duration; readonly at: string }[] =>
  lifetime.lease.warnings
    .filter((warning) => !lifetime.warned.includes(warning))
    .map((warning) => ({ warning, at: earlierBy(endOf(lifetime), warning) }))
    .filter(({ at }) => at > lifetime.since);

/** The warnings that are due, the earliest first. */
export const warningsDue = (lifetime: Lifetime, now: string): readonly Duration[] =>
  openWarnings(lifetime)
    .filter(({ at }) => at <= now)
    .map(({ warning }) => warning)
    .toSorted((one, other) => durationMs(other) - durationMs(one));

/** When the next thing is due; it may be over. */
export const nextMomentOf = (lifetime: Lifetime): string =>
  openWarnings(lifetime).reduce((next, { at }) => (at < next ? at : next), deletionAtOf(lifetime));

/** Another end has its own warnings. */
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

/** What is known of the end of a cluster after an event about it; undefined: it has none, or its deletion has begun. */
export const lifetimeAfter = (lifetime: Lifetime | undefined, event: StoredEvent): Lifetime | undefined => {
  const { time } = event.meta;
  if (event.type === 'ClusterRequested') return begin(event.data.uid, event.data.spec.lease, time);
  if (lifetime === undefined)
    return event.type === 'ClusterSpecChanged' ? begin(event.data.uid, event.data.spec.lease, time) : undefined;
  if (!('uid' in event.data) || event.data.uid !== lifetime.uid) return lifetime;
  const after = changed(lifetime, event);
  return after === undefined || after === lifetime ? after : moved(lifetime, after, time);
};
