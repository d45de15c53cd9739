import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { EventView } from '../api/views.js';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent unchanged, other values as JSON. */
  readonly body?: unknown;
}

/** `never`: the request is not answered. */
type Answerer = (request: Received) => Reply | 'never';

/** A fake gateway over real HTTP that records its requests. */
export class FakeGateway {
  readonly received: Received[] = [];
  readonly events: EventView[] = [];
  private readonly routes = new Map<string, Answerer>();
  private readonly streams = new Set<ServerResponse>();
  private readonly server: Server;

  /** `tls`: a certificate with its key, PEM; the server then only accepts TLS. */
  constructor(private readonly tls?: string) {
    const answer = (request: IncomingMessage, response: ServerResponse): void => void this.answer(request, response);
    this.server = tls === undefined ? createServer(answer) : createTlsServer({ cert: tls, key: tls }, answer);
  }

  async start(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', resolve));
  }

  /** Ends as a process that is killed, and begins again at the same address when `while` has resolved. */
  async restart(meanwhile: () => Promise<unknown>): Promise<void> {
    const { port } = this.server.address() as AddressInfo;
    await this.stop();
    await meanwhile();
    await this.start(port);
  }

  get url(): string {
    return `${this.tls === undefined ? 'http' : 'https'}://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  on(method: string, path: string, reply: Reply | Answerer): this {
    this.routes.set(`${method} ${path}`, typeof reply === 'function' ? reply : () => reply);
    return this;
  }

  /** States events: listeners receive them at once. */
  state(...events: readonly EventView[]): void {
    this.events.push(...events);
    for (const stream of this.streams) for (const event of events) sendEvent(stream, event);
  }

  /** Ends every event stream, as a restart or a proxy would. */
  cutStreams(): void {
    for (const stream of this.streams) stream.destroy();
    this.streams.clear();
  }

  get listeners(): number {
    return this.streams.size;
  }

  asked(method: string, path: string): readonly Received[] {
    return this.received.filter((request) => request.method === method && request.path === path);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await receivedOf(request);
    this.received.push(received);
    const { method, path, query } = received;
    if (path.endsWith('/events/stream')) return this.stream(received, response);
    if (path.endsWith('/events') && method === 'GET')
      return reply(response, { body: this.page(Number(query['after'] ?? 0), Number(query['limit'])) });
    const route = this.routes.get(`${method} ${path}`);
    const missing = {
      status: 404,
      body: {
        kind: 'Status',
        code: 404,
        reason: 'route.unknown',
        message: `There is no ${method} ${path}`,
        help: 'See /docs.',
      },
    };
    const answer = route === undefined ? missing : route(received);
    if (answer !== 'never') reply(response, answer);
  }

  private page(after: number, limit: number): unknown {
    const found = this.events.filter(({ seq }) => seq > after);
    const items = found.slice(0, limit);
    return { kind: 'EventList', items, next: found.length > items.length ? (items.at(-1)?.seq ?? null) : null };
  }

  private stream(received: Received, response: ServerResponse): void {
    const since = Number(received.headers['last-event-id'] ?? received.query['after'] ?? 0);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': welcome\n\n');
    for (const event of this.events.filter(({ seq }) => seq > since)) sendEvent(response, event);
    this.streams.add(response);
    response.on('close', () => this.streams.delete(response));
  }
}

const sendEvent = (response: ServerResponse, event: EventView): void =>
  void response.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

const receivedOf = async (request: IncomingMessage): Promise<Received> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const url = new URL(request.url ?? '/', 'http://gateway');
  return {
    method: request.method ?? 'GET',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers,
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  };
};

const reply = (response: ServerResponse, { status = 200, headers = {}, body }: Reply): void => {
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'application/yaml' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
};

/** A refusal as the gateway words it. */
export const refusal = (
  status: number,
  reason: string,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): Reply => ({
  status,
  body: {
    kind: 'Status',
    code: status,
    reason,
    message,
    help: 'What can be done.',
    errors: [{ reason, message, help: '' }],
    requestId: 'r1',
    ...more,
  },
});

/** A cluster as the gateway shows it. */
export const clusterView = (more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => ({
  name: 'demo',
  kind: 'Cluster',
  namespace: 'default',
  status: { phase: 'Provisioned', state: 'Running', reasons: [], reason: '', message: '' },
  conditions: [],
  k8sVersion: 'v1.34.4',
  createdTime: '2026-11-21T08:00:00.000Z',
  nodes: [],
  progress: { operation: 'create', currentStep: null, title: 'Ready', nodesReady: 5, nodesTotal: 5, steps: [] },
  ...more,
});
