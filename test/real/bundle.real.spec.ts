import { execFile } from 'node:child_process';
import { createReadStream, existsSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AddressInfo } from 'node:net';
import { AGENT_PATHS } from '@fairlead/contracts';
import { localMirror } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodesOf, rolledOut } from './kubectl.js';
import { localCatalogueSha256, startOwnHosts, type OwnHosts } from './own.hosts.js';
import { VERSION } from './real.system.js';
import { siteCertificates } from './site.authority.js';
import { addressesOfPods, talks, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const FAIRLEAD = fileURLToPath(new URL('../../apps/cli/bin/fairlead.mjs', import.meta.url));
const HOSTS = ['rack-1', 'rack-2'];
const run = promisify(execFile);

/** A new server without a node's requirements, and without Node.js. */
const BARE = `apt-get purge -qq -y containerd runc conntrack ebtables ethtool ipset socat >/dev/null 2>&1
rm -rf /etc/containerd /opt/fairlead/node /opt/fairlead/node.sha256
! command -v containerd && ! command -v conntrack && [ ! -e /opt/fairlead/mirror ]`;

interface Made {
  readonly file: string;
  readonly sha256: string;
}

const makeBundle = async (folder: string): Promise<Made> => {
  const file = join(folder, 'kubernetes.tar.gz');
  const args = [FAIRLEAD, 'bundle', 'create', VERSION, '--from', localMirror(process.env), '--unsigned', '-o', file];
  await run(process.execPath, args, { timeout: 5 * MINUTE_MS });
  const { stdout } = await run(process.execPath, [FAIRLEAD, 'bundle', 'inspect', file, '-o', 'json']);
  return { file, sha256: (JSON.parse(stdout) as Made).sha256 };
};

describe('hosts without any network, and a bundle', () => {
  const folder = newFolder('bundle');
  let hosts: OwnHosts;
  let bundle: Made;

  beforeAll(async () => {
    bundle = await makeBundle(folder);
    hosts = await startOwnHosts({ names: HOSTS, cidr: '198.18.67.0/24', before: BARE });
    await hosts.become('sealed', { kind: 'bundle', path: bundle.file, sha256: bundle.sha256 });
  }, 20 * MINUTE_MS);

  afterAll(async () => {
    await hosts?.stop();
    removeFolder(folder);
  }, 3 * MINUTE_MS);

  it(
    'become a cluster with Ready nodes whose pods reach each other and resolve names',
    async () => {
      const kubectl = await hosts.kubectl('sealed');
      const nodes = await nodesOf(kubectl);
      expect(nodes.map(({ name, version, ready }) => ({ name, version, ready }))).toEqual(
        nodes.map(({ name }) => ({ name, version: VERSION, ready: true })),
      );
      expect(nodes).toHaveLength(HOSTS.length);
      const manifest = join(folder, 'web.json');
      writeFileSync(manifest, JSON.stringify(webManifests));
      await kubectl('apply', '-f', manifest);
      await rolledOut(kubectl, 'deployment/web');
      const pods = await addressesOfPods(kubectl);
      for (const from of pods) expect(await talks(kubectl, from.name, pods)).toEqual([]);
    },
    6 * MINUTE_MS,
  );

  it(
    'have everything from the bundle: the runtime, the tools, and no remains of an archive',
    async () => {
      for (const host of HOSTS) {
        const origins = await hosts.onHost(host, 'apt-cache', 'policy', 'containerd', 'conntrack', 'socat');
        expect(origins.match(/Installed: \(none\)/g)).toBeNull();
        expect(origins).toContain(`file:${AGENT_PATHS.mirror}/packages/`);
        expect(origins).not.toContain('http');
        expect(await hosts.onHost(host, 'cat', `${AGENT_PATHS.mirror}/.bundle`)).toBe(bundle.sha256);
        expect(await hosts.onHost(host, 'sh', '-c', `[ -e ${AGENT_PATHS.bundle} ] || echo gone`)).toBe('gone');
      }
    },
    MINUTE_MS,
  );
});

/** The mirror at an https address with a certificate of its own CA; it interrupts each large file once. */
class FileServer {
  readonly broken = new Set<string>();
  readonly resumed = new Set<string>();
  private server: Server | undefined;

  constructor(
    private readonly root: string,
    private readonly tls: { readonly cert: string; readonly key: string },
  ) {}

  async listen(): Promise<number> {
    const server = createServer(this.tls, (request, response) => {
      const path = decodeURIComponent(request.url ?? '');
      const file = join(this.root, path);
      if (!existsSync(file)) return void response.writeHead(404).end();
      const { size } = statSync(file);
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      if (from > 0) this.resumed.add(path);
      response.writeHead(from > 0 ? 206 : 200, { 'content-length': size - from });
      const breaks = size > 32 * 1024 ** 2 && !this.broken.has(path);
      const stream = createReadStream(file, { start: from, ...(breaks ? { end: from + Math.floor(size / 2) } : {}) });
      if (breaks) stream.on('end', () => response.destroy());
      this.broken.add(breaks ? path : '');
      stream.pipe(response, { end: !breaks });
    });
    this.server = server;
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '0.0.0.0', resolve));
    return (server.address() as AddressInfo).port;
  }

  close(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }
}

describe('a host and a mirror at an https address with the site’s own CA', () => {
  const folder = newFolder('https');
  const [host = ''] = HOSTS;
  let hosts: OwnHosts;
  let server: FileServer;

  beforeAll(async () => {
    hosts = await startOwnHosts({
      names: [host],
      cidr: '198.18.68.0/24',
    });
    const { ca, cert, key } = await siteCertificates(folder, `IP:${hosts.uplink}`);
    server = new FileServer(localMirror(process.env), { cert, key });
    const port = await server.listen();
    // Like its administrator, once for everything on the host.
    const trust = `printf '%s' '${ca}' >/usr/local/share/ca-certificates/site.crt && update-ca-certificates`;
    await hosts.onHost(host, 'sh', '-ec', trust);
    await hosts.become('fetched', {
      kind: 'files',
      location: `https://${hosts.uplink}:${port}`,
      catalogueSha256: localCatalogueSha256(),
    });
  }, 15 * MINUTE_MS);

  afterAll(async () => {
    server?.close();
    await hosts?.stop();
    removeFolder(folder);
  }, 3 * MINUTE_MS);

  it(
    'become a Ready node, although every large download was interrupted once and resumed',
    async () => {
      const nodes = await nodesOf(await hosts.kubectl('fetched'));
      expect(nodes.map(({ version, ready }) => ({ version, ready }))).toEqual([{ version: VERSION, ready: true }]);
      server.broken.delete('');
      expect(server.broken.size).toBeGreaterThan(3);
      expect([...server.broken].filter((path) => !server.resumed.has(path))).toEqual([]);
    },
    MINUTE_MS,
  );
});
