import { STREAMS, WorldFailure, wordsOf } from '@fairlead/contracts';
import { authenticatorOf, natsTrust } from '@fairlead/embedded/credentials';
import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { AgentLog, Appended, AppendExpectation, EventLog, LoggedMessage } from '../../agent/agent.ports.js';
import { backoffMs } from '../../time/backoff.js';

const REQUEST_TIMEOUT_MS = 5_000;
const RECONNECT = { firstMs: 250, maxMs: 5_000 };
/** A server that is gone without a word is noticed after two missed pings. */
const PING_INTERVAL_MS = 20_000;
const NOT_FOUND = 404;

/** Wrong last sequence (nats-server error codes 10071 and 10164). */
const CONFLICTS = new Set([10071, 10164]);

interface PublishAnswer {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
}

export interface NatsLogOptions {
  readonly servers: readonly string[];
  /** PEM. */
  readonly ca: string | undefined;
  readonly credentials: string;
  readonly inboxPrefix: string;
  readonly name: string;
  readonly random: () => number;
  readonly log: AgentLog;
}

const worldFailure = (operation: string, target: string, error: unknown): WorldFailure =>
  new WorldFailure({
    operation,
    target,
    message: wordsOf(error),
    cause: error,
  });

/** The log over NATS. Connects in the background and for ever; until then everything that needs the log rejects. */
export class NatsLog implements EventLog {
  private nc: NatsConnection | undefined;
  private connected = false;
  private closing = false;
  private endPause = (): void => undefined;
  /** Failed connects in a row. */
  private attempt = 0;
  private readonly onConnects: (() => void)[] = [];
  private readonly subscriptions: { subject: string; callback: (bytes: Uint8Array) => void }[] = [];
  private readonly opened: Promise<void>;

  constructor(private readonly options: NatsLogOptions) {
    this.opened = this.open();
  }

  onConnected(callback: () => void): void {
    this.onConnects.push(callback);
    if (this.connected) callback();
  }

  isConnected(): boolean {
    return this.connected;
  }

  async last(subject: string): Promise<LoggedMessage | undefined> {
    // This form names the subject in the request's own subject, so that the server can check the right to it.
    const answer = await this.request('read', `$JS.API.DIRECT.GET.${STREAMS.events}.${subject}`, new Uint8Array());
    const code = answer.headers?.code ?? 0;
    if (code === NOT_FOUND) return undefined;
    if (code !== 0) throw worldFailure('read', subject, `${code} ${answer.headers?.description ?? ''}`);
    return { seq: Number(answer.headers?.last('Nats-Sequence') ?? 0), bytes: answer.data };
  }

  async append(subject: string, bytes: Uint8Array, expected: AppendExpectation): Promise<Appended> {
    const header = headers();
    header.set('Nats-Msg-Id', expected.id);
    header.set('Nats-Expected-Last-Subject-Sequence', String(expected.expectedSeq));
    header.set('Nats-Expected-Last-Subject-Sequence-Subject', expected.filter);
    const answer = (await this.request('append', subject, bytes, header)).json<PublishAnswer>();
    if (answer.error !== undefined) {
      if (CONFLICTS.has(answer.error.err_code ?? 0)) return { kind: 'conflict' };
      throw worldFailure('append', subject, answer.error.description ?? `error ${answer.error.code}`);
    }
    if (answer.seq === undefined || answer.duplicate === true) return { kind: 'conflict' };
    return { kind: 'appended', seq: answer.seq };
  }

  subscribe(subject: string, callback: (bytes: Uint8Array) => void): void {
    const subscription = { subject, callback };
    this.subscriptions.push(subscription);
    if (this.nc !== undefined) this.subscribeOn(this.nc, subscription);
  }

  publish(subject: string, bytes: Uint8Array): void {
    // While away the client would keep them all; a late heartbeat is worth nothing.
    if (this.connected) this.nc?.publish(subject, bytes);
  }

  async close(): Promise<void> {
    this.closing = true;
    this.connected = false;
    this.endPause();
    await this.nc?.close();
    await this.opened;
  }

  private async open(): Promise<void> {
    const { servers, ca, credentials, inboxPrefix, name, random, log } = this.options;
    while (!this.closing) {
      try {
        this.nc = await connect({
          servers: [...servers],
          inboxPrefix,
          name,
          ...natsTrust(ca, servers),
          ...(credentials === '' ? {} : { authenticator: authenticatorOf(credentials) }),
          noAsyncTraces: true,
          maxReconnectAttempts: -1,
          ignoreAuthErrorAbort: true,
          reconnectDelayHandler: () => backoffMs(RECONNECT, (this.attempt += 1), random),
          pingInterval: PING_INTERVAL_MS,
        });
        break;
      } catch (error) {
        this.attempt += 1;
        const delayMs = backoffMs(RECONNECT, this.attempt, random);
        if (this.attempt === 1) log('warn', 'NATS cannot be reached; trying again for ever', { cause: String(error) });
        await this.pause(delayMs);
      }
    }
    if (this.nc === undefined) return;
    if (this.closing) return this.nc.close();
    for (const subscription of this.subscriptions) this.subscribeOn(this.nc, subscription);
    void this.follow(this.nc);
    this.nowConnected();
  }

  /** Ends at once when the log is closed meanwhile. */
  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private nowConnected(): void {
    this.attempt = 0;
    this.connected = true;
    for (const callback of this.onConnects) callback();
  }

  private async follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') this.connected = false;
      else if (status.type === 'reconnect') this.nowConnected();
      else if (status.type === 'error') this.options.log('warn', 'NATS says', { error: status.error.message });
    }
  }

  private subscribeOn(nc: NatsConnection, { subject, callback }: (typeof this.subscriptions)[number]): void {
    nc.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) callback(message.data);
        else this.options.log('warn', 'subscription failed', { subject, cause: error.message });
      },
    });
  }

  private async request(operation: string, subject: string, bytes: Uint8Array, header = headers()): Promise<Msg> {
    if (this.nc === undefined || !this.connected) throw worldFailure(operation, subject, 'NATS is away');
    try {
      return await this.nc.request(subject, bytes, { headers: header, timeout: REQUEST_TIMEOUT_MS });
    } catch (error) {
      throw worldFailure(operation, subject, error);
    }
  }
}
