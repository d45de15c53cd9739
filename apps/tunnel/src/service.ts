import { inboxPrefix, TUNNEL } from '@fairlead/contracts';
import { authenticatorOf, natsTrust } from '@fairlead/embedded/credentials';
import { patienceOf, patiently } from '@fairlead/service-kit/patience';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { natsNames } from './adapters/nats/nats.names.js';
import { SSH_LIMITS, sshSessions, type SshLimits } from './adapters/ssh/ssh.sessions.js';
import { OidcIssuers } from './adapters/oidc/issuers.js';
import { Certificates } from './adapters/tls/certificates.js';
import { entrance, ENTRANCE_LIMITS, type EntranceLimits, type EntranceParts } from './adapters/tls/entrance.js';
import { tcpPeers } from './adapters/tls/peers.js';
import { termination } from './adapters/tls/termination.js';
import { boundedSay } from './clients/clients.log.js';
import type { Settings } from './config.js';
import { Sessions } from './sessions/sessions.effects.js';
import { SealedCookies } from './sign-in/sealed.cookies.js';
import { SignInDoor, type SignInParts } from './sign-in/sign-in.http.js';
import { newState, serveState, type Counts } from './state.http.js';

const CONNECT_TIMEOUT_MS = 5_000;

export interface RunningTunnel {
  readonly port: number;
  readonly sshPort: number;
  readonly tlsPort: number;
  stop(): Promise<void>;
  /** Resolves when the connection to NATS has ended for good. */
  readonly lost: Promise<string | undefined>;
}

/** What specs make shorter. */
export interface TunnelLimits {
  readonly ssh?: Partial<SshLimits>;
  readonly tls?: Partial<EntranceLimits>;
  readonly beatMs?: number;
}

type Say = (level: 'log' | 'warn' | 'error', message: string) => void;

const connectToNats = ({ natsUrls, natsCa, credentials }: Settings): Promise<NatsConnection> =>
  connect({
    servers: [...natsUrls],
    name: TUNNEL,
    inboxPrefix: inboxPrefix(TUNNEL),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: 10_000,
    // A server that restarts may refuse a credential for a moment; two refusals must not end the connection for good.
    ignoreAuthErrorAbort: true,
    ...natsTrust(natsCa, natsUrls),
    ...(credentials === undefined ? {} : { authenticator: authenticatorOf(credentials) }),
  });

const watch = (nc: NatsConnection): (() => boolean) => {
  let isUp = true;
  void (async () => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') isUp = false;
      if (type === 'reconnect') isUp = true;
    }
  })();
  return () => isUp;
};

/** A server, and how it ends with all that is connected. */
class Door {
  private readonly sockets = new Set<Socket>();

  constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  async listen(port: number, host: string): Promise<number> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  get connections(): Promise<number> {
    return Promise.resolve(this.sockets.size);
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Ends TLS of published services that are held here, with sign-in in front of them. */
const servicesEnd = (
  { realmAddressesAllowed: allowed, hostKey, certificates }: Settings,
  sessions: () => Sessions,
  around: Pick<SignInParts, 'now' | 'say' | 'onRefused'>,
): EntranceParts['terminate'] => {
  const door = new SignInDoor({
    signInOf: (name) => sessions().signInOf(name),
    open: (name, origin) => sessions().openHere(name, origin),
    issuers: new OidcIssuers({ allowed, setting: 'REALM_ADDRESSES_ALLOWED' }),
    cookies: new SealedCookies(hostKey),
    ...around,
  });
  const end = termination(new Certificates(certificates), door);
  return (name, socket, read) => {
    const isService = sessions().signInOf(name) !== undefined;
    if (isService) end(socket, read);
    return isService;
  };
};

/** Starts it; resolves when clusters and clients can connect. */
export const startTunnel = async (settings: Settings, say: Say, limits: TunnelLimits = {}): Promise<RunningTunnel> => {
  const nc = await patiently('NATS', () => connectToNats(settings), patienceOf(TUNNEL, settings.dependenciesWaitMs));
  const isUp = watch(nc);
  const counts = (): Counts => ({
    names: sessions.names,
    isUp: isUp(),
    sessions: ssh.connections,
    connections: tls.connections,
  });
  const state = newState(counts);
  const tlsLimits = { ...ENTRANCE_LIMITS, ...limits.tls };
  const onTlsRefused = (reason: string): void => state.refused('tls', reason);
  const now = (): Date => new Date();
  const ofClients = boundedSay(say, now);
  const terminate = servicesEnd(settings, () => sessions, { now, say: ofClients, onRefused: onTlsRefused });
  const peers = new Door(
    entrance({
      open: (name, origin) => sessions.openHere(name, origin),
      ...{ terminate, onRefused: onTlsRefused, say: ofClients, limits: tlsLimits },
    }),
  );
  const peerPort =
    settings.peerHost === undefined ? undefined : await peers.listen(settings.peerPort, settings.tunnelHost);
  const sessions = new Sessions({
    names: await natsNames(nc),
    peers: tcpPeers,
    replica: randomUUID(),
    peer: peerPort === undefined ? undefined : `${settings.peerHost}:${peerPort}`,
    ...{ now, say },
    ...(limits.beatMs === undefined ? {} : { beatMs: limits.beatMs }),
  });
  const tls = new Door(
    entrance({
      open: (name, origin) => sessions.open(name, origin),
      ...{ terminate, onRefused: onTlsRefused, say: ofClients, limits: tlsLimits },
    }),
  );
  const ssh = new Door(
    sshSessions({
      hostKey: settings.hostKey,
      holders: sessions,
      onRefused: (reason) => state.refused('ssh', reason),
      limits: { ...SSH_LIMITS, ...limits.ssh },
    }),
  );
  const httpDoor = new Door(serveState(state, counts));
  sessions.start();
  const [sshPort, tlsPort, port] = await Promise.all([
    ssh.listen(settings.sshPort, settings.tunnelHost),
    tls.listen(settings.tlsPort, settings.tunnelHost),
    httpDoor.listen(settings.port, settings.host),
  ]);
  let stopping = false;
  return {
    port,
    sshPort,
    tlsPort,
    stop: async () => {
      stopping = true;
      sessions.stop();
      for (const door of [ssh, tls, peers, httpDoor]) door.close();
      await nc.close();
    },
    lost: nc
      .closed()
      .then((error) =>
        stopping ? undefined : (((error ?? undefined) as Error | undefined)?.message ?? 'the connection was closed'),
      ),
  };
};
