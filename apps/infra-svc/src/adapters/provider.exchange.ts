import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Ten times the size of all machines of the largest lab. */
const ANSWER_CHARACTERS_MAX = 256 * 1024 * 1024;

/** For a name with several addresses, only the code describes the failure. */
export const wordsOfExchange = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
};

export const keptAlive = (endpoint: string): HttpAgent =>
  new (endpoint.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive: true });

/**
 * One request to the API of a provider with node:http, which takes half the CPU time of fetch. Follows no redirects.
 */
export const exchange = (
  url: URL,
  options: RequestOptions,
  sent: string | undefined,
  charactersMax = ANSWER_CHARACTERS_MAX,
): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > charactersMax) response.destroy(new Error('the answer is too long'));
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    outgoing.on('error', reject);
    outgoing.end(sent);
  });
