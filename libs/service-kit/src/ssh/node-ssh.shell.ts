import { ExternalFailure } from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import type { HostAddress, HostSession, HostShell, OpenOptions, SshHop } from './ssh.ports.js';
import { connect, isKeyRefused, type Connected, type OpenChannel } from './ssh.connection.js';
import { SshJumps } from './ssh.jumps.js';
import { SshLink, SshSession } from './ssh.session.js';

export interface PoolLimits {
  /** An idle connection is closed after this time. */
  readonly idleMs: number;
  /** Maximum open connections; a new one then replaces the longest idle one. */
  readonly connectionsMax: number;
}

interface Entry {
  readonly link: SshLink;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

const ROOM_AGAIN_MS = 100;
/** Timeout of a test login. */
const TRIAL_MS = 10_000;

/** Identity of a connection: another user, or another key, requires another connection. */
const keyOf = ({ host, port, user, privateKey }: SshHop): string => {
  const proof = createHash('sha256').update(privateKey).digest('base64url').slice(0, 16);
  return `${user}@${host}:${port}/${proof}`;
};

const connectionKey = (address: HostAddress): string =>
  keyOf(address) + (address.jump === undefined ? '' : ` via ${keyOf(address.jump)}`);

/** Whether an open connection has shown the currently required host keys; null: any. */
const isShown = (
  { hostKey, jump }: HostAddress,
  shown: { readonly hostKey: string; readonly jumpHostKey: string | null },
): boolean =>
  (hostKey === null || hostKey === shown.hostKey) &&
  (jump === undefined || jump.hostKey === null || jump.hostKey === shown.jumpHostKey);

/** Callers that expect different host keys do not share the opening of a connection. */
const openingKey = (key: string, { hostKey, jump }: HostAddress): string =>
  `${key} ${hostKey ?? 'any'} ${jump?.hostKey ?? 'any'}`;

/** SSH by node-ssh. Connections are kept for a while and shared by the steps of a host. */
export class NodeSshShell implements HostShell {
  /** In order of last use: the first idle one is evicted. */
  private readonly entries = new Map<string, Entry>();
  private readonly opening = new Map<string, Promise<Connected>>();
  private readonly jumps: SshJumps;

  constructor(private readonly limits: PoolLimits) {
    this.jumps = new SshJumps(limits.idleMs);
  }

  async open(address: HostAddress, options: OpenOptions): Promise<HostSession> {
    const key = connectionKey(address);
    const open = this.usable(key, address);
    if (open !== undefined) return this.session(key, open, 0);
    await this.makeRoom(address, options);
    const connected = await this.connectOnce(openingKey(key, address), address, options);
    const entry = this.usable(key, address) ?? this.add(key, address, connected);
    // Another caller, without a host key, opened one faster.
    if (entry.link.ssh !== connected.ssh) connected.ssh.dispose();
    return this.session(key, entry, connected.attempts);
  }

  async accepts(address: HostAddress, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    try {
      const { ssh } = await connect(address, { triesMax: 1, deadlineMs: TRIAL_MS, signal }, this.channelTo(address));
      ssh.dispose();
      return true;
    } catch (error) {
      if (!isKeyRefused(error)) throw error;
      this.drop(connectionKey(address));
      return false;
    }
  }

  async close(): Promise<void> {
    for (const key of [...this.entries.keys()]) this.drop(key);
    this.jumps.close();
  }

  /** Two concurrent steps on the same host share one connection. */
  private connectOnce(key: string, address: HostAddress, options: OpenOptions): Promise<Connected> {
    const underWay = this.opening.get(key);
    if (underWay !== undefined) return underWay;
    const connecting = connect(address, options, this.channelTo(address)).finally(() => this.opening.delete(key));
    this.opening.set(key, connecting);
    return connecting;
  }

  private channelTo(address: HostAddress): OpenChannel | undefined {
    const { jump } = address;
    return jump === undefined
      ? undefined
      : (timeoutMs: number) => this.jumps.channel(keyOf(jump), jump, address, timeoutMs);
  }

  private usable(key: string, address: HostAddress): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.link.ssh.isConnected() && isShown(address, entry.link)) return entry;
    this.drop(key);
    return undefined;
  }

  private add(key: string, address: HostAddress, { ssh, hostKey, jumpHostKey }: Connected): Entry {
    const entry: Entry = { link: new SshLink(ssh, address, hostKey, jumpHostKey), users: 0, idle: undefined };
    this.entries.set(key, entry);
    ssh.connection?.once('close', () => {
      if (this.entries.get(key) === entry) this.drop(key);
    });
    return entry;
  }

  private session(key: string, entry: Entry, attempts: number): HostSession {
    clearTimeout(entry.idle);
    entry.users += 1;
    let released = false;
    return new SshSession(entry.link, attempts, () => {
      if (released) return;
      released = true;
      this.giveBack(key, entry);
    });
  }

  private giveBack(key: string, entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0 || this.entries.get(key) !== entry) return;
    this.entries.delete(key);
    this.entries.set(key, entry);
    entry.idle = setTimeout(() => this.drop(key), this.limits.idleMs);
    entry.idle.unref();
  }

  private async makeRoom({ name }: HostAddress, { signal, deadlineMs }: OpenOptions): Promise<void> {
    const deadline = Date.now() + deadlineMs;
    while (this.entries.size + this.opening.size >= this.limits.connectionsMax) {
      const idle = [...this.entries].find(([, entry]) => entry.users === 0);
      if (idle !== undefined) {
        this.drop(idle[0]);
        continue;
      }
      signal.throwIfAborted();
      if (Date.now() >= deadline)
        throw new ExternalFailure({
          operation: 'open SSH',
          target: name,
          message: `all ${this.limits.connectionsMax} connections were in use for ${deadlineMs / 1000} s`,
        });
      await new Promise((resolve) => setTimeout(resolve, ROOM_AGAIN_MS));
    }
  }

  private drop(key: string): void {
    const entry = this.entries.get(key);
    this.entries.delete(key);
    clearTimeout(entry?.idle);
    entry?.link.ssh.dispose();
  }
}
