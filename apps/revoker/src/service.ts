import {
  AGENT_CREDENTIAL_LIFETIME_MAX_S,
  inboxPrefix,
  NODE_CONNECTIONS,
  REVOCATIONS_FILTER,
  REVOKER,
  storedSubject,
} from '@fairlead/contracts';
import { accountOf, authenticatorOf, natsTrust } from '@fairlead/embedded/credentials';
import { patienceOf, patiently } from '@fairlead/service-kit/patience';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { natsAccount } from './adapters/nats/nats.account.js';
import { natsConnections } from './adapters/nats/nats.connections.js';
import { natsLog } from './adapters/nats/nats.log.js';
import type { Settings } from './config.js';
import { ConnectionGuard } from './connections/connections.effects.js';
import type { ConnectionLimits } from './connections/open.connections.js';
import { Revoker, type RevokerParts } from './revocations/revocations.effects.js';
import { serveState } from './revocations/revocations.http.js';

const CONNECT_TIMEOUT_MS = 5_000;

export interface RunningRevoker {
  readonly port: number;
  stop(): Promise<void>;
  /** Resolves when a connection to NATS has ended for good. */
  readonly lost: Promise<string | undefined>;
}

const connectAs = async (credentials: string, settings: Settings): Promise<NatsConnection> =>
  connect({
    servers: [...settings.natsUrls],
    name: REVOKER,
    inboxPrefix: inboxPrefix(REVOKER),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: 10_000,
    // A server that restarts may refuse a credential for a moment; two refusals must not end the connection for good.
    ignoreAuthErrorAbort: true,
    ...natsTrust(settings.natsCa, settings.natsUrls),
    authenticator: authenticatorOf(credentials),
  });

/** Whether the connections are up, and a call when all of them are again. */
const watch = (connections: readonly NatsConnection[], allAreBack: () => void): (() => boolean) => {
  const down = new Set<NatsConnection>();
  const follow = async (nc: NatsConnection): Promise<void> => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') down.add(nc);
      if (type === 'reconnect' && down.delete(nc) && down.size === 0) allAreBack();
    }
  };
  for (const nc of connections) void follow(nc);
  return () => down.size === 0;
};

/** Two connections, because a connection belongs to one account: one that reads the log, and one that replaces claims. */
const connectBoth = async (settings: Settings): Promise<readonly [NatsConnection, NatsConnection]> => {
  const patience = patienceOf(REVOKER, settings.dependenciesWaitMs);
  const log = await patiently('NATS', () => connectAs(settings.credentials, settings), patience);
  try {
    return [log, await patiently('NATS', () => connectAs(settings.systemCredentials, settings), patience)];
  } catch (error) {
    await log.close();
    throw error;
  }
};

/** Every node that exists renews its claims within their lifetime, so it has connected by then. */
const LIMITS: ConnectionLimits = { ...NODE_CONNECTIONS, rememberedMs: AGENT_CREDENTIAL_LIFETIME_MAX_S * 1_000 };

/** Starts it; resolves when it serves, which may be before the server has all that the log says. */
export const startRevoker = async (
  settings: Settings,
  say: RevokerParts['say'],
  limits: ConnectionLimits = LIMITS,
): Promise<RunningRevoker> => {
  const { signing, host, port } = settings;
  const [log, system] = await connectBoth(settings);
  const now = (): Date => new Date();
  const account = natsAccount(system, accountOf(signing));
  // A server that was away may have lost what it was given, and its connections are others.
  const isUp = watch([log, system], () => {
    revoker.compareAgain();
    guard.listAgain();
  });
  const guard = new ConnectionGuard({
    connections: natsConnections(system, accountOf(signing), say),
    ...{ limits, now, isUp, say, onNeedChanged: () => revoker.compareAgain() },
  });
  const accountLimit = (allowed: number | undefined): number | undefined => guard.accountLimit(allowed);
  const revoker = new Revoker({ log: natsLog(log), account, signing, accountLimit, now, isUp, say });
  // What it says is read from the log; a message may be one that the log refuses.
  log.subscribe(storedSubject(REVOCATIONS_FILTER), { callback: () => revoker.wake() });
  const http = serveState(revoker, guard, now).listen(port, host);
  await once(http, 'listening');
  const running = revoker.run();
  guard.start();
  let stopping = false;
  return {
    port: (http.address() as AddressInfo).port,
    stop: async () => {
      stopping = true;
      revoker.stop();
      guard.stop();
      http.closeAllConnections();
      http.close();
      await Promise.allSettled([log.close(), system.close()]);
      await running;
    },
    lost: Promise.race([log.closed(), system.closed()]).then((error) =>
      stopping ? undefined : (error?.message ?? 'the connection was closed'),
    ),
  };
};
