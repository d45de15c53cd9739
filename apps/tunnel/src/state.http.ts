import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Counter, Gauge, Registry } from 'prom-client';

/** Connections that ask nothing, and requests that do not arrive, end after ten seconds. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;

export interface Counts {
  readonly names: number;
  readonly isUp: boolean;
  readonly sessions: Promise<number>;
  readonly connections: Promise<number>;
}

export interface State {
  readonly registry: Registry;
  readonly refused: (door: 'ssh' | 'tls', reason: string) => void;
}

export const newState = (counts: () => Counts): State => {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    const metric: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => metric.set(await read()),
    });
  };
  gauge('fairlead_tunnel_names', 'Names that are held here', () => counts().names);
  gauge('fairlead_tunnel_sessions', 'SSH connections of clusters', () => counts().sessions);
  gauge('fairlead_tunnel_connections', 'TLS connections of clients', () => counts().connections);
  const refused = new Counter({
    name: 'fairlead_tunnel_refused_total',
    help: 'Connections and names that were refused',
    labelNames: ['door', 'reason'],
    registers: [registry],
  });
  return { registry, refused: (door, reason) => refused.inc({ door, reason }) };
};

/** `/healthz`, `/readyz` and `/metrics`. No secrets, no authentication. */
export const serveState = ({ registry }: State, counts: () => Counts): Server => {
  const answer = async ({ url }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const json = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    switch (url) {
      case '/healthz':
        return json(200, { status: 'ok' });
      case '/readyz':
        return counts().isUp ? json(200, { status: 'ok' }) : json(503, { status: 'unavailable' });
      case '/metrics':
        response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
        return undefined;
      default:
        return json(404, { status: 'not found' });
    }
  };
  return createServer(LIMITS, (request, response) => void answer(request, response));
};
