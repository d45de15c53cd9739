import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Counter, Gauge, Registry } from 'prom-client';
import type { ConnectionGuard } from '../connections/connections.effects.js';
import type { Revoker } from './revocations.effects.js';

/** Two looks and what they may take. */
const READY_WITHIN_MS = 90_000;

/** Connections that ask nothing, and requests that do not arrive, end after ten seconds. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;

const secondsSince = (time: Date | undefined, now: Date): number =>
  time === undefined ? Number.POSITIVE_INFINITY : (now.getTime() - time.getTime()) / 1_000;

const metricsOf = (revoker: Revoker, guard: ConnectionGuard, now: () => Date): Registry => {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number): void => {
    const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
  };
  gauge('fairlead_revoked_users', 'Users of NATS that the server refuses', () => revoker.state.users);
  gauge(
    'fairlead_revoked_users_left_out',
    'Users of NATS that should be refused and do not fit into the claims',
    () => revoker.state.leftOut,
  );
  gauge('fairlead_revocations_seen_seconds', 'Since the server was last seen to have what the log says', () =>
    secondsSince(revoker.state.seenAt, now()),
  );
  gauge('fairlead_node_connections', 'Connections to NATS that nodes have', () => guard.counts.open);
  gauge(
    'fairlead_node_connections_max',
    'Connections to NATS that nodes may have together',
    () => revoker.state.connectionsMax ?? Number.POSITIVE_INFINITY,
  );
  gauge(
    'fairlead_node_connections_most',
    'Connections to NATS of the node that has the most',
    () => guard.counts.mostOfOneUser,
  );
  const closed: Counter = new Counter({
    name: 'fairlead_node_connections_closed_total',
    help: 'Connections that were closed because their node had too many',
    registers: [registry],
    collect: () => {
      closed.reset();
      closed.inc(guard.counts.closed);
    },
  });
  return registry;
};

/** `/healthz`, `/readyz` and `/metrics`, for supervisors, orchestrators and Prometheus. No secrets, no authentication. */
export const serveState = (revoker: Revoker, guard: ConnectionGuard, now: () => Date): Server => {
  const registry = metricsOf(revoker, guard, now);
  const answer = async ({ url }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const json = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    switch (url) {
      case '/healthz':
        return json(200, { status: 'ok' });
      case '/readyz': {
        const isReady = secondsSince(revoker.state.seenAt, now()) * 1_000 < READY_WITHIN_MS;
        return json(isReady ? 200 : 503, { status: isReady ? 'ok' : 'unavailable' });
      }
      case '/metrics':
        response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
        return undefined;
      default:
        return json(404, { status: 'not found' });
    }
  };
  return createServer(LIMITS, (request, response) => void answer(request, response));
};
