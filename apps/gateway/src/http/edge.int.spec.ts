import type { ClusterView, ErrorView, NamespaceView, OperationList } from '@fairlead/contracts';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { request, useGateway, type TestGateway } from '../gateway.fixtures.js';

const gateway = useGateway(async () => {
  await gateway.ask('POST', '/ns/default/clusters', { body: request('demo') });
});

/** What the server answers to bytes, and after how long it closed the connection (undefined: it did not within the time). */
const raw = async (
  bytes: string | Buffer,
  waitMs: number,
  { replica = 0, then }: { readonly replica?: number; readonly then?: string } = {},
): Promise<{ text: string; closedAfterMs?: number }> => {
  const { hostname, port } = new URL(gateway.baseUrl(replica));
  const startedAt = performance.now();
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  if (then !== undefined) socket.once('data', () => socket.write(then));
  socket.on('error', () => undefined);
  socket.write(bytes);
  const closed = await new Promise<boolean>((resolve) => {
    socket.once('close', () => resolve(true));
    setTimeout(() => resolve(false), waitMs).unref();
  });
  socket.destroy();
  return closed ? { text, closedAfterMs: performance.now() - startedAt } : { text };
};

const head = (method: string, path: string, ...headers: readonly string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: gateway', ...headers, '', ''].join('\r\n');

const refusalOf = async (method: string, path: string, options: Parameters<TestGateway['ask']>[2]) => {
  const { status, body } = await gateway.ask<ErrorView>(method, path, options);
  return [status, body.reason, body.field];
};

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('text that the log or a database cannot store', () => {
  const bad = ['a\u0000b', '\ud800', 'x\udc00y', '\u001b[31m', 'a\u007f', 'a\u0085'];

  it.each(bad)('is refused in a value: %j', async (text) => {
    expect(await refusalOf('POST', '/ns', { body: { name: 'nul', description: text } })).toEqual([
      400,
      'request.text-unstorable',
      'description',
    ]);
  });

  it('is refused at any depth, in keys too, with the field', async () => {
    const cluster = request('nul', { worker: [{ connection: 'lab', count: 1, spec: 'a\u0000' }] });
    expect(await refusalOf('POST', '/ns/default/clusters', { body: cluster })).toEqual([
      400,
      'request.text-unstorable',
      'worker[0].spec',
    ]);
    const settings = { provider: 'lab', settings: { a: { ['k\u0000']: 1 } } };
    expect(await refusalOf('PUT', '/connections/lab', { body: settings })).toEqual([
      400,
      'request.text-unstorable',
      'settings.a.k\\u0000',
    ]);
  });

  it('is refused in the path and the query, with the name of the parameter', async () => {
    expect(await refusalOf('DELETE', '/tokens/a%00b', {})).toEqual([400, 'request.text-unstorable', 'token']);
    expect(await refusalOf('GET', '/ns/default/clusters/demo/events?type=a%00', {})).toEqual([
      400,
      'request.text-unstorable',
      'type',
    ]);
    expect(await refusalOf('GET', '/ns?a%00=1', {})).toEqual([400, 'request.text-unstorable', 'a\\u0000']);
  });

  it('is refused in a header', async () => {
    expect(await refusalOf('GET', '/ns', { headers: { 'x-request-id': 'a\u0085' } })).toEqual([
      400,
      'request.text-unstorable',
      'x-request-id',
    ]);
  });

  it('leaves line breaks, tabs and every script alone', async () => {
    const description = 'zwei\nZeilen\t— ٣ 𝔘 👩‍🚀';
    expect((await gateway.ask('POST', '/ns', { body: { name: 'scripts', description } })).status).toBe(201);
    const last = (await gateway.log()).at(-1)!.meta.seq;
    const { body } = await gateway.ask<NamespaceView>('GET', `/ns/scripts?minSeq=${last}`);
    expect(body.description).toBe(description);
  });
});

describe('a body', () => {
  it('that is nested deeply is refused', async () => {
    for (const depth of [100, 20_000]) {
      const body = `{"name":"deep","description":${nested(depth)}}`;
      expect(await refusalOf('POST', '/ns', { body })).toEqual([400, 'request.malformed', undefined]);
      const keyed = { body, headers: { 'idempotency-key': 'deep' } };
      expect(await refusalOf('POST', '/ns/default/clusters', keyed)).toEqual([400, 'request.malformed', undefined]);
    }
  });

  it('with a number that no computer holds is refused', async () => {
    const body = '{"provider":"lab","settings":{"size":1e999}}';
    expect(await refusalOf('PUT', '/connections/lab', { body })).toEqual([400, 'request.malformed', 'settings.size']);
  });

  it('of another content type is refused with the one to send', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-16', '']) {
      const answer = await gateway.ask<ErrorView>('POST', '/ns', {
        body: '{"name":"typed"}',
        headers: { 'content-type': type },
      });
      expect([type, answer.status, answer.body.reason]).toEqual([type, 415, 'request.media-type']);
      expect(answer.body.help).toMatch(/send application\/json/i);
    }
  });

  it('that is compressed in an unknown way, or too large, is refused under its own status', async () => {
    const packed = { body: '{"name":"x"}', headers: { 'content-encoding': 'unheard-of' } };
    expect((await refusalOf('POST', '/ns', packed)).slice(0, 2)).toEqual([415, 'request.media-type']);
    const large = { name: 'large', description: 'x'.repeat(3_000_000) };
    expect((await refusalOf('POST', '/ns', { body: large })).slice(0, 2)).toEqual([413, 'request.too-large']);
  });

  it('that is no UTF-8 is refused', async () => {
    const bytes = Buffer.from('{"name":"utf","description":"\xff\xfe"}', 'latin1');
    const { text } = await raw(
      Buffer.concat([
        Buffer.from(
          head(
            'POST',
            '/ns',
            `Authorization: Bearer ${gateway.token}`,
            'Content-Type: application/json',
            `Content-Length: ${bytes.length}`,
            'Connection: close',
          ),
        ),
        bytes,
      ]),
      5_000,
    );
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toMatch('UTF-8');
  });

  it('whose headers are too large, or that is not HTTP, is answered with the error of all routes, on any connection', async () => {
    const statusIn = (text: string): readonly unknown[] => {
      const { code, reason, requestId } = JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4)) as ErrorView;
      return [code, reason, typeof requestId];
    };
    const large = head('GET', `/ns?continue=${'x'.repeat(20_000)}`);
    const { text } = await raw(large, 5_000);
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
    expect(statusIn(text)).toEqual([431, 'request.headers-too-large', 'string']);
    const second = await raw(head('GET', '/version'), 5_000, { then: large });
    expect(second.text).toMatch(/^HTTP\/1\.1 401 [^]*HTTP\/1\.1 431 /);
    const noise = await raw('no request\r\n\r\n', 5_000);
    expect(statusIn(noise.text)).toEqual([400, 'request.malformed', 'string']);
  });

  it('is not read before the token is known', async () => {
    const headers = ['Content-Type: application/json', 'Content-Length: 5000'];
    const { text } = await raw(head('POST', '/ns', 'Authorization: Bearer none', ...headers), 1_000);
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(await refusalOf('POST', '/ns', { body: 'not json', token: null })).toEqual([
      401,
      'auth.token-missing',
      undefined,
    ]);
  });
});

describe('a path', () => {
  it('that is known answers another method with the ones that it has', async () => {
    for (const [method, path, allow] of [
      ['PATCH', '/ns', 'GET, HEAD, POST'],
      ['POST', '/version', 'GET, HEAD'],
      ['DELETE', '/ladybug/ns/default/clusters', 'GET, HEAD, POST'],
      ['POST', '/openapi.json', 'GET, HEAD'],
    ] as const) {
      const { status, body, headers } = await gateway.ask<ErrorView>(method, path);
      expect([path, status, body.reason, headers.get('allow')]).toEqual([path, 405, 'route.method', allow]);
    }
  });

  it('that is unknown stays unknown, whatever the method', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect(await refusalOf(method, '/nothing', {})).toEqual([404, 'route.unknown', undefined]);
  });

  it('or a query that is no UTF-8 is refused', async () => {
    for (const path of ['/ns/%ff', '/ns/%', '/ns?minSeq=%ff', '/tokens/%c3%28'])
      expect((await refusalOf('GET', path, {})).slice(0, 2)).toEqual([400, 'request.malformed']);
  });
});

describe('a change with a condition', () => {
  it('is refused, because it would not be kept', async () => {
    const before = (await gateway.log()).length;
    for (const headers of [{ 'if-match': 'W/"1"' }, { 'if-none-match': '*' }, { 'if-unmodified-since': 'x' }]) {
      const [field = ''] = Object.keys(headers);
      const answer = await gateway.ask<ErrorView>('POST', '/ns', { body: { name: 'conditional' }, headers });
      expect([answer.status, answer.body.reason, answer.body.field]).toEqual([400, 'request.malformed', field]);
      expect(answer.body.message).toContain('metadata.resourceVersion');
    }
    expect((await gateway.log()).length).toBe(before);
  });

  it('is none if it only reads', async () => {
    const first = await gateway.ask('GET', '/ns/default/clusters');
    // fetch would ask for no cached response otherwise.
    const headers = { 'if-none-match': first.headers.get('etag') ?? '', 'cache-control': 'max-age=0' };
    expect((await gateway.ask('GET', '/ns/default/clusters', { headers })).status).toBe(304);
  });
});

describe('a request that is never finished', () => {
  const TIMEOUT_SECONDS = 2;
  let hurried: number;

  beforeAll(async () => {
    hurried = (await gateway.startReplica({ REQUEST_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS) })).index;
  });

  it.each([
    ['no byte', () => ''],
    ['half a head', () => 'GET /ns HTTP/1.1\r\nHost: x\r\n'],
    [
      'half a body',
      () => {
        const headers = ['Content-Type: application/json', 'Content-Length: 50'];
        return `${head('POST', '/ns', `Authorization: Bearer ${gateway.token}`, ...headers)}{"name":`;
      },
    ],
  ])('ends after the time that it has: %s', async (_case, bytes) => {
    const { closedAfterMs } = await raw(bytes(), 30_000, { replica: hurried });
    expect(closedAfterMs).toBeGreaterThan(TIMEOUT_SECONDS * 1_000 - 500);
  });

  it('is not one that waits or streams', async () => {
    const stream = raw(
      head('GET', '/ns/default/clusters/demo/events/stream', `Authorization: Bearer ${gateway.token}`),
      TIMEOUT_SECONDS * 2_000 + 1_000,
      { replica: hurried },
    );
    const waiting = gateway.ask('POST', '/ns/default/clusters', {
      body: request('patient'),
      headers: { prefer: 'wait=60' },
      replica: hurried,
    });
    expect((await stream).closedAfterMs).toBeUndefined();
    const { body } = await gateway.ask<ClusterView>('GET', '/ns/default/clusters/patient');
    const uid = body.uid as never;
    await gateway.state({ type: 'ClusterAccepted', data: { uid } }, { cluster: 'patient' });
    await gateway.state({ type: 'ClusterReady', data: { uid } }, { cluster: 'patient' });
    expect((await waiting).status).toBe(201);
  });
});

describe('the preference to wait', () => {
  it('that was honoured is named in the answer', async () => {
    const { status, headers } = await gateway.ask('POST', '/ns/default/clusters', {
      body: request('preferred'),
      headers: { prefer: 'wait=1' },
    });
    expect([status, headers.get('preference-applied')]).toEqual([202, 'wait=1']);
    const plain = await gateway.ask('POST', '/ns/default/clusters', { body: request('plain') });
    expect(plain.headers.get('preference-applied')).toBeNull();
    const read = await gateway.ask('GET', '/ns', { headers: { prefer: 'wait=1' } });
    expect(read.headers.get('preference-applied')).toBeNull();
  });

  it.each(['wait=soon', 'wait=-1', 'wait', 'wait=1.5', '=3', 'wait=3 4', ';'])('is refused as %j', async (prefer) => {
    const headers = { prefer };
    expect(await refusalOf('POST', '/ns/default/clusters', { body: request('never'), headers })).toEqual([
      400,
      'request.malformed',
      'prefer',
    ]);
  });

  it('may stand beside preferences that are not known, and is ignored below /ladybug when it cannot be read', async () => {
    const headers = { prefer: 'respond-async, handling="lenient"; x=1' };
    expect((await gateway.ask('POST', '/ns/default/clusters', { body: request('beside'), headers })).status).toBe(202);
    const other = await gateway.ask('POST', '/ladybug/ns/default/clusters', {
      body: request('lenient'),
      headers: { prefer: 'wait=soon' },
    });
    expect(other.status).toBe(202);
  });
});

describe('minSeq', () => {
  it.each(['', '%20', '0x1', '1e1', '-1', '99999999999999999999'])('is refused as "%s"', async (text) => {
    expect(await refusalOf('GET', `/ns?minSeq=${text}`, {})).toEqual([400, 'request.malformed', 'minSeq']);
  });

  it('is a number of digits', async () => {
    const { status } = await gateway.ask<OperationList>('GET', '/ns?minSeq=1');
    expect(status).toBe(200);
  });
});
