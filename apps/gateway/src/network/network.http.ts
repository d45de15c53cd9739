import { ClusterPath, ClusterView } from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { showSeq } from '../http/answers.js';
import { causeOf, FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { unwrap } from '../http/refusal.error.js';
import { networkRequests } from './network.decider.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/network'))
export class NetworkHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ClusterQueries) private readonly queries: ClusterQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Post('retry')
  @HttpCode(200)
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'retryNetwork',
    tag: 'clusters',
    records: 'work',
    summary: 'Apply the network configuration again where it failed',
    description:
      'Nodes on which a firewall or an SSH server was reverted try it once more. It changes nothing for the others.',
    answers: [{ status: 200, description: 'The nodes that failed are asked again', schema: ClusterView }],
    refusals: [...OF_CLUSTER, 'cluster.deleting', 'cluster.paused', ...CHANGE_REFUSALS],
  })
  async retry(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ClusterView> {
    const { namespace, cluster } = path;
    const stream = { namespace, cluster, context: 'request' };
    const command = { type: 'RetryNetwork', data: path } as const;
    const { seq } = unwrap(await this.handle(networkRequests, stream, command, causeOf(caller)));
    showSeq(response, seq);
    return this.answers.viewAt(seq, {
      rows: () => this.queries.one(namespace, cluster),
      log: () => this.queries.recorded(namespace, cluster),
      otherwise: clusterUnknown(path),
    });
  }
}
