import { ResponseContext, wrapHttpLibrary, type RequestContext } from '@kubernetes/client-node';
import { request, type RequestOptions } from 'node:https';

/** 500 objects of the largest size that etcd takes would be more; 500 pods are a few megabytes. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Bound {
  readonly bytesMax: number;
  /** What is longer is cut off, and else an error. */
  readonly cutOff: boolean;
}

/**
 * One request over TLS to exactly this address. A redirect is a response like any other: a cluster's server must not choose
 * what the platform connects to.
 */
export const ask = (
  url: URL,
  options: Omit<RequestOptions, 'headers'> & {
    readonly headers?: Readonly<Record<string, string>>;
    readonly sent?: string | Buffer | undefined;
  },
  { bytesMax, cutOff }: Bound,
): Promise<HttpAnswer> =>
  new Promise((resolve, reject) => {
    const { sent, headers, ...rest } = options;
    // Node sets the length itself for some methods only, and a DELETE has a body here.
    const length = sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) };
    const outgoing = request(url, { ...rest, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= bytesMax) chunks.push(chunk);
        else if (!cutOff) response.destroy(new Error(`the answer has more than ${bytesMax} bytes`));
      });
      response.on('error', reject);
      response.on('end', () => {
        const named = Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(named) as Record<string, string>,
          body: Buffer.concat(chunks),
        });
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
  const answer = await ask(new URL(context.getUrl()), options, { bytesMax: ANSWER_BYTES_MAX, cutOff: false });
  return new ResponseContext(
    answer.status,
    { ...answer.headers },
    {
      text: () => Promise.resolve(answer.body.toString('utf8')),
      binary: () => Promise.resolve(answer.body),
    },
  );
};

/** How requests of @kubernetes/client-node are sent; its own way follows redirects and takes answers of any length. */
export const httpLibrary = wrapHttpLibrary({ send });
