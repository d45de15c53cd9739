import * as z from 'zod';
import { Duration, durationMs } from './durations.js';
import { ZonedTime } from './time.js';
import { refuse, type Refusal } from './refusals.js';

/** What to do with a cluster on a connection whose provider does not support reservations. */
export const RESERVATION_POLICIES = ['IfSupported', 'Required'] as const;

const WARNINGS_MAX = 10;
const GRACE_PERIOD_DEFAULT = '10m';
const WARNINGS_DEFAULT: readonly Duration[] = ['24h', '1h'];

const policy = z
  .enum(RESERVATION_POLICIES)
  .describe(
    'IfSupported: machines are reserved on connections whose provider can reserve. Required: a cluster on any other connection is rejected',
  );

/** The limited lifetime of a cluster, with every default filled in. Times are RFC 3339, UTC, with milliseconds. */
export const ClusterLease = z
  .strictObject({
    startsAt: z.iso.datetime({ precision: 3 }).optional().describe('Absent: at once'),
    endsAt: z.iso.datetime({ precision: 3 }),
    gracePeriod: Duration,
    warnings: z.array(Duration).max(WARNINGS_MAX),
    reservation: policy,
  })
  .meta({ id: 'ClusterLease', description: 'The limited lifetime of a cluster' });
export type ClusterLease = z.infer<typeof ClusterLease>;

/** The form that users write. */
export const ManifestLease = z
  .strictObject({
    startsAt: ZonedTime.optional().describe('No machine is requested earlier. Left out: at once'),
    endsAt: ZonedTime.describe('The cluster is gone by then: its deletion begins earlier by the grace period'),
    gracePeriod: Duration.default(GRACE_PERIOD_DEFAULT).describe('How long before its end the cluster is deleted'),
    warnings: z
      .array(Duration)
      .max(WARNINGS_MAX)
      .optional()
      .describe(
        `How long before its end a warning is recorded, each once. Left out: ${WARNINGS_DEFAULT.join(' and ')}, where longer than the grace period`,
      ),
    reservation: policy.default('IfSupported'),
  })
  .meta({
    id: 'ManifestLease',
    description: 'The limited lifetime of the cluster. Left out: it has no end, and nothing is reserved',
    examples: [{ endsAt: '2026-12-24T18:00:00Z', warnings: ['24h', '1h'] }],
  });
export type ManifestLease = z.infer<typeof ManifestLease>;

const inUtc = (time: string): string => new Date(time).toISOString();

/** Durations of equal length count as one warning. */
const distinct = (durations: readonly Duration[]): Duration[] =>
  durations.filter((one, at) => durations.findIndex((other) => durationMs(other) === durationMs(one)) === at);

export const leaseOf = ({ startsAt, endsAt, gracePeriod, warnings, reservation }: ManifestLease): ClusterLease => ({
  ...(startsAt === undefined ? {} : { startsAt: inUtc(startsAt) }),
  endsAt: inUtc(endsAt),
  gracePeriod,
  warnings: distinct(warnings ?? WARNINGS_DEFAULT.filter((one) => durationMs(one) > durationMs(gracePeriod))),
  reservation,
});

/** RFC 3339 minus a duration. */
export const earlierBy = (time: string, duration: Duration): string =>
  new Date(Date.parse(time) - durationMs(duration)).toISOString();

const isSame = (one: ClusterLease, other: ClusterLease | undefined): boolean =>
  JSON.stringify(ClusterLease.parse(one)) === JSON.stringify(other && ClusterLease.parse(other));

/**
 * Faults of a lease at a given time, across fields that are well-formed by themselves. A lease that was declared before
 * is not checked again.
 */
export const leaseFaults = (
  lease: ClusterLease | undefined,
  before: ClusterLease | undefined,
  now: string,
): readonly Refusal[] => {
  if (lease === undefined || isSame(lease, before)) return [];
  const { startsAt, endsAt, gracePeriod, warnings } = lease;
  const deletionAt = earlierBy(endsAt, gracePeriod);
  const late = warnings.filter((warning) => durationMs(warning) <= durationMs(gracePeriod));
  return [
    ...(deletionAt <= now ? [refuse('cluster.lease-over', { deletionAt, now }, 'spec.lease.endsAt')] : []),
    ...(startsAt !== undefined && startsAt >= deletionAt
      ? [refuse('cluster.lease-empty', { startsAt, deletionAt }, 'spec.lease.startsAt')]
      : []),
    ...late.map((warning) =>
      refuse(
        'cluster.lease-warning-late',
        { warning, gracePeriod },
        `spec.lease.warnings[${warnings.indexOf(warning)}]`,
      ),
    ),
  ];
};

/** Why the lease of an existing cluster cannot be changed to this one. Reservations are made only on creation. */
export const leaseChangeFaults = (was: ClusterLease | undefined, is: ClusterLease | undefined): readonly Refusal[] => {
  if (is === undefined)
    return was?.reservation === 'Required' ? [refuse('cluster.lease-reserved', {}, 'spec.lease')] : [];
  const [before, after] = [was?.startsAt ?? 'not set', is.startsAt ?? 'not set'];
  return [
    ...(before === after
      ? []
      : [refuse('cluster.field-immutable', { field: 'lease.startsAt', before, after }, 'spec.lease.startsAt')]),
    ...(is.reservation === 'Required' && was?.reservation !== 'Required'
      ? [refuse('cluster.reservation-late', {}, 'spec.lease.reservation')]
      : []),
  ];
};
