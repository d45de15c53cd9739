import {
  events as streamEvents,
  nodeLogs,
  type LogEnd,
  type LogLines,
  type LogsOptions,
  type StreamOptions,
} from '@fairlead/api-client';
import { PAGES_MAX, type Api } from './api.js';
import { streamFailureOf } from './api.failures.js';
import type { AuditView, ClusterAt, EventView } from './views.js';

/** Selects the events of a cluster: those after a sequence, of all types or of some. */
export interface EventsWanted {
  readonly since: number;
  readonly types?: readonly string[];
}

const PAGE_SIZE = 1_000;

/** All current events of clusters with this name, oldest first. */
export const eventsOf = async (
  api: Api,
  at: ClusterAt,
  { since, types = [] }: EventsWanted,
): Promise<readonly EventView[]> => {
  const type = types.length === 0 ? {} : { type: types.join(',') };
  const page = (after: number) =>
    api.get('/ns/{namespace}/clusters/{cluster}/events', at, { query: { after, limit: PAGE_SIZE, ...type } });
  const events: EventView[] = [];
  for await (const { items } of pagesFrom(since, page)) events.push(...items);
  return events;
};

/** The history with its causes and verified hash chains, page by page. */
export const auditPages = (api: Api, at: ClusterAt): AsyncIterable<AuditView> =>
  pagesFrom(0, (after) =>
    api.get('/ns/{namespace}/clusters/{cluster}/audit', at, { query: { after, limit: PAGE_SIZE } }),
  );

/**
 * Yields each page as it arrives, until the end of the log. The responses of older gateways have no pages, and no
 * `next`.
 */
async function* pagesFrom<Page extends { readonly next?: number | null }>(
  since: number,
  page: (after: number) => Promise<Page>,
): AsyncGenerator<Page> {
  let after = since;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const found = await page(after);
    yield found;
    if (found.next === null || found.next === undefined) return;
    after = found.next;
  }
}

/**
 * The same events, followed by new events as they occur. Reconnects automatically after a lost connection; ends with
 * the signal.
 */
export const followEvents = (
  api: Api,
  of: ClusterAt,
  { since, types = [] }: EventsWanted,
  signal: AbortSignal,
): AsyncGenerator<EventView> => {
  const { outage } = api.access;
  return streamed(api, signal, (access) =>
    streamEvents({
      ...access,
      ...{ of, after: since, types },
      onConnected: () => outage?.answered(),
      onDisconnected: (words) => void outage?.failed(words),
    }),
  ) as AsyncGenerator<EventView>;
};

/**
 * The log of a unit, followed by new lines. Returns the reason if the server ended the stream; undefined if the signal
 * did.
 */
export const followNodeLogs = (
  api: Api,
  of: ClusterAt & { readonly node: string },
  query: LogsOptions['query'],
  signal: AbortSignal,
): AsyncGenerator<LogLines, LogEnd | undefined> =>
  streamed(api, signal, (access) => nodeLogs({ ...access, of, query }));

/**
 * Closes the connection however the loop ends: otherwise the gateway would keep it open, which would delay its
 * shutdown.
 */
async function* streamed<Item, End>(
  { access }: Api,
  signal: AbortSignal,
  open: (access: StreamOptions) => AsyncGenerator<Item, End>,
): AsyncGenerator<Item, End> {
  const left = new AbortController();
  const { server: baseUrl, token = '', fetch } = access;
  try {
    return yield* open({ baseUrl, token, fetch, signal: AbortSignal.any([signal, left.signal]) });
  } catch (error) {
    throw streamFailureOf(access, error);
  } finally {
    left.abort();
  }
}
