import type { Server } from 'node:http';

/** So long may a request take to arrive; how long its answer takes does not count, so that streams and waits go on. */
const REQUEST_MS = 10_000;
const CHECK_EVERY_MS = 1_000;

/** Ends requests that do not come to an end, and connections that ask nothing. */
export const boundRequests = (server: Server): void => {
  server.headersTimeout = REQUEST_MS;
  server.requestTimeout = REQUEST_MS;
  // Node reads this option when the server begins to listen; only its type knows it as the constructor's alone.
  Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS });
};
