import {
  AGENT_EVENT_TYPES,
  AGENT_MESSAGE_MAX_BYTES,
  AgentSyncMessage,
  eventSubject,
  streamSubject,
  parseAgentInput,
  wordsOf,
  type AgentDesiredMessage,
  type AgentNetworkMessage,
  type AgentStateMessage,
  type NodeAddress,
  type StoredEvent,
} from '@fairlead/contracts';
import { OnEvent } from '@fairlead/event-sourcing/jetstream';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { Controller, Inject, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { nodeKey } from '../nodes/nodes.projection.js';
import { NodesQueries } from '../nodes/nodes.queries.js';
import type { AgentChannel } from './agents.ports.js';
import { FactsLog } from './facts.log.effects.js';
import { MessageBudget } from './message.budget.js';
import { AGENT_CHANNEL } from './tokens.js';

const desiredMessage = ({ meta, data }: StoredEvent<'DesiredVersionsSet'>): AgentDesiredMessage => ({
  id: meta.id,
  correlationId: meta.correlationId,
  data,
});

const networkMessage = ({ meta, data }: StoredEvent<'DesiredNetworkSet'>): AgentNetworkMessage => ({
  id: meta.id,
  seq: meta.seq,
  data,
});

const AGENT_EVENTS: ReadonlySet<string> = new Set(AGENT_EVENT_TYPES);

/** No schema accepts undefined. */
export const jsonIn = (bytes: Uint8Array): unknown =>
  bytes.length > AGENT_MESSAGE_MAX_BYTES
    ? undefined
    : parseJsonOrUndefined(new TextDecoder().decode(bytes), { lengthMax: AGENT_MESSAGE_MAX_BYTES });

/** Sends agents the desired state of their nodes: as soon as it is decided, and on request. */
@Controller()
export class AgentStates implements OnApplicationBootstrap {
  private readonly logger = new Logger('agents');
  private readonly budget = new MessageBudget();
  private started = false;

  constructor(
    @Inject(AGENT_CHANNEL) private readonly channel: AgentChannel,
    @Inject(NodesQueries) private readonly nodes: NodesQueries,
    @Inject(FactsLog) private readonly facts: FactsLog,
  ) {}

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.started) return;
    this.started = true;
    this.channel.syncs((subject, bytes) => this.answer(subject, bytes));
  }

  @OnEvent('DesiredVersionsSet')
  async desiredVersionsSet(event: StoredEvent<'DesiredVersionsSet'>): Promise<void> {
    const { namespace, cluster } = event.meta;
    this.facts.remember(event);
    this.channel.send({ namespace, cluster, node: event.data.node }, 'desired', desiredMessage(event));
  }

  @OnEvent('DesiredNetworkSet')
  async desiredNetworkSet(event: StoredEvent<'DesiredNetworkSet'>): Promise<void> {
    const { namespace, cluster } = event.meta;
    this.facts.remember(event);
    this.channel.send({ namespace, cluster, node: event.data.node }, 'network', networkMessage(event));
  }

  /** An agent without a reply asks again. */
  private async answer(subject: string, bytes: Uint8Array): Promise<void> {
    try {
      const address = parseAgentInput(subject);
      const request = AgentSyncMessage.safeParse(jsonIn(bytes)).data;
      if (address === undefined || request === undefined) return;
      const key = nodeKey(address.namespace, address.cluster, address.node);
      if (!this.budget.take(key, bytes.length, performance.now())) return;
      if ((await this.nodes.one(address))?.uid !== request.uid) return;
      this.channel.send(address, 'state', await this.stateOf(address, request));
    } catch (error) {
      this.logger.warn(`${subject} is not answered: ${wordsOf(error)}`);
    }
  }

  private async stateOf(address: NodeAddress, { recover, uid }: AgentSyncMessage): Promise<AgentStateMessage> {
    const { namespace, cluster, node } = address;
    const stream = { namespace, cluster, context: `desired-${node}` };
    const desired = (['DesiredVersionsSet', 'DesiredNetworkSet'] as const).map((type) => eventSubject(stream, type));
    const facts = `${streamSubject({ namespace, cluster, context: `node-${node}` })}.>`;
    const found = await this.channel.newest(recover ? [...desired, facts] : desired);
    const ours = found.filter(({ data }) => 'uid' in data && data.uid === uid);
    const asked = ours.find((event) => event.type === 'DesiredVersionsSet');
    const network = ours.find((event) => event.type === 'DesiredNetworkSet');
    return {
      desired: asked === undefined ? null : desiredMessage(asked as StoredEvent<'DesiredVersionsSet'>),
      network: network === undefined ? null : networkMessage(network as StoredEvent<'DesiredNetworkSet'>),
      last: recover
        ? ours.filter(({ type }) => AGENT_EVENTS.has(type)).map(({ type, data }) => ({ type, data }))
        : null,
    };
  }
}
