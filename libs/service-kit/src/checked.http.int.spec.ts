import { oldHookSecretText, type ClusterUid, type Hook } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { parseRanges } from './addresses.rules.js';
import { CheckedHttp, type HttpPost } from './checked.http.js';
import { HookSigner } from './hook.signature.js';
import { HookCaller } from './hooks.http.js';

const asked: { readonly url: string; readonly body: string; readonly headers: NodeJS.Dict<string | string[]> }[] = [];
let server: Server;
let base = '';

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      asked.push({ url, body: Buffer.concat(chunks).toString(), headers });
      if (url === '/silent') return;
      if (url === '/redirect') response.writeHead(307, { location: `${base}/ok` });
      response.end(url === '/large' ? 'x'.repeat(2_000) : '{"status":"Success"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const POST: HttpPost = {
  body: '{"a":1}',
  headers: { 'idempotency-key': 'k' },
  timeLimitMs: 10_000,
  answerBytesMax: 1_000,
};
const post = (path: string, more: Partial<HttpPost> = {}, allowed = '127.0.0.0/8') =>
  new CheckedHttp({ allowed: parseRanges(allowed).ranges, setting: 'HOOK_ADDRESSES_ALLOWED' }).post(
    path.startsWith('http') ? path : `${base}${path}`,
    { ...POST, ...more },
    new AbortController().signal,
  );

describe('a POST to a URL from a user', () => {
  it('sends the body and its headers, and reads the response', async () => {
    expect(await post('/ok')).toEqual({ kind: 'answered', status: 200, body: '{"status":"Success"}' });
    expect(asked.at(-1)).toMatchObject({ body: '{"a":1}', headers: { 'idempotency-key': 'k' } });
  });

  it('enforces the maximum size of a response and the time limit', async () => {
    expect(await post('/large')).toMatchObject({ kind: 'silent', why: 'the answer is larger than 1000 bytes' });
    expect(await post('/silent', { timeLimitMs: 50 })).toMatchObject({ kind: 'silent' });
  });

  it('fails with the same sentence within the internal network, whether a port is closed, uses another protocol or is silent', async () => {
    const greeting = createTcpServer((socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n')).listen(0, '127.0.0.1');
    await once(greeting, 'listening');
    const greetingPort = (greeting.address() as AddressInfo).port;
    const free = createTcpServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const closedPort = (free.address() as AddressInfo).port;
    await new Promise((resolve) => free.close(resolve));
    const openPort = new URL(base).port;
    const words = async (url: string): Promise<string> => {
      const answer = await post(url, { timeLimitMs: 300 });
      expect(answer.kind).toBe('silent');
      return 'why' in answer ? answer.why.replace(new URL(url).port, 'PORT') : '';
    };
    const failures = [
      `https://127.0.0.1:${closedPort}/`,
      `https://127.0.0.1:${openPort}/`,
      `https://127.0.0.1:${greetingPort}/`,
      `http://127.0.0.1:${closedPort}/`,
      `http://127.0.0.1:${greetingPort}/`,
      `${base}/silent`,
    ];
    const said = new Set<string>();
    for (const url of failures) said.add(await words(url));
    greeting.close();
    expect([...said]).toEqual([
      'no answer from 127.0.0.1:PORT: the connection failed, took too long, or has no certificate that is trusted for this name',
    ]);
  });

  it('does not follow redirects', async () => {
    const before = asked.length;
    expect(await post('/redirect')).toMatchObject({ kind: 'answered', status: 307 });
    expect(asked.slice(before).map(({ url }) => url)).toEqual(['/redirect']);
  });

  it('is not sent to addresses that are neither public nor allowed', async () => {
    const before = asked.length;
    expect(await post('/ok', {}, '')).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('HOOK_ADDRESSES_ALLOWED'),
    });
    for (const url of ['http://169.254.169.254/', 'http://localhost:1/', 'file:///etc/passwd'])
      expect((await post(url, {}, '')).kind).toBe('refused');
    expect(asked.length).toBe(before);
  });
});

describe('a request to a hook', () => {
  const hook: Hook = { name: 'backup', points: ['BeforeCreate'], url: '', secretName: 'inventory' };
  const subject = { namespace: 'team-a', cluster: 'demo', uid: 'u1' as ClusterUid };
  const VALUE = 'of-the-hook-secret-inventory-of-team-a';
  const ask = (values: Readonly<Record<string, string>>, more: Partial<Hook> = {}) =>
    new HookCaller({
      http: new CheckedHttp({ allowed: parseRanges('127.0.0.0/8').ranges, setting: 'HOOK_ADDRESSES_ALLOWED' }),
      signer: new HookSigner({ get: async (ref) => values[ref] }, { now: () => new Date() }),
      clock: { now: () => new Date() },
      againAfterMs: 1_000,
    }).ask(
      subject,
      { point: 'BeforeCreate', attempt: 1, hook: { ...hook, url: `${base}/ok`, ...more } },
      new AbortController().signal,
    );
  /** The sample code of docs/hooks.md. */
  const documented = async (): Promise<(secret: string, header: string, body: string, now?: number) => boolean> => {
    const page = readFileSync(new URL('../../../docs/hooks.md', import.meta.url), 'utf8');
    const [, code = ''] = /```js\n([^`]*?(?:`[^`]+`[^`]*?)*)\n```/u.exec(page) ?? [];
    const { isFromFairlead } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    return isFromFairlead;
  };

  it('is signed with the secret of its namespace, which the sample code of the documentation verifies', async () => {
    expect(await ask({ 'gateway.hook.team-a.inventory': VALUE })).toMatchObject({ type: 'HookSucceeded' });
    const { body = '', headers = {} } = asked.at(-1) ?? {};
    const header = String(headers['fairlead-signature']);
    expect(header).toMatch(/^t=\d{10},v1=[0-9a-f]{64}$/u);
    const isFromFairlead = await documented();
    expect(isFromFairlead(VALUE, header, body)).toBe(true);
    expect(isFromFairlead('another secret', header, body)).toBe(false);
    expect(isFromFairlead(VALUE, header, `${body} `)).toBe(false);
    expect(isFromFairlead(VALUE, header.replace('t=1', 't=2'), body)).toBe(false);
    expect(isFromFairlead(VALUE, header, body, Date.now() + 301_000)).toBe(false);
    expect(isFromFairlead(VALUE, '', body)).toBe(false);
  });

  it('is also signed with the previous secret until that expires', async () => {
    const OLD = 'of-the-hook-secret-inventory-until-tomorrow';
    const headerWith = async (validForMs: number): Promise<string> => {
      const validUntil = new Date(Date.now() + validForMs).toISOString();
      await ask({
        'gateway.hook.team-a.inventory': VALUE,
        'gateway.hook.team-a.inventory.old': oldHookSecretText({ value: OLD, validUntil }),
      });
      return String(asked.at(-1)?.headers['fairlead-signature']);
    };
    const isFromFairlead = await documented();
    const both = await headerWith(60_000);
    const body = asked.at(-1)?.body ?? '';
    expect(both).toMatch(/^t=\d{10},v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/u);
    for (const [secret, isValid] of [
      [VALUE, true],
      [OLD, true],
      ['another secret', false],
    ] as const)
      expect([secret, isFromFairlead(secret, both, body)]).toEqual([secret, isValid]);
    const expired = await headerWith(-1);
    const later = asked.at(-1)?.body ?? '';
    expect([isFromFairlead(VALUE, expired, later), isFromFairlead(OLD, expired, later)]).toEqual([true, false]);
  });

  it('is not sent if its secret is missing, and is unsigned if it names none', async () => {
    const before = asked.length;
    expect(await ask({ 'gateway.hook.team-b.inventory': VALUE })).toMatchObject({
      type: 'HookFailed',
      message: 'the namespace has no hook secret inventory; set it with "fairlead hook set-secret"',
    });
    expect(asked.length).toBe(before);
    await ask({}, { secretName: undefined });
    expect(asked.at(-1)?.headers['fairlead-signature']).toBeUndefined();
  });
});
