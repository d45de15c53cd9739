import { sentenceOf, without, type LeaseView, type ReservedSizes, type StoredEvent } from '@fairlead/contracts';
import { deletionAtOf, endOf, lifetimeAfter, type Lifetime } from '@fairlead/domain';

interface ReservationDoc {
  readonly phase: LeaseView['reservations'][number]['phase'];
  readonly sizes: ReservedSizes;
  readonly message: string;
  readonly since: string;
}

/** What is shown of the limited lifetime of a cluster, also while it is being deleted. */
export interface LeaseDoc {
  readonly lifetime: Lifetime;
  readonly reservations: Readonly<Record<string, ReservationDoc>>;
}

const reservationsAfter = (reservations: LeaseDoc['reservations'], event: StoredEvent): LeaseDoc['reservations'] => {
  const since = event.meta.time;
  const NEW: ReservationDoc = { phase: 'Pending', sizes: {}, message: '', since };
  switch (event.type) {
    case 'ClusterAccepted':
      return Object.fromEntries((event.data.waits?.reserves ?? []).map((connection) => [connection, NEW]));
    case 'ReservationConfirmed': {
      const { connection } = event.data;
      const { phase, ...before } = reservations[connection] ?? NEW;
      return {
        ...reservations,
        [connection]: { ...before, phase: phase === 'Denied' ? 'Pending' : phase, message: '' },
      };
    }
    case 'ReservationActivated': {
      const { connection, sizes } = event.data;
      return { ...reservations, [connection]: { phase: 'Active', sizes, message: '', since } };
    }
    case 'ReservationDenied': {
      const { connection, until, cause } = event.data;
      const before = reservations[connection] ?? NEW;
      const denied = { ...before, message: sentenceOf(cause), since };
      return { ...reservations, [connection]: until === undefined ? { ...denied, phase: 'Denied' } : denied };
    }
    case 'ReservationReleased':
      return without(reservations, event.data.connection);
    default:
      return reservations;
  }
};

/** Undefined: the cluster has no end. */
export const leaseDocAfter = (doc: LeaseDoc | undefined, event: StoredEvent): LeaseDoc | undefined => {
  const lifetime = event.type === 'ClusterDeletionRequested' ? doc?.lifetime : lifetimeAfter(doc?.lifetime, event);
  if (lifetime === undefined) return undefined;
  const before = doc?.reservations ?? {};
  const reservations = reservationsAfter(before, event);
  return lifetime === doc?.lifetime && reservations === before ? doc : { lifetime, reservations };
};

export const leaseView = ({ lifetime, reservations }: LeaseDoc): LeaseView => {
  const { lease, warned, reserved } = lifetime;
  return {
    startsAt: lease.startsAt ?? null,
    endsAt: endOf(lifetime),
    deletionAt: deletionAtOf(lifetime),
    gracePeriod: lease.gracePeriod,
    warnings: [...lease.warnings],
    warned: [...warned],
    reservations: Object.entries(reservations).map(([connection, { phase, sizes, message }]) => ({
      connection,
      phase,
      endsAt: reserved[connection] ?? null,
      sizes,
      message,
    })),
  };
};
