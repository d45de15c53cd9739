import { exportPKCS8, exportSPKI, generateKeyPair, importPKCS8, importSPKI } from 'jose';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { findRoute, type ApiAnswer, type Route } from '../api/api.router.js';
import { CertificateAuthority } from '../kubernetes/certificates/certificate.authority.js';
import type { DocumentStore } from '../persistence/document.store.js';
import { conflict, notFound, RealmProblem } from './realm.problem.js';
import {
  AccessTokens,
  ALGORITHM,
  isAdministration,
  MANAGEMENT,
  MASTER,
  masterRoutes,
  REALM,
  realmRoutes,
  TOKEN_SECONDS,
  type Administrator,
  type RealmParts,
} from './realm.routes.js';
import { CreatedRealm, RealmState } from './realm.state.js';
import { SimulatedRealm } from './simulated.realm.js';

const KIND = 'identity';
const LOOPBACK = '127.0.0.1';
const BODY_SIZE_MAX = 1024 * 1024;

const Pair = z.object({ certPem: z.string(), keyPem: z.string() });
const Stored = z.object({
  authority: Pair,
  serving: Pair,
  signing: z.object({ publicPem: z.string(), privatePem: z.string() }),
  realm: RealmState,
  /** Those that were created, by name. */
  realms: z.record(z.string(), CreatedRealm).default({}),
});
type Stored = z.infer<typeof Stored>;

export interface IdentityParts {
  readonly store: DocumentStore;
  readonly administrator: Administrator;
  /** 0 selects any free port. */
  readonly port: number;
  now(): Date;
  /** How long tokens of users are good for; absent: as long as Keycloak's. */
  tokenSeconds?(): number;
  onBug(error: unknown): void;
}

/** How to reach a realm. */
export interface RealmAccess {
  readonly issuerUrl: string;
  readonly ca: string;
  readonly clientId: string;
}

/**
 * A simulated identity provider: a Keycloak with one realm, and those that are created, over HTTPS on the loopback
 * address. Every response identifies it as a simulation.
 */
export class IdentityServer {
  private readonly sessions: AccessTokens;

  private constructor(
    private readonly parts: IdentityParts,
    private readonly stored: Stored,
    private readonly server: Server,
    private routes: readonly Route[],
  ) {
    this.sessions = new AccessTokens(() => parts.now());
  }

  static async start(parts: IdentityParts): Promise<IdentityServer> {
    const [document] = await parts.store.readAll(KIND);
    const stored = document === undefined ? await newIdentity(parts.now().getTime()) : Stored.parse(document);
    const { serving } = stored;
    const server = createServer({ key: serving.keyPem, cert: serving.certPem });
    const identity = new IdentityServer(parts, stored, server, []);
    await identity.open();
    return identity;
  }

  get access(): RealmAccess {
    const { authority } = this.stored;
    const { clientId } = this.parts.administrator;
    return { issuerUrl: this.issuerOf(REALM), ca: authority.certPem, clientId };
  }

  private issuerOf(name: string): string {
    const { port } = this.server.address() as AddressInfo;
    return `https://${LOOPBACK}:${port}/realms/${name}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  private async open(): Promise<void> {
    const { server, parts, stored } = this;
    const { signing } = stored;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: LOOPBACK, port: parts.port, exclusive: true }, () => resolve());
    });
    const keys = {
      publicKey: await importSPKI(signing.publicPem, ALGORITHM, { extractable: true }),
      privateKey: await importPKCS8(signing.privatePem, ALGORITHM),
    };
    const { administrator, now } = parts;
    const tokenSeconds = () => parts.tokenSeconds?.() ?? TOKEN_SECONDS;
    const partsOf = (name: string, state: RealmState): RealmParts => {
      const changed = () => this.save();
      const realm = new SimulatedRealm(state, changed, () => parts.now());
      return { name, realm, issuerUrl: this.issuerOf(name), administrator, keys, now, tokenSeconds };
    };
    const add = (name: string, state: RealmState): void => {
      this.routes = [...this.routes, ...realmRoutes(partsOf(name, state), this.sessions)];
    };
    const create = (body: unknown): void => {
      const made = CreatedRealm.parse({ ...(body as object), state: newRealm() });
      if ([REALM, MASTER].includes(made.realm) || made.realm in stored.realms) throw conflict('Realm');
      stored.realms[made.realm] = made;
      add(made.realm, made.state);
      this.save();
    };
    const get = (name: string): CreatedRealm => {
      const found =
        name === REALM ? { realm: REALM, enabled: true, attributes: {}, state: stored.realm } : stored.realms[name];
      if (found === undefined) throw notFound();
      return found;
    };
    const nothing = { clients: [], groups: [], users: [] };
    this.routes = masterRoutes(partsOf(MASTER, nothing), this.sessions, { create, get });
    add(REALM, stored.realm);
    for (const [name, { state }] of Object.entries(stored.realms)) add(name, state);
    this.save();
    server.on('request', (request, response) => void this.serve(request, response));
  }

  private save(): void {
    this.parts.store.put(KIND, KIND, () => this.stored);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body, location } = await this.answer(request);
    if (response.destroyed) return;
    const isPage = typeof body === 'string';
    const text = body === undefined ? '' : isPage ? body : JSON.stringify(body);
    response.writeHead(status, {
      'content-type': isPage ? 'text/html; charset=utf-8' : 'application/json',
      'content-length': Buffer.byteLength(text),
      server: 'Fairlead-Lab-Simulation',
      ...(location === undefined ? {} : { location }),
    });
    response.end(text);
  }

  private async answer(request: IncomingMessage): Promise<ApiAnswer> {
    try {
      const url = new URL(request.url ?? '/', 'https://lab.invalid');
      if (isAdministration(url.pathname)) this.authenticate(request);
      const match = findRoute(this.routes, request.method ?? '', url.pathname);
      if (match === undefined || match === 'other-method') throw notFound();
      const sent = await bodyOf(request);
      const body = Array.isArray(sent) ? sent : { ...(sent as object), ...basicOf(request) };
      const { parameters, route } = match;
      const { signal } = new AbortController();
      const bearer = bearerOf(request);
      const answer = await route.handle({ parameters, query: url.searchParams, body, bearer, signal });
      await this.parts.store.flush();
      return answer;
    } catch (error) {
      return this.refusal(error);
    }
  }

  private authenticate(request: IncomingMessage): void {
    if (!this.sessions.isInForce(bearerOf(request) ?? '')) throw new RealmProblem(401, 'HTTP 401 Unauthorized');
  }

  private refusal(error: unknown): ApiAnswer {
    if (error instanceof RealmProblem) return { status: error.status, body: { error: error.error } };
    if (error instanceof z.ZodError) return { status: 400, body: { error: 'invalid_request' } };
    this.parts.onBug(error);
    return { status: 500, body: { error: 'unknown_error' } };
  }
}

const newIdentity = async (nowMs: number): Promise<Stored> => {
  const authority = await CertificateAuthority.create(nowMs);
  const serving = await authority.issue({ commonName: 'identity', usage: 'server', sans: [LOOPBACK] }, nowMs);
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const signing = { publicPem: await exportSPKI(publicKey), privatePem: await exportPKCS8(privateKey) };
  return { authority: authority.pair, serving, signing, realm: { clients: [], groups: [], users: [] }, realms: {} };
};

/** Of the clients that each realm of Keycloak begins with, the one that is used. */
const newRealm = (): RealmState => ({
  clients: [
    {
      id: randomUUID(),
      clientId: MANAGEMENT,
      enabled: true,
      publicClient: false,
      redirectUris: [],
      attributes: {},
      protocolMappers: [],
    },
  ],
  groups: [],
  users: [],
});

const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];

/** Credentials of a client in the header (RFC 6749, 2.3.1), as they would stand in the body. */
const basicOf = ({ headers }: IncomingMessage): Readonly<Record<string, string>> => {
  const encoded = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (encoded === undefined) return {};
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  return { client_id: decodeURIComponent(id), client_secret: decodeURIComponent(secret) };
};

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_SIZE_MAX) throw new RealmProblem(413, 'invalid_request');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(text));
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown);
  } catch {
    throw new RealmProblem(400, 'invalid_request');
  }
};
