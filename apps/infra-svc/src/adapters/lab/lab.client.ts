import { PROVIDER_REFUSED, ExternalFailure } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { deadlineAfter } from '@fairlead/service-kit';
import type { Agent } from 'node:http';
import pLimit, { type LimitFunction } from 'p-limit';
import type { z } from 'zod';
import type { ProviderOperation } from '../../providers/provider.ports.js';
import { exchange, keptAlive, wordsOfExchange, type HttpResponse } from '../provider.exchange.js';
import { LabProblem } from './lab.answers.js';

export interface LabLimits {
  /** Limit of concurrent calls, not counting long polls for machines. */
  readonly callsMax: number;
  readonly timeoutMs: number;
}

export interface LabRequest {
  readonly operation: ProviderOperation;
  /** The target of the call, for messages. */
  readonly target: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** How long the lab may hold the response (a long poll). */
  readonly waitMs?: number;
}

const NOT_FOUND = 404;
/** These are worth a retry, unlike any other 4xx. */
const RETRYABLE_4XX: ReadonlySet<number> = new Set([408, 425, 429]);
const CLIENT_ERROR_FIRST = 400;
const SERVER_ERROR_FIRST = 500;

const isRetryable = (status: number): boolean => status >= SERVER_ERROR_FIRST || RETRYABLE_4XX.has(status);

/** An HTTP client of a lab. Every failure is a ExternalFailure; an aborted call rejects with the reason of its signal. */
export class LabClient {
  private readonly limit: LimitFunction;
  private readonly agent: Agent;

  constructor(
    private readonly endpoint: string,
    private readonly token: string | undefined,
    private readonly limits: LabLimits,
  ) {
    this.limit = pLimit(limits.callsMax);
    this.agent = keptAlive(endpoint);
  }

  /** Returns undefined if the resource does not exist. */
  async find<Answer>(request: LabRequest, answer: z.ZodType<Answer>): Promise<Answer | undefined> {
    const response = await this.send(request);
    if (response.status === NOT_FOUND) return undefined;
    return this.read(request, response, answer);
  }

  async get<Answer>(request: LabRequest, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.read(request, await this.send(request), answer);
  }

  /** Idempotent: a missing resource counts as deleted. */
  async delete(request: LabRequest): Promise<void> {
    const response = await this.send(request);
    if (response.status >= CLIENT_ERROR_FIRST && response.status !== NOT_FOUND) throw this.problem(request, response);
  }

  private async send(request: LabRequest): Promise<HttpResponse> {
    const call = () => this.exchange(request);
    return request.waitMs === undefined ? this.limit(call) : call();
  }

  private async exchange({
    operation,
    target,
    method,
    path,
    body,
    signal,
    waitMs = 0,
  }: LabRequest): Promise<HttpResponse> {
    const timeoutMs = this.limits.timeoutMs + waitMs;
    const tooLong = deadlineAfter(timeoutMs);
    try {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const headers = {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(sent === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
      };
      const { agent } = this;
      const ended = AbortSignal.any([signal, tooLong.signal]);
      return await exchange(new URL(path, this.endpoint), { method, headers, agent, signal: ended }, sent);
    } catch (error) {
      signal.throwIfAborted();
      const message = tooLong.signal.aborted ? `no answer within ${timeoutMs} ms` : wordsOfExchange(error);
      throw new ExternalFailure({ operation, target, message: `${this.endpoint}: ${message}`, cause: error });
    } finally {
      tooLong.clear();
    }
  }

  private read<Answer>(request: LabRequest, response: HttpResponse, answer: z.ZodType<Answer>): Answer {
    if (response.status >= CLIENT_ERROR_FIRST) throw this.problem(request, response);
    const parsed = answer.safeParse(jsonOf(response.text));
    if (parsed.success) return parsed.data;
    throw new ExternalFailure({
      operation: request.operation,
      target: request.target,
      message: `${request.method} ${request.path} answered something else than expected: ${parsed.error.message}`,
      retryable: false,
    });
  }

  private problem({ operation, target }: LabRequest, { status, text }: HttpResponse): ExternalFailure {
    const problem = LabProblem.safeParse(jsonOf(text));
    const words = problem.success && problem.data.message !== undefined ? problem.data.message : text;
    const message = words === '' ? `HTTP ${status}` : words;
    const retryable = isRetryable(status);
    const reason = retryable ? undefined : PROVIDER_REFUSED;
    return new ExternalFailure({ operation, target, message, retryable, reason });
  }
}

/** Enough for a page of machines with about 1 KiB each. */
const ANSWER_LENGTH_MAX = 16 * 1_048_576;

/** Returns undefined for invalid JSON; the schema then reports the missing fields. */
export const jsonOf = (text: string): unknown =>
  parseJsonOrUndefined(text, { lengthMax: ANSWER_LENGTH_MAX, valuesMax: 1_000_000 });
