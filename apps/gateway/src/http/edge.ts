import { refuse, type Refusal } from '@fairlead/contracts';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { headerText, type HttpRequest, type HttpResponse } from './http.types.js';
import { isLenient, waitSecondsOf } from './prefer.js';
import { RefusalError } from './refusal.error.js';
import { recordFault } from './text.js';

/** What Express says about a path that belongs to a route. */
interface Match {
  readonly params: Readonly<Record<string, string>>;
}

/** What is used of a layer of Express' router. */
interface Layer {
  match(path: string): Match | false;
  readonly route?: { readonly methods: Readonly<Record<string, boolean | undefined>> };
}

interface Router {
  readonly router: { readonly stack: readonly Layer[] };
}

/** The headers that the gateway reads as text and records or repeats. */
const HEADERS_READ = ['x-request-id', 'idempotency-key', 'prefer', 'last-event-id'] as const;

const NO_CONTENT = 204;

const decodes = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

const encodingFault = ({ originalUrl }: HttpRequest): Refusal | undefined => {
  const [path = '', ...query] = originalUrl.split('?');
  if (!decodes(path)) return refuse('request.malformed', { detail: 'The path is not percent-encoded UTF-8' });
  if (decodes(query.join('?'))) return undefined;
  return refuse('request.malformed', { detail: 'The query is not percent-encoded UTF-8' });
};

/** Conditions of a change. Ignored, they would let a change through that its sender has forbidden. */
const CONDITIONS = ['if-match', 'if-none-match', 'if-unmodified-since'] as const;
const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

const conditionFault = (request: HttpRequest): Refusal | undefined => {
  const { method, headers } = request;
  const name =
    READS.includes(method) || isLenient(request) ? undefined : CONDITIONS.find((one) => headers[one] !== undefined);
  if (name === undefined) return undefined;
  const detail = `A change takes no ${name}: an ETag tells whether a response is another one. Send the metadata.resourceVersion that you have read`;
  return refuse('request.malformed', { detail }, name);
};

const headerFault = (request: HttpRequest): Refusal | undefined => {
  const read = HEADERS_READ.flatMap((name) => {
    const text = headerText(request.headers[name]);
    return text === undefined ? [] : [[name, text] as const];
  });
  const fault = recordFault(Object.fromEntries(read));
  if (fault !== undefined) return fault;
  if (isLenient(request) || waitSecondsOf(headerText(request.headers.prefer)) !== undefined) return undefined;
  return refuse('request.malformed', { detail: 'Prefer is not of the form wait=<seconds> (RFC 7240)' }, 'prefer');
};

const allowed = (layers: readonly Layer[]): readonly string[] => {
  const methods = new Set(
    layers.flatMap(({ route }) => Object.keys(route?.methods ?? {})).map((method) => method.toUpperCase()),
  );
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
};

/**
 * The first that a request meets: its path belongs to a route, the route has its method, and whatever of it is not the body is
 * text that can be stored. Nothing has been read or asked for it yet.
 */
export const checkEdge = (app: NestExpressApplication) => {
  const { router } = app.getHttpAdapter().getInstance() as Router;
  return (request: HttpRequest, response: HttpResponse, next: () => void): void => {
    const { method, path } = request;
    const malformed = encodingFault(request);
    if (malformed !== undefined) throw new RefusalError(malformed);
    const found = router.stack.flatMap((layer) => {
      const match = layer.route === undefined ? false : layer.match(path);
      return match === false ? [] : [{ layer, match }];
    });
    if (found.length === 0) throw new RefusalError(refuse('route.unknown', { method, path }));
    const methods = allowed(found.map(({ layer }) => layer));
    if (!methods.includes(method)) {
      response.setHeader('Allow', methods.join(', '));
      if (method === 'OPTIONS') return void response.status(NO_CONTENT).end();
      throw new RefusalError(refuse('route.method', { method, path, allow: methods.join(', ') }));
    }
    const params = Object.assign({}, ...found.map(({ match }) => match.params)) as Match['params'];
    const fault = recordFault(params) ?? recordFault(request.query) ?? conditionFault(request) ?? headerFault(request);
    if (fault !== undefined) throw new RefusalError(fault);
    next();
  };
};
