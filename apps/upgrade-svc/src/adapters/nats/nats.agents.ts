import {
  AGENT_FACTS_RECORDER,
  AGENT_SYNC_FILTER,
  agentOutputSubject,
  STREAMS,
  wordsOf,
  type AgentOutput,
  type NodeAddress,
  type StoredEvent,
} from '@fairlead/contracts';
import { fetchWindow, readNewest } from '@fairlead/event-sourcing/jetstream';
import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager, type Consumer, type JsMsg } from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { Logger } from '@nestjs/common';
import type { AgentChannel, AgentMessage } from '../../agents/agents.ports.js';

const RETRY = { firstMs: 250, maxMs: 5_000 };
/** How many retries are made between two reports of an unavailable stream. */
const REPORT_EVERY = 12;
/** The messages of a replica that dies are redelivered to others after this. */
const ACK_WAIT_MS = 15_000;

const messageOf = (message: JsMsg): AgentMessage => ({
  subject: message.subject,
  bytes: message.data,
  done: () => message.ack(),
  later: (delayMs) => message.nak(delayMs),
});

/**
 * Agents use a separate account; their messages arrive through imports, and are never answered on their reply subject.
 */
export class NatsAgents implements AgentChannel {
  private readonly logger = new Logger('agents');
  private readonly underWay = new Set<Promise<void>>();
  private running = true;
  private loop: Promise<void> = Promise.resolve();
  private stopFetch = (): void => undefined;

  constructor(private readonly nc: NatsConnection) {}

  facts(take: (message: AgentMessage) => Promise<void>, atOnceMax: number): void {
    void this.fetchAgainOnReconnect();
    this.loop = this.run(take, atOnceMax);
  }

  syncs(take: (subject: string, bytes: Uint8Array) => Promise<void>): void {
    this.nc.subscribe(AGENT_SYNC_FILTER, {
      queue: AGENT_FACTS_RECORDER,
      callback: (error, message) => {
        if (error === null) this.keep(take(message.subject, message.data));
      },
    });
  }

  send(address: NodeAddress, output: AgentOutput, message: unknown): void {
    this.nc.publish(agentOutputSubject(address, output), JSON.stringify(message));
  }

  newest(filters: readonly string[]): Promise<readonly StoredEvent[]> {
    return readNewest(this.nc, filters);
  }

  async stop(): Promise<void> {
    this.running = false;
    this.stopFetch();
    await this.loop;
    await Promise.all(this.underWay);
  }

  private keep(work: Promise<void>): void {
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work));
  }

  private async run(take: (message: AgentMessage) => Promise<void>, atOnceMax: number): Promise<void> {
    let consumer: Consumer | undefined;
    let failures = 0;
    while (this.running) {
      try {
        consumer ??= await this.consumer();
        failures = 0;
        if (this.underWay.size >= atOnceMax) await Promise.race(this.underWay);
        else await this.fetch(consumer, take, atOnceMax - this.underWay.size);
      } catch (error) {
        if (!this.running) return;
        // Whatever the error was, the consumer may be gone too.
        consumer = undefined;
        if (failures % REPORT_EVERY === 0)
          this.logger.warn(`reading what agents state failed, trying again: ${wordsOf(error)}`);
        const delayMs = Math.min(RETRY.firstMs * 2 ** failures, RETRY.maxMs);
        failures += 1;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  }

  private async fetch(
    consumer: Consumer,
    take: (message: AgentMessage) => Promise<void>,
    count: number,
  ): Promise<void> {
    const messages = await consumer.fetch({ max_messages: count, ...fetchWindow() });
    this.stopFetch = () => messages.stop();
    for await (const message of messages) this.keep(take(messageOf(message)));
  }

  private async consumer(): Promise<Consumer> {
    const jsm = await jetstreamManager(this.nc, { checkAPI: false });
    await jsm.consumers.add(STREAMS.agentFacts, {
      durable_name: AGENT_FACTS_RECORDER,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ACK_WAIT_MS),
      max_deliver: -1,
      max_ack_pending: 10_000,
    });
    return jetstream(this.nc, { checkAPI: false } as object).consumers.get(STREAMS.agentFacts, AGENT_FACTS_RECORDER);
  }

  private async fetchAgainOnReconnect(): Promise<void> {
    for await (const status of this.nc.status()) if (status.type === 'reconnect') this.stopFetch();
  }
}
