import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';

const TOKEN = 'token-of-the-registry';

const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
};

/** An HTTPS registry that supports pushing and pulling charts, with a token service. */
export class ChartRegistry {
  /** The credentials for pulling and pushing; undefined: anonymous access. */
  user: { readonly username: string; readonly password: string } | undefined;
  /** The requests, with their kind of authentication. */
  readonly asked: string[] = [];
  readonly blobs = new Map<string, Buffer>();
  /** By `<name>:<tag>` and by `<name>@<digest>`. */
  readonly manifests = new Map<string, Buffer>();
  ca = '';
  /** Tags per page. */
  pageSize = 1_000;
  private readonly uploads = new Map<string, Buffer>();
  private server: Server | undefined;

  async start(): Promise<void> {
    const now = Date.now();
    const authority = await CertificateAuthority.create(now);
    const subject = { commonName: 'registry', usage: 'server', sans: ['127.0.0.1'] } as const;
    const { certPem: cert, keyPem: key } = await authority.issue(subject, now);
    this.ca = authority.pair.certPem;
    this.server = createServer({ cert, key }, (request, response) => void this.answer(request, response));
    await new Promise<void>((resolve) => this.server?.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  get host(): string {
    return `127.0.0.1:${(this.server?.address() as AddressInfo).port}`;
  }

  /** Stores a chart like `helm push`. */
  put(name: string, tag: string, archive: Buffer): void {
    this.blobs.set(sha256(archive), archive);
    const layer = { mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', digest: sha256(archive) };
    this.manifests.set(`${name}:${tag}`, Buffer.from(JSON.stringify({ schemaVersion: 2, layers: [layer] })));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = request;
    const url = new URL(request.url ?? '/', `https://${this.host}`);
    this.asked.push(`${method} ${url.pathname} ${(headers.authorization ?? 'anonymous').split(' ')[0]}`);
    const body = await bodyOf(request);
    if (url.pathname === '/token') return this.token(headers.authorization ?? '', response);
    if (this.user !== undefined && headers.authorization !== `Bearer ${TOKEN}`) {
      const challenge = `Bearer realm="https://${this.host}/token",service="charts"`;
      return void response.writeHead(401, { 'www-authenticate': challenge }).end();
    }
    const [, name = '', kind = '', ref = ''] =
      /^\/v2\/(.+)\/(blobs\/uploads|blobs|manifests|tags)\/?(.*)$/.exec(url.pathname) ?? [];
    if (url.pathname === '/v2/') return void response.end('{}');
    if (kind === 'blobs/uploads') return this.upload({ method, name, ref, url, body }, response);
    if (kind === 'tags') return this.tags(name, url, response);
    if (method === 'PUT') return this.putManifest(name, ref, body, response);
    const found =
      kind === 'blobs' ? this.blobs.get(ref) : this.manifests.get(`${name}${ref.includes(':') ? '@' : ':'}${ref}`);
    if (found === undefined) return void response.writeHead(404).end();
    const type = kind === 'blobs' ? 'application/octet-stream' : 'application/vnd.oci.image.manifest.v1+json';
    const about = { 'content-type': type, 'content-length': found.length, 'docker-content-digest': sha256(found) };
    return void response.writeHead(200, about).end(method === 'HEAD' ? undefined : found);
  }

  private token(authorization: string, response: ServerResponse): void {
    const { username = '', password = '' } = this.user ?? {};
    const expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    if (this.user !== undefined && authorization !== expected) response.writeHead(401).end();
    else response.end(JSON.stringify({ token: TOKEN }));
  }

  private tags(name: string, url: URL, response: ServerResponse): void {
    const all = [...this.manifests.keys()].flatMap((key) =>
      key.startsWith(`${name}:`) ? [key.slice(name.length + 1)] : [],
    );
    if (all.length === 0) return void response.writeHead(404).end();
    const from = Number(url.searchParams.get('last') ?? 0);
    const next = from + this.pageSize;
    const link = `</v2/${name}/tags/list?last=${next}>; rel="next"`;
    response
      .writeHead(200, next < all.length ? { link } : {})
      .end(JSON.stringify({ name, tags: all.slice(from, next) }));
  }

  private putManifest(name: string, ref: string, body: Buffer, response: ServerResponse): void {
    this.manifests.set(`${name}${ref.includes(':') ? '@' : ':'}${ref}`, body);
    this.manifests.set(`${name}@${sha256(body)}`, body);
    response.writeHead(201, { 'docker-content-digest': sha256(body) }).end();
  }

  private upload(
    { method, name, ref, url, body }: { method: string; name: string; ref: string; url: URL; body: Buffer },
    response: ServerResponse,
  ): void {
    const id = ref === '' ? `u${this.uploads.size + 1}` : ref;
    const bytes = Buffer.concat([this.uploads.get(id) ?? Buffer.alloc(0), body]);
    this.uploads.set(id, bytes);
    const digest = url.searchParams.get('digest');
    if (digest !== null) {
      this.blobs.set(digest, bytes);
      return void response.writeHead(201, { location: `/v2/${name}/blobs/${digest}` }).end();
    }
    const location = `/v2/${name}/blobs/uploads/${id}`;
    return void response
      .writeHead(202, { location, ...(method === 'PATCH' ? { range: `0-${bytes.length - 1}` } : {}) })
      .end();
  }
}
