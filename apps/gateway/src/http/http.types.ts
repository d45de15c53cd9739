import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Identity } from '../access/identity.js';

/** What the gateway uses of Express' request. */
export interface HttpRequest extends IncomingMessage {
  readonly method: string;
  readonly originalUrl: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  body: unknown;
  readonly ip?: string;
  /** Set by the first middleware. */
  requestId: string;
  /** Set by the interceptor of idempotency keys: the same for every repetition of the request. Absent without a key. */
  commandId?: string;
  /** Set by the authentication; absent on public routes. */
  identity?: Identity;
  /** Set by the authentication: the session of the page that the request belongs to. Absent with a bearer token. */
  pageSession?: string | undefined;
  /** Set by the authentication: the text of the session of the page that a user began at the identity provider. */
  userSession?: string | undefined;
  /** Aborts when the token of the request ends or is revoked; its reason is the refusal. */
  tokenEnded?: AbortSignal;
}

/** What the gateway uses of Express' response. */
export interface HttpResponse extends ServerResponse {
  status(code: number): this;
  json(body: unknown): this;
  type(contentType: string): this;
  send(body: string): this;
}

/** A header that came more than once is read as one. */
export const headerText = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(',') : header;
