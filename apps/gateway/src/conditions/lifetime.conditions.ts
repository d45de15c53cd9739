import { earlierBy } from '@fairlead/contracts';
import { earliestOf, holds, isNot, latestOf, named, type Read } from './condition.reading.js';

/** Of a cluster whose machines are reserved. No state follows from it: a creation without its reservation has failed already. */
export const reserved: Read = ({ lease, createdAt }) => {
  const { reservations = [], startsAt = null, changedAt: lastTransitionTime = createdAt } = lease ?? {};
  const denied = reservations.find(({ phase }) => phase === 'Denied');
  if (denied !== undefined) {
    const message = `${denied.message}. Retry when the capacity is there, or delete the cluster`;
    return { status: 'False', reason: 'ReservationDenied', message, lastTransitionTime };
  }
  const pending = reservations.filter(({ phase }) => phase === 'Pending').map(({ connection }) => connection);
  if (pending.length > 0) {
    const message = `the reservation on ${named(pending)} ${startsAt === null ? 'has not begun' : `begins at ${startsAt}`}`;
    return { status: 'Unknown', reason: 'ReservationPending', message, lastTransitionTime };
  }
  const kept = reservations.find(({ message }) => message !== '');
  if (kept === undefined) return holds(lastTransitionTime);
  return {
    ...holds(lastTransitionTime),
    reason: 'ReservationDenied',
    message: `another end was denied: ${kept.message}`,
  };
};

const HELD_BY_PAUSE =
  ', and the pause holds its deletion: it begins when the cluster is resumed, unless a later end is declared with that';

/** Of a cluster with an end. Derived from the time of reading, as its warnings are from the clock; no state follows from it. */
export const expiring: Read = ({ lease, name, pause, now, createdAt }) => {
  if (lease === undefined) return isNot(createdAt);
  const { endsAt, deletionAt, warnings, since } = lease;
  const until = `the cluster is deleted at ${deletionAt}, before its lease ends at ${endsAt}`;
  if (deletionAt <= now) {
    const message = `the lease ends at ${endsAt}${pause === null ? '' : HELD_BY_PAUSE}`;
    return { status: 'True', reason: 'LeaseOver', message, lastTransitionTime: deletionAt };
  }
  const moments = warnings.map((warning) => earlierBy(endsAt, warning));
  const begin = earliestOf(moments, deletionAt);
  if (begin > now) return { ...isNot(since), message: until };
  const message = `${until}. Keep it longer with "fairlead cluster extend ${name} --until TIME"`;
  return { status: 'True', reason: 'LeaseEnding', message, lastTransitionTime: latestOf([begin, since], since) };
};
