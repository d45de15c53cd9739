import type { Server } from 'node:http';

/** Node looks for requests that are too late this often, so one may live that much longer. */
const CHECK_EVERY_MS = 1_000;

/**
 * Ends requests that do not arrive in time, and connections that ask nothing. How long an answer takes does not count, so that streams and waits
 * go on.
 */
export const boundRequests = (server: Server, requestMs: number): void => {
  server.headersTimeout = requestMs;
  server.requestTimeout = requestMs;
  // Node reads this option when the server begins to listen; only its type knows it as the constructor's alone.
  Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS });
};
