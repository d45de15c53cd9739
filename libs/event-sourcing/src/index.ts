export * from './decider.js';
export * from './process.js';
export * from './projection.js';
export type { AppendResult, Cause, EventStore, StreamPosition } from './store.js';
