import { WorldFailure } from '@fairlead/contracts';
import { deadlineAfter } from '@fairlead/service-kit';
import pLimit, { type LimitFunction } from 'p-limit';
import type { z } from 'zod';
import type { ProviderOperation } from '../../providers/provider.ports.js';
import { LabProblem } from './lab.answers.js';

export interface LabLimits {
  /** Calls under way at a time; waiting for machines does not count. */
  readonly callsMax: number;
  readonly timeoutMs: number;
}

export interface LabRequest {
  readonly operation: ProviderOperation;
  /** On what, in words for a person. */
  readonly target: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** How long the lab itself may hold the answer back (a long poll). */
  readonly waitMs?: number;
}

const NOT_FOUND = 404;
/** Asking again can help against these, and not against any other 4xx. */
const RETRYABLE_4XX: ReadonlySet<number> = new Set([408, 425, 429]);
const CLIENT_ERROR_FIRST = 400;
const SERVER_ERROR_FIRST = 500;

const isRetryable = (status: number): boolean => status >= SERVER_ERROR_FIRST || RETRYABLE_4XX.has(status);

/** fetch says only "fetch failed"; what happened is in its causes. */
const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${wordsOf(error.cause)}`;
};

/** HTTP to a lab. Every failure is a WorldFailure; an aborted call rejects with the reason of its signal. */
export class LabClient {
  private readonly limit: LimitFunction;

  constructor(
    private readonly endpoint: string,
    private readonly token: string | undefined,
    private readonly limits: LabLimits,
  ) {
    this.limit = pLimit(limits.callsMax);
  }

  /** undefined: the lab says that the resource does not exist. */
  async find<Answer>(request: LabRequest, answer: z.ZodType<Answer>): Promise<Answer | undefined> {
    const response = await this.send(request);
    if (response.status === NOT_FOUND) return undefined;
    return this.read(request, response, answer);
  }

  async get<Answer>(request: LabRequest, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.read(request, await this.send(request), answer);
  }

  /** Gone is gone, whoever deleted it. */
  async delete(request: LabRequest): Promise<void> {
    const response = await this.send(request);
    if (response.status >= CLIENT_ERROR_FIRST && response.status !== NOT_FOUND) throw this.problem(request, response);
  }

  private async send(request: LabRequest): Promise<{ readonly status: number; readonly text: string }> {
    const call = () => this.exchange(request);
    return request.waitMs === undefined ? this.limit(call) : call();
  }

  private async exchange({ operation, target, method, path, body, signal, waitMs = 0 }: LabRequest): Promise<{
    readonly status: number;
    readonly text: string;
  }> {
    const timeoutMs = this.limits.timeoutMs + waitMs;
    const tooLong = deadlineAfter(timeoutMs);
    try {
      const response = await fetch(new URL(path, this.endpoint), {
        method,
        headers: {
          ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, tooLong.signal]),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      signal.throwIfAborted();
      const message = tooLong.signal.aborted ? `no answer within ${timeoutMs} ms` : wordsOf(error);
      throw new WorldFailure({ operation, target, message: `${this.endpoint}: ${message}`, cause: error });
    } finally {
      tooLong.clear();
    }
  }

  private read<Answer>(
    request: LabRequest,
    response: { readonly status: number; readonly text: string },
    answer: z.ZodType<Answer>,
  ): Answer {
    if (response.status >= CLIENT_ERROR_FIRST) throw this.problem(request, response);
    const parsed = answer.safeParse(jsonOf(response.text));
    if (parsed.success) return parsed.data;
    throw new WorldFailure({
      operation: request.operation,
      target: request.target,
      message: `${request.method} ${request.path} answered something else than expected: ${parsed.error.message}`,
      retryable: false,
    });
  }

  private problem(
    { operation, target }: LabRequest,
    { status, text }: { readonly status: number; readonly text: string },
  ): WorldFailure {
    const problem = LabProblem.safeParse(jsonOf(text));
    const words = problem.success && problem.data.message !== undefined ? problem.data.message : text;
    const message = words === '' ? `HTTP ${status}` : words;
    return new WorldFailure({ operation, target, message, retryable: isRetryable(status) });
  }
}

/** undefined for what is not JSON: the schema then says what is missing. */
const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};
