import { PROVIDER_REFUSED, ExternalFailure, type OpenstackSettings } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { deadlineAfter } from '@fairlead/service-kit';
import type { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import * as z from 'zod';
import type { ProviderOperation } from '../../providers/provider.ports.js';
import { exchange, keptAlive, wordsOfExchange, type HttpResponse } from '../provider.exchange.js';
import { withoutSecrets } from '../secret.words.js';
import { Problem, Token } from './openstack.answers.js';

export interface CloudLimits {
  /** Limit of concurrent calls. */
  readonly callsMax: number;
  readonly timeoutMs: number;
  /** The polling interval of creations and deletions. */
  readonly pollMs?: number;
}

/** The services by display name: their types in the catalogue, and the version that their endpoints may omit. */
export const SERVICES = {
  Nova: { types: ['compute'], version: '/v2.1' },
  Neutron: { types: ['network'], version: '/v2.0' },
  Glance: { types: ['image'], version: '/v2' },
  Octavia: { types: ['load-balancer'], version: '/v2' },
} as const;
export type Service = keyof typeof SERVICES;

/**
 * Available since Stein (2019). Tags at creation need 2.52, policies of server groups 2.64, types of root volumes 2.67.
 */
export const MICROVERSION = '2.67';

export interface CloudCall {
  readonly operation: ProviderOperation;
  readonly service: Service;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** Absent: the region of the connection. */
  readonly region?: string;
  readonly signal: AbortSignal;
}

interface OpenToken {
  readonly id: string;
  readonly endsAt: number;
  readonly of: Token['token'];
}

const ANSWER_CHARACTERS_MAX = 16 * 1_048_576;
const ANSWER_VALUES_MAX = 1_000_000;
/** An error message has a few sentences. */
const PROBLEM_LIMITS = { lengthMax: 65_536, valuesMax: 1_000 };
const NOT_FOUND = 404;
const UNAUTHORIZED = 401;
const CONFLICT = 409;
const TOO_MANY = 429;
const UNAVAILABLE = 503;
const CLIENT_ERROR_FIRST = 400;
const SERVER_ERROR_FIRST = 500;
const RETRYABLE_4XX: ReadonlySet<number> = new Set([408, 425, TOO_MANY]);
/** A token is not used in its last minute, because a call may take that long. */
const TOKEN_MARGIN_MS = 60_000;
/** How often one call honours a delay that a service requests, and the maximum delay. */
const WAITS_MAX = 3;
const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 10_000;
const WORDS_MAX = 1_000;
const PAGES_MAX = 200;

const jsonOf = (text: string): unknown =>
  parseJsonOrUndefined(text, { lengthMax: ANSWER_CHARACTERS_MAX, valuesMax: ANSWER_VALUES_MAX });

/** The service's own message; for an HTML page of a proxy in front of it, the title. */
export const wordsIn = (text: string): string => {
  const members = Problem.safeParse(parseJsonOrUndefined(text, PROBLEM_LIMITS)).data ?? {};
  for (const said of Object.values(members)) if (typeof said === 'object' && said !== null) return said.message;
  if (typeof members['faultstring'] === 'string') return members['faultstring'];
  return /<title>([^<]{1,200})<\/title>/i.exec(text)?.[1]?.trim() ?? '';
};

/** Neutron and Octavia report an exceeded quota as a conflict, which is not worth a retry. */
const isRetryable = (status: number, words: string): boolean =>
  status >= SERVER_ERROR_FIRST || RETRYABLE_4XX.has(status) || (status === CONFLICT && !/quota/i.test(words));

/**
 * A session for one project: a renewed token, the endpoints of the catalogue, and calls to them. Every failure is a
 * ExternalFailure.
 */
export class CloudSession {
  private readonly limit: LimitFunction;
  private readonly agents = new Map<string, Agent>();
  private token: Promise<OpenToken> | undefined;
  /** The current token, and the one before it, which a late answer may still repeat. */
  private tokens: readonly string[] = [];

  constructor(
    readonly at: { readonly connection: string; readonly region: string; readonly settings: OpenstackSettings },
    private readonly secret: string,
    readonly limits: CloudLimits,
  ) {
    this.limit = pLimit(limits.callsMax);
  }

  async projectId(operation: ProviderOperation, signal: AbortSignal): Promise<string> {
    return (await this.opened(operation, signal)).of.project.id;
  }

  /** The regions of the catalogue that have the service. */
  async regionsOf(service: Service, operation: ProviderOperation, signal: AbortSignal): Promise<readonly string[]> {
    return [...new Set(this.endpoints(service, (await this.opened(operation, signal)).of).map(({ region }) => region))];
  }

  /** Returns undefined if the resource does not exist. */
  async find<Answer>(call: CloudCall, answer: z.ZodType<Answer>): Promise<Answer | undefined> {
    const response = await this.send(call);
    return response.status === NOT_FOUND ? undefined : this.read(call, response, answer);
  }

  async ask<Answer>(call: CloudCall, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.read(call, await this.send(call), answer);
  }

  /** Idempotent: a missing resource counts as deleted. */
  async delete(call: Omit<CloudCall, 'method'>): Promise<void> {
    const deletion = { ...call, method: 'DELETE' } as const;
    const response = await this.send(deletion);
    if (response.status !== NOT_FOUND && response.status >= CLIENT_ERROR_FIRST) throw this.problem(deletion, response);
  }

  /** Reads every page of a list; `key` is its member in the response. */
  async list<Item extends { readonly id: string }>(
    call: Omit<CloudCall, 'method'>,
    key: string,
    item: z.ZodType<Item>,
  ): Promise<readonly Item[]> {
    const Page = z.object({
      [key]: z.array(item),
      [`${key}_links`]: z.array(z.object({ rel: z.string() })).nullish(),
    });
    const all: Item[] = [];
    let marker = '';
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const path = marker === '' ? call.path : `${call.path}${call.path.includes('?') ? '&' : '?'}marker=${marker}`;
      const answer = (await this.ask({ ...call, path, method: 'GET' }, Page)) as Record<string, unknown>;
      const items = answer[key] as readonly Item[];
      all.push(...items);
      const links = (answer[`${key}_links`] ?? []) as readonly { readonly rel: string }[];
      const last = items.at(-1);
      if (last === undefined || !links.some(({ rel }) => rel === 'next')) return all;
      marker = encodeURIComponent(last.id);
    }
    throw this.failure(call.operation, `${call.service} lists more than ${PAGES_MAX} pages of ${key}`, false);
  }

  failure(operation: ProviderOperation, message: string, retryable = true, cause?: unknown): ExternalFailure {
    const reason = retryable ? undefined : PROVIDER_REFUSED;
    const said = withoutSecrets(message, [this.secret, ...this.tokens]);
    return new ExternalFailure({ operation, target: this.at.connection, message: said, retryable, reason, cause });
  }

  /** Sends a call with a valid token, and waits as often as the service requests. */
  private async send(call: CloudCall): Promise<HttpResponse> {
    let isRenewed = false;
    for (let waits = 0; ;) {
      const token = await this.opened(call.operation, call.signal);
      const url = this.urlOf(call, token.of);
      const headers = { 'x-auth-token': token.id, ...this.versionOf(call) };
      const response = await this.limit(() => this.exchange(call, url, headers));
      if (response.status === UNAUTHORIZED && !isRenewed) {
        isRenewed = true;
        this.token = undefined;
        continue;
      }
      if (waits >= WAITS_MAX || !this.mayWait(call, response.status)) return response;
      waits += 1;
      await pause(waitOf(response, waits), undefined, { signal: call.signal }).catch((error: unknown) => {
        call.signal.throwIfAborted();
        throw error;
      });
    }
  }

  /**
   * 429 means that nothing was done. A POST that ended with 503 may have taken effect, so the caller must check first.
   */
  private mayWait({ method }: CloudCall, status: number): boolean {
    return status === TOO_MANY || (status === UNAVAILABLE && method !== 'POST');
  }

  private versionOf({ service }: CloudCall): Readonly<Record<string, string>> {
    return service === 'Nova' ? { 'openstack-api-version': `compute ${MICROVERSION}` } : {};
  }

  private endpoints(service: Service, { catalog }: Token['token']): readonly { region: string; url: string }[] {
    const types: readonly string[] = SERVICES[service].types;
    return catalog
      .filter(({ type }) => types.includes(type))
      .flatMap(({ endpoints }) => endpoints)
      .filter((endpoint) => endpoint.interface === this.at.settings.interface)
      .map(({ region_id: id, region, url }) => ({ region: id ?? region ?? '', url }));
  }

  private urlOf({ operation, service, path, region = this.at.region }: CloudCall, token: Token['token']): URL {
    const found = this.endpoints(service, token).find((endpoint) => endpoint.region === region);
    if (found === undefined) {
      const regions = [
        ...new Set(token.catalog.flatMap(({ endpoints }) => endpoints.map((one) => one.region_id ?? ''))),
      ];
      const known = regions.length === 0 ? 'it has none' : `it has the regions ${regions.join(', ')}`;
      const { interface: which } = this.at.settings;
      throw this.failure(
        operation,
        `the catalogue has no ${which} endpoint of ${service} in region ${region}; ${known}`,
        false,
      );
    }
    const base = found.url.replace(/(?<!\/)\/+$/, '');
    return new URL(`${/\/v\d[\d.]*(\/|$)/.test(base) ? base : `${base}${SERVICES[service].version}`}${path}`);
  }

  private async opened(operation: ProviderOperation, signal: AbortSignal): Promise<OpenToken> {
    signal.throwIfAborted();
    const current = this.token;
    if (current !== undefined) {
      const token = await current.catch(() => undefined);
      if (token !== undefined && token.endsAt - TOKEN_MARGIN_MS > Date.now()) return token;
      if (this.token === current) this.token = undefined;
    }
    this.token ??= this.authenticate(operation);
    const token = await this.token;
    signal.throwIfAborted();
    return token;
  }

  /** Uses its own timeout instead of a caller's signal, because all callers share the token. */
  private async authenticate(operation: ProviderOperation): Promise<OpenToken> {
    const { authUrl, applicationCredential: id } = this.at.settings;
    const base = authUrl.replace(/(?<!\/)\/+$/, '');
    const url = new URL(`${base.endsWith('/v3') ? base : `${base}/v3`}/auth/tokens`);
    const identity = { methods: ['application_credential'], application_credential: { id, secret: this.secret } };
    const call: CloudCall = {
      ...{ operation, service: 'Nova', method: 'POST', path: url.pathname },
      ...{ body: { auth: { identity } }, signal: new AbortController().signal },
    };
    const response = await this.exchange(call, url, {}, 'Keystone');
    if (response.status >= CLIENT_ERROR_FIRST) {
      const refused = response.status === UNAUTHORIZED || response.status === NOT_FOUND;
      if (!refused) throw this.problem(call, response, 'Keystone');
      throw this.failure(
        operation,
        `Keystone does not accept the application credential ${id} (HTTP ${response.status}); has it expired, or is the secret another one's?`,
        false,
      );
    }
    const { token } = this.read(call, response, Token, 'Keystone');
    const subject = response.headers['x-subject-token'];
    if (typeof subject !== 'string') throw this.failure(operation, 'Keystone answers without a token', false);
    this.tokens = [subject, ...this.tokens.slice(0, 1)];
    return { id: subject, endsAt: Date.parse(token.expires_at), of: token };
  }

  protected async exchange(
    { operation, method, body, signal }: CloudCall,
    url: URL,
    given: Readonly<Record<string, string>>,
    service?: string,
  ): Promise<HttpResponse> {
    const tooLong = deadlineAfter(this.limits.timeoutMs);
    const agent = this.agents.get(url.origin) ?? keptAlive(url.origin);
    this.agents.set(url.origin, agent);
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...{ accept: 'application/json', 'user-agent': 'fairlead', ...given },
      ...(sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
    };
    try {
      const ended = AbortSignal.any([signal, tooLong.signal]);
      return await exchange(url, { method, headers, agent, signal: ended }, sent, ANSWER_CHARACTERS_MAX);
    } catch (error) {
      signal.throwIfAborted();
      const words = tooLong.signal.aborted ? `no answer within ${this.limits.timeoutMs} ms` : wordsOfExchange(error);
      const whom = service === undefined ? url.origin : `${service} at ${url.origin}`;
      throw this.failure(operation, `${whom}: ${words}`, true, error);
    } finally {
      tooLong.clear();
    }
  }

  private read<Answer>(call: CloudCall, response: HttpResponse, answer: z.ZodType<Answer>, service?: string): Answer {
    if (response.status >= CLIENT_ERROR_FIRST) throw this.problem(call, response, service);
    const parsed = answer.safeParse(jsonOf(response.text));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue === undefined ? '' : `: ${issue.path.join('.')} ${issue.message}`;
    const what = `${call.method} ${call.path.split('?')[0]}`;
    throw this.failure(
      call.operation,
      `${service ?? call.service} answers ${what} with something else than expected${where}`,
      false,
    );
  }

  private problem(
    call: CloudCall,
    { status, headers, text }: HttpResponse,
    service: string = call.service,
  ): ExternalFailure {
    const words = wordsIn(text).slice(0, WORDS_MAX);
    const request = headers['x-openstack-request-id'] ?? headers['x-compute-request-id'];
    const by = [service, `HTTP ${status}`, ...(typeof request === 'string' ? [request] : [])].join(', ');
    const said = words === '' ? `it answers ${call.method} ${call.path.split('?')[0]} without a reason` : words;
    return this.failure(call.operation, `${said} (${by})`, isRetryable(status, words));
  }
}

/** The delay that the service requests (`Retry-After`, in seconds), otherwise exponential; always bounded. */
const waitOf = ({ headers }: HttpResponse, waits: number): number => {
  const asked = Number(headers['retry-after']);
  const ms = Number.isFinite(asked) && asked > 0 ? asked * 1_000 : WAIT_FIRST_MS * 2 ** (waits - 1);
  return Math.min(ms, WAIT_MAX_MS);
};
