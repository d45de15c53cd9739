import { WorldFailure } from '@fairlead/contracts';
import {
  HANDLE,
  OnJob,
  type Handle,
  type Job,
  type JobContext,
  type JobLater,
} from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { decideFor } from '../rollout/decisions.js';
import type { TakeSnapshot } from '../rollout/rollout.jobs.js';
import { whereOf, type RolloutRunner } from '../rollout/rollout.runner.js';
import { CLUSTER_ACCESS, ROLLOUT_RUNNER, SNAPSHOT_KEEPER } from '../rollout/tokens.js';
import type { SnapshotKeeper } from './snapshot.keeper.js';
import { isOpen, requestedSnapshots, type RequestedSnapshotCommand } from './snapshots.decider.js';
import type { ForgetSnapshots, SaveEtcd } from './snapshots.process.js';

const TIMEOUT_MS = 30 * 60_000;

/** Saves etcd off its nodes: before control planes are changed, and whenever somebody asks. */
@Controller()
export class SnapshotsEffects {
  constructor(
    @Inject(ROLLOUT_RUNNER) private readonly runner: RolloutRunner,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(SNAPSHOT_KEEPER) private readonly keeper: SnapshotKeeper,
    @Inject(HANDLE) private readonly handle: Handle,
  ) {}

  @OnJob<TakeSnapshot>('TakeSnapshot', { attemptsMax: 4, backoffFirstMs: 2_000, timeoutMs: TIMEOUT_MS })
  takeSnapshot(job: Job<TakeSnapshot>, context: JobContext): Promise<JobLater | void> {
    return this.runner.take(job, context, async (wanted) => {
      const { uid, upgradeId, operation } = wanted.data;
      const owner = { ...job, uid };
      const snapshot = `${job.cluster}-${upgradeId}-${operation}`;
      const taken = await this.keeper.save(await wanted.cluster(), snapshot, owner, wanted.signal);
      const about = { ...whereOf(wanted), requestId: null, snapshot };
      await wanted.record({ type: 'EtcdSnapshotTaken', data: { ...about, ...taken } });
      await this.keeper.prune(owner);
    });
  }

  @OnJob<SaveEtcd>('SaveEtcd', { attemptsMax: 1, timeoutMs: TIMEOUT_MS })
  async saveEtcd(job: Job<SaveEtcd>, { signal }: JobContext): Promise<void> {
    const { uid, requestId } = job.data;
    const about = { uid, requestId };
    if (!(await this.decide(job, { type: 'BeginSnapshot', data: about }))) return;
    const snapshot = `${job.cluster}-${requestId}`;
    try {
      const cluster = await this.clusters.of(uid, job.cluster);
      const taken = await this.keeper.save(cluster, snapshot, { ...job, uid }, signal);
      const data = { ...about, upgradeId: null, operation: null, snapshot, ...taken };
      await this.decide(job, { type: 'RecordRequested', data: { type: 'EtcdSnapshotTaken', data } });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof WorldFailure)) throw error;
      const data = { ...about, cause: error.toCause() };
      await this.decide(job, { type: 'RecordRequested', data: { type: 'EtcdSnapshotFailed', data } });
    }
    await this.keeper.prune({ ...job, uid });
  }

  @OnJob<ForgetSnapshots>('ForgetSnapshots', { attemptsMax: 20, backoffFirstMs: 1_000, timeoutMs: 10 * 60_000 })
  forgetSnapshots(job: Job<ForgetSnapshots>): Promise<void> {
    return this.keeper.forget({ ...job, uid: job.data.uid });
  }

  /** Whether somebody still waits for the snapshot, as the decision saw it. */
  private async decide(job: Job<SaveEtcd>, command: RequestedSnapshotCommand): Promise<boolean> {
    const decision = { decider: requestedSnapshots, context: 'rollout', command };
    return isOpen(await decideFor(this.handle, job, decision), job.data);
  }
}
