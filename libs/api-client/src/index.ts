export { createFairleadClient, type FairleadClient, type FairleadClientOptions, type Schemas } from './client.js';
export { events, EventsFailed, type EventsOptions, type FairleadEvent } from './events.js';
export type { components, operations, paths } from './generated/openapi.js';
