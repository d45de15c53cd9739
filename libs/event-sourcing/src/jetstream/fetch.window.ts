import { untilShared } from './shared.interval.js';

/** A fetch waits so long for messages at the server. */
const FETCH_MS = 30_000;
/** The least that the client takes. */
const FETCH_MIN_MS = 1_000;
/** How often the server says that it still has the fetch: after two that are missing, it is made again. */
const HEARTBEAT_MS = 5_000;

/** What to ask for with a fetch, so that its end and the server's heartbeats come at the moments at which the process wakes up anyway. */
export const fetchWindow = (): { readonly expires: number; readonly idle_heartbeat: number } => {
  const expires = Math.max(FETCH_MIN_MS, untilShared(FETCH_MS));
  return { expires, idle_heartbeat: Math.min(HEARTBEAT_MS, expires / 2) };
};
