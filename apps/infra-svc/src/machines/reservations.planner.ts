import type { Cause, ClusterLease, ConnectionName, Fact, ReservedMachines } from '@fairlead/contracts';
import { requestedSets } from '@fairlead/domain';
import type { ReservationReport } from '../providers/provider.ports.js';
import type { Cluster } from './machines.state.js';
import { reasonOf } from './reasons.planner.js';

/** Facts from the responses of providers. */
type ReservationFact = Fact<
  'ReservationConfirmed' | 'ReservationActivated' | 'ReservationDenied' | 'ReservationReleased' | 'InfrastructureFailed'
>;

/** Known from the request on, before the manifest exists. */
export const leaseOfCluster = ({ declared, spec }: Pick<Cluster, 'declared' | 'spec'>): ClusterLease | undefined =>
  declared === undefined ? spec.lease : declared.spec.lease;

export const startOf = (cluster: Pick<Cluster, 'declared' | 'spec'>): string | null =>
  leaseOfCluster(cluster)?.startsAt ?? null;

/** Whether the lease permits machines yet. */
export const isStarted = (cluster: Pick<Cluster, 'declared' | 'spec'>, now: string): boolean =>
  (startOf(cluster) ?? now) <= now;

/** Connections whose reservation is not active: until then, nothing may be requested on any connection. */
export const inactiveOf = ({ reservations = {} }: Pick<Cluster, 'reservations'>): readonly string[] =>
  Object.entries(reservations).flatMap(([connection, { sizes }]) => (sizes === undefined ? [connection] : []));

/** The size to request for a declared one. */
export const sizeAt = (
  { reservations = {} }: Pick<Cluster, 'reservations'>,
  connection: ConnectionName,
  size: string,
): string => {
  const { sizes = {} } = reservations[connection] ?? { endsAt: null };
  return Object.hasOwn(sizes, size) ? (sizes[size] ?? size) : size;
};

/** The machines of the cluster on a connection, as originally requested. */
export const reservedMachines = ({ spec }: Pick<Cluster, 'spec'>, connection: string): ReservedMachines => {
  const sets = requestedSets(spec).filter((set) => set.connection === connection && set.count > 0);
  const sizes = [...new Set(sets.map((set) => set.spec))].toSorted();
  return sizes.map((size) => ({
    spec: size,
    count: sets.reduce((sum, set) => (set.spec === size ? sum + set.count : sum), 0),
  }));
};

/** A reservation as requested from a provider. */
export interface AskedReservation {
  readonly connection: ConnectionName;
  readonly endsAt: string;
}

/** Without a reservation the creation fails. A reservation that cannot be changed is kept unchanged. */
export const deniedReservation = (
  cluster: Cluster,
  { connection, endsAt }: AskedReservation,
  cause: Cause,
): readonly ReservationFact[] => {
  const { uid, reservations = {} } = cluster;
  const reservation = reservations[connection];
  if (reservation === undefined || reservation.isDenied === true) return [];
  const kept = reservation.endsAt === null || reservation.endsAt === endsAt ? {} : { until: reservation.endsAt };
  const denied: ReservationFact = { type: 'ReservationDenied', data: { uid, connection, endsAt, ...kept, cause } };
  if ('until' in kept) return [denied];
  if (reservation.sizes !== undefined) return [];
  const reason = reasonOf(cause.operation);
  return [denied, { type: 'InfrastructureFailed', data: { uid, step: cause.operation, reason, cause } }];
};

/** The new facts in a provider's response. */
export const reservationFacts = (
  cluster: Cluster,
  asked: AskedReservation,
  report: ReservationReport,
): readonly ReservationFact[] => {
  const { uid, reservations = {} } = cluster;
  const { connection } = asked;
  const reservation = reservations[connection];
  if (reservation === undefined) return [];
  if (report.status === 'denied')
    return deniedReservation(cluster, asked, {
      operation: 'reserve machines',
      target: connection,
      message: report.message,
    });
  const { endsAt } = asked;
  const { sizes } = report;
  const machines = reservedMachines(cluster, connection);
  const startsAt = startOf(cluster);
  return [
    ...(reservation.endsAt === endsAt
      ? []
      : [{ type: 'ReservationConfirmed', data: { uid, connection, startsAt, endsAt, machines } } as const]),
    ...(report.status === 'active' && reservation.sizes === undefined
      ? [{ type: 'ReservationActivated', data: { uid, connection, sizes } } as const]
      : []),
  ];
};

/** On deletion, releases everything that may be reserved, including requests without a response. */
export const releaseFacts = ({ uid, reservations = {} }: Cluster): readonly ReservationFact[] =>
  Object.keys(reservations).map((connection) => ({
    type: 'ReservationReleased',
    data: { uid, connection: connection as ConnectionName },
  }));
