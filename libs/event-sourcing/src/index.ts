export * from './decider.js';
export * from './process.js';
export * from './projection.js';
export { addressOf, envelopeFault, REJECTIONS, type Rejection, type RejectionReason } from './acceptance.js';
export type { AppendResult, Cause, EventStore, LogEntry, StreamPosition } from './store.js';
