import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** A .tgz with these files. */
export const archiveOf = async (files: Readonly<Record<string, string>>): Promise<Buffer> => {
  const packed = pack();
  for (const [name, text] of Object.entries(files)) packed.entry({ name }, text);
  packed.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of packed as AsyncIterable<Buffer>) chunks.push(chunk);
  return gzipSync(Buffer.concat(chunks));
};

export const chartOf = (schema: string | undefined, chart = 'grafana'): Promise<Buffer> =>
  archiveOf({
    [`${chart}/Chart.yaml`]: `name: ${chart}\n`,
    [`${chart}/charts/other/values.schema.json`]: '{"title":"of another chart"}',
    ...(schema === undefined ? {} : { [`${chart}/values.schema.json`]: schema }),
  });

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

type Reply = Buffer | string | { readonly location: string } | { readonly status: number };

/** A chart repository over real HTTPS, with a certificate of its own CA, that records requests. */
export class ChartServer {
  readonly files = new Map<string, Reply>();
  readonly asked: string[] = [];
  ca = '';
  private server: Server | undefined;
  private held: string | undefined;

  async start(): Promise<void> {
    const now = Date.now();
    const authority = await CertificateAuthority.create(now);
    const { certPem: cert, keyPem: key } = await authority.issue(
      { commonName: 'charts', usage: 'server', sans: ['127.0.0.1'] },
      now,
    );
    this.ca = authority.pair.certPem;
    const server = createServer({ cert, key }, ({ url = '' }, response) => {
      this.asked.push(url);
      if (url === this.held) return; // Until the client disconnects.
      const reply = this.files.get(url) ?? { status: 404 };
      if (Buffer.isBuffer(reply) || typeof reply === 'string') response.end(reply);
      else if ('location' in reply) response.writeHead(302, { location: reply.location }).end();
      else response.writeHead(reply.status).end();
    });
    this.server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server?.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  /** Holds requests for this path until `release`; those already held are never answered. */
  hold(url: string): void {
    this.held = url;
  }

  release(): void {
    this.held = undefined;
  }

  /** Publishes archives by version, with an index as written by Helm. */
  publish(archives: Readonly<Record<string, Buffer>>, digests: Readonly<Record<string, string>> = {}): void {
    const entries = Object.entries(archives).map(([version, bytes]) => {
      this.files.set(`/grafana-${version}.tgz`, bytes);
      return [
        `  - apiVersion: v2`,
        `    appVersion: "11.0"`,
        `    digest: ${digests[version] ?? sha256(bytes)}`,
        `    name: grafana`,
        `    urls:`,
        `    - grafana-${version}.tgz`,
        `    version: ${version}`,
      ];
    });
    const lines = ['apiVersion: v1', 'entries:', '  alloy:', '  - version: 1.0.0', '    urls: [a]', '  grafana:'];
    this.files.set('/index.yaml', [...lines, ...entries.flat(), 'generated: "2026-01-01"', ''].join('\n'));
  }
}
