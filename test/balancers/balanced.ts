import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { newFolder, removeFolder } from '@fairlead/testing';

/** The address of the load balancer. */
export const HOST = '127.0.0.1';
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;

/** How an API server answers its health checks, by their number: status and delay. */
export type Health = (check: number) => { readonly status: number; readonly afterMs: number };
export const HEALTHY: Health = () => ({ status: 200, afterMs: 0 });

const portOf = (of: { address(): unknown }): number => (of.address() as AddressInfo).port;

export const freePort = async (): Promise<number> => {
  const listening = createTcpServer().listen(0, HOST);
  await once(listening, 'listening');
  const port = portOf(listening);
  listening.close();
  await once(listening, 'close');
  return port;
};

/** The serving certificate of a stand-in for an API server at these addresses. */
export const servingCertificate = async (
  addresses: readonly string[],
): Promise<{ readonly cert: string; readonly key: string }> => {
  const authority = await CertificateAuthority.create(Date.now());
  const asked = { commonName: 'kube-apiserver', usage: 'server', sans: addresses } as const;
  const { certPem, keyPem } = await authority.issue(asked, Date.now());
  return { cert: certPem, key: keyPem };
};

/** Stand-ins for API servers at one port of several loopback addresses, and an haproxy in front of them. */
export class Balanced {
  private readonly folder = newFolder('balancer');
  private readonly servers = new Map<string, Server>();
  private haproxy: ChildProcess | undefined;

  /** An API server that answers every request with this delay, and its health checks as specified. */
  async serve(address: string, port: number, health: Health, answersAfterMs: number): Promise<void> {
    const certificate = await servingCertificate([address]);
    let checks = 0;
    const server = createServer(certificate, async ({ url }, response) => {
      const { status, afterMs } = url === '/readyz' ? health(++checks) : { status: 200, afterMs: answersAfterMs };
      await sleep(afterMs, undefined, { ref: false });
      response.writeHead(status).end();
    });
    server.listen(port, address);
    await once(server, 'listening');
    this.servers.set(address, server);
  }

  /** Stops listening and closes its connections. */
  stopServing(address: string): void {
    const server = this.servers.get(address);
    server?.close();
    server?.closeAllConnections();
  }

  start(configuration: string): void {
    const file = join(this.folder, 'haproxy.cfg');
    writeFileSync(file, configuration);
    const env = { ...process.env, PATH };
    this.haproxy = spawn('haproxy', ['-db', '-f', file], { cwd: this.folder, stdio: 'ignore', env });
  }

  async end(): Promise<void> {
    const { haproxy } = this;
    if (haproxy?.exitCode === null) {
      haproxy.kill('SIGKILL');
      await once(haproxy, 'exit');
    }
    for (const address of this.servers.keys()) this.stopServing(address);
    removeFolder(this.folder);
  }
}

/** The status of one request through the load balancer, over a new connection, or the error. */
export const ask = (port: number): Promise<number | string> =>
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
export const askWhenItListens = async (port: number): Promise<number | string> => {
  for (;;) {
    const answer = await ask(port);
    if (answer !== 'ECONNREFUSED') return answer;
    await sleep(50);
  }
};
