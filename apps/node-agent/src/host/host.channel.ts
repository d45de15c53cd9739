import {
  AgentCredentialsMessage,
  agentOutputs,
  agentRenewSubject,
  HostOrder,
  hostReplySubject,
  wordsOf,
  type HostChannelConfig,
} from '@fairlead/contracts';
import { authenticatorOf, claimsOfCreds, withJwt } from '@fairlead/embedded/credentials';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectTo } from '../adapters/nats/nats.connect.js';
import type { AgentLog } from '../node/host.ports.js';
import { backoffMs } from '../time/backoff.js';
import { HostOrders } from './host.orders.js';

const RECONNECT = { firstMs: 250, maxMs: 15_000 };
const CONNECT_TIMEOUT_MS = 20_000;
const PING_INTERVAL_MS = 20_000;
const LOOK_MS = 30_000;
/** Share of its validity after which a credential is renewed; the rest covers outages of the services. */
const RENEW_AT = 1 / 3;
const ORDER_LENGTH_MAX = 1_048_576;

export interface HostChannelParts {
  readonly config: HostChannelConfig;
  /** The contents of a NATS creds file. */
  readonly credentials: string;
  readonly root: string;
  readonly keep: (credentials: string) => Promise<void>;
  /** Whether the host still belongs to Fairlead: its configuration exists. */
  readonly isWanted: () => Promise<boolean>;
  readonly random: () => number;
  readonly log: AgentLog;
}

/**
 * The connection through which Fairlead manages a host that it cannot reach: the host connects, and runs orders
 * received on its node's subject. A separate process, so that it survives the replacement of the agent.
 */
export class HostChannel {
  private readonly orders: HostOrders;
  private nc: NatsConnection | undefined;
  private credentials: string;
  private isClosing = false;

  constructor(private readonly parts: HostChannelParts) {
    this.credentials = parts.credentials;
    this.orders = new HostOrders(parts.root, (reply) => {
      this.nc?.publish(hostReplySubject(parts.config), JSON.stringify(reply));
    });
  }

  /** Resolves when the host was reset, or the channel was stopped. */
  async run(): Promise<void> {
    const { random, log } = this.parts;
    for (let attempt = 0; !this.isClosing && (await this.parts.isWanted()); attempt += 1) {
      try {
        await this.serve(attempt);
        attempt = 0;
      } catch (error) {
        if (attempt === 0) log('warn', 'NATS cannot be reached; trying again', { cause: wordsOf(error) });
      }
      if (!this.isClosing) await sleep(backoffMs(RECONNECT, attempt + 1, random));
    }
    this.orders.stop();
  }

  async stop(): Promise<void> {
    this.isClosing = true;
    await this.nc?.close();
  }

  /** One connection, from connect to close. */
  private async serve(attempt: number): Promise<void> {
    const { config, log } = this.parts;
    const { namespace, cluster, node, natsUrls, natsCa } = config;
    const url = natsUrls[attempt % natsUrls.length] ?? '';
    const nc = await connectTo(url, natsCa === undefined ? undefined : () => natsCa, {
      name: `host ${namespace}/${cluster}/${node}`,
      authenticator: (nonce?: string) => authenticatorOf(this.credentials)(nonce),
      reconnect: false,
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      noAsyncTraces: true,
    });
    this.nc = nc;
    log('info', 'connected', { url });
    nc.subscribe(agentOutputs(config), {
      callback: (error, message) => {
        if (error === null) this.receive(message);
      },
    });
    const timer = setInterval(() => void this.look(nc), LOOK_MS);
    try {
      await this.look(nc);
      const failed = await nc.closed();
      if (failed !== undefined) log('info', 'disconnected', { cause: wordsOf(failed) });
    } finally {
      clearInterval(timer);
    }
  }

  private receive(message: Msg): void {
    const { subject } = message;
    const kind = subject.slice(subject.lastIndexOf('.') + 1);
    if (kind !== 'order' && kind !== 'credentials') return;
    const json = parseJsonOrUndefined(message.string(), { lengthMax: ORDER_LENGTH_MAX });
    if (kind === 'credentials') return void this.renewed(AgentCredentialsMessage.safeParse(json).data);
    const order = HostOrder.safeParse(json);
    if (order.success) void this.orders.carryOut(order.data);
    else this.parts.log('error', 'an order that cannot be read is ignored', {});
  }

  /** Closes the connection of a host that was reset, and requests new claims in time. */
  private async look(nc: NatsConnection): Promise<void> {
    if (!(await this.parts.isWanted())) {
      await nc.close();
      return;
    }
    const { iat, exp, sub } = claimsOfCreds(this.credentials);
    if (exp === undefined || Date.now() / 1_000 < iat + (exp - iat) * RENEW_AT) return;
    nc.publish(agentRenewSubject(this.parts.config), JSON.stringify({ uid: this.parts.config.uid, user: sub }));
  }

  /** The agent of this node has a different user, whose claims are sent to the same subject. */
  private async renewed(message: AgentCredentialsMessage | undefined): Promise<void> {
    const before = claimsOfCreds(this.credentials);
    if (message === undefined || message.user !== before.sub) return;
    const text = withJwt(this.credentials, message.jwt);
    const after = claimsOfCreds(text);
    if (after.sub !== before.sub || (after.exp ?? 0) <= (before.exp ?? 0)) return;
    await this.parts.keep(text);
    this.credentials = text;
    this.parts.log('info', 'the credential was renewed', {});
  }
}
