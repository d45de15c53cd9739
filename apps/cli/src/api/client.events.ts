import { events as streamEvents, type FairleadClient, type Schemas } from '@fairlead/api-client';
import type { Access } from './access.js';
import { streamFailureOf } from './api.failures.js';
import type { Api, ClusterAt, EventView, EventsWanted } from './api.ports.js';
import { PAGES_MAX, dataOf } from './client.requests.js';

const PAGE_SIZE = 1_000;

export const eventMethods = (
  access: Access,
  client: FairleadClient,
): Pick<Api, 'events' | 'followEvents' | 'auditPages' | 'changes'> => ({
  events: (address, { since, types = [] }) => {
    const type = types.length === 0 ? {} : { type: types.join(',') };
    const page = (after: number) =>
      dataOf(
        access,
        client.GET('/ns/{namespace}/clusters/{cluster}/events', {
          params: { path: { ...address }, query: { after, limit: PAGE_SIZE, ...type } },
        }),
      );
    return allEvents(page, since);
  },
  followEvents: (address, which, signal) => followed(access, address, which, signal),
  changes: (address, query) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/changes', { params: { path: { ...address }, query } }),
    ),
  auditPages: (address) =>
    pagesFrom(0, (after) =>
      dataOf(
        access,
        client.GET('/ns/{namespace}/clusters/{cluster}/audit', {
          params: { path: { ...address }, query: { after, limit: PAGE_SIZE } },
        }),
      ),
    ),
});

const allEvents = async (
  page: (after: number) => Promise<Schemas['EventList']>,
  since: number,
): Promise<readonly EventView[]> => {
  const events: EventView[] = [];
  for await (const { items } of pagesFrom(since, page)) events.push(...items);
  return events;
};

/** Yields each page as it arrives, until the end of the log. Older gateways have no pages: their answers have no `next`. */
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

/** However it is left, the connection ends with it: the gateway would keep it open, and could not stop in good order. */
async function* followed(
  access: Access,
  of: ClusterAt,
  { since, types = [] }: EventsWanted,
  signal: AbortSignal,
): AsyncGenerator<EventView> {
  const left = new AbortController();
  const ends = AbortSignal.any([signal, left.signal]);
  try {
    yield* streamEvents({
      baseUrl: access.server,
      token: access.token ?? '',
      of,
      after: since,
      types,
      signal: ends,
      fetch: access.fetch,
      onConnected: () => access.outage?.answered(),
      onDisconnected: (words) => void access.outage?.failed(words),
    });
  } catch (error) {
    throw streamFailureOf(access, error);
  } finally {
    left.abort();
  }
}
