import { parseJsonOrUndefined } from '@fairlead/parsers';
import type { HttpAnswer, HttpRequest } from '@fairlead/service-kit/http';
import type { z } from 'zod';
import { RealmFailure, type RealmAccess } from '../../realms/realm.ports.js';
import { Problem } from './keycloak.answers.js';

/** Time limit of one request to a realm. */
const TIME_LIMIT_MS = 4_000;
const ANSWER_BYTES_MAX = 1_048_576;
const SERVER_ERROR_FIRST = 500;
const REDIRECT_FIRST = 300;
const TOO_MANY_REQUESTS = 429;

/** Sends a request to a realm if its address is public or allowed by the administrator. */
export interface RealmHttp {
  request(url: string, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
}

export interface KeycloakCall {
  readonly method: HttpRequest['method'];
  readonly url: string;
  readonly token?: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** Non-2xx statuses that count as success. */
  readonly alsoTakes?: readonly number[];
}

export interface KeycloakAnswer {
  readonly status: number;
  readonly body: string;
}

/** Calls to one realm. Every result is the expected response or a RealmFailure. */
export class KeycloakHttp {
  constructor(
    private readonly http: RealmHttp,
    private readonly access: RealmAccess,
  ) {}

  async read<Answer>(call: KeycloakCall, schema: z.ZodType<Answer>, signal: AbortSignal): Promise<Answer> {
    const { body } = await this.send(call, signal);
    const parsed = schema.safeParse(jsonOf(body));
    if (parsed.success) return parsed.data;
    throw this.failure('RealmInvalid', call, 'answers with something else than Keycloak does');
  }

  async send(call: KeycloakCall, signal: AbortSignal): Promise<KeycloakAnswer> {
    const answer = await this.http.request(call.url, this.requestOf(call), signal);
    if (answer.kind !== 'answered') throw this.failure('RealmUnreachable', call, `does not answer: ${answer.why}`);
    const { status, body = '' } = answer;
    if ((status >= 200 && status < REDIRECT_FIRST) || call.alsoTakes?.includes(status) === true)
      return { status, body };
    throw this.refusal(call, status, body);
  }

  private requestOf({ method, token, form, json }: KeycloakCall): HttpRequest {
    const sent =
      form === undefined
        ? json === undefined
          ? undefined
          : { body: JSON.stringify(json), type: 'application/json' }
        : { body: new URLSearchParams(form).toString(), type: 'application/x-www-form-urlencoded' };
    const headers = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(sent === undefined
        ? {}
        : { 'content-type': sent.type, 'content-length': String(Buffer.byteLength(sent.body)) }),
    };
    const limits = { timeLimitMs: TIME_LIMIT_MS, answerBytesMax: ANSWER_BYTES_MAX };
    return { method, headers, ca: this.access.ca, ...limits, ...(sent === undefined ? {} : { body: sent.body }) };
  }

  private refusal(call: KeycloakCall, status: number, body: string): RealmFailure {
    // Only standard codes are repeated: other text may contain anything, including the sent credential in any encoding.
    const { error } = Problem.safeParse(jsonOf(body)).data ?? {};
    const detail = `answers ${status}${error === undefined ? '' : ` (${error})`}`;
    if (status >= SERVER_ERROR_FIRST || status === TOO_MANY_REQUESTS)
      return this.failure('RealmUnreachable', call, detail);
    const isCredential = status === 401 || status === 403 || (call.form !== undefined && status === 400);
    return this.failure(isCredential ? 'CredentialRefused' : 'RealmInvalid', call, detail);
  }

  private failure(reason: RealmFailure['reason'], { method, url }: KeycloakCall, detail: string): RealmFailure {
    const { name, clientId } = this.access;
    const whose = reason === 'CredentialRefused' ? ` to the client ${clientId}` : '';
    return new RealmFailure(reason, `realm ${name}: ${method} ${new URL(url).pathname} ${detail}${whose}`);
  }
}

export const jsonOf = (text: string): unknown => parseJsonOrUndefined(text, { lengthMax: ANSWER_BYTES_MAX });
