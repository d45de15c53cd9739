import {
  ClusterPath,
  NodeActionRequest,
  NodeActionView,
  OperationCancellation,
  OperationPath,
  type NodeActionKind,
  type RefusalCode,
  type StoredEvent,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { causeOf, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { CommandAnswers, operationLocation } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { unwrap } from '../http/refusal.error.js';
import { actions, type ActionsCommand, type ActionsState } from './actions.decider.js';

const ID_LENGTH = 16;
const MS_PER_SECOND = 1_000;

const requestIdOf = ({ commandId = randomUUID() }: Caller): string =>
  createHash('sha256').update(commandId).digest('hex').slice(0, ID_LENGTH);

const COMMON: readonly RefusalCode[] = [...OF_CLUSTER, 'cluster.paused', ...CHANGE_REFUSALS];

const ENDS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'NodeActionSucceeded',
  'NodeActionFailed',
  'NodeActionVoided',
]);

interface RequestedAction {
  readonly requestId: string;
  readonly action: NodeActionKind;
  readonly nodes: readonly string[];
}

const askedIn = (events: readonly StoredEvent[]): RequestedAction | undefined =>
  events.flatMap((event) => (event.type === 'NodeActionRequested' ? [event.data] : []))[0];

/** The last node of the request is through. */
const endOf = (asked: RequestedAction | undefined): ((event: StoredEvent) => boolean) => {
  const left = new Set(asked?.nodes);
  return (event) => {
    if (event.type === 'ClusterDeletionRequested') return true;
    if (!ENDS.has(event.type) || !('requestId' in event.data) || !('node' in event.data)) return false;
    if (event.data.requestId === asked?.requestId && event.data.node !== undefined) left.delete(event.data.node ?? '');
    return left.size === 0;
  };
};

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class ActionsHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post('nodes/actions')
  @OperatorCommand()
  @Documented({
    id: 'requestNodeAction',
    tag: 'nodes',
    records: 'work',
    summary: 'Ask for nodes to be rebooted, drained, cordoned or uncordoned',
    description:
      'The request lasts until it is done, cancelled or expired: a node whose agent is away is rebooted once it is back, unless it has booted since. Control planes go one at a time.',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the operation', schema: NodeActionView },
      { status: 200, description: 'With Prefer: wait=N: it is over on every node', schema: NodeActionView },
    ],
    refusals: [
      ...COMMON,
      'cluster.deleting',
      'cluster.not-ready',
      'cluster.busy',
      'upgrade.open',
      'node.selection-invalid',
      'node.none-selected',
      'node.unknown',
      'pool.unknown',
      'node.leaving',
      'node.being-replaced',
      'node.action-open',
      'node.not-cordoned',
      'node.action-quorum',
    ],
  })
  async request(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: NodeActionRequest }) { expiresInSeconds, ...request }: NodeActionRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<NodeActionView> {
    const expiresAt = new Date(this.clock.now().getTime() + expiresInSeconds * MS_PER_SECOND).toISOString();
    const requestId = requestIdOf(exchange.caller);
    const data = { ...path, ...request, requestId, expiresAt };
    const decided = await this.decide({ type: 'RequestAction', data }, exchange.caller);
    const asked = askedIn(decided.events);
    return this.answers.respond(exchange, decided, {
      address: path,
      location: operationLocation(path),
      isOver: endOf(asked),
      isOverAlready: () => asked === undefined,
      view: () => ({
        kind: 'NodeAction',
        action: request.action,
        nodes: [...(asked?.nodes ?? [])],
        operation: decided.events[0]?.meta.id ?? null,
      }),
    });
  }

  @Post('operations/:operation/cancel')
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'cancelOperation',
    tag: 'operations',
    records: 'work',
    summary: 'Cancel a request about nodes',
    description:
      'No further node begins. A node that has begun is uncordoned again, unless its reboot has begun: that one is finished.',
    answers: [{ status: 202, description: 'The request is recorded', schema: NodeActionView }],
    refusals: [...COMMON, 'operation.not-cancellable'],
  })
  async cancel(
    @Param({ schema: OperationPath }) { operation, ...path }: OperationPath,
    @Body({ schema: OperationCancellation }) { reason }: OperationCancellation,
    @FromExchange() exchange: Exchange,
  ): Promise<NodeActionView> {
    const command: ActionsCommand = { type: 'CancelAction', data: { ...path, operation, reason } };
    const decided = await this.decide(command, exchange.caller);
    const found = decided.state.cluster?.actions.find((one) => one.operation === operation);
    return this.answers.respond(exchange, decided, {
      address: path,
      location: `/ns/${path.namespace}/clusters/${path.cluster}/operations/${operation}`,
      view: () => ({
        kind: 'NodeAction',
        action: found?.action ?? 'reboot',
        nodes: [...(found?.nodes ?? [])],
        operation,
      }),
    });
  }

  private async decide(command: ActionsCommand, caller: Caller): Promise<Decided<ActionsState>> {
    const { namespace, cluster } = command.data;
    return unwrap(await this.handle(actions, { namespace, cluster, context: 'request' }, command, causeOf(caller)));
  }
}
