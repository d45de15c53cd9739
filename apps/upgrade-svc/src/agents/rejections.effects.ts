import { isRefusal } from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { METRICS, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { nodeKey, type NodeRow } from '../nodes/nodes.projection.js';
import type { FactRejection, RejectedMessage } from './fact.rules.js';
import { rejections } from './rejections.decider.js';

/** How often a node whose messages are rejected continuously is reported. */
const REPORT_INTERVAL_MS = 10 * 60_000;
const NODES_REMEMBERED_MAX = 10_000;
const DETAIL_LENGTH_MAX = 300;
const ACTOR = 'system/upgrade-svc';

interface Unreported {
  readonly count: number;
  readonly reportedAtMs: number | undefined;
}

/** Counts the results of agents' messages, and informs operators of nodes whose messages are rejected. */
@Injectable()
export class RejectionReports {
  private readonly logger = new Logger('agents');
  private readonly unreported = new LRUCache<string, Unreported>({ max: NODES_REMEMBERED_MAX });
  readonly count: (of: { readonly outcome: 'recorded' | FactRejection }) => void;

  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(METRICS) metrics: ServiceMetrics,
  ) {
    this.count = metrics.addCounter({
      name: 'fairlead_agent_messages_total',
      help: 'Facts that agents sent, by what became of them',
      labels: ['outcome'],
    });
  }

  /** Reports a node in the log at once, and then at most once in ten minutes. */
  async add(row: NodeRow, { reason, detail }: RejectedMessage, nowMs: number): Promise<void> {
    if (reason === 'unknown-node') return;
    const { namespace, cluster, node, uid, because } = row;
    const key = nodeKey(namespace, cluster, node);
    const { count, reportedAtMs } = this.unreported.get(key) ?? { count: 0, reportedAtMs: undefined };
    if (reportedAtMs !== undefined && nowMs - reportedAtMs < REPORT_INTERVAL_MS) {
      this.unreported.set(key, { count: count + 1, reportedAtMs });
      return;
    }
    this.unreported.set(key, { count: 0, reportedAtMs: nowMs });
    this.logger.warn(`${key}: messages of its agent are rejected: ${detail}`);
    const data = { uid, node, count: count + 1, reason, detail: detail.slice(0, DETAIL_LENGTH_MAX) };
    const outcome = await this.handle(
      rejections,
      { namespace, cluster, context: `health-${node}` },
      { type: 'ReportRejections', data },
      { actor: ACTOR, correlationId: because.correlationId, causationId: because.eventId },
    );
    if (isRefusal(outcome)) this.logger.warn(`${key}: ${outcome.message}`);
  }
}
