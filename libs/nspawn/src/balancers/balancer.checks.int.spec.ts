import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { itWith } from '../../../../test/recorded/checkers.js';
import { haproxyConfig } from './haproxy.config.js';

const HOST = '127.0.0.1';
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;
/** Longer than all checks that could take the server out. */
const ANSWERED_AFTER_MS = 9_000;
const CASE_LIMIT_MS = 60_000;

/** How the API server answers its health checks, by their number: with which status, after how long. */
type Health = (check: number) => { readonly status: number; readonly afterMs: number };

let folder: string;
let server: Server;
let haproxy: ChildProcess;

beforeEach(() => {
  folder = newFolder('balancer');
});
afterEach(async () => {
  haproxy.kill('SIGKILL');
  await once(haproxy, 'exit');
  server.closeAllConnections();
  server.close();
  removeFolder(folder);
});

const portOf = (of: { address(): unknown }): number => (of.address() as AddressInfo).port;

const freePort = async (): Promise<number> => {
  const listening = createTcpServer().listen(0, HOST);
  await once(listening, 'listening');
  const port = portOf(listening);
  listening.close();
  await once(listening, 'close');
  return port;
};

/** An API server that takes long for each request, behind a balancer. Returns the balancer's port. */
const balance = async (health: Health): Promise<number> => {
  const authority = await CertificateAuthority.create(Date.now());
  const asked = { commonName: 'kube-apiserver', usage: 'server', sans: [HOST] } as const;
  const { certPem, keyPem } = await authority.issue(asked, Date.now());
  let checks = 0;
  server = createServer({ cert: certPem, key: keyPem }, async ({ url }, response) => {
    const { status, afterMs } = url === '/readyz' ? health(++checks) : { status: 200, afterMs: ANSWERED_AFTER_MS };
    await sleep(afterMs);
    response.writeHead(status).end();
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const port = await freePort();
  const targets = [{ name: 'cp-1', address: HOST, port: portOf(server) }];
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, haproxyConfig({ address: HOST, port, healthPath: '/readyz', targets }));
  haproxy = spawn('haproxy', ['-db', '-f', file], { cwd: folder, stdio: 'ignore', env: { ...process.env, PATH } });
  return port;
};

/** The status of one request through the balancer, or why there is none. */
const ask = (port: number): Promise<number | string> =>
  new Promise((resolve) => {
    const options = { host: HOST, port, path: '/api', rejectUnauthorized: false, agent: false };
    const asked = request(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asked.end();
  });

/** haproxy takes a moment to listen. */
const askWhenItListens = async (port: number): Promise<number | string> => {
  for (;;) {
    const answer = await ask(port);
    if (answer !== 'ECONNREFUSED') return answer;
    await sleep(50);
  }
};

describe('a balancer in front of an API server that is answering a request', () => {
  const busy: readonly (readonly [string, Health])[] = [
    ['needs three seconds for each health check', () => ({ status: 200, afterMs: 3_000 })],
    ['fails two health checks', (check) => ({ status: check === 2 || check === 3 ? 500 : 200, afterMs: 0 })],
  ];
  itWith('haproxy', '-v').each(busy)(
    'leaves it the request when it %s: it is busy, not gone',
    async (_what, health) => {
      expect(await askWhenItListens(await balance(health))).toBe(200);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy', '-v')(
    'ends the request when it fails three of them, so that the client finds another API server',
    async () => {
      const port = await balance((check) => ({ status: check === 1 ? 200 : 500, afterMs: 0 }));
      expect(await askWhenItListens(port)).toBe('ECONNRESET');
    },
    CASE_LIMIT_MS,
  );
});
