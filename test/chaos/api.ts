import { setTimeout as sleep } from 'node:timers/promises';

const CALL_TIMEOUT_MS = 20_000;
const RETRY_MS = 250;

export interface ApiResponse<Body> {
  readonly status: number;
  readonly body: Body;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** Idempotency key. */
  readonly key?: string;
}

/** A patient client: requests without an answer, or with "not now", are retried with the same key. */
export class ChaosApi {
  constructor(
    private readonly server: string,
    private readonly token: () => string,
  ) {}

  /** The first answer that is not an outage. Throws at the deadline with the last reason. */
  async ask<Body>(request: Request, timeoutMs: number): Promise<ApiResponse<Body>> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const answer = await this.once<Body>(request);
      if (typeof answer !== 'string' && !isNotNow(answer)) return answer;
      if (Date.now() > deadline) {
        const last = typeof answer === 'string' ? answer : `${answer.status} ${JSON.stringify(answer.body)}`;
        throw new Error(`${request.method} ${request.path} was not answered within ${timeoutMs / 1_000} s: ${last}`);
      }
      await sleep(RETRY_MS);
    }
  }

  private async once<Body>({ method, path, body, key }: Request): Promise<ApiResponse<Body> | string> {
    try {
      const response = await fetch(`${this.server}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.token()}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      });
      const text = await response.text();
      return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as Body };
    } catch (error) {
      return String(error instanceof Error ? (error.cause ?? error) : error);
    }
  }
}

/** An outage, too many requests, or the first attempt with this key, which was cut off and may still be in progress. */
const isNotNow = ({ status, body }: ApiResponse<unknown>): boolean =>
  status >= 500 ||
  status === 429 ||
  (status === 409 && (body as { readonly reason?: string } | undefined)?.reason === 'idempotency.in-progress');
