import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  cryptoProvider,
  type X509Certificate,
} from '@peculiar/x509';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const VALID = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };

interface Identity {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: X509Certificate;
}

const pemOf = async ({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> => {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${der.replaceAll(/(.{64})/g, '$1\n')}\n-----END PRIVATE KEY-----\n`;
};

const issue = async (name: string, issuer: Identity | undefined): Promise<Identity> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    ...VALID,
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(8)).map((byte) => byte & 0x7f)).toString('hex'),
    subject: name,
    issuer: issuer?.certificate.subject ?? name,
    publicKey: keys.publicKey,
    signingKey: (issuer ?? { keys }).keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(issuer === undefined),
      new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
    ],
  });
  return { keys, certificate };
};

interface NodeState {
  metadata: {
    name: string;
    resourceVersion: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  status: { conditions: object[]; nodeInfo: { kubeletVersion: string } };
}

/** One Node object over TLS with client certificates: the part of the Kubernetes API that an agent uses. */
export class KubernetesApi {
  node: NodeState | undefined;
  /** Each request as `GET /path` or `WATCH /path`, with the client's name. */
  readonly requests: string[] = [];
  /** Ends watches at once, like a restarted server for which the version of an unchanged object is too old. */
  refusesWatches = false;
  private version = 100;
  private readonly watchers = new Set<ServerResponse>();
  private readonly sockets = new Set<Duplex>();
  private server: Server | undefined;
  private port = 0;

  private constructor(
    private readonly ca: Identity,
    private readonly serving: Identity,
    private readonly client: Identity,
  ) {}

  static async create(nodeName: string): Promise<KubernetesApi> {
    cryptoProvider.set(webcrypto);
    const ca = await issue('CN=spec-ca', undefined);
    const client = await issue(`CN=system:node:${nodeName}, O=system:nodes`, ca);
    return new KubernetesApi(ca, await issue('CN=kube-apiserver', ca), client);
  }

  async start(): Promise<void> {
    const server = createServer(
      {
        key: await pemOf(this.serving.keys),
        cert: this.serving.certificate.toString('pem'),
        ca: this.ca.certificate.toString('pem'),
        requestCert: true,
        rejectUnauthorized: true,
      },
      (request, response) => void this.answer(request, response),
    );
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    const { server } = this;
    if (server === undefined) return;
    this.server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.sockets) socket.destroy();
    this.watchers.clear();
    await closed;
  }

  /** A kubelet.conf like kubeadm's, with the client's certificate in a separate file. */
  kubeconfig(certificateFile: string): string {
    const ca = Buffer.from(this.ca.certificate.toString('pem')).toString('base64');
    return [
      'apiVersion: v1',
      'kind: Config',
      'current-context: default',
      'contexts: [{name: default, context: {cluster: spec, user: node}}]',
      `clusters: [{name: spec, cluster: {server: "https://127.0.0.1:${this.port}", certificate-authority-data: ${ca}}}]`,
      `users: [{name: node, user: {client-certificate: ${certificateFile}, client-key: ${certificateFile}}}]`,
      '',
    ].join('\n');
  }

  async clientPem(): Promise<string> {
    return `${this.client.certificate.toString('pem')}\n${await pemOf(this.client.keys)}`;
  }

  /** Creates or changes the Node object and notifies watchers. */
  setNode(name: string, ready: boolean, kubeletVersion: string): void {
    const status = ready ? 'True' : 'False';
    const reason = ready ? 'KubeletReady' : 'KubeletNotReady';
    const condition = { type: 'Ready', status, reason, message: `kubelet says ${status}` };
    const metadata = this.node?.metadata ?? { name, resourceVersion: '', labels: {}, annotations: {} };
    const type = this.node === undefined ? 'ADDED' : 'MODIFIED';
    this.node = { metadata, status: { conditions: [condition], nodeInfo: { kubeletVersion } } };
    this.changed(type);
  }

  private changed(type: 'ADDED' | 'MODIFIED'): void {
    this.version += 1;
    this.node!.metadata.resourceVersion = String(this.version);
    for (const watcher of this.watchers) watcher.write(`${JSON.stringify({ type, object: this.node })}\n`);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'https://api');
    const client = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
    const isWatch = url.searchParams.get('watch') === 'true';
    this.requests.push(`${client} ${isWatch ? 'WATCH' : (request.method ?? '')} ${url.pathname}`);
    if (isWatch && this.refusesWatches) {
      const object = { kind: 'Status', code: 410, reason: 'Expired' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    if (isWatch) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      this.watchers.add(response);
      const timer = setTimeout(() => response.end(), Number(url.searchParams.get('timeoutSeconds') ?? 300) * 1_000);
      response.on('close', () => {
        clearTimeout(timer);
        this.watchers.delete(response);
      });
      if (this.node !== undefined && url.searchParams.get('resourceVersion') !== String(this.version))
        response.write(`${JSON.stringify({ type: 'MODIFIED', object: this.node })}\n`);
      return;
    }
    if (url.pathname === '/api/v1/nodes') {
      const name = url.searchParams.get('fieldSelector')?.replace('metadata.name=', '');
      const items = this.node?.metadata.name === name ? [this.node] : [];
      const list = { metadata: { resourceVersion: String(this.version) }, items };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list));
      return;
    }
    if (this.node === undefined || url.pathname !== `/api/v1/nodes/${this.node.metadata.name}`) {
      response.writeHead(404).end('{}');
      return;
    }
    if (request.method === 'PATCH') await this.patch(request);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.node));
  }

  private async patch(request: IncomingMessage): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { metadata } = JSON.parse(body) as Pick<NodeState, 'metadata'>;
    Object.assign(this.node!.metadata.labels, metadata.labels);
    Object.assign(this.node!.metadata.annotations, metadata.annotations);
    this.changed('MODIFIED');
  }
}
