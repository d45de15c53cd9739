import type { Schemas } from '@fairlead/api-client';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliFailure } from '../failures.js';
import { deadlineAfter } from '../time/deadline.js';
import type { Access } from './access.js';
import { notFairlead, refusalOf, unreachable } from './api.failures.js';
import type { Accepted, ClusterAt } from './api.ports.js';

/** Longer than the gateway's own longest wait for a projection. */
const TIMEOUT_MS = 60_000;

/** Together longer than a gateway that was killed holds the key of a request (10 s). */
const REPEAT_EVERY_MS = 500;

const REPETITIONS_MAX = 40;

export const PAGES_MAX = 1_000;

/**
 * Sends a request and lets only a success through; everything else is a `CliFailure`. A request that is being carried out already, for
 * another command or by a gateway that was killed, is sent again until it is answered.
 */
export const answering =
  (access: Access) =>
  async (request: Request): Promise<Response> => {
    if (access.token === undefined) request.headers.delete('authorization');
    for (let repetitions = 0; ; repetitions += 1) {
      try {
        return await answered(access, request.clone());
      } catch (error) {
        const isUnderWay = error instanceof CliFailure && error.code === 'idempotency.in-progress';
        if (!isUnderWay || repetitions === REPETITIONS_MAX) throw error;
        await sleep(REPEAT_EVERY_MS, undefined, { signal: access.interrupted });
      }
    }
  };

const answered = async (access: Access, request: Request): Promise<Response> => {
  const late = deadlineAfter(TIMEOUT_MS);
  const signal = AbortSignal.any([access.interrupted, late.signal]);
  try {
    const response = await access.fetch(new Request(request, { signal })).catch((error: unknown) => {
      throw access.interrupted.aborted ? error : unreachable(access, error);
    });
    if (!response.ok) throw await refusalOf(response, `${request.method} ${new URL(request.url).pathname}`);
    const body = await response.arrayBuffer(); // Here, while there is a limit.
    return new Response(body.byteLength === 0 ? null : body, response);
  } finally {
    late.clear();
  }
};

export interface Answered<Data> {
  readonly data?: Data;
  readonly response: Response;
}

/** What is not JSON throws a SyntaxError; refusals were thrown before. */
export const answerOf = async <Data>(
  access: Access,
  asked: Promise<Answered<Data>>,
): Promise<{ data: Data; response: Response }> => {
  const { data, response } = await asked.catch((error: unknown) => {
    throw error instanceof SyntaxError ? notFairlead(access, error) : error;
  });
  if (data === undefined) throw notFairlead(access, new Error('its answer is empty'));
  return { data, response };
};

export const dataOf = async <Data>(access: Access, asked: Promise<Answered<Data>>): Promise<Data> =>
  (await answerOf(access, asked)).data;

export const itemsOf = async <Item>(
  access: Access,
  asked: Promise<Answered<{ readonly items: Item[] }>>,
): Promise<readonly Item[]> => (await dataOf(access, asked)).items;

interface ListPage<Item> {
  readonly items: Item[];
  readonly metadata?: Schemas['ListMeta'];
}

/** Every item of a list that is answered in pages. */
export const allItemsOf = async <Item>(
  access: Access,
  page: (query: { readonly continue?: string }) => Promise<Answered<ListPage<Item>>>,
): Promise<readonly Item[]> => {
  const items: Item[] = [];
  let query: { readonly continue?: string } = {};
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const found = await dataOf(access, page(query));
    items.push(...found.items);
    if (found.metadata === undefined) break;
    query = { continue: found.metadata.continue };
  }
  return items;
};

export const acceptedOf = async (access: Access, asked: Promise<Answered<unknown>>): Promise<Accepted> =>
  accepted((await answerOf(access, asked)).response);

/** The position of the request in the log; 0 when the gateway does not say. */
export const accepted = (response: Response): Accepted => ({
  seq: Number(response.headers.get('x-fairlead-seq') ?? 0),
});

export const done = async (asked: Promise<unknown>): Promise<void> => {
  await asked;
};

export const at = ({ namespace, cluster }: ClusterAt) => ({ params: { path: { namespace, cluster } } });

export const withKey = <Path>(path: Path, key: string) => ({
  params: { path, header: { 'Idempotency-Key': key } },
});
