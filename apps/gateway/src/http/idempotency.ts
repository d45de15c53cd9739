import { refuse } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import {
  Inject,
  Injectable,
  SetMetadata,
  type CallHandler,
  type CustomDecorator,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { createHash } from 'node:crypto';
import { catchError, from, mergeMap, of, type Observable } from 'rxjs';
import { canonicalJson } from '../common/json.js';
import type { HttpRequest, HttpResponse } from './http.types.js';
import { IdempotencyStore, type KeyedRequest, type StoredAnswer } from './idempotency.store.js';
import { Refused } from './refused.js';

const IDEMPOTENT = 'fairlead:idempotent';

/** The route understands the header Idempotency-Key. Not for routes whose answer holds a secret: answers are stored. */
export const Idempotent = (): CustomDecorator => SetMetadata(IDEMPOTENT, true);

const KEY = /^[\x21-\x7e]{1,255}$/;
const REPEATED_HEADERS = ['Location', 'X-Fairlead-Seq', 'Preference-Applied'] as const;
const FORGET_EVERY_MS = 10_000;
const FORGET_ROWS_MAX = 10_000;

const keyedRequest = (request: HttpRequest): KeyedRequest | undefined => {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.identity === undefined) return undefined;
  if (Array.isArray(key) || !KEY.test(key)) throw new Refused(refuse('idempotency.key-invalid'));
  const text = `${request.method} ${request.originalUrl}\n${canonicalJson(request.body ?? null)}`;
  return {
    actor: request.identity.actor,
    key,
    requestSha256: createHash('sha256').update(text).digest('hex'),
  };
};

const answerOf = (response: HttpResponse, body: unknown): StoredAnswer => {
  const headers = REPEATED_HEADERS.flatMap((name) => {
    const value = response.getHeader(name);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return { status: response.statusCode, headers: Object.fromEntries(headers), body };
};

/** Carries a keyed request out once; its repetitions get the first answer. What was refused changed nothing and may be tried again. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private forgotAtMs = 0;

  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(IdempotencyStore) private readonly store: IdempotencyStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (this.reflector.get<boolean | undefined>(IDEMPOTENT, context.getHandler()) !== true) return next.handle();
    const http = context.switchToHttp();
    const keyed = keyedRequest(http.getRequest<HttpRequest>());
    if (keyed === undefined) return next.handle();
    const response = http.getResponse<HttpResponse>();
    return from(this.store.claim(keyed, this.clock.now())).pipe(
      mergeMap((claim) => {
        switch (claim.kind) {
          case 'first':
            return this.carryOut(keyed, response, next);
          case 'answered':
            return of(this.repeat(claim.answer, response));
          case 'in-progress':
            throw new Refused(refuse('idempotency.in-progress'));
          case 'other-request':
            throw new Refused(refuse('idempotency.key-reused'));
        }
      }),
    );
  }

  private carryOut(keyed: KeyedRequest, response: HttpResponse, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      mergeMap(async (body: unknown) => {
        await this.store.settle(keyed, answerOf(response, body));
        await this.forgetOld();
        return body;
      }),
      catchError(async (error: unknown) => {
        await this.store.release(keyed);
        throw error;
      }),
    );
  }

  /** Now and then, so that the table stays as small as a day. */
  private async forgetOld(): Promise<void> {
    const now = this.clock.now();
    if (now.getTime() - this.forgotAtMs < FORGET_EVERY_MS) return;
    this.forgotAtMs = now.getTime();
    await this.store.forget(now, FORGET_ROWS_MAX);
  }

  private repeat(answer: StoredAnswer, response: HttpResponse): unknown {
    for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
    response.setHeader('Idempotency-Replayed', 'true');
    response.status(answer.status);
    return answer.body;
  }
}
