import { without, type ReservedSizes, type StoredEvent } from '@fairlead/contracts';

/** Machines that a provider has reserved or will reserve for a cluster. */
export interface Reservation {
  /** The end that the provider has confirmed; null: none yet. */
  readonly endsAt: string | null;
  /** The mapping of sizes while it is active; absent: it is not. */
  readonly sizes?: ReservedSizes;
  /** Whether it was denied, so that a retry requests it again. */
  readonly isDenied?: true;
}

/** By connection; absent: nothing is reserved. */
export type ClusterReservations = Readonly<Record<string, Reservation>> | undefined;

const NEW: Reservation = { endsAt: null };

const begin = ({ waits }: StoredEvent<'ClusterAccepted'>['data']): ClusterReservations =>
  waits === undefined || waits.reserves.length === 0
    ? undefined
    : Object.fromEntries(waits.reserves.map((connection) => [connection, NEW]));

const askedAgain = (reservations: NonNullable<ClusterReservations>): NonNullable<ClusterReservations> =>
  Object.fromEntries(
    Object.entries(reservations).map(([connection, { isDenied: _denied, ...reservation }]) => [
      connection,
      reservation,
    ]),
  );

/** Applies the events of the cluster's declaration, and of the responses of its providers. */
export const reservationsAfter = (reservations: ClusterReservations, event: StoredEvent): ClusterReservations => {
  if (event.type === 'ClusterAccepted') return begin(event.data);
  if (reservations === undefined) return undefined;
  switch (event.type) {
    case 'ReservationConfirmed': {
      const { connection, endsAt } = event.data;
      return { ...reservations, [connection]: { ...reservations[connection], endsAt } };
    }
    case 'ReservationActivated': {
      const { connection, sizes } = event.data;
      return { ...reservations, [connection]: { ...(reservations[connection] ?? NEW), sizes } };
    }
    case 'ReservationDenied': {
      const { connection, until } = event.data;
      if (until !== undefined) return reservations;
      return { ...reservations, [connection]: { ...(reservations[connection] ?? NEW), isDenied: true } };
    }
    case 'ReservationReleased':
      return without(reservations, event.data.connection);
    case 'ClusterRetryRequested':
      return askedAgain(reservations);
    default:
      return reservations;
  }
};
