import { currentWork } from '@fairlead/event-sourcing/jetstream';
import type { ServiceMetrics } from './service.metrics.js';

interface Request {
  readonly method: string;
  /** Set by Express when a route matched. */
  readonly route?: { readonly path?: unknown };
}

interface Response {
  readonly statusCode: number;
  once(event: 'close', listener: () => void): unknown;
}

/** Express middleware: records each request when it ends, including those whose client disconnected. */
export const measureRequests =
  (metrics: Pick<ServiceMetrics, 'requestEnded'>) =>
  (request: Request, response: Response, next: () => void): void => {
    const startedAtMs = performance.now();
    // The route's pattern: paths contain names, and clients may request any path.
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
