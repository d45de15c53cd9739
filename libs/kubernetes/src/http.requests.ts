import { ResponseContext, wrapHttpLibrary, type RequestContext } from '@kubernetes/client-node';
import { request, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { refuseDenseJson } from './json.bounds.js';

const MEBIBYTE = 1024 * 1024;

/** One object: etcd limits it to 1.5 MiB, and its JSON with managed fields may be twice as long. */
export const OBJECT_BYTES_MAX = 4 * MEBIBYTE;
const BUFFER_FIRST_BYTES = 64 * 1024;

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A response that exceeded its limit and was not read to its end. */
export class AnswerTooLarge extends Error {
  constructor(readonly bytesMax: number) {
    super(`it answered with more than ${bytesMax / MEBIBYTE} MiB`);
    this.name = 'AnswerTooLarge';
  }
}

/** Receives the chunks of a response while it arrives. */
export interface AnswerReader<Body> {
  /** Called once, with the length announced by the server. */
  begin(bytes: number | undefined): void;
  take(chunk: Buffer): void;
  end(): Body;
}

/**
 * Rejects a response longer than `bytesMax` as soon as that is known. Copies, because small chunks would each retain a
 * large buffer. Reusable for several responses; each is valid until the next one begins.
 */
export class WholeBody implements AnswerReader<Buffer> {
  private body = Buffer.alloc(0);
  private length = 0;

  constructor(private readonly bytesMax: number) {}

  begin(bytes: number | undefined): void {
    this.length = 0;
    if (bytes !== undefined && bytes > this.bytesMax) throw new AnswerTooLarge(this.bytesMax);
  }

  take(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.bytesMax) throw new AnswerTooLarge(this.bytesMax);
    if (length > this.body.length) this.grow(length);
    chunk.copy(this.body, this.length);
    this.length = length;
  }

  end(): Buffer {
    return this.body.subarray(0, this.length);
  }

  private grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.max(length, this.body.length * 2, BUFFER_FIRST_BYTES));
    this.body.copy(larger, 0, 0, this.length);
    this.body = larger;
  }
}

type Request = Omit<RequestOptions, 'headers'> & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly sent?: string | Buffer | undefined;
};

const headersOf = (response: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]));

const lengthOf = (response: IncomingMessage): number | undefined => {
  const length = Number(response.headers['content-length'] ?? Number.NaN);
  return Number.isNaN(length) ? undefined : length;
};

/** Responses are never decompressed: a few kilobytes can expand to gigabytes. */
const refuseEncoding = (response: IncomingMessage): void => {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new Error('its answer is compressed, which was not requested');
};

/**
 * One request over TLS to exactly this address. A redirect is a response like any other: a cluster's server must not
 * choose what the platform connects to. An exception of the reader closes the connection.
 */
export const ask = <Body>(
  url: URL,
  { sent, headers, ...rest }: Request,
  reader: AnswerReader<Body>,
): Promise<Omit<HttpAnswer, 'body'> & { readonly body: Body }> =>
  new Promise((resolve, reject) => {
    // Node sets the length itself only for some methods, and a DELETE has a body here.
    const length = sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) };
    const outgoing = request(url, { ...rest, headers: { ...headers, ...length } }, (response) => {
      const orDestroy = (work: () => void): void => {
        try {
          work();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          response.destroy();
        }
      };
      response.on('error', reject);
      // A connection that ends during a response is not an error of the response in every version of Node.
      response.on('close', () => reject(new Error('the connection ended before the answer did')));
      response.on('data', (chunk: Buffer) => orDestroy(() => reader.take(chunk)));
      response.on('end', () =>
        orDestroy(() =>
          resolve({ status: response.statusCode ?? 0, headers: headersOf(response), body: reader.end() }),
        ),
      );
      orDestroy(() => {
        refuseEncoding(response);
        reader.begin(lengthOf(response));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(sent);
  });

const send = async (context: RequestContext): Promise<ResponseContext> => {
  const body = context.getBody();
  if (body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new Error('a request to a cluster has text or bytes as its body');
  const options = {
    method: context.getHttpMethod().toString(),
    headers: context.getHeaders(),
    agent: context.getAgent(),
    signal: context.getSignal(),
    sent: body,
  };
  const answer = await ask(new URL(context.getUrl()), options, new WholeBody(OBJECT_BYTES_MAX));
  refuseDenseJson(answer.body);
  return new ResponseContext(
    answer.status,
    { ...answer.headers },
    {
      text: () => Promise.resolve(answer.body.toString('utf8')),
      binary: () => Promise.resolve(answer.body),
    },
  );
};

/**
 * Sends the requests of @kubernetes/client-node; its own implementation follows redirects and accepts responses of any
 * length.
 */
export const httpLibrary = wrapHttpLibrary({ send });
