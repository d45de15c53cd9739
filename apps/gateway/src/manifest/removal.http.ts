import { NodePath, RemovalCancellation, StatusView, type StoredEvent } from '@fairlead/contracts';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { FromExchange, type Exchange } from '../http/caller.js';
import { CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { ManifestCommands } from './manifest.commands.js';

/** It stays, or its drain had ended and it goes. */
const isDecided =
  (node: string) =>
  (event: StoredEvent): boolean =>
    (event.type === 'NodeRemovalCancelled' || event.type === 'NodeDrained' || event.type === 'NodeRemoved') &&
    event.data.node === node;

@Controller(bothBases('ns/:namespace/clusters/:cluster/nodes/:node/cancel-removal'))
export class RemovalHttp {
  constructor(
    @Inject(ManifestCommands) private readonly commands: ManifestCommands,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Post()
  @OperatorCommand()
  @Documented({
    id: 'cancelRemoval',
    tag: 'nodes',
    records: 'work',
    summary: 'Cancel the removal of a worker',
    description:
      'A worker whose drain has not ended stays: it is uncordoned, and its pool counts it again. Pods that were evicted do not return by themselves. A drain that ends at the same moment comes first: then the node leaves.',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the node', schema: StatusView },
      { status: 200, description: 'With Prefer: wait=N: the node stays, or its drain had ended', schema: StatusView },
    ],
    refusals: [
      ...OF_CLUSTER,
      'cluster.deleting',
      'cluster.paused',
      'node.unknown',
      'node.removal-not-cancellable',
      ...CHANGE_REFUSALS,
    ],
  })
  cancel(
    @Param({ schema: NodePath }) path: NodePath,
    @Body({ schema: RemovalCancellation }) { reason }: RemovalCancellation,
    @FromExchange() exchange: Exchange,
  ): Promise<StatusView> {
    const { namespace, cluster, node } = path;
    return this.answers.respond(exchange, this.commands.cancelRemoval(path, reason, exchange.caller), {
      address: { namespace, cluster },
      location: `/ns/${namespace}/clusters/${cluster}/nodes/${node}`,
      isOver: isDecided(node),
      view: ({ ended }) => ({
        kind: 'Status',
        code: ended ? 200 : 202,
        message: ended
          ? `It is decided whether node '${node}' stays.`
          : `Node '${node}' stays, unless its drain has ended.`,
      }),
    });
  }
}
