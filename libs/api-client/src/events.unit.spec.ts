import { describe, expect, it } from '@jest/globals';
import { createFairleadClient } from './client.js';
import { events } from './events.js';
import { StreamFailed } from './messages.js';

const frame = (seq: number): string => `id: ${seq}\nevent: ClusterReady\ndata: ${JSON.stringify({ seq })}\n\n`;
const streamOf = (...chunks: string[]): Response =>
  new Response(new Blob(chunks).stream(), { headers: { 'content-type': 'text/event-stream' } });

/** Returns the responses one by one, and records the requests. */
const scripted = (...answers: readonly (Response | Error)[]) => {
  const asked: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    const answer = answers[asked.length];
    asked.push(request);
    if (answer instanceof Response) return answer;
    throw answer ?? new Error('nobody is there');
  };
  return { asked, fetch };
};

const options = (fetch: (request: Request) => Promise<Response>, signal: AbortSignal) => ({
  baseUrl: 'http://gateway.example/',
  token: 'fl_x',
  of: { namespace: 'default', cluster: 'demo' },
  after: 4,
  types: ['ClusterReady'],
  fetch,
  signal,
});

describe('the stream of events', () => {
  it('continues after the last event when a connection is lost, and yields none twice', async () => {
    const { asked, fetch } = scripted(
      streamOf('retry: 1000\n\n', frame(5), frame(6)),
      new Error('connection reset'),
      streamOf(frame(6), ': still here\n\n', frame(7)),
    );
    const ended = new AbortController();
    const seen: number[] = [];
    for await (const { seq } of events(options(fetch, ended.signal))) {
      seen.push(seq);
      if (seq === 7) break;
    }
    expect(seen).toEqual([5, 6, 7]);
    expect(asked.map((request) => request.headers.get('last-event-id'))).toEqual(['4', '6', '6']);
    const [first] = asked;
    expect([first?.url, first?.headers.get('authorization')]).toEqual([
      'http://gateway.example/ns/default/clusters/demo/events/stream?after=4&type=ClusterReady',
      'Bearer fl_x',
    ]);
  });

  it('assembles an event that arrives in chunks', async () => {
    const text = frame(5);
    const { fetch } = scripted(streamOf(text.slice(0, 9), text.slice(9, 30), text.slice(30)));
    const next = await events(options(fetch, new AbortController().signal)).next();
    expect(next.value).toEqual({ seq: 5 });
  });

  it('fails with the code of a refusal, without a retry', async () => {
    const refusal = Response.json({ reason: 'cluster.unknown', message: 'no such cluster' }, { status: 404 });
    const { asked, fetch } = scripted(refusal);
    const failed = await events(options(fetch, new AbortController().signal))
      .next()
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StreamFailed);
    expect(failed).toMatchObject({ status: 404, reason: 'cluster.unknown', message: 'no such cluster' });
    expect(asked).toHaveLength(1);
  });

  it('retries after a 503, which is transient', async () => {
    const { asked, fetch } = scripted(Response.json({}, { status: 503 }), streamOf(frame(5)));
    const next = await events(options(fetch, new AbortController().signal)).next();
    expect([next.value?.seq, asked.length]).toEqual([5, 2]);
  });

  it('ends with its signal', async () => {
    const ended = new AbortController();
    const { fetch } = scripted(streamOf(frame(5)));
    const following = events(options(fetch, ended.signal));
    await following.next();
    ended.abort();
    expect(await following.next()).toEqual({ done: true, value: undefined });
  });
});

describe('the client', () => {
  it('sends the token, and returns data or the refusal', async () => {
    const { asked, fetch } = scripted(
      Response.json({ kind: 'NamespaceList', items: [] }),
      Response.json({ reason: 'auth.token-unknown' }, { status: 401 }),
    );
    const client = createFairleadClient({ baseUrl: 'http://gateway.example', token: 'fl_x', fetch });
    expect((await client.GET('/ns')).data).toEqual({ kind: 'NamespaceList', items: [] });
    expect((await client.GET('/ns')).error?.reason).toBe('auth.token-unknown');
    expect(asked[0]?.headers.get('authorization')).toBe('Bearer fl_x');
  });
});
