import type { EventData, Fact } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { nextRun } from './backups.planner.js';
import { evolve, NO_BACKUPS, type Backups } from './backups.state.js';

export type RecordBackup = Command<'RecordBackup', EventData<'EtcdSnapshotTaken'>>;
export type RecordDeleted = Command<'RecordDeleted', EventData<'EtcdSnapshotDeleted'>>;
export type BackupsCommand = RecordBackup | RecordDeleted;

export type BackupsFact = Fact<'EtcdSnapshotTaken' | 'EtcdBackupFailed' | 'EtcdSnapshotDeleted'>;

/** Records a snapshot once for each run of the schedule, and the deletion of each. In the stream of rollouts. */
export const backups: Decider<Backups, BackupsCommand, BackupsFact> = {
  initial: NO_BACKUPS,
  reads: 'cluster',
  evolve,

  decide: (state, { type, data }) => {
    if (data.uid !== state.uid) return nothing;
    if (type === 'RecordDeleted')
      return state.snapshots.some(({ name }) => name === data.snapshot)
        ? [{ type: 'EtcdSnapshotDeleted', data }]
        : nothing;
    return nextRun(state)?.scheduledAt === data.scheduledAt ? [{ type: 'EtcdSnapshotTaken', data }] : nothing;
  },
};
