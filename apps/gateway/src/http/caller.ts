import { repeatable, type Cause } from '@fairlead/event-sourcing';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { apiRules, type ApiRules } from './api.rules.js';
import { isBelowLadybug } from './documented.js';
import type { Identity } from '../access/identity.js';
import { headerText, type HttpRequest, type HttpResponse } from './http.types.js';
import { waitSecondsOf } from './prefer.js';

/** Who asks, under which request id, and how long they want to wait for the outcome. */
export interface Caller {
  readonly identity: Identity;
  readonly requestId: string;
  /** RFC 7240 `Prefer: wait=N`, at most 600 s; 0: answer at once. */
  readonly waitMs: number;
  /** Of a request with an idempotency key: the same for every repetition. */
  readonly commandId: string | undefined;
  /** Of a stream of events: the last that the caller has seen. */
  readonly lastEventId: string | undefined;
  /** Aborts when the caller has gone, or its token ended or was revoked. */
  readonly signal: AbortSignal;
}

const MS_PER_SECOND = 1000;

const callerOf = (request: HttpRequest, response: HttpResponse): Caller => {
  if (request.identity === undefined) throw new Error('the route lets anybody in, so it has no caller');
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  request.tokenEnded?.addEventListener('abort', () => gone.abort(), { once: true });
  if (request.tokenEnded?.aborted === true) gone.abort();
  return {
    identity: request.identity,
    requestId: request.requestId,
    waitMs: (waitSecondsOf(headerText(request.headers.prefer)) ?? 0) * MS_PER_SECOND,
    commandId: request.commandId,
    lastEventId: headerText(request.headers['last-event-id']),
    signal: gone.signal,
  };
};

/** The parameter is the Caller of the request. */
export const FromCaller = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return callerOf(http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>());
});

/** A caller, and the response that it will get. */
export interface Exchange {
  readonly caller: Caller;
  readonly response: HttpResponse;
  /** Of the request, as it came. */
  readonly body: unknown;
  /** Of the base that it came by. */
  readonly rules: ApiRules;
}

/** The parameter is the Exchange: for routes that would have too many parameters with each of its parts. The handler's return value is the body. */
export const FromExchange = createParamDecorator((_data: unknown, context: ExecutionContext): Exchange => {
  const http = context.switchToHttp();
  const response = http.getResponse<HttpResponse>();
  const request = http.getRequest<HttpRequest>();
  const { body, path } = request;
  return { caller: callerOf(request, response), response, body, rules: apiRules(isBelowLadybug(path)) };
});

/**
 * The cause of what follows from a request: the request itself. Its form differs from that of the ids of events, so that no caller can
 * choose a request id that makes an event its cause. A request with an idempotency key has its effect once, whichever replica
 * carries it out, and however often.
 */
export const causeOf = ({
  identity,
  requestId,
  commandId,
}: Pick<Caller, 'identity' | 'requestId'> & Partial<Pick<Caller, 'commandId'>>): Cause => ({
  actor: identity.actor,
  correlationId: `request/${requestId}`,
  causationId: commandId === undefined ? `request/${requestId}` : repeatable(commandId),
});
