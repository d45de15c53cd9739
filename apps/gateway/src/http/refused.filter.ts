import {
  handoverWords,
  isSource,
  REFUSALS,
  refuse,
  ExternalFailure,
  wordsOf,
  type ErrorView,
  type Refusal,
} from '@fairlead/contracts';
import { LogOwnership, missingRight } from '@fairlead/service-kit';
import { Catch, HttpException, Inject, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { HttpRequest, HttpResponse } from './http.types.js';
import { BODY_LIMIT } from './body.js';
import { isOutage } from './outage.js';
import { RefusalError } from './refusal.error.js';

/** When it may be worth asking again, by status. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 429: 60, 503: 2 };

const TOKEN_REFUSALS: ReadonlySet<string> = new Set([
  'auth.token-missing',
  'auth.token-unknown',
  'auth.token-expired',
  'session.ended',
  'session.code-unknown',
]);

const NOT_FOUND = 404;
const TOO_LARGE = 413;
const UNSUPPORTED_MEDIA_TYPE = 415;
const CLIENT_ERROR_MIN = 400;
const SERVER_ERROR_MIN = 500;

const entryOf = ({ code, message, field, help }: Refusal): ErrorView['errors'][number] => ({
  reason: code,
  message,
  ...(field === undefined ? {} : { field }),
  help: help ?? REFUSALS[code].help,
});

export const errorView = (refusals: readonly [Refusal, ...Refusal[]], requestId: string): ErrorView => ({
  kind: 'Status',
  code: REFUSALS[refusals[0].code].status,
  ...entryOf(refusals[0]),
  errors: refusals.map(entryOf),
  requestId,
});

/** A client error that Nest or Express found: no such route, a body that is not JSON or too large. */
const statusOf = (error: unknown): number | undefined => {
  if (error instanceof HttpException) return error.getStatus();
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' ? status : undefined;
};

type FailureCode = 'system.permission-missing' | 'system.secret-unreadable';

/** undefined: nothing that an administrator has to repair. */
const codeOfWorld = ({ reason, cause }: ExternalFailure): FailureCode | undefined => {
  if (missingRight(cause) !== undefined) return 'system.permission-missing';
  return reason === 'system.secret-unreadable' ? reason : undefined;
};

const refusalOfWorld = (failure: ExternalFailure): Refusal => {
  const { operation, target, message } = failure;
  const code = codeOfWorld(failure);
  if (code === undefined) return refuse('system.unavailable', { detail: `${operation} failed: ${message}` });
  return refuse(code, { operation, target, detail: message });
};

/** Whatever ends a request early becomes the one shape of error that the API has. */
@Catch()
export class RefusedFilter implements ExceptionFilter<unknown> {
  private readonly log = new Logger('http');

  constructor(@Inject(LogOwnership) private readonly ownership: LogOwnership) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<HttpRequest>();
    const response = host.switchToHttp().getResponse<HttpResponse>();
    const refusals = this.refusalsOf(error, request);
    // The head of a stream is out already: all that is left is to end it.
    if (response.headersSent) return void response.end();
    const view = errorView(refusals, request.requestId);
    if (TOKEN_REFUSALS.has(view.reason)) response.setHeader('WWW-Authenticate', 'Bearer realm="fairlead"');
    const retryAfterSeconds =
      (error instanceof RefusalError ? error.retryAfterSeconds : undefined) ?? RETRY_AFTER_SECONDS[view.code];
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
    // The route may have promised another type for its success.
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.status(view.code).json(view);
  }

  private refusalsOf(error: unknown, request: HttpRequest): readonly [Refusal, ...Refusal[]] {
    if (error instanceof RefusalError) return error.refusals;
    const { record } = this.ownership;
    // A read that is recorded, such as that of the administrator's kubeconfig.
    if (error instanceof ExternalFailure && isSource(record))
      return [refuse('installation.handed-over', { detail: handoverWords(record) })];
    if (error instanceof ExternalFailure) {
      this.log.warn(`${request.requestId} ${error.operation} on ${error.target} failed: ${error.message}`);
      return [refusalOfWorld(error)];
    }
    const missing = missingRight(error);
    if (missing !== undefined) {
      this.log.error(`${request.requestId} ${request.method} ${request.path}: ${missing.message}`);
      const { operation, subject: target, message: detail } = missing;
      return [refuse('system.permission-missing', { operation, target, detail })];
    }
    if (isOutage(error)) {
      this.log.warn(`${request.requestId} ${request.method} ${request.path}: ${String(error)}`);
      return [refuse('system.unavailable', { detail: 'NATS or the database does not answer now' })];
    }
    const status = statusOf(error);
    if (status === NOT_FOUND) return [refuse('route.unknown', { method: request.method, path: request.path })];
    if (status === TOO_LARGE) return [refuse('request.too-large', { max: BODY_LIMIT })];
    if (status === UNSUPPORTED_MEDIA_TYPE)
      return [refuse('request.media-type', { type: String(request.headers['content-encoding']) })];
    if (status !== undefined && status >= CLIENT_ERROR_MIN && status < SERVER_ERROR_MIN)
      return [refuse('request.malformed', { detail: wordsOf(error) })];
    this.log.error(
      `${request.requestId} ${request.method} ${request.path}`,
      error instanceof Error ? error.stack : String(error),
    );
    return [refuse('system.internal', { requestId: request.requestId })];
  }
}
