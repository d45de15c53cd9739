import { faultOfGateUrl } from '@fairlead/contracts';
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { faultOfAddress, type AddressRange } from './addresses.rules.js';
import { deadlineAfter } from './deadline.js';

const TIME_LIMIT_MS = 10_000;
const HEADER_BYTES_MAX = 16_384;
/** Maximum informational responses (such as 100 and 103) before the final one. */
const INFORMATIONAL_MAX = 8;

/** The result of a request. */
export type HttpAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Absent if only the status was read. */
      readonly body?: string;
    }
  /** No request was sent. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'silent'; readonly why: string; readonly isTooLarge?: true };

/** The result of a download. */
export type HttpDownload =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly bytes: Buffer;
      /** The Location header; empty: absent. */
      readonly location: string;
      /** The WWW-Authenticate header; empty: absent. */
      readonly challenge: string;
      /** The Link header; empty: absent. */
      readonly link: string;
    }
  | Exclude<HttpAnswer, { readonly kind: 'answered' }>;

/** A request and the limits on its response. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** CAs for the server's certificate, PEM; absent: those that Node.js trusts. */
  readonly ca?: string | undefined;
  readonly timeLimitMs: number;
  /** A larger response is an error. */
  readonly answerBytesMax: number;
}

/** The parts of a request that are sent. */
type CheckedRequest = Pick<HttpRequest, 'method' | 'headers' | 'body' | 'ca'> &
  Partial<Pick<HttpRequest, 'timeLimitMs'>> & {
    /** Absent: only the status is read. */
    readonly answerBytesMax?: number;
  };

/** A request that is sent with POST. */
export type HttpPost = Omit<HttpRequest, 'method' | 'body'> & { readonly body: string };

export interface CheckedHttpOptions {
  /** Allowed in addition to public addresses. */
  readonly allowed: readonly AddressRange[];
  /** The variable with which an administrator allows more addresses. */
  readonly setting: string;
  readonly timeLimitMs?: number;
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
}

/**
 * Resolves a name once, checks all of its addresses, and connects only to these. Follows no redirect, uses no proxy,
 * and limits the size of the response.
 */
export class CheckedHttp {
  private readonly resolve: NonNullable<CheckedHttpOptions['resolve']>;

  constructor(private readonly options: CheckedHttpOptions) {
    this.resolve = options.resolve ?? ((host) => lookup(host, { all: true }));
  }

  /** Sends a GET and reads only the status. */
  ask(text: string, signal: AbortSignal, headers: HttpRequest['headers'] = {}): Promise<HttpAnswer> {
    return this.send(text, { method: 'GET', headers }, signal);
  }

  post(text: string, post: HttpPost, signal: AbortSignal): Promise<HttpAnswer> {
    return this.send(text, { ...post, method: 'POST' }, signal);
  }

  request(text: string, request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    return this.send(text, request, signal);
  }

  /** The raw bytes. Redirects are returned to the caller, which decides whether to follow them. */
  async download(text: string, request: Omit<HttpRequest, 'body'>, signal: AbortSignal): Promise<HttpDownload> {
    const answer = await this.exchange(text, request, signal);
    if (answer.kind !== 'answered') return answer;
    const { status, bytes = Buffer.alloc(0), location, challenge, link } = answer;
    return { kind: 'answered', status, bytes, location, challenge, link };
  }

  private async send(text: string, asked: CheckedRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const answer = await this.exchange(text, asked, signal);
    if (answer.kind !== 'answered') return answer;
    const { kind, status, bytes } = answer;
    return { kind, status, ...(bytes === undefined ? {} : { body: bytes.toString('utf8') }) };
  }

  private async exchange(text: string, asked: CheckedRequest, signal: AbortSignal): Promise<Exchange> {
    const fault = faultOfGateUrl(text);
    if (fault !== undefined) return { kind: 'refused', why: fault };
    signal.throwIfAborted();
    const timeLimitMs = asked.timeLimitMs ?? this.options.timeLimitMs ?? TIME_LIMIT_MS;
    const late = deadlineAfter(timeLimitMs);
    try {
      return await this.sendInTime(new URL(text), asked, AbortSignal.any([signal, late.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NoAnswer) return { kind: 'silent', why: error.message };
      if (error instanceof TooLarge) return { kind: 'silent', why: error.message, isTooLarge: true };
      return { kind: 'silent', why: late.signal.aborted ? `no answer within ${timeLimitMs} ms` : wordsOf(error) };
    } finally {
      late.clear();
    }
  }

  private async sendInTime(url: URL, asked: CheckedRequest, ended: AbortSignal): Promise<Exchange> {
    // The URL parser has normalized every form of an IPv4 address (2130706433, 0x7f.1) to dotted decimal.
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const family = isIP(host);
    const found = family === 0 ? await unlessEnded(this.resolve(host), ended) : [{ address: host, family }];
    if (found.length === 0) return { kind: 'silent', why: `${host} has no address` };
    const { allowed, setting } = this.options;
    for (const { address } of found) {
      const fault = faultOfAddress(address, allowed, portOf(url));
      if (fault !== undefined) return { kind: 'refused', why: `${refusalOf(host, address, fault)} with ${setting}` };
    }
    const heard = { isResponse: false };
    try {
      return { kind: 'answered', ...(await answerOf(url, { host, addresses: found, ended, asked, heard })) };
    } catch (error) {
      const isPublic = found.every(({ address }) => faultOfAddress(address, []) === undefined);
      throw isPublic || heard.isResponse ? error : new NoAnswer(noAnswerOf(url));
    }
  }
}

const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));

/** A failure within the platform's network: its cause would reveal which ports are open, and what listens there. */
class NoAnswer extends Error {}

const noAnswerOf = (url: URL): string =>
  `no answer from ${url.hostname}:${portOf(url)}: the connection failed, took too long, or has no certificate that is trusted for this name`;

const refusalOf = (host: string, address: string, fault: string): string => {
  const what = host === address ? address : `${host} resolves to ${address}, which`;
  return `${what} is ${fault}; an administrator can allow it`;
};

interface Target {
  readonly host: string;
  /** The only addresses to connect to. */
  readonly addresses: readonly LookupAddress[];
  readonly ended: AbortSignal;
  readonly asked: CheckedRequest;
  /** Whether an HTTP response has started. */
  readonly heard: { isResponse: boolean };
}

interface CheckedResponse {
  readonly status: number;
  readonly location: string;
  readonly challenge: string;
  readonly link: string;
  /** Absent if only the status was read. */
  readonly bytes?: Buffer;
}

type Exchange = (CheckedResponse & { readonly kind: 'answered' }) | Exclude<HttpAnswer, { readonly kind: 'answered' }>;

const answerOf = (url: URL, { host, addresses, ended, asked, heard }: Target): Promise<CheckedResponse> =>
  new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : http;
    const request = client.request({
      protocol: url.protocol,
      // The certificate is verified against this name.
      host,
      port: url.port,
      path: `${url.pathname}${url.search}`,
      method: asked.method,
      headers: { accept: '*/*', 'user-agent': 'fairlead', ...asked.headers },
      ...(asked.ca === undefined ? {} : { ca: asked.ca }),
      lookup: lookupOf(addresses),
      // A new connection: no proxy, and no connection of another gate.
      agent: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      signal: ended,
    });
    let informational = 0;
    request.on('information', () => {
      heard.isResponse = true;
      informational += 1;
      if (informational > INFORMATIONAL_MAX) request.destroy(new Error('too many informational answers'));
    });
    request.on('response', (response) => {
      heard.isResponse = true;
      // One packet may contain this response and too many informational ones before it.
      if (informational > INFORMATIONAL_MAX) return void response.destroy();
      const { statusCode: status = 0, headers } = response;
      const { location = '', 'www-authenticate': challenge = '', link: links = '' } = headers;
      const link = [links].flat().join(', ');
      const about = { status, location, challenge, link };
      const { answerBytesMax } = asked;
      if (answerBytesMax !== undefined)
        return void bodyOf(response, answerBytesMax).then((bytes) => resolve({ ...about, bytes }), reject);
      resolve(about);
      response.destroy();
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      heard.isResponse ||= error.code === 'HPE_HEADER_OVERFLOW';
      reject(error);
    });
    request.end(asked.body);
  });

class TooLarge extends Error {}

const bodyOf = async (response: http.IncomingMessage, answerBytesMax: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new TooLarge(`the answer is larger than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const lookupOf =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, options, done) => {
    const [first] = addresses;
    if (options.all === true || first === undefined) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };

/** A resolver cannot be cancelled; its result is ignored instead. */
const unlessEnded = <Result>(work: Promise<Result>, ended: AbortSignal): Promise<Result> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(ended.reason as Error);
    ended.addEventListener('abort', abort, { once: true });
    void work.then(resolve, reject).finally(() => ended.removeEventListener('abort', abort));
  });

/** After attempts on several addresses, each has its own error, and the aggregate has no message. */
const wordsOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join(', ');
  return error instanceof Error ? error.message : String(error);
};
