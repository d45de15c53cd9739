import { eventSubject, isRefusal, ExternalFailure, type NodeAddress, type StoredEvent } from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { nodeKey } from '../nodes/nodes.projection.js';
import type { AgentChannel } from './agents.ports.js';
import type { StatedFact } from './fact.rules.js';
import { agentFacts } from './facts.decider.js';
import { AGENT_CHANNEL } from './tokens.js';

/** Events that request something from a node. */
const DESIRED_TYPES = ['DesiredVersionsSet', 'DesiredNetworkSet'] as const;
type DesiredType = (typeof DESIRED_TYPES)[number];

const CAUSES_REMEMBERED_MAX = 20_000;

const causeKey = ({ namespace, cluster, node }: NodeAddress, id: string): string =>
  `${nodeKey(namespace, cluster, node)}|${id}`;

/** Writes facts of agents to the log, each once, as facts of the node in the subject. */
@Injectable()
export class FactsLog {
  /** Correlation IDs by requesting event. */
  private readonly correlations = new LRUCache<string, string>({ max: CAUSES_REMEMBERED_MAX });

  constructor(
    @Inject(AGENT_CHANNEL) private readonly channel: AgentChannel,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Resolves once the fact is in the log. Rejects with ExternalFailure while the log is unavailable. */
  async record({ address, id, time, desired, fact }: StatedFact): Promise<void> {
    const { namespace, cluster, node } = address;
    const now = this.clock.now().toISOString();
    const correlationId = desired === null ? undefined : await this.correlationOf(address, desired);
    const because =
      correlationId === undefined || desired === null
        ? // Nothing in the log led to it: it is the first cause of what follows, and its own cause is the node.
          { correlationId: id, causationId: `node/${node}` }
        : { correlationId, causationId: desired };
    // The clock of a node may be wrong, so future times are replaced.
    const observed = { id, time: time < now ? time : now, source: `/node-agent/${node}` };
    const outcome = await this.handle(
      agentFacts,
      { namespace, cluster, context: `node-${node}` },
      { type: 'RecordFact', data: { id, fact } },
      { actor: `node/${node}`, ...because, observed },
    );
    if (isRefusal(outcome))
      throw new ExternalFailure({ operation: 'record a fact', target: node, message: outcome.message });
  }

  /** Remembers a request to a node, which facts that result from it name even after later requests. */
  remember({ meta, data }: StoredEvent<DesiredType>): void {
    const { namespace, cluster, id, correlationId } = meta;
    this.correlations.set(causeKey({ namespace, cluster, node: data.node }, id), correlationId);
  }

  /** Returns undefined if it is not a recent request to this node. A node cannot name causes elsewhere in the log. */
  private async correlationOf(address: NodeAddress, desired: string): Promise<string | undefined> {
    const known = this.correlations.get(causeKey(address, desired));
    if (known !== undefined) return known;
    const { namespace, cluster, node } = address;
    const stream = { namespace, cluster, context: `desired-${node}` };
    const newest = await this.channel.newest(DESIRED_TYPES.map((type) => eventSubject(stream, type)));
    const asked = newest.find(({ meta }) => meta.id === desired) as StoredEvent<DesiredType> | undefined;
    if (asked === undefined) return undefined;
    this.remember(asked);
    return asked.meta.correlationId;
  }
}
