import type { ClusterView } from '../api/views.js';
import { formatDuration } from '../output/duration.js';

type LeaseView = NonNullable<ClusterView['lease']>;

const reservationText = ({ connection, phase, endsAt, message }: LeaseView['reservations'][number]): string => {
  const until = endsAt === null ? '' : `, reserved until ${endsAt}`;
  return `  ${connection}: ${phase}${until}${message === '' ? '' : `; denied: ${message}`}`;
};

/** The end of a cluster, and its reservation. */
export const leaseText = ({ lease }: Pick<ClusterView, 'lease'>, nowMs: number): readonly string[] => {
  if (lease === undefined) return [];
  const { startsAt, endsAt, deletionAt, reservations } = lease;
  const leftMs = Date.parse(deletionAt) - nowMs;
  const begin = startsAt !== null && Date.parse(startsAt) > nowMs ? [`  Starts ${startsAt}`] : [];
  return [
    '',
    'Lease:',
    ...begin,
    `  Ends ${endsAt}; deletion starts ${deletionAt} (${leftMs > 0 ? `in ${formatDuration(leftMs)}` : 'now'})`,
    ...reservations.map(reservationText),
  ];
};
