export * from './decider.js';
export * from './process.js';
export * from './projection.js';
export { causedBy, type AppendResult, type Cause, type EventStore, type StreamPosition } from './store.js';
