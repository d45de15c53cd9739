import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ZodError, prettifyError } from 'zod';
import { CloudFault, notFound } from '../cloud/cloud.fault.js';
import type { Faults } from '../faults/faults.js';
import { findRoute, type ApiAnswer, type Route } from './api.router.js';

const BODY_SIZE_MAX = 4 * 1024 * 1024;
const API_SLOW_DEFAULT_MS = 2_000;

export interface ApiServerParts {
  readonly routes: readonly Route[];
  readonly token: string;
  readonly faults: Faults;
  /** Resolves once the changes that a request made are durable. */
  settled(): Promise<void>;
  /** Called with errors that are bugs of the lab. */
  onBug(error: unknown): void;
}

/** The cloud's HTTP API: JSON, a bearer token, bounded bodies. Every response identifies it as a simulation. */
export class ApiServer {
  private readonly server: Server;

  constructor(private readonly parts: ApiServerParts) {
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  /** Returns the port. */
  async open(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port, exclusive: true }, () => resolve());
    });
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.answer(request, response);
    if (response.destroyed) return;
    const text = answer.body === undefined ? '' : JSON.stringify(answer.body);
    response.writeHead(answer.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      server: 'Fairlead-Lab-Simulation',
    });
    response.end(text);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<ApiAnswer> {
    try {
      this.authenticate(request);
      const slow = this.parts.faults.strike('api-slow', '');
      if (slow !== undefined) await sleep(slow.delayMs ?? API_SLOW_DEFAULT_MS);
      const url = new URL(request.url ?? '/', 'http://lab.invalid');
      const match = findRoute(this.parts.routes, request.method ?? '', url.pathname);
      if (match === undefined) throw notFound(`path ${url.pathname}`);
      if (match === 'other-method')
        throw new CloudFault(405, 'method-not-allowed', `${request.method} is not possible here`);
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const body = await readBody(request);
      const answer = await match.route.handle({
        parameters: match.parameters,
        query: url.searchParams,
        body,
        signal: gone.signal,
      });
      if (match.route.method !== 'GET') await this.parts.settled();
      return answer;
    } catch (error) {
      return this.refusal(error);
    }
  }

  private authenticate(request: IncomingMessage): void {
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (!timingSafeEqual(digest(given), digest(this.parts.token))) {
      throw new CloudFault(401, 'unauthorized', 'a bearer token of this lab is needed');
    }
  }

  private refusal(error: unknown): ApiAnswer {
    if (error instanceof CloudFault)
      return { status: error.status, body: { code: error.code, message: error.message } };
    if (error instanceof ZodError) return { status: 400, body: { code: 'malformed', message: prettifyError(error) } };
    this.parts.onBug(error);
    return { status: 500, body: { code: 'internal', message: String(error) } };
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_SIZE_MAX) throw new CloudFault(413, 'too-large', `a body has at most ${BODY_SIZE_MAX} bytes`);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch {
    throw new CloudFault(400, 'malformed', 'the body is not JSON');
  }
};
