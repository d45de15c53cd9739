import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { createSecureContext } from 'node:tls';
import type { KubeAccess } from './kubeconfig.js';

const ANSWER_TIMEOUT_MS = 10_000;
export const BODY_LENGTH_MAX = 4 * 1024 * 1024;
/** TCP keep-alive probes detect a peer that vanished. */
const KEEP_ALIVE_MS = 15_000;

export interface KubeAnswer {
  readonly status: number;
  readonly body: string;
}

/** Without a search of all that has arrived for each chunk: a server may send a long line byte by byte. */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const [first = '', ...others] = chunk.split('\n');
    rest += first;
    for (const line of others) {
      if (rest !== '') yield rest;
      rest = line;
    }
    if (rest.length > BODY_LENGTH_MAX) throw new Error('a line is too long');
  }
}

/** The four API calls that an agent makes, with the kubelet's certificate. Not a general client library. */
export class KubeClient {
  private readonly agent: Agent;

  constructor(private readonly access: KubeAccess) {
    const { ca, cert, key } = access;
    this.agent = new Agent({
      // Created once: parsing the certificates is most of the cost of a new connection.
      secureContext: createSecureContext({ cert, key, ...(ca === undefined ? {} : { ca }) }),
      keepAlive: true,
      keepAliveMsecs: KEEP_ALIVE_MS,
    });
  }

  /** Resolves for any response status; rejects with ExternalFailure if there is no response. */
  async ask(method: 'GET' | 'PATCH', path: string, body?: object): Promise<KubeAnswer> {
    const response = await this.send(method, path, body);
    let text = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) {
        text += chunk as string;
        if (text.length > BODY_LENGTH_MAX) throw new Error('the answer is too long');
      }
    } catch (error) {
      throw this.failure(method, path, error);
    }
    return { status: response.statusCode ?? 0, body: text };
  }

  /** Yields the lines of a watch until the server or `signal` ends it. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.send('GET', path, undefined, signal);
    response.setEncoding('utf8');
    if (response.statusCode !== 200) {
      response.destroy();
      throw this.failure('watch', path, new Error(`HTTP ${response.statusCode ?? 0}`));
    }
    try {
      yield* linesOf(response as AsyncIterable<string>);
    } catch (error) {
      if (!signal.aborted) throw this.failure('watch', path, error);
    }
  }

  /** Closes all connections. The next request opens a new one. */
  disconnect(): void {
    this.agent.destroy();
  }

  private send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/merge-patch+json' }),
      };
      const url = new URL(path, this.access.server);
      const options = { method, headers, agent: this.agent, ...(signal === undefined ? {} : { signal }) };
      const sent = request(url, options, (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      const timer = setTimeout(
        () => sent.destroy(new Error(`no answer after ${ANSWER_TIMEOUT_MS} ms`)),
        ANSWER_TIMEOUT_MS,
      );
      sent.on('error', (error) => {
        clearTimeout(timer);
        reject(this.failure(method, path, error));
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  private failure(operation: string, path: string, error: unknown): ExternalFailure {
    const message = wordsOf(error);
    return new ExternalFailure({
      operation: `${operation} ${path}`,
      target: this.access.server,
      message,
      cause: error,
    });
  }
}
