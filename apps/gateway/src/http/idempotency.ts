import { refuse, wordsOf, type RefusalCode } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import {
  Inject,
  Injectable,
  Logger,
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
import { openBody, sealBody, type Opener } from './answer.seal.js';
import type { HttpRequest, HttpResponse } from './http.types.js';
import { IdempotencyStore, type KeyedRequest, type Lease, type StoredAnswer } from './idempotency.store.js';
import { isOutage } from './outage.js';
import { RefusalError } from './refusal.error.js';

const IDEMPOTENT = 'fairlead:idempotent';

/** How the answer is stored until it is given again; sealed: it holds a secret, which only its caller can open. */
type Stored = 'plain' | 'sealed';

/** The route understands the header Idempotency-Key. */
export const Idempotent = (stored: Stored = 'plain'): CustomDecorator => SetMetadata(IDEMPOTENT, stored);

/** What a route that understands the header may refuse because of it. */
export const IDEMPOTENCY_REFUSALS = [
  'idempotency.key-invalid',
  'idempotency.key-reused',
  'idempotency.in-progress',
] as const satisfies readonly RefusalCode[];

/** What every change by a decider may refuse besides. */
export const CHANGE_REFUSALS = [
  'conflict.concurrent',
  ...IDEMPOTENCY_REFUSALS,
] as const satisfies readonly RefusalCode[];

const KEY = /^[\x21-\x7e]{1,255}$/;
const REPEATED_HEADERS = ['Location', 'X-Fairlead-Seq', 'Preference-Applied'] as const;
const FORGET_EVERY_MS = 10_000;
const FORGET_ROWS_MAX = 10_000;

const keyedRequest = (request: HttpRequest): KeyedRequest | undefined => {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.identity === undefined) return undefined;
  if (Array.isArray(key) || !KEY.test(key)) throw new RefusalError(refuse('idempotency.key-invalid'));
  const text = `${request.method} ${request.originalUrl}\n${canonicalJson(request.body ?? null)}`;
  return {
    actor: request.identity.actor,
    key,
    requestSha256: createHash('sha256').update(text).digest('hex'),
  };
};

interface Claimed {
  readonly keyed: KeyedRequest;
  readonly lease: Lease;
  /** undefined: the answer holds no secret. */
  readonly opener: Opener | undefined;
}

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
  private readonly log = new Logger('http');
  private forgotAtMs = 0;

  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(IdempotencyStore) private readonly store: IdempotencyStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const stored = this.reflector.get<Stored | undefined>(IDEMPOTENT, context.getHandler());
    if (stored === undefined) return next.handle();
    const http = context.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    const keyed = keyedRequest(request);
    if (keyed === undefined) return next.handle();
    const opener = stored === 'plain' ? undefined : { bearer: request.headers.authorization ?? '', key: keyed.key };
    const response = http.getResponse<HttpResponse>();
    return from(this.store.claim(keyed, this.clock.now())).pipe(
      mergeMap((claim) => {
        switch (claim.kind) {
          case 'held':
            request.commandId = claim.lease.commandId;
            return this.carryOut({ keyed, lease: claim.lease, opener }, response, next);
          case 'answered':
            return of(this.repeat(claim.answer, opener, response));
          case 'in-progress':
            throw new RefusalError(refuse('idempotency.in-progress'));
          case 'other-request':
            throw new RefusalError(refuse('idempotency.key-reused'));
        }
      }),
    );
  }

  private carryOut({ keyed, lease, opener }: Claimed, response: HttpResponse, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError(async (error: unknown) => {
        await this.store.release(lease);
        throw error;
      }),
      mergeMap(async (body: unknown) => {
        await this.settle(
          { keyed, lease, opener },
          answerOf(response, opener === undefined ? body : sealBody(body, opener)),
        );
        return body;
      }),
    );
  }

  /** What was carried out is answered, also when its answer cannot be kept: a repetition finds what was recorded in the log. */
  private async settle({ keyed, lease }: Claimed, answer: StoredAnswer): Promise<void> {
    try {
      await this.store.settle(lease, answer);
      await this.forgetOld();
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.log.warn(`the answer to an idempotency key of ${keyed.actor} was not kept: ${wordsOf(error)}`);
    }
  }

  /** Now and then, so that the table stays as small as a day. */
  private async forgetOld(): Promise<void> {
    const now = this.clock.now();
    if (now.getTime() - this.forgotAtMs < FORGET_EVERY_MS) return;
    this.forgotAtMs = now.getTime();
    await this.store.forget(now, FORGET_ROWS_MAX);
  }

  private repeat(answer: StoredAnswer, opener: Opener | undefined, response: HttpResponse): unknown {
    const opened = opener === undefined ? answer : openBody(answer.body, opener);
    if (opened === undefined) throw new RefusalError(refuse('idempotency.key-reused'));
    for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
    response.setHeader('Idempotency-Replayed', 'true');
    response.status(answer.status);
    return opened.body;
  }
}
