import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { CLUSTER_ACCESS, SNAPSHOT_KEEPER } from '../tokens.js';
import type { BackupsCommand } from './backups.decider.js';
import type { BackUpEtcd, DeleteSnapshot } from './backups.reconciler.js';
import type { Backups } from './backups.state.js';
import type { SnapshotKeeper } from './snapshot.keeper.js';

const MINUTE_MS = 60_000;

type BackupTask<Data extends BackUpEtcd | DeleteSnapshot> = TaskContext<Backups, BackupsCommand, Data>;

/**
 * `demo-20261124-0600-7b0f6a3e`: unique, because the store has the snapshots of all clusters, and cluster names are
 * reused.
 */
const nameOf = (cluster: string, { uid, scheduledAt }: BackUpEtcd): string => {
  const [day = '', time = ''] = scheduledAt.split('T');
  return `${cluster}-${day.replaceAll('-', '')}-${time.slice(0, 5).replace(':', '')}-${uid.slice(0, 8)}`;
};

/** Takes scheduled snapshots, and deletes the data of expired ones. */
@Controller()
export class BackupsEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SNAPSHOT_KEEPER) private readonly keeper: SnapshotKeeper,
  ) {}

  @OnTask('BackUpEtcd', { attemptsMax: 5, backoffFirstMs: MINUTE_MS, timeoutMs: 30 * MINUTE_MS })
  async backUpEtcd(task: BackupTask<BackUpEtcd>): Promise<void> {
    const { namespace, cluster, signal } = task;
    const { uid, scheduledAt, verify } = task.data;
    const snapshot = nameOf(cluster, task.data);
    const owner = { namespace, cluster, uid };
    const taken = await this.keeper.save(await this.clusters.of(uid, cluster), snapshot, owner, signal);
    const where = { uid, requestId: null, upgradeId: null, operation: null };
    const data = { ...where, snapshot, ...taken, scheduledAt, ...(verify ? { verify } : {}) };
    const { snapshots } = await task.record({ type: 'RecordBackup', data });
    // The schedule was changed in the meantime.
    if (!snapshots.some(({ name }) => name === snapshot)) await this.keeper.delete(snapshot);
  }

  @OnTask('DeleteSnapshot', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 10 * MINUTE_MS })
  async deleteSnapshot(task: BackupTask<DeleteSnapshot>): Promise<void> {
    const { uid, snapshot, reason } = task.data;
    await this.keeper.delete(snapshot);
    await task.record({ type: 'RecordDeleted', data: { uid, snapshot, reason } });
  }
}
