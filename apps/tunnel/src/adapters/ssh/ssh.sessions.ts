import { HELD_NAME_BEAT_MS, isDnsName } from '@fairlead/contracts';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext } from 'ssh2';
import type { Origin, Session } from '../../routes/names.ports.js';

export interface SshLimits {
  readonly connectionsMax: number;
  /** Until the client has proved its key, and holds a name. */
  readonly handshakeMs: number;
  readonly attemptsMax: number;
  readonly namesPerSession: number;
  readonly channelsPerSession: number;
  readonly openWithinMs: number;
  readonly keepaliveMs: number;
  /** So many answers may be missing. */
  readonly keepalivesMax: number;
}

export const SSH_LIMITS: SshLimits = {
  connectionsMax: 4_096,
  handshakeMs: 15_000,
  attemptsMax: 4,
  namesPerSession: 64,
  channelsPerSession: 512,
  openWithinMs: 10_000,
  keepaliveMs: HELD_NAME_BEAT_MS,
  keepalivesMax: 2,
};

/** What of names decides about a client. */
export interface Holders {
  isReserved(name: string, publicKey: string): Promise<boolean>;
  hold(session: Session, name: string, publicKey: string): Promise<boolean>;
  release(session: Session, name: string): void;
  ended(session: Session): void;
}

export interface SshParts {
  readonly hostKey: string;
  readonly holders: Holders;
  readonly onRefused: (reason: string) => void;
  readonly limits: SshLimits;
}

const KEY_TYPE = 'ssh-ed25519';

export const isSigned = ({ key, signature, blob, hashAlgo }: PublicKeyAuthContext): boolean => {
  const parsed = ssh2.utils.parseKey(`${key.algo} ${key.data.toString('base64')}`);
  if (parsed instanceof Error || signature === undefined || blob === undefined) return false;
  return parsed.verify(blob, signature, hashAlgo) === true;
};

interface ForwardRequest {
  readonly bindAddr: string;
  readonly bindPort: number;
}

/** One client, from its first byte to its last. */
class SshSession implements Session {
  private readonly ports = new Map<string, number>();
  private publicKey: string | undefined;
  private attempts = 0;
  private channels = 0;

  constructor(
    private readonly connection: Connection,
    private readonly socket: Socket,
    private readonly parts: SshParts,
    private readonly onHeld: () => void,
  ) {
    connection.on('authentication', (context) => void this.authenticate(context));
    connection.on('request', (accept, reject, type, info) => void this.request({ accept, reject }, type, info));
    connection.on('session', (_accept, reject) => reject());
    // Also when keepalives are not answered: a wire that was cut closes nothing by itself.
    connection.on('error', () => socket.destroy());
    socket.once('close', () => parts.holders.ended(this));
  }

  /** As OpenSSH has opened it: it connects to what it forwards. */
  open(name: string, { address, port }: Origin): Promise<Duplex> {
    const { channelsPerSession, openWithinMs } = this.parts.limits;
    const bound = this.ports.get(name);
    if (bound === undefined) return Promise.reject(new Error('it is not forwarded'));
    if (this.channels >= channelsPerSession) return Promise.reject(new Error('the session has too many connections'));
    this.channels += 1;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const late = setTimeout(() => {
        isLate = true;
        reject(new Error('the client does not answer'));
      }, openWithinMs);
      const free = (): void => void (this.channels -= 1);
      this.connection.forwardOut(name, bound, address, port, (error, channel) => {
        clearTimeout(late);
        if (error !== undefined) {
          free();
          return reject(error);
        }
        channel.once('close', free);
        if (isLate) channel.close();
        else resolve(channel);
      });
    });
  }

  end(): void {
    this.connection.end();
    this.socket.destroy();
  }

  private refuse(reason: string): void {
    this.parts.onRefused(reason);
    this.end();
  }

  /** The name of the user is one that the key has: no key is looked for among all. */
  private async authenticate(context: AuthContext): Promise<void> {
    const refuse = (): void => {
      this.attempts += 1;
      if (this.attempts > this.parts.limits.attemptsMax) this.refuse('key');
      else context.reject(['publickey']);
    };
    if (context.method !== 'publickey' || context.key.algo !== KEY_TYPE) return refuse();
    const publicKey = `${KEY_TYPE} ${context.key.data.toString('base64')}`;
    const isReserved = await this.parts.holders.isReserved(context.username, publicKey).catch(() => false);
    if (!isReserved) return refuse();
    if (context.signature === undefined) return context.accept(); // It asks whether to sign.
    if (!isSigned(context)) return refuse();
    this.publicKey = publicKey;
    return context.accept();
  }

  private async request(
    { accept, reject }: { accept: ((port?: number) => void) | undefined; reject: (() => void) | undefined },
    type: string,
    info: unknown,
  ): Promise<void> {
    const { bindAddr = '', bindPort = 0 } = (info ?? {}) as Partial<ForwardRequest>;
    if (type === 'cancel-tcpip-forward') {
      this.ports.delete(bindAddr);
      this.parts.holders.release(this, bindAddr);
      return accept?.();
    }
    const isAllowed = type === 'tcpip-forward' && bindPort > 0 && (await this.mayHold(bindAddr, bindPort));
    if (isAllowed) return accept?.();
    this.parts.onRefused('name');
    return reject?.();
  }

  private async mayHold(name: string, port: number): Promise<boolean> {
    const { publicKey } = this;
    if (publicKey === undefined || !isDnsName(name) || this.ports.size >= this.parts.limits.namesPerSession)
      return false;
    this.ports.set(name, port);
    const isHeld = await this.parts.holders.hold(this, name, publicKey).catch(() => false);
    if (!isHeld) this.ports.delete(name);
    else this.onHeld();
    // It may be gone since.
    if (this.socket.destroyed) this.parts.holders.ended(this);
    return isHeld;
  }
}

const addressOf = ({ ip, port }: { ip: string; port: number }): string => `${ip}:${port}`;

interface Arrival {
  readonly socket: Socket;
  /** Until it holds a name, whatever it sends meanwhile. */
  readonly deadline: NodeJS.Timeout;
}

/** A server for `ssh -N -R`: no shell, no other forward, and no key that has no name. */
export const sshSessions = (parts: SshParts): Server => {
  const { keepaliveMs, keepalivesMax, connectionsMax, handshakeMs } = parts.limits;
  const arrivals = new Map<string, Arrival>();
  const ssh = new ssh2.Server(
    {
      hostKeys: [parts.hostKey],
      ident: 'Fairlead',
      keepaliveInterval: keepaliveMs,
      keepaliveCountMax: keepalivesMax,
    },
    (connection, { ip, port }) => {
      const arrival = arrivals.get(addressOf({ ip, port }));
      if (arrival === undefined) return void connection.end();
      return void new SshSession(connection, arrival.socket, parts, () => clearTimeout(arrival.deadline));
    },
  );
  const server = createServer({ noDelay: true }, (socket) => {
    const { remoteAddress: ip = '', remotePort: port = 0 } = socket;
    const key = addressOf({ ip, port });
    const deadline = setTimeout(() => {
      parts.onRefused('slow');
      socket.destroy();
    }, handshakeMs);
    arrivals.set(key, { socket, deadline });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(deadline);
      arrivals.delete(key);
    });
    ssh.injectSocket(socket);
  });
  server.maxConnections = connectionsMax;
  return server;
};
