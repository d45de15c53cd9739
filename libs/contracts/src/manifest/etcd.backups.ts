import { Cron } from 'croner';
import * as z from 'zod';
import { Duration, durationMs } from '../durations.js';
import { refuse, type Refusal } from '../refusals.js';

const SCHEDULE_LENGTH_MAX = 100;
/** Minute, hour, day of the month, month, day of the week. */
const SCHEDULE = /^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$/;

const KEEP_MAX = 100;
const KEEP_DEFAULT = 8;

const fields = {
  schedule: z
    .string()
    .max(SCHEDULE_LENGTH_MAX)
    .regex(SCHEDULE, 'must be five fields of cron, such as 0 */6 * * *')
    .describe('When snapshots are taken: five fields of cron, in UTC')
    .meta({ examples: ['0 */6 * * *'] }),
  keep: z.int().min(1).max(KEEP_MAX).describe('How many of these snapshots are kept, the newest'),
  keepFor: Duration.optional().describe('Older ones are deleted, too. Left out: however old they are'),
  verify: z
    .boolean()
    .describe('Each snapshot is restored into a scratch etcd on a control plane, which is read and deleted'),
};

/** Scheduled etcd snapshots, with every default filled in. */
export const EtcdBackups = z.strictObject(fields).meta({ id: 'EtcdBackups' });
export type EtcdBackups = z.infer<typeof EtcdBackups>;

/** The form that users write. */
export const ManifestEtcdBackups = z
  .strictObject({ ...fields, keep: fields.keep.default(KEEP_DEFAULT), verify: fields.verify.default(true) })
  .meta({
    id: 'ManifestEtcdBackups',
    description: 'Snapshots of etcd by schedule. Left out: none are taken by schedule',
  });
export type ManifestEtcdBackups = z.infer<typeof ManifestEtcdBackups>;

/** Long enough for a control plane to change; a snapshot of a running etcd takes seconds. */
export const SNAPSHOT_MAX_AGE_DEFAULT = '15m';

/** The form that users write. */
export const EtcdSnapshotMaxAge = Duration.describe(
  `A step that changes a control plane (one is added, upgraded, rebooted, replaced or removed, or its certificates are renewed) begins with a snapshot of etcd unless the newest one is younger than this. Left out: ${SNAPSHOT_MAX_AGE_DEFAULT}`,
);

const MINUTE_MS = 60_000;
/** A snapshot loads an etcd member, and each one is a permanent event. */
const INTERVAL_MIN_MS = 10 * MINUTE_MS;
const KEEP_FOR_MIN_MS = 60 * MINUTE_MS;
/** Only the first runs of a schedule are checked. Later runs that are too close together cost more, but do no harm. */
const RUNS_CHECKED = 50;
/** Fixed start of the check, so that its result does not depend on the date. */
const REFERENCE = new Date('2000-01-01T00:00:00Z');

/** undefined: not a valid schedule. Without a callback, so nothing is started. */
const cronOf = (schedule: string): Cron | undefined => {
  try {
    return new Cron(schedule, { mode: '5-part', timezone: 'UTC', paused: true });
  } catch {
    return undefined;
  }
};

/** The first run after a moment (RFC 3339); null: there is none. */
export const nextRunAfter = ({ schedule }: Pick<EtcdBackups, 'schedule'>, after: string): string | null =>
  cronOf(schedule)?.nextRun(new Date(after))?.toISOString() ?? null;

const SPREAD_MAX_MS = 30 * MINUTE_MS;
const SPREAD_SHARE = 0.1;
const UID_DIGITS = 8;

/**
 * When the snapshot of a run is due: clusters with the same schedule are spread by their random uids over a tenth of
 * its interval, at most half an hour.
 */
export const backupDueAt = (backups: Pick<EtcdBackups, 'schedule'>, uid: string, run: string): string => {
  const next = nextRunAfter(backups, run);
  const intervalMs = next === null ? 0 : Date.parse(next) - Date.parse(run);
  const spreadMs = Math.min(SPREAD_MAX_MS, intervalMs * SPREAD_SHARE);
  const share = parseInt(uid.slice(0, UID_DIGITS), 16) / 16 ** UID_DIGITS;
  return new Date(Date.parse(run) + Math.floor(spreadMs * share)).toISOString();
};

const scheduleFaults = (schedule: string, path: string): readonly Refusal[] => {
  const runs = cronOf(schedule)?.nextRuns(RUNS_CHECKED, REFERENCE) ?? [];
  if (runs.length === 0) return [refuse('etcd.schedule-invalid', { schedule }, path)];
  const isTooOften = runs.some((run, at) => at > 0 && run.getTime() - (runs[at - 1]?.getTime() ?? 0) < INTERVAL_MIN_MS);
  return isTooOften ? [refuse('etcd.schedule-too-often', { schedule, min: INTERVAL_MIN_MS / MINUTE_MS }, path)] : [];
};

/** Faults across fields that are well-formed by themselves. */
export const etcdBackupsFaults = (
  { schedule, keepFor }: Pick<ManifestEtcdBackups, 'schedule' | 'keepFor'>,
  path = 'spec.etcdBackups',
): readonly Refusal[] => [
  ...scheduleFaults(schedule, `${path}.schedule`),
  ...(keepFor !== undefined && durationMs(keepFor) < KEEP_FOR_MIN_MS
    ? [refuse('etcd.keep-for-short', { given: keepFor }, `${path}.keepFor`)]
    : []),
];
