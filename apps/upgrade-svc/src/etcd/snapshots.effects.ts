import type { NodeName } from '@fairlead/contracts';
import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { recordFacts, whereOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { TakeSnapshot } from '../rollout/rollout.tasks.js';
import { CLUSTER_ACCESS, SNAPSHOT_KEEPER } from '../tokens.js';
import type { SnapshotKeeper } from './snapshot.keeper.js';
import type { RecordRequested, Requested } from './snapshots.decider.js';
import type { ForgetSnapshots, SaveBeforeStep, SaveEtcd } from './snapshots.reconciler.js';

const TIMEOUT_MS = 30 * 60_000;

/** Saves etcd off its nodes: before control planes change, and on request. */
@Controller()
export class SnapshotsEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SNAPSHOT_KEEPER) private readonly keeper: SnapshotKeeper,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask('TakeSnapshot', { attemptsMax: 4, backoffFirstMs: 2_000, timeoutMs: TIMEOUT_MS })
  async takeSnapshot(task: RolloutContext<TakeSnapshot>): Promise<void> {
    const { namespace, cluster, signal } = task;
    const { uid, upgradeId, operation } = task.data;
    const owner = { namespace, cluster, uid };
    const snapshot = `${cluster}-${upgradeId}-${operation}`;
    const taken = await this.keeper.save(await this.clusters.of(uid, cluster), snapshot, owner, signal);
    const data = { ...whereOf(task), requestId: null, snapshot, ...taken };
    await recordFacts(task, this.clock, { type: 'EtcdSnapshotTaken', data });
  }

  @OnTask('SaveEtcd', { attemptsMax: 1, timeoutMs: TIMEOUT_MS })
  async saveEtcd(task: TaskContext<Requested, RecordRequested, SaveEtcd>): Promise<void> {
    await this.save(task);
  }

  /** A step waits, so a failure is stated soon. */
  @OnTask('SaveBeforeStep', { attemptsMax: 3, backoffFirstMs: 2_000, timeoutMs: 5 * 60_000 })
  async saveBeforeStep(task: TaskContext<Requested, RecordRequested, SaveBeforeStep>): Promise<void> {
    await this.save(task, { before: task.data.node });
  }

  private async save(
    task: TaskContext<Requested, RecordRequested, SaveEtcd>,
    what: { readonly before?: NodeName } = {},
  ): Promise<void> {
    const { namespace, cluster, signal } = task;
    const { uid, requestId } = task.data;
    const owner = { namespace, cluster, uid };
    const snapshot = `${cluster}-${requestId}`;
    const taken = await this.keeper.save(await this.clusters.of(uid, cluster), snapshot, owner, signal);
    const data = { uid, requestId, upgradeId: null, operation: null, snapshot, ...taken, ...what };
    await task.record({ type: 'RecordRequested', data: { type: 'EtcdSnapshotTaken', data } });
  }

  @OnTask('ForgetSnapshots', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  forgetSnapshots({ namespace, cluster, data }: TaskContext<Requested, never, ForgetSnapshots>): Promise<void> {
    return this.keeper.forget({ namespace, cluster, uid: data.uid });
  }
}
