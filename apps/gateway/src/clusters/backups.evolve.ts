import { sentenceOf, type EtcdBackups, type StoredEvent } from '@fairlead/contracts';

interface TakenSnapshot {
  readonly snapshot: string;
  readonly takenAt: string;
}

/** How the snapshots by schedule are, of a cluster that has a schedule. */
export interface BackupsDoc {
  readonly policy: EtcdBackups;
  /** Since when the schedule is as it is. */
  readonly since: string;
  /** The latest by schedule. */
  readonly latest?: TakenSnapshot;
  /** When the last one was taken from which etcd can be restored, as far as is known; absent: there is none. */
  readonly lastGoodAt?: string;
  /** Of those, the latest that are kept, oldest first: the last one may turn out to be none. */
  readonly good?: readonly TakenSnapshot[];
  /** What the latest attempt failed at; absent: it did not. */
  readonly failed?: { readonly what: 'snapshot' | 'verification'; readonly message: string; readonly since: string };
}

type Event = StoredEvent<
  | 'ClusterSpecChanged'
  | 'EtcdSnapshotTaken'
  | 'EtcdBackupFailed'
  | 'EtcdSnapshotVerified'
  | 'EtcdSnapshotVerificationFailed'
  | 'EtcdSnapshotDeleted'
>;

/** What concerns nothing else of a cluster. */
const ABOUT_BACKUPS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'EtcdSnapshotTaken',
  'EtcdBackupFailed',
  'EtcdSnapshotVerified',
  'EtcdSnapshotVerificationFailed',
  'EtcdSnapshotDeleted',
]);

export const isAboutBackups = ({ type }: StoredEvent): boolean => ABOUT_BACKUPS.has(type);

const declared = (before: BackupsDoc | undefined, policy: EtcdBackups | undefined, since: string) => {
  if (policy === undefined) return undefined;
  return before?.policy.schedule === policy.schedule ? { ...before, policy } : { ...before, policy, since };
};

const GOOD_MAX = 2;

const withGood = (before: BackupsDoc, good: readonly TakenSnapshot[]): BackupsDoc => {
  const { lastGoodAt: _before, good: _others, ...others } = before;
  const last = good.at(-1);
  return last === undefined ? others : { ...others, lastGoodAt: last.takenAt, good: good.slice(-GOOD_MAX) };
};

const withoutGood = (before: BackupsDoc, snapshot: string): BackupsDoc => {
  const { good = [] } = before;
  const left = good.filter((one) => one.snapshot !== snapshot);
  return left.length === good.length ? before : withGood(before, left);
};

const withLatestGood = (before: BackupsDoc, latest: TakenSnapshot): BackupsDoc =>
  withGood(before, [...(withoutGood(before, latest.snapshot).good ?? []), latest]);

const taken = (before: BackupsDoc, { data, meta }: StoredEvent<'EtcdSnapshotTaken'>): BackupsDoc => {
  if (data.scheduledAt === undefined) return before;
  const latest = { snapshot: data.snapshot, takenAt: meta.time };
  const { failed, ...others } = before;
  if (data.verify !== true) return withLatestGood({ ...others, latest }, latest);
  // A verification that failed is forgotten only with the next one that does not.
  return failed?.what === 'verification' ? { ...before, latest } : { ...others, latest };
};

const verified = (before: BackupsDoc, snapshot: string): BackupsDoc => {
  const { failed: _over, ...others } = before;
  return before.latest?.snapshot === snapshot ? withLatestGood(others, before.latest) : before;
};

const failed = (
  before: BackupsDoc,
  what: 'snapshot' | 'verification',
  about: { readonly message: string; readonly at: string },
) => ({
  ...before,
  failed: { what, message: about.message, since: before.failed?.what === what ? before.failed.since : about.at },
});

const notVerified = (before: BackupsDoc, { data, meta }: StoredEvent<'EtcdSnapshotVerificationFailed'>): BackupsDoc => {
  const left = data.invalid ? withoutGood(before, data.snapshot) : before;
  return before.latest?.snapshot === data.snapshot
    ? failed(left, 'verification', { message: sentenceOf(data.cause), at: meta.time })
    : left;
};

/** undefined: the cluster has no schedule. */
export const backupsAfter = (before: BackupsDoc | undefined, event: StoredEvent): BackupsDoc | undefined => {
  const { type, data, meta } = event as Event;
  if (type === 'ClusterSpecChanged') return declared(before, data.spec.etcdBackups, meta.time);
  if (before === undefined) return undefined;
  switch (type) {
    case 'EtcdSnapshotTaken':
      return taken(before, event as StoredEvent<'EtcdSnapshotTaken'>);
    case 'EtcdBackupFailed':
      return failed(before, 'snapshot', { message: sentenceOf(data.cause), at: meta.time });
    case 'EtcdSnapshotVerified':
      return verified(before, data.snapshot);
    case 'EtcdSnapshotVerificationFailed':
      return notVerified(before, event as StoredEvent<'EtcdSnapshotVerificationFailed'>);
    case 'EtcdSnapshotDeleted':
      return withoutGood(before, data.snapshot);
    default:
      return before;
  }
};
