import { createReadStream, existsSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { localMirror } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf } from './kubectl.js';
import { localCatalogueSha256, profileOf, startOwnHosts, type OwnHosts } from './own.hosts.js';
import { siteCertificates } from './site.authority.js';

const MINUTE_MS = 60_000;
const HOST = 'behind-proxy';
const MIRROR = 'mirror.example.org';
const ARCHIVE = 'deb.example.org';
const REGISTRY = 'registry.example.org';
/** The packages in this machine's mirror form a separate archive. */
const PACKAGES = 'packages/debian-13';

const say = (text: string): void => void process.stdout.write(`${text.trimEnd()}\n`);

/** A server without a node's requirements and without internet access: packets are dropped and counted. */
const CLOSED = `
apt-get purge -qq -y containerd runc conntrack ebtables ethtool ipset socat >/dev/null 2>&1
rm -rf /etc/containerd
echo "203.0.113.9 ${MIRROR} ${ARCHIVE} ${REGISTRY}" >>/etc/hosts
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
echo "deb [trusted=yes] http://${ARCHIVE}/${PACKAGES} ./" >/etc/apt/sources.list.d/site.list
nft add table inet egress
nft add chain inet egress output '{ type filter hook output priority 0; policy accept; }'
nft add rule inet egress output ip daddr 203.0.113.0/24 counter drop
ip route replace default dev host0`;

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve));
  return (server.address() as AddressInfo).port;
};

const serveMirror = (request: IncomingMessage, response: ServerResponse): void => {
  const file = join(localMirror(process.env), decodeURIComponent(request.url ?? ''));
  if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end();
  const { size } = statSync(file);
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': size - from });
  createReadStream(file, { start: from }).pipe(response);
};

/** Ports on this machine. */
interface Upstreams {
  readonly mirror: number;
  readonly archive: number;
}

/** Plain http is forwarded: the request line contains the whole URL. */
const forwarded = (request: IncomingMessage, response: ServerResponse, port: number): void => {
  const { pathname } = new URL(request.url ?? '', 'http://none');
  const { method, headers } = request;
  const upstream = httpRequest({ host: '127.0.0.1', port, method, path: pathname, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  request.pipe(upstream);
};

/** The proxy of a site: it reaches the mirror and the Debian archive, and records its requests. */
const siteProxy = (asked: Set<string>, { mirror, archive }: Upstreams): Server => {
  const proxy = createHttpServer((request, response) => {
    const { host } = new URL(request.url ?? '', 'http://none');
    asked.add(`${request.method} ${host}`);
    if (host !== ARCHIVE) return void response.writeHead(403).end();
    forwarded(request, response, archive);
  });
  proxy.on('connect', (request, socket, head) => {
    asked.add(`CONNECT ${request.url}`);
    socket.on('error', () => socket.destroy());
    if (request.url !== `${MIRROR}:443`) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const upstream = connect(mirror, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
  });
  return proxy;
};

// Requires an isolated network namespace: npm run e2e:real -- field-egress.
const inOwnNetwork = process.env['FAIRLEAD_OWN_NETWORK'] === 'yes';

(inOwnNetwork ? describe : describe.skip)('a host whose only way out is a proxy', () => {
  const folder = newFolder('egress');
  const asked = new Set<string>();
  const servers: Server[] = [];
  let hosts: OwnHosts;
  let proxyPort: number;

  const source = () =>
    ({ kind: 'files', location: `https://${MIRROR}`, catalogueSha256: localCatalogueSha256() }) as const;
  const dropped = async (): Promise<number> =>
    Number(/packets (\d+)/.exec(await hosts.onHost(HOST, 'nft', 'list', 'chain', 'inet', 'egress', 'output'))?.[1]);

  beforeAll(async () => {
    hosts = await startOwnHosts({ names: [HOST], cidr: '198.18.69.0/24', before: CLOSED });
    const { ca, cert, key } = await siteCertificates(folder, `DNS:${MIRROR}`);
    const mirror = createServer({ cert, key }, serveMirror);
    const archive = createHttpServer(serveMirror);
    const proxy = siteProxy(asked, { mirror: await listening(mirror), archive: await listening(archive) });
    proxyPort = await listening(proxy);
    servers.push(mirror, archive, proxy);
    const trust = `printf '%s' '${ca}' >/usr/local/share/ca-certificates/site.crt && update-ca-certificates`;
    await hosts.onHost(HOST, 'sh', '-ec', trust);
  }, 6 * MINUTE_MS);

  afterAll(async () => {
    for (const server of servers) server.close();
    await hosts?.stop();
    removeFolder(folder);
  }, 3 * MINUTE_MS);

  it(
    'reports within a minute what it cannot reach, if the connection has no proxy',
    async () => {
      await hosts.register(source());
      await hosts.request('closed', 0);
      const names = new RegExp(`cannot reach ${MIRROR.replaceAll('.', '\\.')}:443 from [^ ]+: no answer for 10 s`);
      const event = await hosts.system.until('closed', ({ data }) => names.test(JSON.stringify(data)), 3 * MINUTE_MS);
      const started = (await hosts.system.events('closed')).find(({ type }) => type === 'AgentStarted');
      const tookMs = Date.parse(event.meta.time) - Date.parse(started?.meta.time ?? event.meta.time);
      say(
        `${event.type} ${(tookMs / 1_000).toFixed(1)} s after the agent was started: ${names.exec(JSON.stringify(event.data))?.[0]}`,
      );
      expect(tookMs).toBeLessThan(MINUTE_MS);
      expect(await dropped()).toBeGreaterThan(0);
      expect([...asked]).toEqual([]);
      await hosts.remove('closed');
    },
    8 * MINUTE_MS,
  );

  it(
    'becomes a Ready node through the proxy, which agent, apt-get and containerd use, and sends nothing directly',
    async () => {
      const before = await dropped();
      const url = `http://${hosts.uplink}:${proxyPort}`;
      await hosts.register(source(), undefined, {
        profile: { ...profileOf(source()), proxy: { http: url, https: url } },
      });
      await hosts.create('open', 0);
      const kubectl = await hosts.kubectl('open');
      expect((await nodesOf(kubectl)).map(({ ready }) => ready)).toEqual([true]);
      const containers = [{ name: 'x', image: `${REGISTRY}/x:1`, imagePullPolicy: 'Always' }];
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pulled' }, spec: { containers } };
      await writeFile(join(folder, 'pod.json'), JSON.stringify(pod));
      await kubectl('apply', '-f', join(folder, 'pod.json'));
      const expected = [`CONNECT ${MIRROR}:443`, `CONNECT ${REGISTRY}:443`, `GET ${ARCHIVE}`];
      await eventually(
        'the requests to the proxy',
        async () => [...asked].sort(),
        (seen) => expected.every((one) => seen.includes(one)),
        2 * MINUTE_MS,
      );
      say(`the proxy was asked for: ${[...asked].sort().join(', ')}`);
      expect(await dropped()).toBe(before);
      await hosts.remove('open');
    },
    14 * MINUTE_MS,
  );
});
