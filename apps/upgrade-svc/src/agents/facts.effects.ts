import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { nodeKey, type NodeRow } from '../nodes/nodes.projection.js';
import { NodesQueries } from '../nodes/nodes.queries.js';
import type { AgentChannel, AgentMessage } from './agents.ports.js';
import { readStatedFact, rejected, type RejectedMessage, type StatedFact } from './fact.rules.js';
import { FactsLog } from './facts.log.effects.js';
import { MessageBudget } from './message.budget.js';
import { RejectionReports } from './rejections.effects.js';
import { AGENT_CHANNEL } from './tokens.js';

const AT_ONCE_MAX = 64;
const RETRY_MS = 500;

const rejectionOf = (stated: StatedFact | RejectedMessage, { uid }: NodeRow): RejectedMessage | undefined => {
  if (stated.kind === 'rejected') return stated;
  if (stated.uid === uid) return undefined;
  return rejected('other-cluster', 'the fact is about an earlier cluster of this name', stated);
};

/**
 * Records facts of agents whose node is known to this service, within its budget. Everything else is counted and
 * reported.
 */
@Injectable()
export class FactsRecorder implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('agents');
  private readonly budget = new MessageBudget();
  private started = false;

  constructor(
    @Inject(AGENT_CHANNEL) private readonly channel: AgentChannel,
    @Inject(NodesQueries) private readonly nodes: NodesQueries,
    @Inject(FactsLog) private readonly log: FactsLog,
    @Inject(RejectionReports) private readonly reports: RejectionReports,
  ) {}

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    if (this.started) return;
    this.started = true;
    this.channel.facts((message) => this.take(message), AT_ONCE_MAX);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.channel.stop();
  }

  private async take(message: AgentMessage): Promise<void> {
    try {
      const stated = readStatedFact(message.subject, message.bytes);
      const rejection = await this.recordOrReject(stated, message.bytes.length);
      this.reports.count({ outcome: rejection?.reason ?? 'recorded' });
      this.answer(stated, rejection);
      message.done();
    } catch (error) {
      if (!(error instanceof ExternalFailure)) this.logger.error(`${message.subject}: ${wordsOf(error)}`);
      message.later(RETRY_MS);
    }
  }

  private async recordOrReject(
    stated: StatedFact | RejectedMessage,
    bytes: number,
  ): Promise<RejectedMessage | undefined> {
    const { address } = stated;
    if (address === null) return rejected('invalid', 'the subject names no node', stated);
    const nowMs = performance.now();
    const isWithinBudget = this.budget.take(nodeKey(address.namespace, address.cluster, address.node), bytes, nowMs);
    const row = await this.nodes.one(address);
    if (row === undefined) return rejected('unknown-node', 'no cluster has this node', stated);
    const rejection = isWithinBudget
      ? rejectionOf(stated, row)
      : rejected('too-many', 'the agent states more than it may', stated);
    if (rejection !== undefined) await this.reports.add(row, rejection, nowMs);
    else if (stated.kind === 'stated') await this.log.record(stated);
    return rejection;
  }

  /** An agent stores a fact until it is acknowledged, and resends it. */
  private answer({ address, id }: StatedFact | RejectedMessage, rejection: RejectedMessage | undefined): void {
    // A fact beyond the budget may be recorded later, and a node may become known soon.
    const isFinal = rejection?.reason !== 'too-many' && rejection?.reason !== 'unknown-node';
    if (address === null || id === null || !isFinal) return;
    this.channel.send(address, 'recorded', { id, rejected: rejection?.detail ?? null });
  }
}
