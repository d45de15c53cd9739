import { deadlineAfter } from '@fairlead/service-kit';
import type { Agent } from 'node:http';
import { Readable } from 'node:stream';
import { exchange, keptAlive, wordsOfExchange } from '../provider.exchange.js';

/** The members of a signed request of the SDK that are sent. */
interface SignedRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** No answer of AWS: none at all, or that of a proxy. Safe to show. */
export class NotAws extends Error {
  constructor(
    message: string,
    /** 0: no answer. */
    readonly status: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'NotAws';
  }
}

const ANSWER_CHARACTERS_MAX = 16 * 1_048_576;
const BEGIN_MAX = 512;
const OK_FIRST = 200;
const OK_LAST = 299;

const actionIn = (body: unknown): string => new URLSearchParams(String(body ?? '')).get('Action') ?? '';

/** The title of a page that a proxy answers with. */
export const titleIn = (text: string): string =>
  /<title>([^<]{1,200})<\/title>/i.exec(text.slice(0, BEGIN_MAX))?.[1]?.trim() ?? '';

/**
 * Whether this is the whole answer to an action. The SDK reads a page, or the beginning of an answer, as an answer in
 * which nothing is: every machine would be gone.
 */
export const isAnswerTo = (action: string, status: number, text: string): boolean => {
  const [begin, end] = [text.slice(0, BEGIN_MAX), text.slice(-BEGIN_MAX).trimEnd()];
  if (status < OK_FIRST || status > OK_LAST) return begin.includes('<Code>') || text.includes('<Code>');
  return begin.includes(`<${action}Response`) && end.endsWith(`</${action}Response>`);
};

/** How the SDK sends requests: with one time limit and one size limit for each, over connections that are kept. */
export const boundedHandler = (timeoutMs: number) => {
  const agents = new Map<string, Agent>();
  const agentOf = (origin: string): Agent => {
    const agent = agents.get(origin) ?? keptAlive(origin);
    agents.set(origin, agent);
    return agent;
  };

  return {
    metadata: { handlerProtocol: 'http/1.1' },

    handle: async (request: SignedRequest, { abortSignal }: { readonly abortSignal?: AbortSignal } = {}) => {
      const { method, protocol, hostname, port, path, headers } = request;
      const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
      for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, String(value ?? ''));
      const body = request.body === undefined || request.body === null ? undefined : String(request.body);
      const action = actionIn(body);
      const late = deadlineAfter(timeoutMs);
      const signal = abortSignal === undefined ? late.signal : AbortSignal.any([abortSignal, late.signal]);
      try {
        const options = { method, headers, agent: agentOf(url.origin), signal };
        const response = await exchange(url, options, body, ANSWER_CHARACTERS_MAX);
        const { status, text } = response;
        if (!isAnswerTo(action, status, text)) throw new NotAws(titleIn(text) || `no answer to ${action}`, status);
        return {
          response: { statusCode: status, headers: response.headers, body: Readable.from([Buffer.from(text)]) },
        };
      } catch (error) {
        abortSignal?.throwIfAborted();
        if (error instanceof NotAws) throw error;
        const words = late.signal.aborted ? `no answer within ${timeoutMs} ms` : wordsOfExchange(error);
        throw new NotAws(`${url.origin}: ${words}`, 0, { cause: error });
      } finally {
        late.clear();
      }
    },

    destroy: (): void => {
      for (const agent of agents.values()) agent.destroy();
    },
    updateHttpClientConfig: (): void => undefined,
    httpHandlerConfigs: () => ({}),
  };
};
