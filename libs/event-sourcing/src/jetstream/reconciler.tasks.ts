import { partitionOf, type EventType, type StoredEvent } from '@fairlead/contracts';
import type { Pool } from 'pg';
import type { ConcurrencyGroups } from '../concurrency.groups.js';
import { clusterKeyOf } from '../projection.js';
import { tasksInState, type AnyReconciler, type TasksInState } from '../reconciler.js';
import { Batcher } from './batcher.js';
import { processConsumer } from './consumers.js';
import type { Mark } from './partition.fold.js';
import type { TasksProgress } from './tasks.progress.js';
import type { AttemptRunner } from './attempt.runner.js';
import type { QueuedTask } from './decorators.js';
import { queuedTaskOf } from './queued.task.js';
import { currentLoad } from './load.meter.js';
import { askOf, readDesiredTasks, type DesiredTasks } from './partition.store.js';
import { TaskQueue, type Attempted, type Pending } from './task.queue.js';

export interface ReconcilerTasksOptions {
  readonly service: string;
  readonly pool: Pool;
  readonly reconcilers: readonly AnyReconciler[];
  readonly runner: Pick<AttemptRunner, 'run' | 'failuresOf' | 'isGivenUp'>;
  readonly concurrency: number;
  readonly groups: ConcurrencyGroups;
  readonly progress: Pick<TasksProgress, 'waiting' | 'waitingForGroups'>;
  /** Marks that a follow-up has ended, so that its cluster's state forgets it. */
  readonly mark: (mark: Mark) => void;
}

type InQueue = Omit<Pending, 'failures'>;

const PARTITIONS_AT_ONCE = 64;
const SETTLED: ReadonlySet<string> = new Set<EventType>([
  'ClusterReady',
  'ClusterFailed',
  'ClusterRejected',
  'InfrastructureFailed',
  'ClusterDeletionRequested',
]);

const FAILED_ATTEMPT: ReadonlySet<string> = new Set<EventType>(['BootstrapStepFailed', 'InfrastructureStepFailed']);

const partitionOfKey = (clusterKey: string): number => {
  const [namespace = '', cluster = ''] = clusterKey.split('/');
  return partitionOf(namespace, cluster);
};

/**
 * The tasks that the reconcilers of a service desire, for the clusters of this replica's partitions. They are never
 * queued outside this process: the state of a cluster, committed with its position in the log, determines them.
 */
export class ReconcilerTasks {
  private readonly queue: TaskQueue;
  private readonly consumers: ReadonlyMap<string, AnyReconciler>;
  private readonly loading = new Batcher<number, readonly DesiredTasks[]>(PARTITIONS_AT_ONCE, (partitions) =>
    this.rowsOf(partitions),
  );
  private isStopping = false;

  constructor(private readonly options: ReconcilerTasksOptions) {
    const { concurrency, groups, progress } = options;
    this.consumers = new Map(options.reconcilers.map((reconciler) => [processConsumer(reconciler), reconciler]));
    this.queue = new TaskQueue({
      concurrency,
      groups,
      attempt: (task, failures, abort) => this.attempt({ task, failures, abort }),
      isGivenUp: (task, failures) => options.runner.isGivenUp(task, failures),
      onWaiting: (count, full) => {
        progress.waiting(count);
        progress.waitingForGroups(full);
      },
      load: currentLoad,
      nowMs: () => performance.now(),
    });
  }

  get counts(): TaskQueue['counts'] {
    return this.queue.counts;
  }

  /** Called after a commit with the new state; undefined: it was removed. */
  noticed(consumer: string, clusterKey: string, state: unknown): void {
    if (!this.consumers.has(consumer)) return;
    const pending = this.pendingOf(consumer, clusterKey, state as TasksInState | undefined);
    this.queue.sync(
      consumer,
      clusterKey,
      pending.map((one) => ({ ...one, failures: 0 })),
    );
  }

  /** Of the clusters that are not Ready yet, those that were started are finished first. */
  passed(events: readonly StoredEvent[]): void {
    if (this.consumers.size === 0) return;
    for (const event of events) {
      const clusterKey = clusterKeyOf(event);
      if (event.type === 'ClusterRequested') this.queue.wasRequested(clusterKey);
      else if (SETTLED.has(event.type)) this.queue.hasSettled(clusterKey);
      else if (!FAILED_ATTEMPT.has(event.type)) this.queue.hasProgressed(clusterKey);
    }
  }

  /** Restores the tasks that another replica, or this process before a restart, has not done. */
  async restore(partition: number): Promise<void> {
    if (this.consumers.size === 0) return;
    const rows = await this.loading.add(partition);
    const found = rows.map(({ process, clusterKey, state }) => ({
      consumer: process,
      clusterKey,
      pending: this.pendingOf(process, clusterKey, state),
    }));
    const failures = await this.options.runner.failuresOf(
      found.flatMap(({ pending }) => pending.map(({ task }) => task.id)),
    );
    const busy = new Set(found.map(({ clusterKey }) => clusterKey));
    this.queue.release((clusterKey) => partitionOfKey(clusterKey) === partition && !busy.has(clusterKey));
    for (const { consumer, clusterKey, pending } of found)
      this.queue.sync(
        consumer,
        clusterKey,
        pending.map((one) => ({ ...one, failures: failures.get(one.task.id) ?? 0 })),
      );
  }

  release(partition: number): void {
    this.queue.release((clusterKey) => partitionOfKey(clusterKey) === partition);
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    await this.queue.stop();
  }

  private pendingOf(consumer: string, clusterKey: string, state: TasksInState | undefined): readonly InQueue[] {
    const reconciler = this.consumers.get(consumer);
    if (reconciler === undefined || state === undefined) return [];
    const at = { service: this.options.service, process: consumer, clusterKey };
    return tasksInState(reconciler, state).map(({ key, origin, reaction }) => ({
      key,
      task: queuedTaskOf(at, origin, reaction),
      groups: origin.groups ?? [],
      firstSeq: state.firstSeq,
      seq: origin.seq,
    }));
  }

  private ended({ namespace, cluster, data: ref }: QueuedTask): void {
    if (ref.followUp === undefined) return;
    const [consumer] = [...this.consumers].find(([, { name }]) => name === ref.reconciler) ?? [];
    if (consumer !== undefined)
      this.options.mark({ kind: 'ended', consumer, clusterKey: `${namespace}/${cluster}`, task: ref });
  }

  private async rowsOf(partitions: readonly number[]): Promise<readonly (readonly DesiredTasks[])[]> {
    const found = await readDesiredTasks(askOf(this.options.pool), [...this.consumers.keys()]);
    const of = (partition: number): readonly DesiredTasks[] =>
      found.filter(({ clusterKey }) => partitionOfKey(clusterKey) === partition);
    return partitions.map(of);
  }

  private async attempt(attempt: Omit<Parameters<AttemptRunner['run']>[0], 'isStopping'>): Promise<Attempted> {
    const settled = await this.options.runner.run({ ...attempt, isStopping: () => this.isStopping });
    switch (settled.outcome) {
      case 'done':
      case 'buried':
        this.ended(attempt.task);
        return { kind: 'over' };
      case 'requeued':
      case 'failed':
        return { kind: 'again', ...settled, failed: settled.outcome === 'failed' };
    }
  }
}
