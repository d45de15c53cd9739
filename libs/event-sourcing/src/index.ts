export * from './decider.js';
export * from './process.js';
export * from './reconciler.js';
export { ConcurrencyGroups } from './concurrency.groups.js';
export * from './projection.js';
export { addressOf, envelopeFault, REJECTIONS, type Rejection, type RejectionReason } from './acceptance.js';
export { repeatable } from './store.js';
export type { AppendResult, Cause, EventStore, Expected, LogEntry, ReadElsewhere, StreamPosition } from './store.js';
