import {
  ClusterPath,
  isRefusal,
  NodePath,
  NodeUpdatesRequest,
  NodeUpdatesView,
  PoolPath,
  UpdatesRequest,
  UpdatesView,
  type RefusalCode,
} from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Body, Controller, Inject, Param, Put, Res } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { showSeq } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { unwrap } from '../http/refusal.error.js';
import { selectNodes } from '../lifecycle/selection.rules.js';
import { holds, type Scope } from './holds.decider.js';

const REFUSALS: readonly RefusalCode[] = [...OF_CLUSTER, 'upgrade.reason-missing', ...CHANGE_REFUSALS];

const DESCRIPTION =
  'What is held takes no part in any upgrade, and stalls none. It stays as it is until it is released; its version may fall behind.';

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class HoldsHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Put('nodes/:node/updates')
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'setNodeUpdates',
    tag: 'upgrades',
    records: 'work',
    summary: 'Hold a node out of changes, or release it',
    description: DESCRIPTION,
    answers: [{ status: 200, description: 'How it is now', schema: UpdatesView }],
    refusals: [...REFUSALS, 'node.unknown'],
  })
  node(
    @Param({ schema: NodePath }) { node, ...address }: NodePath,
    @Body({ schema: UpdatesRequest }) request: UpdatesRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpdatesView> {
    return this.set({ address, scope: { kind: 'node', node }, name: node, request }, caller, response);
  }

  @Put('nodes/updates')
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'setSelectedNodeUpdates',
    tag: 'upgrades',
    records: 'work',
    summary: 'Hold nodes out of changes, or release them',
    description: `${DESCRIPTION} The selection is resolved once: nodes that join a pool later are not held; hold the pool for that.`,
    answers: [{ status: 200, description: 'How they are now', schema: NodeUpdatesView }],
    refusals: [...REFUSALS, 'node.selection-invalid', 'node.none-selected', 'node.unknown', 'pool.unknown'],
  })
  async nodes(
    @Param({ schema: ClusterPath }) address: ClusterPath,
    @Body({ schema: NodeUpdatesRequest }) { select, disabled, reason }: NodeUpdatesRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<NodeUpdatesView> {
    const { namespace, cluster } = address;
    const data = { namespace, cluster, select, disabled, reason };
    const stream = { namespace, cluster, context: 'request' };
    const command = { type: 'SetNodeUpdates', data } as const;
    const { state, events, seq } = unwrap(await this.handle(holds, stream, command, causeOf(caller)));
    showSeq(response, seq);
    const selected = selectNodes(state.cluster?.nodes ?? {}, select, address);
    return {
      kind: 'NodeUpdates',
      nodes: isRefusal(selected) ? [] : [...selected],
      changed: events.flatMap((event) =>
        event.type === 'UpdatesDisabledSet' && event.data.scope.kind === 'node' ? [event.data.scope.node] : [],
      ),
      ...{ disabled, reason, actor: caller.identity.actor },
      since: events[0]?.meta.time ?? this.clock.now().toISOString(),
    };
  }

  @Put('pools/:pool/updates')
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'setPoolUpdates',
    tag: 'upgrades',
    records: 'work',
    summary: 'Hold a pool out of changes, or release it',
    description: DESCRIPTION,
    answers: [{ status: 200, description: 'How it is now', schema: UpdatesView }],
    refusals: [...REFUSALS, 'pool.unknown'],
  })
  pool(
    @Param({ schema: PoolPath }) { pool, ...address }: PoolPath,
    @Body({ schema: UpdatesRequest }) request: UpdatesRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpdatesView> {
    return this.set({ address, scope: { kind: 'pool', pool }, name: pool, request }, caller, response);
  }

  private async set(
    { address, scope, name, request: { disabled, reason } }: RequestedHold,
    caller: Caller,
    response: HttpResponse,
  ): Promise<UpdatesView> {
    const { namespace, cluster } = address;
    const decided = unwrap(
      await this.handle(
        holds,
        { namespace, cluster, context: 'request' },
        { type: 'SetUpdates', data: { namespace, cluster, scope, disabled, reason } },
        causeOf(caller),
      ),
    );
    showSeq(response, decided.seq);
    const since = decided.events[0]?.meta.time ?? this.clock.now().toISOString();
    return { kind: 'Updates', scope: scope.kind, name, disabled, reason, actor: caller.identity.actor, since };
  }
}

interface RequestedHold {
  readonly address: ClusterAddress;
  readonly scope: Scope;
  readonly name: string;
  readonly request: UpdatesRequest;
}
