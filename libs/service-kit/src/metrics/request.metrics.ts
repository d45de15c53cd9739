import { currentWork } from '@fairlead/event-sourcing/jetstream';
import type { ServiceMetrics } from './service.metrics.js';

interface Request {
  readonly method: string;
  /** Express sets it when a route was found. */
  readonly route?: { readonly path?: unknown };
}

interface Response {
  readonly statusCode: number;
  once(event: 'close', listener: () => void): unknown;
}

/** Express middleware: records each request when it is over, also when its caller hung up. */
export const measureRequests =
  (metrics: Pick<ServiceMetrics, 'requestEnded'>) =>
  (request: Request, response: Response, next: () => void): void => {
    const startedAtMs = performance.now();
    // By the route's pattern: paths carry names, and any caller may request a path that does not exist.
    const routeOf = (): string => (typeof request.route?.path === 'string' ? request.route.path : 'none');
    const end = currentWork.begin(() => `${request.method} ${routeOf()}`);
    response.once('close', () => {
      end();
      metrics.requestEnded({
        method: request.method,
        route: routeOf(),
        status: response.statusCode,
        durationMs: performance.now() - startedAtMs,
      });
    });
    next();
  };
