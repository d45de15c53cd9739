/** A request as route handlers receive it: the parameters of the path, the query and the parsed body. */
export interface ApiRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** The token of the header, where a route has a use for it. */
  readonly bearer?: string | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body?: unknown;
  /** Of a redirect. */
  readonly location?: string;
}

export interface Route {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** For example `/v1/machines/:id/power`. */
  readonly path: string;
  handle(request: ApiRequest): Promise<ApiAnswer> | ApiAnswer;
}

export interface RouteMatch {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Returns the route of a path, or `other-method` if the path exists only for another method. */
export const findRoute = (
  routes: readonly Route[],
  method: string,
  path: string,
): RouteMatch | 'other-method' | undefined => {
  let otherMethod = false;
  for (const route of routes) {
    const parameters = matchPath(route.path, path);
    if (parameters === undefined) continue;
    if (route.method === method) return { route, parameters };
    otherMethod = true;
  }
  return otherMethod ? 'other-method' : undefined;
};

const matchPath = (pattern: string, path: string): Readonly<Record<string, string>> | undefined => {
  const desired = pattern.split('/');
  const given = path.split('/');
  if (desired.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, part] of desired.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) parameters[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return undefined;
  }
  return parameters;
};
