import type { Channel } from 'ssh2';
import { connectOnce, HopFailure, type Opened } from './ssh.connection.js';
import type { SshHop } from './ssh.ports.js';

interface Link {
  readonly connected: Promise<Opened>;
  channels: number;
  idle: NodeJS.Timeout | undefined;
}

/** Connections to jump hosts: one for all hosts behind it, closed some time after its last use. */
export class SshJumps {
  private readonly links = new Map<string, Link>();

  constructor(private readonly idleMs: number) {}

  /**
   * Opens a channel through the jump host, owned by the caller, and returns the host key it showed. Rejects with
   * HopFailure, which names the jump host. A connection with a different host key than required is not reused.
   */
  async channel(
    key: string,
    jump: SshHop,
    to: { readonly host: string; readonly port: number },
    timeoutMs: number,
  ): Promise<{ readonly channel: Channel; readonly hostKey: string }> {
    const link = this.links.get(key) ?? this.open(key, jump, timeoutMs);
    clearTimeout(link.idle);
    link.channels += 1;
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      this.leave(key, link);
    };
    try {
      const { ssh, hostKey } = await link.connected;
      if (jump.hostKey !== null && jump.hostKey !== hostKey) {
        // Opened before this key was recorded, or before another one was accepted.
        this.drop(key, link);
        return await this.channel(key, jump, to, timeoutMs);
      }
      const channel = await within(timeoutMs, ssh.forwardOut('127.0.0.1', 0, to.host, to.port));
      channel.once('close', leave);
      return { channel, hostKey };
    } catch (error) {
      leave();
      throw error instanceof HopFailure ? error : HopFailure.at(jump, error);
    }
  }

  close(): void {
    for (const [key, link] of this.links) this.drop(key, link);
  }

  private open(key: string, jump: SshHop, timeoutMs: number): Link {
    const link: Link = { connected: connectOnce(jump, timeoutMs), channels: 0, idle: undefined };
    this.links.set(key, link);
    link.connected.then(
      ({ ssh }) => ssh.connection?.once('close', () => this.forget(key, link)),
      () => this.forget(key, link),
    );
    return link;
  }

  private leave(key: string, link: Link): void {
    link.channels -= 1;
    if (link.channels > 0 || this.links.get(key) !== link) return;
    link.idle = setTimeout(() => this.drop(key, link), this.idleMs);
    link.idle.unref();
  }

  private drop(key: string, link: Link): void {
    this.forget(key, link);
    link.connected.then(
      ({ ssh }) => ssh.dispose(),
      () => undefined,
    );
  }

  private forget(key: string, link: Link): void {
    clearTimeout(link.idle);
    if (this.links.get(key) === link) this.links.delete(key);
  }
}

/** A server may accept the request for a channel and then be silent until its own connect times out. */
const within = async (timeoutMs: number, opening: Promise<Channel>): Promise<Channel> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      opening.then(
        (channel) => channel.destroy(),
        () => undefined,
      );
      reject(new Error(`it opened no way to the host within ${timeoutMs / 1000} s`));
    }, timeoutMs);
  });
  return Promise.race([opening, late]).finally(() => clearTimeout(timer));
};
