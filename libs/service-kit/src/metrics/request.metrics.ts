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
    response.once('close', () => {
      const path = request.route?.path;
      metrics.requestEnded({
        method: request.method,
        // By the route's pattern: paths carry names, and any caller may request a path that does not exist.
        route: typeof path === 'string' ? path : 'none',
        status: response.statusCode,
        durationMs: performance.now() - startedAtMs,
      });
    });
    next();
  };
