import {
  eventSubject,
  type AuditView,
  type ClusterChanges,
  type ClusterView,
  type CreatedTokenView,
  type ErrorView,
  type EventList,
  type Fact,
  type QuarantineList,
} from '@fairlead/contracts';
import { createFairleadClient, events, StreamFailed, type FairleadEvent } from '@fairlead/api-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  localActor,
  prepareWorld,
  request,
  startTestGateway,
  type Replica,
  type TestGateway,
} from '../gateway.fixtures.js';
import { planned } from '../story.fixtures.js';

let gateway: TestGateway;
let uid: never;
let ended = new AbortController();

const path = '/ns/default/clusters/demo';
const of = { namespace: 'default', cluster: 'demo' };
const step = (index: number): Fact => ({
  type: 'AddonInstalled',
  data: { uid, addon: `addon-${index}`, version: '1' },
});

beforeAll(async () => {
  gateway = await startTestGateway();
  await prepareWorld(gateway);
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('demo') });
  uid = body.uid as never;
  await gateway.state({ type: 'ClusterAccepted', data: { uid } });
}, 60_000);

afterEach(() => {
  ended.abort();
  ended = new AbortController();
});

afterAll(async () => {
  await gateway?.stop();
});

const stream = (after = 0, types: readonly string[] = [], replica = 0): AsyncGenerator<FairleadEvent> =>
  events({ baseUrl: gateway.baseUrl(replica), token: gateway.token, of, after, types, signal: ended.signal });

const take = async (count: number, from: AsyncGenerator<FairleadEvent>): Promise<FairleadEvent[]> => {
  const taken: FairleadEvent[] = [];
  while (taken.length < count) {
    const next = await from.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
};

describe('the events of a cluster', () => {
  it('are listed in order, page by page, each with its sentence', async () => {
    const { body } = await gateway.ask<EventList>('GET', `${path}/events?limit=1`);
    expect(body.items.map(({ type, sentence, actor }) => [type, sentence, actor])).toEqual([
      [
        'ClusterRequested',
        'a cluster of 3 control planes and 2 workers with Kubernetes v1.34.4 was requested',
        localActor(gateway),
      ],
    ]);
    const rest = await gateway.ask<EventList>('GET', `${path}/events?after=${body.next}`);
    expect([rest.body.items.map(({ type }) => type), rest.body.next]).toEqual([['ClusterAccepted'], null]);
  });

  it('is available by type', async () => {
    const { body } = await gateway.ask<EventList>('GET', `${path}/events?type=ClusterAccepted,ClusterReady`);
    expect(body.items.map(({ type }) => type)).toEqual(['ClusterAccepted']);
    const wrong = await gateway.ask<ErrorView>('GET', `${path}/events?type=ClusterExploded`);
    expect([wrong.status, wrong.body.field]).toEqual([400, 'type']);
  });

  it('are those of no cluster when there never was one', async () => {
    for (const what of ['events', 'events/stream', 'audit', 'operations', 'changes?from=1']) {
      const { status, body } = await gateway.ask<ErrorView>('GET', `/ns/default/clusters/never/${what}`);
      expect([what, status, body.reason]).toEqual([what, 404, 'cluster.unknown']);
    }
  });
});

describe('the changes of a cluster', () => {
  type Answer = ClusterChanges & Pick<ErrorView, 'reason'>;
  const changes = (query: string) => gateway.ask<Answer>('GET', `${path}/changes?${query}`);

  it('name what differs between two moments, with the event, whom it was done by, and where to trace it', async () => {
    const [requested, accepted] = (await gateway.ask<EventList>('GET', `${path}/events?limit=2`)).body.items;
    const { status, body } = await changes(`from=${requested!.seq}&to=${accepted!.seq}`);
    expect([status, body.from, body.to]).toEqual([
      200,
      { seq: requested!.seq, time: requested!.time },
      { seq: accepted!.seq, time: accepted!.time },
    ]);
    const { seq, type, time, actor, sentence } = accepted!;
    expect(body.items).toContainEqual({
      kind: 'Condition',
      name: 'Accepted',
      change: 'changed',
      fields: [
        { field: 'status', before: 'Unknown', after: 'True', event: { seq, type, time, actor, sentence } },
        { field: 'reason', before: 'InProgress', after: null, event: { seq, type, time, actor, sentence } },
      ],
    });
    expect((await changes(`from=${encodeURIComponent(accepted!.time)}`)).status).toBe(200);
  });

  it('are refused between moments in the wrong order, and after a sequence that the log has not reached', async () => {
    const { items } = (await gateway.ask<EventList>('GET', `${path}/events?limit=2`)).body;
    const backwards = await changes(`from=${items[1]!.seq}&to=${items[0]!.seq}`);
    expect([backwards.status, backwards.body.reason]).toEqual([400, 'request.malformed']);
    const ahead = await changes(`from=1&to=${items[1]!.seq + 10_000}`);
    expect([ahead.status, ahead.body.reason]).toEqual([422, 'wait.seq-ahead']);
    expect((await changes('to=1')).body.reason).toBe('request.malformed');
  });
});

describe('the stream of events', () => {
  it('sends past events and then new ones, each once and in order', async () => {
    const heard = take(5, stream());
    for (let index = 0; index < 3; index += 1) await gateway.state(step(index));
    const types = (await heard).map(({ type }) => type);
    expect(types).toEqual([
      'ClusterRequested',
      'ClusterAccepted',
      'AddonInstalled',
      'AddonInstalled',
      'AddonInstalled',
    ]);
  });

  it('goes on after the last event that its reader has seen, at another replica, when one stops', async () => {
    const replica = await gateway.startReplica();
    const { items } = (await gateway.ask<EventList>('GET', `${path}/events`)).body;
    const last = items.at(-1)!.seq;
    const server = { base: 1 };
    const following = events({
      baseUrl: 'http://either.example',
      token: gateway.token,
      of,
      after: last,
      signal: ended.signal,
      fetch: (asked) => fetch(asked.url.replace('http://either.example', gateway.baseUrl(server.base)), asked),
    });
    const before = await gateway.state(step(10));
    expect((await take(1, following)).map(({ seq }) => seq)).toEqual([before.meta.seq]);
    server.base = 0;
    await replica.stop();
    const during = await gateway.state(step(11));
    const after = await gateway.state(step(12));
    expect((await take(2, following)).map(({ seq }) => seq)).toEqual([during.meta.seq, after.meta.seq]);
  });

  it('takes Last-Event-ID before the query', async () => {
    const { items } = (await gateway.ask<EventList>('GET', `${path}/events`)).body;
    const response = await fetch(`${gateway.baseUrl()}${path}/events/stream?after=0`, {
      headers: { authorization: `Bearer ${gateway.token}`, 'last-event-id': String(items.at(-2)!.seq) },
      signal: ended.signal,
    });
    expect(response.headers.get('content-type')).toMatch('text/event-stream');
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('data:')) break;
    }
    expect(/^id: (\d+)$/m.exec(text)?.[1]).toBe(String(items.at(-1)!.seq));
  });

  it('gives only the types that were asked for', async () => {
    const heard = take(1, stream(0, ['ClusterAccepted']));
    expect((await heard).map(({ type }) => type)).toEqual(['ClusterAccepted']);
  });

  it('refuses with the code of the API', async () => {
    const wrong = events({ baseUrl: gateway.baseUrl(), token: 'none', of, signal: ended.signal });
    await expect(wrong.next()).rejects.toMatchObject({ status: 401, reason: 'auth.token-unknown' });
    await expect(wrong.next()).resolves.toEqual({ done: true, value: undefined });
    expect(StreamFailed.name).toBe('StreamFailed');
  });

  it('serves many readers at once', async () => {
    const readers = Array.from({ length: 20 }, () => take(1, stream(0, ['ClusterAccepted'])));
    const heard = await Promise.all(readers);
    expect(heard.map(([event]) => event?.type)).toEqual(Array.from({ length: 20 }, () => 'ClusterAccepted'));
  });
});

describe('the audit of a cluster', () => {
  it('shows who did what and why, and finds every chain intact', async () => {
    const { body } = await gateway.ask<AuditView>('GET', `${path}/audit`);
    expect(body.verification).toMatchObject({ intact: true, faults: [] });
    expect(body.verification.events).toBe(body.items.length);
    expect(body.items[0]).toMatchObject({
      actor: localActor(gateway),
      source: '/gateway',
      type: 'ClusterRequested',
      because: [],
    });
  });

  it('is the same through the generated client', async () => {
    const client = createFairleadClient({ baseUrl: gateway.baseUrl(), token: gateway.token });
    const { data } = await client.GET('/ns/{namespace}/clusters/{cluster}/audit', { params: { path: of } });
    expect(data?.verification.intact).toBe(true);
    const { error } = await client.GET('/ns/{namespace}/clusters/{cluster}', {
      params: { path: { namespace: 'default', cluster: 'never' } },
    });
    expect(error?.reason).toBe('cluster.unknown');
  });
});

describe('a long history', () => {
  const bulky = '/ns/default/clusters/bulky';
  const PAGES = 2;
  let other: Replica;

  beforeAll(async () => {
    const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('bulky') });
    other = await gateway.startReplica();
    const at = { cluster: 'bulky' };
    const names = Array.from({ length: 1_000 }, (_, index) => `a-machine-with-a-rather-long-name-${index}`);
    const data = { ...planned(names).data, uid: body.uid } as never;
    for (let count = 0; count < 40; count += 1) await gateway.state({ type: 'VmsPlanned', data }, at);
  }, 60_000);

  it('is audited page by page: chains and causes go on, at any replica, and nothing is listed twice', async () => {
    const whole = await gateway.ask<AuditView>('GET', `${path}/audit`);
    expect(whole.body.next).toBeNull();
    const items: AuditView['items'] = [];
    for (let after: number | null = 0, page = 0; after !== null; page += 1) {
      const answer: { body: AuditView } = await gateway.ask<AuditView>('GET', `${path}/audit?limit=2&after=${after}`, {
        replica: page % 2 === 0 ? 0 : other.index,
      });
      expect(answer.body.verification).toMatchObject({ intact: true, events: answer.body.items.length });
      expect(answer.body.items.length).toBeLessThanOrEqual(2);
      items.push(...answer.body.items);
      after = answer.body.next;
    }
    expect(items).toEqual(whole.body.items);
  });

  it('is answered in pages of bounded size, however many events are asked for', async () => {
    const seqs: number[] = [];
    let pages = 0;
    for (let after: number | null = 0; after !== null; pages += 1) {
      const { body }: { body: EventList } = await gateway.ask<EventList>(
        'GET',
        `${bulky}/events?limit=5000&after=${after}`,
      );
      expect(JSON.stringify(body).length).toBeLessThan(6 * 1024 * 1024);
      seqs.push(...body.items.map(({ seq }) => seq));
      after = body.next;
    }
    expect(pages).toBeGreaterThanOrEqual(PAGES);
    expect([seqs.length, new Set(seqs).size]).toEqual([41, 41]);
    const audit = await gateway.ask<AuditView>('GET', `${bulky}/audit?limit=5000`);
    expect(audit.body.next).not.toBeNull();
  });

  it('is refused as a whole where it would be larger than an answer may be', async () => {
    const small = await gateway.startReplica({ ANSWER_MAX_MIB: '1' });
    const page = (limit: number) =>
      gateway.ask<ErrorView>('GET', `${bulky}/events?limit=${limit}`, { replica: small.index });
    const refused = await page(5_000);
    expect([refused.status, refused.body.reason]).toEqual([422, 'request.answer-too-large']);
    expect((await page(1)).status).toBe(200);
    await small.stop();
  });

  it('is not audited many times at once by one token, and by another it is', async () => {
    const role = { namespace: 'default', role: 'viewer' };
    const tokens = await Promise.all(
      ['greedy', 'other'].map((name) =>
        gateway.ask<CreatedTokenView>('POST', '/tokens', { body: { name, roles: [role] } }),
      ),
    );
    const [greedy, other] = tokens.map(({ body }) => body.token);
    const read = (token: string | undefined) =>
      gateway.ask<ErrorView>('GET', `${bulky}/audit`, { token: token ?? null });
    const answers = await Promise.all([...Array.from({ length: 20 }, () => read(greedy)), read(other)]);
    const refused = answers.slice(0, 20).filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused.map(({ body }) => body.reason))).toEqual(new Set(['token.too-many-audits']));
    expect(answers.at(-1)?.status).toBe(200);
    expect((await read(greedy)).status).toBe(200);
  });
});

describe('a message that is not an event', () => {
  it('has no effect, is shown to an administrator, and is a fault of the audit', async () => {
    const admin = await gateway.environment.connect('admin');
    const subject = eventSubject({ ...of, cluster: 'demo', context: 'node-w1' }, 'NodeReady');
    const body = { type: 'ClusterDeletionRequested.v1', source: '/gateway', actor: 'user/alice', data: { uid } };
    const answer = await admin.request(subject, JSON.stringify(body), { timeout: 5_000 });
    const { seq } = answer.json<{ seq: number }>();
    const { body: cluster } = await gateway.ask<ClusterView>('GET', `${path}?minSeq=${seq}`);
    expect(cluster.status.phase).not.toBe('Deleting');
    const { body: quarantined } = await gateway.ask<QuarantineList>('GET', `/quarantine?minSeq=${seq}`);
    expect(quarantined).toMatchObject({
      items: [],
      rejected: [{ stream: subject.replace(/\.NodeReady$/, ''), reason: 'envelope', count: 1, lastSeq: seq, subject }],
    });
    const { body: audit } = await gateway.ask<AuditView>('GET', `${path}/audit`);
    expect(audit.verification).toMatchObject({ intact: false, faults: [{ seq, context: 'node-w1' }] });
    expect(audit.items.map((item) => item.seq)).not.toContain(seq);
    const { body: events } = await gateway.ask<EventList>('GET', `${path}/events`);
    expect(events.items.map((item) => item.seq)).not.toContain(seq);
  });
});

describe('the whole log', () => {
  it('is an administrator’s to read, in pages', async () => {
    const first = (await gateway.ask<EventList>('GET', '/events?limit=2')).body;
    expect(first.items).toHaveLength(2);
    const all = [...first.items];
    for (let next = first.next; next !== null;) {
      const page: EventList = (await gateway.ask<EventList>('GET', `/events?limit=2&after=${next}`)).body;
      all.push(...page.items);
      next = page.next;
    }
    expect(all.map(({ seq }) => seq)).toEqual((await gateway.log()).map(({ meta }) => meta.seq));
  });
});
