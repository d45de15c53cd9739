import type { paths, Schemas } from '@fairlead/api-client';
import createClient from 'openapi-fetch';

export type { Schemas };
export type Cluster = Schemas['Cluster'];
export type FleetRow = Schemas['FleetRow'];
export type Operation = Schemas['Operation'];
export type Upgrade = Schemas['Upgrade'];
export type Whoami = Schemas['Whoami'];
export type ApiError = Schemas['Error'];

/** A refusal of the gateway, in its words. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly view: ApiError,
  ) {
    super(view.message);
    this.name = 'Refusal';
  }
}

/** Since when the gateway does not answer; undefined: it does. */
export interface Reachability {
  readonly downSinceMs: number | undefined;
}
type Listener = () => void;

const listeners = new Set<Listener>();
let reachability: Reachability = { downSinceMs: undefined };
const setDown = (isDown: boolean): void => {
  if (isDown === (reachability.downSinceMs !== undefined)) return;
  reachability = { downSinceMs: isDown ? Date.now() : undefined };
  for (const listener of listeners) listener();
};
export const reachable = {
  subscribe: (listener: Listener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  current: (): Reachability => reachability,
};

const UNAVAILABLE: ReadonlySet<number> = new Set([502, 503, 504]);

const watched = async (request: Request): Promise<Response> => {
  try {
    const response = await fetch(request);
    setDown(UNAVAILABLE.has(response.status));
    return response;
  } catch (error) {
    if (!request.signal.aborted) setDown(true);
    throw error;
  }
};

/** The gateway that served this page, by the session of this browser. The prefix of a proxy stays before its routes. */
export const api = createClient<paths>({
  baseUrl: new URL('.', document.baseURI).href.replace(/\/$/, ''),
  fetch: watched,
});

/** The data of an answer; throws the refusal. */
export const dataOf = async <Data>(
  answer: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> => {
  const { data, error, response } = await answer;
  if (response.ok) return data as Data;
  const fallback = { kind: 'Status', code: response.status, reason: 'http', message: `HTTP ${response.status}` };
  const view =
    typeof error === 'object' && error !== null ? error : { ...fallback, help: '', errors: [], requestId: '' };
  throw new Refusal(response.status, view as ApiError);
};

export const isSignedOut = (error: unknown): boolean => error instanceof Refusal && error.status === 401;

const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Whether the caller has the role in a namespace; `*`: in all. What it has not is not offered. */
export const may = (who: Whoami | undefined, role: Role, namespace: string): boolean =>
  who?.roles.some(
    (grant) =>
      (grant.namespace === '*' || grant.namespace === namespace) && ROLES.indexOf(grant.role) >= ROLES.indexOf(role),
  ) ?? false;
