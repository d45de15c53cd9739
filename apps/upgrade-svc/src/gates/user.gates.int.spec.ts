import type { PoolName } from '@fairlead/contracts';
import { ConfigurationError } from '@fairlead/service-kit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { CheckedHttp, HookSigner, type CheckedHttpOptions } from '@fairlead/service-kit/http';
import { readSettings } from '../config.js';
import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { Verdict } from './gate.js';
import { askUserGate } from './user.gates.js';

const SECRET = 'of-the-hook-secret-inventory-of-team-a';
const LOOPBACK = { address: '127.0.0.1', family: 4 };
const NOT_ALLOWED = 'an administrator can allow it with GATE_ADDRESSES_ALLOWED';

describe('A user gate over HTTP', () => {
  let server: Server;
  let port: number;
  let connections: number;
  let requests: Pick<IncomingMessage, 'url' | 'headers'>[];
  let answer: RequestListener;

  beforeEach(async () => {
    connections = 0;
    requests = [];
    answer = (_, response) => void response.writeHead(200).end('x');
    server = createServer((request, response) => {
      requests.push({ url: request.url, headers: request.headers });
      answer(request, response);
    });
    server.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const allowedBy = (ranges: string | undefined) =>
    readSettings({ GATE_ADDRESSES_ALLOWED: ranges }).gateAddressesAllowed;

  const ask = (
    url: string,
    ranges?: string,
    options: Partial<CheckedHttpOptions> = {},
    signal = new AbortController().signal,
  ): Promise<Verdict> => askAs({}, url, { ranges, options, signal });

  const askAs = (
    gate: { readonly secretName?: PoolName },
    url: string,
    {
      ranges,
      options = {},
      signal = new AbortController().signal,
    }: {
      readonly ranges?: string | undefined;
      readonly options?: Partial<CheckedHttpOptions>;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<Verdict> =>
    askUserGate(
      { kind: 'http', name: 'shop', url: url.replace('PORT', String(port)), status: 200, ...gate },
      {
        cluster: undefined as unknown as UpgradeCluster,
        namespace: 'team-a',
        signer: new HookSigner(
          { get: async (ref) => (ref === 'gateway.hook.team-a.inventory' ? SECRET : undefined) },
          { now: () => new Date() },
        ),
        http: new CheckedHttp({ setting: 'GATE_ADDRESSES_ALLOWED', allowed: allowedBy(ranges), ...options }),
        asked: 'u-spec00/1',
        signal,
      },
    );

  it.each([
    ['http://127.0.0.1:PORT/', `127.0.0.1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://127.1:PORT/', `127.0.0.1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://2130706433:PORT/', `127.0.0.1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://0x7f.1:PORT/', `127.0.0.1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://0177.0.0.1:PORT/', `127.0.0.1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://[::ffff:127.0.0.1]:PORT/', `::ffff:7f00:1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://[::1]:PORT/', `::1 is a loopback address; ${NOT_ALLOWED}`],
    ['http://0.0.0.0:PORT/', `0.0.0.0 is an unspecified address; ${NOT_ALLOWED}`],
    ['https://127.0.0.1:PORT/', `127.0.0.1 is a loopback address; ${NOT_ALLOWED}`],
    ['file:///etc/hostname', 'its scheme is file, and only http and https are allowed'],
    ['gopher://127.0.0.1:PORT/', 'its scheme is gopher, and only http and https are allowed'],
    ['ws://127.0.0.1:PORT/', 'its scheme is ws, and only http and https are allowed'],
    ['http://user:secret@127.0.0.1:PORT/', 'it contains a user name or a password'],
  ])('at %s is refused, without a connection', async (url, why) => {
    expect(await ask(url)).toEqual({ holds: false, facts: {}, message: `the gate shop is not asked: ${why}` });
    expect(connections).toBe(0);
  });

  it('at localhost is refused by the address that the name resolves to', async () => {
    expect(await ask('http://localhost:PORT/')).toMatchObject({
      holds: false,
      message: expect.stringMatching(/localhost resolves to \S+, which is a loopback address/),
    });
    expect(connections).toBe(0);
  });

  it('is refused if its name resolves to a loopback address, even among public ones', async () => {
    const message = `the gate shop is not asked: shop.example resolves to 127.0.0.1, which is a loopback address; ${NOT_ALLOWED}`;
    const publicToo = [{ address: '1.1.1.1', family: 4 }, LOOPBACK];
    for (const found of [[LOOPBACK], publicToo])
      expect(await ask('http://shop.example:PORT/', undefined, { resolve: async () => found })).toMatchObject({
        holds: false,
        message,
      });
    expect(connections).toBe(0);
  });

  it.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://localhost:PORT/',
  ])('at %s is requested once the range is allowed', async (url) => {
    expect(await ask(`${url}health?deep=1`, '127.0.0.0/8,::1/128')).toEqual({ holds: true, facts: { status: 200 } });
    expect(requests.map((request) => request.url)).toEqual(['/health?deep=1']);
  });

  it('connects to the address that was checked: the name is resolved once, and sent as the host', async () => {
    let asked = 0;
    // A name that changes its address after the check.
    const resolve = async () => [asked++ === 0 ? LOOPBACK : { address: '127.0.0.2', family: 4 }];
    expect(await ask('http://shop.example:PORT/', '127.0.0.1/32', { resolve })).toMatchObject({ holds: true });
    expect(asked).toBe(1);
    expect(requests[0]?.headers.host).toBe(`shop.example:${port}`);
  });

  it('follows no redirect', async () => {
    answer = (_, response) => void response.writeHead(302, { location: `http://127.0.0.1:${port}/secret` }).end();
    expect(await ask('http://127.0.0.1:PORT/', '127.0.0.0/8')).toMatchObject({
      holds: false,
      facts: { status: 302 },
      message: `http://127.0.0.1:${port}/ answers 302, not 200; redirects are not followed`,
    });
    expect(requests.map((request) => request.url)).toEqual(['/']);
  });

  it('uses no proxy of the environment', async () => {
    const saved = { ...process.env };
    Object.assign(process.env, { http_proxy: `http://127.0.0.1:${port}`, NODE_USE_ENV_PROXY: '1' });
    try {
      const resolve = async () => [{ address: '127.0.0.2', family: 4 }];
      expect(await ask('http://shop.example:PORT/', '127.0.0.2/32', { resolve })).toMatchObject({
        message: expect.stringContaining('does not answer: no answer from shop.example:'),
      });
      expect(connections).toBe(0);
    } finally {
      process.env = saved;
    }
  });

  it('over TLS uses the host of the URL, not the address', async () => {
    const names: string[] = [];
    const secure = createTlsServer({
      SNICallback: (name, done) => {
        names.push(name);
        done(new Error('no certificate'));
      },
    });
    secure.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const url = `https://shop.example:${(secure.address() as AddressInfo).port}/`;
    try {
      const resolve = async () => [LOOPBACK];
      expect(await ask(url, '127.0.0.0/8', { resolve })).toMatchObject({ holds: false });
      expect(names).toEqual(['shop.example']);
    } finally {
      secure.close();
    }
  });

  it('reads the status and ignores an endless body', async () => {
    const closed = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.writeHead(200);
        const pour = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536))) continue;
        };
        response.on('drain', pour).on('close', resolve);
        pour();
      };
    });
    expect(await ask('http://127.0.0.1:PORT/', '127.0.0.0/8')).toMatchObject({ holds: true });
    await closed;
  });

  it('fails for unbounded headers, and for endless informational responses', async () => {
    answer = (_, response) => void response.writeHead(200, { 'x-large': 'x'.repeat(65_536) }).end();
    expect(await ask('http://127.0.0.1:PORT/', '127.0.0.0/8')).toMatchObject({
      message: expect.stringMatching(/does not answer: .*header overflow/i),
    });
    answer = (_, response) => {
      for (let count = 0; count < 20; count += 1) response.writeProcessing();
      response.writeHead(200).end();
    };
    expect(await ask('http://127.0.0.1:PORT/', '127.0.0.0/8')).toMatchObject({
      message: expect.stringContaining('does not answer: too many informational answers'),
    });
  });

  it('fails if the server or the resolver does not respond in time', async () => {
    answer = () => undefined;
    const within = { holds: false, message: expect.stringContaining('does not answer: no answer from 127.0.0.1:') };
    expect(await ask('http://127.0.0.1:PORT/', '127.0.0.0/8', { timeLimitMs: 100 })).toMatchObject(within);
    const late = { holds: false, message: expect.stringContaining('does not answer: no answer within 100 ms') };
    const resolve = () => new Promise<never>(() => undefined);
    expect(await ask('http://shop.example:PORT/', undefined, { timeLimitMs: 100, resolve })).toMatchObject(late);
  });

  it('is signed with the hook secret that it names, and not requested without that', async () => {
    const askWith = (secret?: string) =>
      askAs(secret === undefined ? {} : { secretName: secret as PoolName }, 'http://127.0.0.1:PORT/', {
        ranges: '127.0.0.0/8',
      });
    expect(await askWith('inventory')).toMatchObject({ holds: true });
    const [, time = '', given] = /^t=(\d+),v1=(\w+)$/.exec(String(requests[0]?.headers['fairlead-signature'])) ?? [];
    expect(given).toBe(createHmac('sha256', SECRET).update(`${time}.`).digest('hex'));
    expect(await askWith('missing')).toEqual({
      ...{ holds: false, facts: {} },
      message:
        'the gate shop is not asked: the namespace has no hook secret missing; set it with "fairlead hook set-secret"',
    });
    expect(requests).toHaveLength(1);
    await askWith();
    expect(requests.at(-1)?.headers['fairlead-signature']).toBeUndefined();
  });

  it('is aborted with its job', async () => {
    const job = new AbortController();
    answer = () => job.abort(new Error('no longer desired'));
    await expect(ask('http://127.0.0.1:PORT/', '127.0.0.0/8', {}, job.signal)).rejects.toThrow('no longer desired');
  });

  it('rejects a configuration and reports every invalid range', () => {
    expect(allowedBy(undefined)).toEqual([]);
    expect(allowedBy('')).toEqual([]);
    expect(() => allowedBy('10.0.0.0/8,10.0.0.1,all')).toThrow(ConfigurationError);
    expect(() => allowedBy('10.0.0.0/8,10.0.0.1,all')).toThrow(
      /GATE_ADDRESSES_ALLOWED: 10\.0\.0\.1 is not a range[^]*GATE_ADDRESSES_ALLOWED: all is not a range/,
    );
  });
});
