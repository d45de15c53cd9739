import { ladybugReasonOf, ExternalFailure, type ClusterList, type ClusterView } from '@fairlead/contracts';
import { deadlineAfter } from '@fairlead/service-kit';
import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { catchError, mergeMap, of, tap, type Observable } from 'rxjs';
import { mayIn } from '../access/identity.js';
import { Kubeconfigs } from '../clusters/kubeconfigs.js';
import type { Caller } from '../http/caller.js';
import { LADYBUG } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { isOutage } from '../http/outage.js';
import { answersClusters } from '../http/recording.js';
import { RefusalError } from '../http/refusal.error.js';
import { inItsWords, ladybugRouteOf, withoutEmpty, withoutUnknown } from './ladybug.rules.js';
import { sentenceOf } from './ladybug.sentences.js';

const BASE = `/${LADYBUG}/`;

const isCluster = (body: ClusterView | ClusterList): body is ClusterView => body.kind === 'Cluster';

/** How many kubeconfigs of a list are asked for at once. */
const AT_ONCE = 16;
/** How long an answer waits for certificates that clusters have yet to sign. */
const CONFIGS_WITHIN_MS = 3_000;

type Reader = Pick<Caller, 'identity' | 'requestId'>;

/** The status of a cluster that was rejected, or failed, says why. */
const worded = (view: ClusterView): ClusterView => {
  const { status } = view;
  const message = sentenceOf(status.reason, status.message);
  return { ...view, status: { ...status, reason: ladybugReasonOf(status.reason), message } };
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const nameIn = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'name' in body ? String(body.name) : '';

const locateBelow = (response: HttpResponse): void => {
  const location = response.getHeader('Location');
  if (typeof location === 'string') response.setHeader('Location', `/${LADYBUG}${location}`);
};

const clean = (request: HttpRequest): void => {
  const { body, query, defaults } = ladybugRouteOf(request.method, request.path.slice(BASE.length).replace(/\/$/, ''));
  const given = withoutEmpty(request.body);
  const known = body === undefined || given === undefined ? given : withoutUnknown(given, body);
  request.body = defaults !== undefined && isObject(known) ? { ...defaults, ...known } : known;
  // Express answers the query again at every access.
  if (query !== undefined)
    Object.defineProperty(request, 'query', { value: withoutUnknown(withoutEmpty(request.query), query) });
};

/** Below CB-Ladybug's base its clients find what they know: their bodies are understood, and answers have its fields, words and addresses. */
@Injectable()
export class LadybugInterceptor implements NestInterceptor {
  constructor(
    @Inject(Kubeconfigs) private readonly kubeconfigs: Kubeconfigs,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    if (!request.path.startsWith(BASE)) return next.handle();
    clean(request);
    // By what the route declares: a manifest is of the kind Cluster, too.
    const hasClusters = answersClusters(this.reflector, context.getHandler());
    const response = http.getResponse<HttpResponse>();
    return next.handle().pipe(
      catchError((error: unknown) => {
        throw error instanceof RefusalError ? this.reworded(error, request) : error;
      }),
      tap(() => locateBelow(response)),
      mergeMap((body: unknown) =>
        hasClusters ? this.answer(body as ClusterView | ClusterList, request, response) : of(body),
      ),
    );
  }

  private reworded(
    { refusals: [first, ...others] }: RefusalError,
    { method, params, body }: HttpRequest,
  ): RefusalError {
    const { namespace = '', cluster, node } = params;
    const about = node === undefined ? {} : { node };
    const place = { method, namespace, cluster: cluster ?? nameIn(body), ...about, addsNodes: cluster !== undefined };
    return new RefusalError(inItsWords(first, place), ...others.map((other) => inItsWords(other, place)));
  }

  private async answer(
    body: ClusterView | ClusterList,
    request: HttpRequest,
    response: HttpResponse,
  ): Promise<unknown> {
    const view = isCluster(body) ? worded(body) : { ...body, items: body.items.map(worded) };
    const { identity, requestId } = request;
    if (identity === undefined || !mayIn(identity, 'operator', request.params['namespace'] ?? '')) return view;
    response.setHeader('Cache-Control', 'no-store');
    const reader = { identity, requestId };
    const late = deadlineAfter(CONFIGS_WITHIN_MS);
    try {
      return await this.withConfigs(view, reader, late.signal);
    } finally {
      late.clear();
    }
  }

  /** Certificates that are not there when the time is over are in the next answer. */
  private async withConfigs(body: ClusterView | ClusterList, reader: Reader, late: AbortSignal): Promise<unknown> {
    if (isCluster(body)) return this.withConfig(body, reader, late);
    const items: ClusterView[] = [];
    for (let at = 0; at < body.items.length; at += AT_ONCE) {
      const some = body.items.slice(at, at + AT_ONCE);
      items.push(...(await Promise.all(some.map((item) => this.withConfig(item, reader, late)))));
    }
    return { ...body, items };
  }

  private async withConfig(view: ClusterView, reader: Reader, late: AbortSignal): Promise<ClusterView> {
    const { uid } = view;
    const place = { namespace: view.namespace, cluster: view.name, uid };
    try {
      const patience = { waitMs: late.aborted ? 0 : CONFIGS_WITHIN_MS, signal: late };
      return { ...view, clusterConfig: (await this.kubeconfigs.polled(place, reader, patience)) ?? '' };
    } catch (error) {
      if (error instanceof RefusalError) return { ...view, clusterConfig: '' };
      // The rest of the answer comes from our rows, and needs no log.
      if (error instanceof ExternalFailure || isOutage(error)) return { ...view, clusterConfig: '' };
      throw error;
    }
  }
}
