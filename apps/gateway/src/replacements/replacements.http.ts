import {
  ClusterPath,
  NodeReplacementsRequest,
  NodeReplacementsView,
  type EventData,
  type StoredEvent,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { causeOf, FromExchange, type Exchange } from '../http/caller.js';
import { CommandAnswers, operationLocation } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { unwrap } from '../http/refusal.error.js';
import { replacements } from './replacements.decider.js';

const ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'PoolRolloutCompleted',
  'PoolRolloutFailed',
  'NodesAbandoned',
]);

const rolloutsIn = ({ events }: Decided<unknown>): readonly EventData<'PoolRolloutRequested'>[] =>
  events.flatMap((event) => (event.type === 'PoolRolloutRequested' ? [event.data] : []));

/** The last of the rollouts has ended. */
const endOf = (decided: Decided<unknown>): ((event: StoredEvent) => boolean) => {
  const left = new Set(rolloutsIn(decided).map(({ requestId }) => requestId));
  return (event) => {
    if (event.type === 'ClusterDeletionRequested') return true;
    if (!ENDS.has(event.type) || !('requestId' in event.data)) return false;
    left.delete(event.data.requestId ?? '');
    return left.size === 0;
  };
};

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class ReplacementsHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Post('nodes/replacements')
  @OperatorCommand()
  @Documented({
    id: 'replaceNodes',
    tag: 'nodes',
    records: 'work',
    summary: 'Replace nodes by new ones of their pools',
    description:
      'Each pool with nodes among them is rolled out: within its maxSurge and maxUnavailable, with its canary, and with OnDelete, too. Control planes go one at a time. The first node that cannot be replaced stops the rollout of its pool.',
    answers: [
      { status: 202, description: 'The requests are recorded; one operation per pool', schema: NodeReplacementsView },
      { status: 200, description: 'With Prefer: wait=N: they are over', schema: NodeReplacementsView },
    ],
    refusals: [
      ...OF_CLUSTER,
      'cluster.paused',
      'cluster.not-ready',
      'cluster.busy',
      'cluster.nodes-busy',
      'upgrade.open',
      'node.selection-invalid',
      'node.none-selected',
      'node.unknown',
      'pool.unknown',
      'node.leaving',
      'node.being-replaced',
      'node.not-joined',
      'node.held',
      'pool.rollout-failed',
      ...CHANGE_REFUSALS,
    ],
  })
  async replace(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: NodeReplacementsRequest }) { select, reason }: NodeReplacementsRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<NodeReplacementsView> {
    const { namespace, cluster } = path;
    const { caller } = exchange;
    const requestId = caller.commandId ?? randomUUID();
    const data = { namespace, cluster, requestId, select, reason };
    const stream = { namespace, cluster, context: 'request' };
    const command = { type: 'ReplaceNodes', data } as const;
    const decided = unwrap(await this.handle(replacements, stream, command, causeOf(caller)));
    return this.answers.respond(exchange, decided, {
      address: path,
      location: operationLocation(path),
      isOver: endOf(decided),
      view: () => ({
        kind: 'NodeReplacements',
        nodes: rolloutsIn(decided).flatMap(({ nodes = [] }) => [...nodes]),
        operations: decided.events.map(({ meta }) => meta.id),
      }),
    });
  }
}
