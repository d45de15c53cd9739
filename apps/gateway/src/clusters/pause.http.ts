import { ClusterPath, ClusterView, PauseRequest, type RefusalCode } from '@fairlead/contracts';
import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { showSeq } from '../http/answers.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { ClusterCommands } from './clusters.commands.js';
import { ClusterQueries } from './clusters.queries.js';

const REFUSALS: readonly RefusalCode[] = [...OF_CLUSTER, ...CHANGE_REFUSALS];

@Controller(bothBases('ns/:namespace/clusters/:cluster'))
export class PauseHttp {
  constructor(
    @Inject(ClusterCommands) private readonly commands: ClusterCommands,
    @Inject(ClusterQueries) private readonly queries: ClusterQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Post('pause')
  @HttpCode(200)
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'pauseCluster',
    tag: 'clusters',
    records: 'end',
    summary: 'Pause a cluster',
    description:
      'From here on, no service begins work on the cluster, and work in progress stops at its next safe point. Reads are answered; requests that would change the cluster are refused, its deletion included. Pausing a paused cluster changes nothing.',
    answers: [{ status: 200, description: 'The cluster is paused', schema: ClusterView }],
    refusals: [...REFUSALS, 'cluster.deleting'],
  })
  pause(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: PauseRequest }) { reason }: PauseRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterView> {
    return this.change('PauseCluster', path, reason, exchange);
  }

  @Post('resume')
  @HttpCode(200)
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'resumeCluster',
    tag: 'clusters',
    records: 'work',
    summary: 'Resume a paused cluster',
    description:
      'Work continues where it was interrupted, and time limits start again. Resuming a cluster that is not paused changes nothing.',
    answers: [{ status: 200, description: 'The cluster is not paused', schema: ClusterView }],
    refusals: REFUSALS,
  })
  resume(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: PauseRequest }) { reason }: PauseRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterView> {
    return this.change('ResumeCluster', path, reason, exchange);
  }

  private async change(
    type: 'PauseCluster' | 'ResumeCluster',
    path: ClusterPath,
    reason: string,
    { caller, response }: Exchange,
  ): Promise<ClusterView> {
    const { seq } = await this.commands.setPause(type, path, reason, caller);
    const { namespace, cluster } = path;
    showSeq(response, seq);
    return this.answers.viewAt(seq, {
      rows: () => this.queries.one(namespace, cluster),
      log: () => this.queries.recorded(namespace, cluster),
      otherwise: clusterUnknown(path),
    });
  }
}
