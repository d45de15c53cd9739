import { backupDueAt, durationMs, nextRunAfter, type SnapshotEnd } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import type { Backups, Saved } from './backups.state.js';

/** A run of the schedule, and when its snapshot is due. */
export interface Run {
  readonly scheduledAt: string;
  readonly dueAt: string;
}

/** null: there is no schedule, or snapshots are suspended. */
export const nextRun = ({ uid, serves, policy, since, restoring }: Backups): Run | null => {
  if (uid === null || !serves || policy === null || restoring !== null) return null;
  const scheduledAt = nextRunAfter(policy, since);
  return scheduledAt === null ? null : { scheduledAt, dueAt: backupDueAt(policy, uid, scheduledAt) };
};

/** An expired snapshot, and the reason. */
export interface Expired {
  readonly name: string;
  readonly reason: SnapshotEnd;
}

const isGood = ({ verification }: Saved): boolean => verification !== 'invalid';

/**
 * The last snapshots from which etcd can be restored, as far as known: the last verified one, and the last usable one.
 */
const lastGood = (snapshots: readonly Saved[]): readonly (Saved | undefined)[] => [
  snapshots.findLast(({ verification }) => verification === 'verified'),
  snapshots.findLast(isGood),
];

/** Whether the snapshot must never be deleted, whatever the retention is. */
const isNeeded = ({ snapshots, restoring, rollout }: Backups, saved: Saved): boolean =>
  saved.name === restoring ||
  saved.verification === 'open' ||
  (saved.upgradeId !== null && saved.upgradeId === rollout) ||
  lastGood(snapshots).includes(saved);

const tooOldAt = ({ policy }: Backups, { takenAt }: Saved): string | null =>
  policy?.keepFor === undefined ? null : later(takenAt, durationMs(policy.keepFor));

const surplus = (snapshots: readonly Saved[], kept: number): readonly Expired[] =>
  snapshots.slice(0, Math.max(0, snapshots.length - kept)).map(({ name }) => ({ name, reason: 'count' }));

/** How many unscheduled snapshots are kept: a setting of the service. */
export interface Retention {
  readonly othersKept: number;
}

/** Scheduled snapshots of a cluster without a schedule are kept. Oldest first. */
export const expired = (state: Backups, now: string, { othersKept }: Retention): readonly Expired[] => {
  const { policy, snapshots } = state;
  const scheduled = snapshots.filter((saved) => saved.scheduled);
  const others = snapshots.filter((saved) => !saved.scheduled);
  const aged = scheduled.filter((saved) => (tooOldAt(state, saved) ?? now) < now);
  const found = [
    ...(policy === null ? [] : surplus(scheduled, policy.keep)),
    ...aged.map(({ name }): Expired => ({ name, reason: 'age' })),
    ...surplus(others, othersKept),
  ];
  return snapshots.flatMap((saved) => {
    const first = found.find(({ name }) => name === saved.name);
    return first === undefined || isNeeded(state, saved) ? [] : [first];
  });
};

/** The next time after `now` at which a snapshot becomes due or expires; null: none. */
export const nextMoment = (state: Backups, now: string): string | null => {
  const ends = state.snapshots.flatMap((saved) => (saved.scheduled ? (tooOldAt(state, saved) ?? []) : []));
  return (
    [nextRun(state)?.dueAt ?? '', ...ends.map((end) => later(end, 1))].filter((at) => at > now).toSorted()[0] ?? null
  );
};
