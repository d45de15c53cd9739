import { CheckedHttp, type CheckedHttpOptions } from './checked.http.js';

/** Time limit of one request to the issuer. */
const TIME_LIMIT_MS = 5_000;
const ANSWER_BYTES_MAX = 1_048_576;
/** Without a body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The issuer, or the network to it, is at fault; no token was judged. */
export class IssuerUnavailable extends Error {}

export interface IssuerRequest {
  readonly method: string;
  readonly headers: Record<string, string> | Headers;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export type IssuerFetch = (url: string, request: IssuerRequest) => Promise<Response>;

const textOf = (body: unknown): string | undefined =>
  body === undefined || body === null ? undefined : body instanceof URLSearchParams ? body.toString() : String(body);

/** A fetch of few, small and timely answers, which follows no redirect. Every other outcome is IssuerUnavailable. */
export const issuerFetch = (ca: string | undefined, addresses: CheckedHttpOptions): IssuerFetch => {
  const http = new CheckedHttp(addresses);
  return async (url, { method, headers, body, signal }) => {
    if (method !== 'GET' && method !== 'POST') throw new IssuerUnavailable(`${method} is not sent to an issuer`);
    const text = textOf(body);
    const sent = Object.fromEntries(new Headers(headers));
    const answer = await http.request(
      url,
      {
        method,
        ca,
        headers: text === undefined ? sent : { ...sent, 'content-length': String(Buffer.byteLength(text)) },
        ...(text === undefined ? {} : { body: text }),
        timeLimitMs: TIME_LIMIT_MS,
        answerBytesMax: ANSWER_BYTES_MAX,
      },
      signal ?? new AbortController().signal,
    );
    if (answer.kind !== 'answered') throw new IssuerUnavailable(`${new URL(url).host} does not answer: ${answer.why}`);
    if (answer.status >= 500 || answer.status === 429)
      throw new IssuerUnavailable(`${new URL(url).host} answers ${answer.status}`);
    const content = EMPTY.has(answer.status) ? null : (answer.body ?? '');
    return new Response(content, { status: answer.status, headers: { 'content-type': 'application/json' } });
  };
};
