import { untilShared } from './shared.interval.js';

/** How long a fetch waits for messages at the server. */
const FETCH_MS = 30_000;
/** The client's minimum. */
const FETCH_MIN_MS = 1_000;
/** Interval of the server's heartbeats for a pending fetch: after two missing ones it is repeated. */
const HEARTBEAT_MS = 5_000;

/**
 * The options of a fetch, such that its end and the server's heartbeats coincide with times at which the process wakes
 * up anyway.
 */
export const fetchWindow = (): { readonly expires: number; readonly idle_heartbeat: number } => {
  const expires = Math.max(FETCH_MIN_MS, untilShared(FETCH_MS));
  return { expires, idle_heartbeat: Math.min(HEARTBEAT_MS, expires / 2) };
};
