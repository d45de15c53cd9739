import { HELD_NAMES_BUCKET, PUBLISHED_NAMES_BUCKET, type ClusterUid, type NameSignIn } from '@fairlead/contracts';
import { certificateIn, issueAuthority } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { startTestIdentity } from '@fairlead/lab/testing/identity';
import { askOver, realmIssuer, signInAt, type Received, type TestIssuer } from '@fairlead/lab/testing/issuer';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { describeWith } from '@fairlead/testing/programs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kvm, type KV } from '@nats-io/kv';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { LINES_PER_MINUTE } from '../clients/clients.log.js';
import { readSettings } from '../config.js';
import { startTunnel, type RunningTunnel } from '../service.js';

const API = 'api.demo.example.org';
const NAME = 'grafana.demo.example.org';
const URL_OF_SERVICE = `https://${NAME}`;
const CLIENT = 'kube-default.demo.grafana';
const uid = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' as ClusterUid;

interface Key {
  readonly file: string;
  readonly publicKey: string;
}

/** A real nats-server, two replicas of the tunnel, OpenSSH, a web server behind it; the identity provider is the imitation of Keycloak. */
describeWith('ssh', 'ssh-keygen')('a published service', () => {
  let environment: TestEnvironment;
  let folder: string;
  let issuer: TestIssuer;
  let reserved: KV;
  let ca: string;
  let own: Key;
  let stranger: Key;
  let backend: Server;
  let seen: IncomingMessage[] = [];
  const said: string[] = [];
  let one: RunningTunnel;
  let two: RunningTunnel;
  const children: ChildProcess[] = [];

  const newKey = (name: string): Key => {
    const file = join(folder, name);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    return { file, publicKey: readFileSync(`${file}.pub`, 'utf8').split(' ').slice(0, 2).join(' ') };
  };

  const ssh = (
    port: number,
    { key = own, user = API, forward = NAME }: { key?: Key; user?: string; forward?: string } = {},
  ) => {
    const options = [
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'ExitOnForwardFailure=yes',
      'BatchMode=yes',
      'IdentitiesOnly=yes',
    ];
    const target = `127.0.0.1:${(backend.address() as AddressInfo).port}`;
    const child = spawn(
      'ssh',
      [
        '-F',
        'none',
        '-i',
        key.file,
        '-p',
        String(port),
        ...options.flatMap((option) => ['-o', option]),
        '-N',
        '-R',
        `${forward}:443:${target}`,
        `${user}@127.0.0.1`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    children.push(child);
    let words = '';
    child.stderr.on('data', (chunk: Buffer) => (words += String(chunk)));
    return once(child, 'exit').then(([code]) => ({ code: code as number | null, words }));
  };

  const start = async (): Promise<RunningTunnel> => {
    const settings = readSettings({
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('tunnel'),
      TUNNEL_HOST_KEY_FILE: stranger.file,
      TUNNEL_AUTHORITY_FILE: join(folder, 'authority.pem'),
      TUNNEL_PEER_HOST: '127.0.0.1',
      REALM_ADDRESSES_ALLOWED: '127.0.0.0/8',
    });
    return startTunnel(settings, (_, message) => void said.push(message), { beatMs: 200 });
  };

  interface Asking {
    readonly tunnel?: RunningTunnel;
    readonly path?: string;
    readonly method?: string;
    readonly cookies?: Map<string, string>;
    readonly headers?: Readonly<Record<string, string>>;
  }

  /** A browser at the tunnel, which trusts the authority of published services only. */
  const ask = ({
    tunnel = one,
    path = '/',
    method = 'GET',
    cookies = new Map(),
    headers = {},
  }: Asking = {}): Promise<Received> =>
    new Promise((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const asked = request(
        {
          ...{ host: '127.0.0.1', port: tunnel.tlsPort, servername: NAME, ca, path, method, agent: false },
          headers: { host: NAME, ...(cookie === '' ? {} : { cookie }), ...headers },
        },
        (response) => {
          let text = '';
          response.on('data', (part: Buffer) => (text += String(part)));
          response.on('end', () => {
            for (const set of response.headers['set-cookie'] ?? []) {
              const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
              if (value === '') cookies.delete(name);
              else cookies.set(name, value);
            }
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
          });
        },
      );
      asked.on('error', reject).end();
    });

  /** The way of a browser to the page and, by the identity provider, back to it. */
  const signIn = async (
    user: string,
    { tunnel = one, path = '/d/1?a=b', back = tunnel }: Asking & { readonly back?: RunningTunnel } = {},
  ) => {
    const cookies = new Map<string, string>();
    const first = await ask({ tunnel, path, cookies });
    expect(first.status).toBe(302);
    const returned = await signInAt(issuer.ca, String(first.headers['location']), user, URL_OF_SERVICE);
    const last = await ask({ tunnel: back, path: `${returned.pathname}${returned.search}`, cookies });
    return { cookies, first, last };
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    const admin = await environment.connect('admin');
    await ensureStreams(admin);
    reserved = await new Kvm(admin).open(PUBLISHED_NAMES_BUCKET);
    folder = newFolder('sign-in');
    const authority = await issueAuthority({ name: 'published', days: 2, now: new Date() });
    writeFileSync(join(folder, 'authority.pem'), authority, { mode: 0o600 });
    ca = certificateIn(authority);
    [own, stranger] = [newKey('own'), newKey('stranger')];
    backend = createServer((asked, response) => {
      seen.push(asked);
      if (asked.url === '/broken') return void asked.socket.destroy();
      response.setHeader('set-cookie', ['own=1', '__Host-fairlead-session=forged; Path=/; Secure']);
      return void response.end(
        `hello ${String(asked.headers['x-forwarded-preferred-username'])} at ${String(asked.url)}`,
      );
    });
    backend.on('upgrade', (asked, socket) => {
      seen.push(asked);
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nwords');
    });
    backend.listen(0, '127.0.0.1');
    await once(backend, 'listening');

    const identity = await startTestIdentity();
    const adminToken = async (): Promise<string> => {
      const form = {
        grant_type: 'client_credentials',
        client_id: identity.clientId,
        client_secret: identity.clientSecret,
      };
      const { text } = await askOver(identity.ca, `${identity.issuerUrl}/protocol/openid-connect/token`, {
        method: 'POST',
        form,
      });
      return (JSON.parse(text) as { readonly access_token: string }).access_token;
    };
    const { issuerUrl } = identity;
    issuer = await realmIssuer({ issuerUrl, ca: identity.ca, stop: () => identity.stop() }, adminToken);
    // As infra-svc makes it for a service.
    const made = await askOver(identity.ca, `${issuerUrl.replace('/realms/', '/admin/realms/')}/clients`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await adminToken()}` },
      json: {
        ...{
          clientId: CLIENT,
          protocol: 'openid-connect',
          enabled: true,
          publicClient: true,
          standardFlowEnabled: true,
        },
        redirectUris: [`${URL_OF_SERVICE}/*`],
        attributes: { 'pkce.code.challenge.method': 'S256' },
        protocolMappers: [
          {
            ...{ name: 'groups', protocol: 'openid-connect', protocolMapper: 'oidc-group-membership-mapper' },
            config: {
              'claim.name': 'groups',
              'full.path': 'true',
              'id.token.claim': 'true',
              'access.token.claim': 'true',
            },
          },
        ],
      },
    });
    expect(made.status).toBe(201);
    await issuer.setMember('ada', 'team-a', true);
    await issuer.setMember('mallory', 'team-b', true);

    const reservation: NameSignIn = {
      ...{ url: URL_OF_SERVICE, issuerUrl, ca: identity.ca, clientId: CLIENT, groupsClaim: 'groups' },
      groups: ['/kube-default.demo/grafana', '/team-a'],
    };
    await reserved.put(API, JSON.stringify({ uid, publicKey: own.publicKey }));
    await reserved.put(NAME, JSON.stringify({ uid, publicKey: own.publicKey, signIn: reservation }));
    one = await start();
    two = await start();
    void ssh(one.sshPort);
    const held = await new Kvm(admin).open(HELD_NAMES_BUCKET);
    await eventually(async () => (await held.get(NAME))?.operation === 'PUT');
  }, 60_000);

  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    for (const tunnel of [one, two]) await tunnel?.stop();
    backend?.close();
    await issuer?.stop();
    await environment?.stop();
    if (folder !== undefined) removeFolder(folder);
  });

  it('is reached by a user of its group, who comes back to the page that was asked for', async () => {
    const { cookies, first, last } = await signIn('ada');
    const location = new URL(String(first.headers['location']));
    expect(location.href.startsWith(issuer.issuerUrl)).toBe(true);
    expect([location.searchParams.get('client_id'), location.searchParams.get('code_challenge_method')]).toEqual([
      CLIENT,
      'S256',
    ]);
    expect([last.status, last.headers['location']]).toEqual([302, `${URL_OF_SERVICE}/d/1?a=b`]);
    const set = [last.headers['set-cookie'] ?? []].flat().find((text) => text.startsWith('__Host-fairlead-session='));
    expect(set).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=900$/);
    seen = [];
    const page = await ask({ path: '/d/1?a=b', cookies });
    expect([page.status, page.text]).toEqual([200, 'hello ada at /d/1?a=b']);
    expect(seen[0]?.headers['x-forwarded-groups']).toBe('/team-a');
    expect(page.headers['set-cookie']).toEqual(['own=1']);
  });

  it('is refused to a user who is in none of its groups, and is not reached without a sign-in', async () => {
    seen = [];
    const { cookies, last } = await signIn('mallory');
    expect([last.status, last.text]).toEqual([403, expect.stringContaining('in no group')]);
    expect(cookies.has('__Host-fairlead-session')).toBe(false);
    expect((await ask({ cookies })).status).toBe(302);
    expect((await ask({ method: 'POST' })).status).toBe(401);
    expect((await ask({ headers: { 'sec-fetch-mode': 'cors' } })).status).toBe(401);
    expect(seen).toEqual([]);
  });

  it('is not reached with a forged cookie or header, and learns nothing that a client says of itself', async () => {
    seen = [];
    const { cookies } = await signIn('ada');
    const good = cookies.get('__Host-fairlead-session') ?? '';
    const flipped = `${good.slice(0, -2)}${good.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const forged of [flipped, 'e30', Buffer.from('{"subject":"ada"}').toString('base64url'), 'a'.repeat(3_000)])
      expect((await ask({ cookies: new Map([['__Host-fairlead-session', forged]]) })).status).toBe(302);
    expect((await ask({ headers: { 'x-forwarded-user': 'ada', 'x-forwarded-groups': '/team-a' } })).status).toBe(302);
    // A cookie of a sign-in that was begun is no session.
    const begun = new Map<string, string>();
    await ask({ cookies: begun });
    const swapped = new Map([['__Host-fairlead-session', begun.get('__Host-fairlead-sign-in') ?? '']]);
    expect((await ask({ cookies: swapped })).status).toBe(302);
    expect(seen).toEqual([]);
    await ask({ cookies, headers: { 'x-forwarded-user': 'root', x_forwarded_user: 'root', 'remote-user': 'root' } });
    const [received] = seen;
    expect(received?.rawHeaders).not.toContain('root');
    expect(String(received?.headers.cookie ?? '')).not.toContain('fairlead');
  });

  it('completes no sign-in that another browser began', async () => {
    const first = await ask();
    const returned = await signInAt(issuer.ca, String(first.headers['location']), 'ada', URL_OF_SERVICE);
    const path = `${returned.pathname}${returned.search}`;
    expect((await ask({ path })).status).toBe(400);
    const others = new Map<string, string>();
    await ask({ cookies: others });
    expect((await ask({ path, cookies: others })).status).toBe(401);
  });

  it('is reached through every replica, also when the sign-in ends at another one', async () => {
    const { cookies, last } = await signIn('ada', { tunnel: two, back: one });
    expect(last.status).toBe(302);
    expect((await ask({ tunnel: two, cookies })).text).toBe('hello ada at /');
  });

  it('answers under its name only, and opens WebSockets for those who are signed in', async () => {
    const { cookies } = await signIn('ada');
    expect((await ask({ cookies, headers: { host: 'other.demo.example.org' } })).status).toBe(421);
    const upgrade = (withCookies: Map<string, string>, headers: Readonly<Record<string, string>> = {}) =>
      new Promise<number>((resolve, reject) => {
        const cookie = [...withCookies].map(([name, value]) => `${name}=${value}`).join('; ');
        request({
          ...{ host: '127.0.0.1', port: one.tlsPort, servername: NAME, ca, agent: false },
          headers: { host: NAME, connection: 'Upgrade', upgrade: 'websocket', cookie, ...headers },
        })
          .on('upgrade', (_response, socket) => {
            socket.destroy();
            resolve(101);
          })
          .on('response', (response) => resolve(response.statusCode ?? 0))
          .on('error', reject)
          .end();
      });
    expect(await upgrade(cookies)).toBe(101);
    expect(await upgrade(new Map())).toBe(401);
    expect(await upgrade(cookies, { origin: 'https://evil.example.org' })).toBe(401);
  });

  it('is no longer reached by a session whose groups may no longer use it', async () => {
    const { cookies } = await signIn('ada');
    expect((await ask({ cookies })).status).toBe(200);
    const entry = await reserved.get(NAME);
    const before = entry?.json<{ signIn: NameSignIn }>();
    await reserved.put(NAME, JSON.stringify({ ...before, signIn: { ...before?.signIn, groups: ['/team-b'] } }));
    await eventually(async () => (await ask({ cookies })).status === 403);
    await reserved.put(NAME, JSON.stringify(before));
    await eventually(async () => (await ask({ cookies })).status === 200);
  });

  it('logs requests that fail up to a number, however many there are', async () => {
    const { cookies } = await signIn('ada');
    for (let at = 0; at < LINES_PER_MINUTE + 5; at += 1)
      expect((await ask({ path: '/broken', cookies })).status).toBe(502);
    expect(said.filter((line) => line.startsWith('a request: '))).toHaveLength(LINES_PER_MINUTE);
  });

  it('keeps its name from every other key', async () => {
    expect(await ssh(one.sshPort, { key: stranger })).toMatchObject({
      code: 255,
      words: expect.stringMatching(/Permission denied/),
    });
    await reserved.put('api.other.example.org', JSON.stringify({ uid, publicKey: stranger.publicKey }));
    const stolen = await ssh(one.sshPort, { key: stranger, user: 'api.other.example.org' });
    expect(stolen).toMatchObject({ code: 255, words: expect.stringMatching(/remote port forwarding failed/) });
  });
});
