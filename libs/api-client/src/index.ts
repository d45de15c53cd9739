export { createFairleadClient, type FairleadClient, type FairleadClientOptions, type Schemas } from './client.js';
export { events, type EventsOptions, type FairleadEvent } from './events.js';
export { nodeLogs, type LogEnd, type LogLines, type LogsOptions } from './logs.js';
export { StreamFailed, type StreamOptions } from './messages.js';
export type { components, operations, paths } from '../generated/openapi.js';
