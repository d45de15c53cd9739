import { HOST_KEY_CHANGED, ExternalFailure, wordsOf } from '@fairlead/contracts';
import { NodeSSH } from 'node-ssh';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duplex } from 'node:stream';
import type { HostAddress, OpenOptions, SshHop } from './ssh.ports.js';
import { fingerprintOf } from './host.key.js';

/** Timeout of one attempt: TCP, key exchange and authentication. */
const TRY_TIMEOUT_MS = 10_000;
const BACKOFF_FIRST_MS = 500;
const BACKOFF_FACTOR = 1.6;
const BACKOFF_MAX_MS = 15_000;
/** After three unanswered keepalives (half a minute) a connection counts as lost. */
const KEEPALIVE_INTERVAL_MS = 10_000;
const KEEPALIVE_COUNT_MAX = 3;

export interface Connected {
  readonly ssh: NodeSSH;
  readonly hostKey: string;
  /** null: the host is reached directly. */
  readonly jumpHostKey: string | null;
  readonly attempts: number;
}

/** A newly opened connection. */
export type Opened = Pick<Connected, 'ssh' | 'hostKey'>;

/** Exponential backoff with jitter. */
const backoffMs = (attempt: number): number =>
  Math.min(BACKOFF_FIRST_MS * BACKOFF_FACTOR ** (attempt - 1), BACKOFF_MAX_MS) * (0.8 + Math.random() * 0.4);

class WrongHostKey extends Error {}

/** The connection failed before it reached the host. `final`: a retry cannot help. */
export class HopFailure extends Error {
  static at({ user, host, port }: SshHop, cause: unknown): HopFailure {
    const failure = new HopFailure(
      `the jump host ${user}@${host}:${port}: ${wordsOf(cause)}`,
      cause instanceof WrongHostKey,
    );
    failure.cause = cause;
    return failure;
  }

  private constructor(
    message: string,
    readonly final: boolean,
  ) {
    super(message);
    this.name = 'HopFailure';
  }
}

/** One attempt. `channel`: a channel through another host, instead of a new TCP connection. */
export const connectOnce = async (address: SshHop, timeoutMs: number, channel?: Duplex): Promise<Opened> => {
  const ssh = new NodeSSH();
  let seen = '';
  try {
    const connecting = ssh.connect({
      ...(channel === undefined ? { host: address.host, port: address.port } : { sock: channel }),
      username: address.user,
      privateKey: address.privateKey,
      // Without 'none' first, which would cost a round trip.
      authHandler: ['publickey'],
      readyTimeout: timeoutMs,
      keepaliveInterval: KEEPALIVE_INTERVAL_MS,
      keepaliveCountMax: KEEPALIVE_COUNT_MAX,
      hostVerifier: (key: Buffer): boolean => {
        seen = fingerprintOf(key);
        return address.hostKey === null || seen === address.hostKey;
      },
    });
    // With Nagle's algorithm, the handshake waits three times for an acknowledgement that the host delays by 40 ms, and
    // each small request of a file transfer once. Nothing has been sent yet when `connect` is emitted.
    if (channel === undefined) ssh.connection?.once('connect', () => ssh.connection?.setNoDelay(true));
    await connecting;
    // node-ssh removes its listener once it is connected; an error without a listener would end the process.
    ssh.connection?.on('error', () => undefined);
    return { ssh, hostKey: seen };
  } catch (error) {
    ssh.dispose();
    channel?.destroy();
    if (address.hostKey !== null && seen !== '' && seen !== address.hostKey)
      throw new WrongHostKey(
        `the host shows the key ${seen}, and ${address.hostKey} is the one that is known: either it was reinstalled, or another machine answers in its place`,
      );
    throw error;
  }
};

/** The host answered and rejected this user and key. Does not include a jump host that rejects its key. */
export const isKeyRefused = (error: unknown): boolean => {
  const cause = error instanceof ExternalFailure ? error.cause : error;
  return cause instanceof Error && 'level' in cause && cause.level === 'client-authentication';
};

/** The jump host failed. It did not if it answered that the host behind it cannot be reached. */
export const isOfJumpHost = (error: unknown): boolean => {
  const failure = error instanceof ExternalFailure ? error.cause : error;
  if (!(failure instanceof HopFailure)) return false;
  const { cause } = failure;
  const isRefusedChannel = cause instanceof Error && 'reason' in cause && typeof cause.reason === 'number';
  return !isRefusedChannel;
};

/** Opens a channel to an address, within a timeout. */
export type OpenChannel = (timeoutMs: number) => Promise<{ readonly channel: Duplex; readonly hostKey: string }>;

/**
 * Retries until the login succeeds, within the limits of `options`; each attempt opens a new channel if it needs one.
 */
export const connect = async (
  address: HostAddress,
  options: OpenOptions,
  openChannel?: OpenChannel,
): Promise<Connected> => {
  const { triesMax, deadlineMs, signal, onFailedTry } = options;
  const deadline = Date.now() + deadlineMs;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      const timeoutMs = Math.min(TRY_TIMEOUT_MS, Math.max(deadline - Date.now(), 1));
      const way = await openChannel?.(timeoutMs);
      const opened = await connectOnce(address, timeoutMs, way?.channel);
      return { ...opened, jumpHostKey: way?.hostKey ?? null, attempts: attempt };
    } catch (error) {
      const pauseMs = backoffMs(attempt);
      const final = error instanceof WrongHostKey || (error instanceof HopFailure && error.final);
      if (final || attempt >= triesMax || Date.now() + pauseMs >= deadline) {
        throw new ExternalFailure({
          operation: 'open SSH',
          target: address.name,
          message: final ? wordsOf(error) : `${unanswered(address)} after ${attempt} tries: ${wordsOf(error)}`,
          retryable: false,
          reason: final ? HOST_KEY_CHANGED : undefined,
          cause: error,
        });
      }
      await onFailedTry?.({
        attempt,
        message: `${unanswered(address)}: ${wordsOf(error)}`,
        nextAt: new Date(Date.now() + pauseMs),
        until: new Date(deadline),
      });
      await sleep(pauseMs, undefined, { signal });
    }
  }
};

const unanswered = ({ user, host, port }: HostAddress): string => `${user}@${host}:${port} does not answer`;
