import {
  AgentCredentialsMessage,
  AgentDesiredMessage,
  AgentFactAnswer,
  AgentNetworkMessage,
  agentFactSubject,
  agentOutputs,
  agentRenewSubject,
  AgentStateMessage,
  agentSyncSubject,
  heartbeatSubject,
  ExternalFailure,
  type AgentConfig,
  type AgentFactMessage,
  type EventType,
  type Heartbeat,
} from '@fairlead/contracts';
import { authenticatorOf, natsTrust } from '@fairlead/embedded/credentials';
import { connect, type ConnectionOptions, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { AgentLog } from '../../node/host.ports.js';
import type { Platform } from '../../agent/agent.ports.js';
import { backoffMs } from '../../time/backoff.js';
import type { NetworkPlatform, Reached } from '../../network/network.ports.js';
import { checkNats } from './nats.check.js';
import { connectTo, isWebsocket } from './nats.connect.js';

const ANSWER_TIMEOUT_MS = 5_000;
const RECONNECT = { firstMs: 250, maxMs: 5_000 };
/** Less than two heartbeat intervals: every second heartbeat is sent with a ping, in the same packet. */
const PING_EVERY_MS = 15_000;
/** A vanished server is detected after this many unanswered pings. */
const PINGS_UNANSWERED_MAX = 2;
/**
 * Disables the library's own pings, which use separate timers and packets. It does not accept 0, so this is the maximum
 * of a timer.
 */
const NO_PINGS_MS = 2 ** 31 - 1;
const CHECK_MS = 10_000;
/** Messages buffered until there is a listener: a few at startup, of which the newest are kept. */
const EARLY_MAX = 10;

export interface NatsPlatformOptions {
  readonly config: Pick<AgentConfig, 'namespace' | 'cluster' | 'node' | 'uid' | 'natsUrls' | 'natsCa'>;
  /** The contents of a NATS creds file; empty if the server requires none. */
  readonly credentials: string;
  readonly random: () => number;
  readonly log: AgentLog;
  readonly pingEveryMs?: number;
}

interface Waiting {
  readonly accepts: (answer: PlatformMessage) => boolean;
  readonly resolve: (answer: PlatformMessage) => void;
}

type PlatformMessage =
  | { readonly kind: 'recorded'; readonly message: AgentFactAnswer }
  | { readonly kind: 'state'; readonly message: AgentStateMessage }
  | { readonly kind: 'credentials'; readonly message: AgentCredentialsMessage };

/** Drops unknown fields of newer services. Returns undefined for an invalid reply. */
const answerIn = (output: string, json: unknown): PlatformMessage | undefined => {
  switch (output) {
    case 'recorded': {
      const message = AgentFactAnswer.safeParse(json).data;
      return message && { kind: 'recorded', message };
    }
    case 'state': {
      const message = AgentStateMessage.safeParse(json).data;
      return message && { kind: 'state', message };
    }
    case 'credentials': {
      const message = AgentCredentialsMessage.safeParse(json).data;
      return message && { kind: 'credentials', message };
    }
    default:
      return undefined;
  }
};

/** Buffers values until there is a listener. */
class BufferedListener<Values extends readonly unknown[]> {
  private early: Values[] = [];
  private listener: ((...values: Values) => void) | undefined;

  emit(...values: Values): void {
    if (this.listener !== undefined) return this.listener(...values);
    this.early = [...this.early, values].slice(-EARLY_MAX);
  }

  listen(listener: (...values: Values) => void): void {
    this.listener = listener;
    for (const values of this.early.splice(0)) listener(...values);
  }
}

const jsonIn = (message: Msg): unknown => {
  try {
    return message.json();
  } catch {
    return undefined; // No schema accepts it.
  }
};

/**
 * The services over NATS: one subscription for all messages to this node, and requests whose replies arrive there,
 * because a node may not use an inbox. Connects in the background and retries forever; until then every request
 * rejects.
 */
export class NatsPlatform implements Platform, NetworkPlatform {
  private nc: NatsConnection | undefined;
  private connected = false;
  private synced = false;
  private closing = false;
  private endPause = (): void => undefined;
  /** Consecutive failed connects. */
  private attempt = 0;
  private credentials: string;
  /** PEM; undefined: TLS is not required. */
  private authorities: string | undefined;
  private readonly onConnects: (() => void)[] = [];
  private readonly desired = new BufferedListener<[AgentDesiredMessage]>();
  private readonly network = new BufferedListener<Parameters<Parameters<NetworkPlatform['onNetwork']>[0]>>();
  private readonly waiting = new Set<Waiting>();
  private readonly pingEveryMs: number;
  private pingsUnanswered = 0;
  private pingedAtMs = -Infinity;
  private readonly opened: Promise<void>;

  constructor(private readonly options: NatsPlatformOptions) {
    this.credentials = options.credentials;
    this.authorities = options.config.natsCa;
    this.pingEveryMs = options.pingEveryMs ?? PING_EVERY_MS;
    this.opened = this.open();
  }

  onConnected(callback: () => void): void {
    this.onConnects.push(callback);
    if (this.connected) callback();
  }

  isConnected(): boolean {
    return this.connected;
  }

  isSynced(): boolean {
    return this.connected && this.synced;
  }

  async state(type: EventType, fact: AgentFactMessage): Promise<AgentFactAnswer> {
    const answer = await this.request(
      agentFactSubject(this.options.config, type),
      fact,
      ({ kind, message }) => kind === 'recorded' && message.id === fact.id,
    );
    return answer.message as AgentFactAnswer;
  }

  async sync(recover: boolean): Promise<AgentStateMessage> {
    const { config } = this.options;
    const answer = await this.request(
      agentSyncSubject(config),
      { uid: config.uid, recover },
      ({ kind, message }) => kind === 'state' && (!recover || message.last !== null),
    );
    return answer.message as AgentStateMessage;
  }

  async renew(user: string): Promise<AgentCredentialsMessage> {
    const { config } = this.options;
    const answer = await this.request(
      agentRenewSubject(config),
      { uid: config.uid, user },
      ({ kind, message }) => kind === 'credentials' && message.user === user,
    );
    return answer.message as AgentCredentialsMessage;
  }

  onDesired(callback: (desired: AgentDesiredMessage) => void): void {
    this.desired.listen(callback);
  }

  onNetwork(callback: Parameters<NetworkPlatform['onNetwork']>[0]): void {
    this.network.listen(callback);
  }

  /** Whether NATS accepts a new connection now. */
  check(limitMs: number): Promise<Reached> {
    const { natsCa: _before, ...config } = this.options.config;
    const { authorities, credentials } = this;
    const trust = authorities === undefined ? {} : { natsCa: authorities };
    return checkNats({ config: { ...config, ...trust }, credentials, limitMs });
  }

  sendHeartbeat(heartbeat: Heartbeat): void {
    const { namespace, cluster, node } = this.options.config;
    // The client would buffer heartbeats while disconnected, but late ones are worthless.
    if (this.connected) this.nc?.publish(heartbeatSubject(namespace, cluster, node), JSON.stringify(heartbeat));
  }

  ping(): void {
    const { nc } = this;
    const nowMs = performance.now();
    if (nc === undefined || !this.connected || nowMs - this.pingedAtMs < this.pingEveryMs) return;
    this.pingedAtMs = nowMs;
    if (this.pingsUnanswered === PINGS_UNANSWERED_MAX) {
      this.options.log('warn', 'NATS does not answer; connecting again', { pings: this.pingsUnanswered });
      this.connected = false;
      void (this.hasWebsockets ? nc.close() : nc.reconnect());
      return;
    }
    this.pingsUnanswered += 1;
    const answered = (): void => {
      this.pingsUnanswered = 0;
    };
    // A flush that fails with its connection is not a reply, and does not count after the next connect.
    nc.flush().then(answered, () => undefined);
  }

  useCredentials(text: string): void {
    this.credentials = text;
  }

  async useAuthorities(pem: string): Promise<void> {
    const config = { ...this.options.config, natsCa: pem };
    const { reached, sentence } = await checkNats({ config, credentials: this.credentials, limitMs: CHECK_MS });
    if (!reached)
      throw new ExternalFailure({ operation: 'connect with new authorities', target: 'NATS', message: sentence });
    this.authorities = pem;
  }

  /** Read at each connect. Without an authority there is no TLS, and a rotation does not enable it. */
  private readonly trusted = (): string => this.authorities ?? '';

  async close(): Promise<void> {
    this.closing = true;
    this.connected = false;
    this.endPause();
    await this.nc?.close();
    await this.opened;
  }

  private get hasWebsockets(): boolean {
    return this.options.config.natsUrls.some(isWebsocket);
  }

  private async open(): Promise<void> {
    const nc = await this.connectOnce();
    if (nc === undefined) return;
    this.nc = nc;
    if (this.closing) return nc.close();
    this.subscribeOn(nc);
    void this.follow(nc);
    this.nowConnected();
    if (this.hasWebsockets) void this.openAgainAfter(nc);
  }

  /** The library does not reconnect such a connection. */
  private async openAgainAfter(nc: NatsConnection): Promise<void> {
    await nc.closed();
    this.connected = false;
    if (this.closing) return;
    await this.pause(backoffMs(RECONNECT, (this.attempt += 1), this.options.random));
    await this.open();
  }

  /** Retries forever, with websockets one server after the other. Returns undefined if closed in the meantime. */
  private async connectOnce(): Promise<NatsConnection | undefined> {
    const { config, random, log } = this.options;
    while (!this.closing) {
      try {
        const authority = this.authorities === undefined ? undefined : this.trusted;
        if (!this.hasWebsockets)
          return await connect({
            ...this.connectOptions(),
            servers: [...config.natsUrls],
            ...natsTrust(authority, config.natsUrls),
            maxReconnectAttempts: -1,
            reconnectDelayHandler: () => backoffMs(RECONNECT, (this.attempt += 1), random),
          });
        const url = config.natsUrls[this.attempt % config.natsUrls.length] ?? '';
        return await connectTo(url, authority, { ...this.connectOptions(), reconnect: false, timeout: CHECK_MS });
      } catch (error) {
        this.attempt += 1;
        const delayMs = backoffMs(RECONNECT, this.attempt, random);
        if (this.attempt === 1) log('warn', 'NATS cannot be reached; trying again for ever', { cause: String(error) });
        await this.pause(delayMs);
      }
    }
    return undefined;
  }

  private connectOptions(): ConnectionOptions {
    const { namespace, cluster, node } = this.options.config;
    return {
      name: `agent ${namespace}/${cluster}/${node}`,
      // Evaluated at each connect, so that renewed credentials apply from the next one.
      ...(this.credentials === ''
        ? {}
        : { authenticator: (nonce?: string) => authenticatorOf(this.credentials)(nonce) }),
      noAsyncTraces: true,
      ignoreAuthErrorAbort: true,
      pingInterval: NO_PINGS_MS,
    };
  }

  /** Ends at once if this is closed. */
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
    this.pingsUnanswered = 0;
    this.connected = true;
    this.synced = false;
    for (const callback of this.onConnects) callback();
  }

  private async follow(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') this.connected = false;
      else if (status.type === 'reconnect') this.nowConnected();
      else if (status.type === 'error') this.options.log('warn', 'NATS says', { error: status.error.message });
    }
  }

  private subscribeOn(nc: NatsConnection): void {
    const subject = agentOutputs(this.options.config);
    nc.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) this.receive(message);
        else this.options.log('warn', 'subscription failed', { subject, cause: error.message });
      },
    });
  }

  private receive(message: Msg): void {
    const output = message.subject.slice(message.subject.lastIndexOf('.') + 1);
    // Addressed to the host channel, which is another process.
    if (output === 'order') return;
    const json = jsonIn(message);
    const desired = output === 'desired' ? AgentDesiredMessage.safeParse(json).data : undefined;
    if (desired !== undefined) return this.desired.emit(desired);
    const network = output === 'network' ? AgentNetworkMessage.safeParse(json).data : undefined;
    if (network !== undefined) return this.network.emit(network, false);
    const answer = answerIn(output, json);
    if (answer === undefined) return this.options.log('error', 'a message that cannot be read is ignored', { output });
    if (answer.kind === 'state') this.hearState(answer.message);
    for (const waiting of this.waiting) if (waiting.accepts(answer)) waiting.resolve(answer);
  }

  private hearState({ desired, network }: AgentStateMessage): void {
    this.synced = true;
    if (desired !== null) this.desired.emit(desired);
    if (network !== undefined && network !== null) this.network.emit(network, true);
  }

  private request(
    subject: string,
    body: unknown,
    accepts: (answer: PlatformMessage) => boolean,
  ): Promise<PlatformMessage> {
    const failure = (message: string): ExternalFailure =>
      new ExternalFailure({ operation: 'ask the services', target: subject, message });
    const { nc } = this;
    if (nc === undefined || !this.connected) return Promise.reject(failure('NATS is away'));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        accepts,
        resolve: (answer) => {
          end();
          resolve(answer);
        },
      };
      const timer = setTimeout(() => {
        end();
        reject(failure(`no answer within ${ANSWER_TIMEOUT_MS / 1_000} s`));
      }, ANSWER_TIMEOUT_MS);
      const end = (): void => {
        clearTimeout(timer);
        this.waiting.delete(waiting);
      };
      this.waiting.add(waiting);
      nc.publish(subject, JSON.stringify(body));
    });
  }
}
