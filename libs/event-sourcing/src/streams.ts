/** What an administrator needs to prepare a server, apart from the rest: it loads without Nest, in a third of the time. */
export {
  checkServer,
  ensureStreams,
  TooFewServers,
  type EnsureStreamsOptions,
  type StoreReport,
} from './jetstream/streams.js';
export { beginLog, closeLog, openLog, readLogState, sealLog, type LogState } from './jetstream/ownership.js';
