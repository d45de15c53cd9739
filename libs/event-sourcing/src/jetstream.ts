export { Batcher } from './jetstream/batcher.js';
export { FoldCache } from './fold.cache.js';
export { LatestFold, type Fold } from './latest.fold.js';
export { makeHandle, ATTEMPTS_MAX, type Decided, type Handle } from './handle.js';
export { currentWork, CurrentWork } from './jetstream/current.work.js';
export { consumerNames, processConsumer, type Consumers } from './jetstream/consumers.js';
export * from './jetstream/decorators.js';
export { readAll, readBatch, READ_BATCH, type RawEvent } from './jetstream/direct.reader.js';
export { decode, encode, entryOf, read, sha256, type Decoded } from './jetstream/envelope.codec.js';
export { JetStreamStore } from './jetstream/jetstream.store.js';
export { readLogState, type LogState } from './jetstream/ownership.js';
export { RecentEntries } from './jetstream/recent.entries.js';
export { readNewest } from './jetstream/last.reader.js';
export { KERNEL_MIGRATIONS } from './jetstream/kernel.migration.js';
export { askPrepared, readStates, type Ask } from './jetstream/partition.store.js';
export { queuedTaskOf } from './jetstream/queued.task.js';
export type { Stall } from './jetstream/partition.progress.js';
export { rejectedRows, type RejectedRow } from './jetstream/rejections.js';
export { PartitionConsumers, type Partitions } from './jetstream/partition.consumers.js';
export { TasksProgress, WAIT_SHOWN_AFTER_MS, type GroupWait } from './jetstream/tasks.progress.js';
export { TaskQueue, type Attempted, type Pending } from './jetstream/task.queue.js';
export type { AttemptOutcome, Meter } from './jetstream/meter.js';
export { PostgresLeases } from './jetstream/postgres.leases.js';
export { DatabasePositions, type Positions } from './jetstream/positions.js';
export { rebuildProjection, type Rebuilt } from './jetstream/rebuild.js';
export { JetStreamStrategy, type StrategyOptions } from './jetstream/strategy.js';
export {
  checkServer,
  ensureStreams,
  readStores,
  TooFewServers,
  type StoreReport,
  type StoreState,
} from './jetstream/streams.js';
export { askedReplicas, keptLimits, type StoreNote } from './jetstream/store.changes.js';
export { isLog } from './jetstream/stores.js';
export { TaskRunner, type TaskContext, type TaskHandler, type TaskOf } from './jetstream/task.runner.js';
export { makeTail, type Tail } from './jetstream/tail.js';
export * from './jetstream/tokens.js';
export type { Lease, TaskLeases } from './task.leases.js';
export { fetchWindow } from './jetstream/fetch.window.js';
export { sharedInterval, untilShared, untilSharedAfter } from './jetstream/shared.interval.js';
export { WakeSignal } from './jetstream/wake.signal.js';
