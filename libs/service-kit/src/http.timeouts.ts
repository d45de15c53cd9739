import type { Server } from 'node:http';

/** Node checks for timeouts at this interval, so a request may exceed its timeout by as much. */
const CHECK_EVERY_MS = 1_000;

/**
 * Times out incomplete requests and idle connections. The duration of a response is unlimited, for streams and long
 * polls.
 */
export const boundRequests = (server: Server, requestMs: number): void => {
  server.headersTimeout = requestMs;
  server.requestTimeout = requestMs;
  // Node reads this option when the server starts to listen, but its type only allows it in the constructor.
  Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS });
};
