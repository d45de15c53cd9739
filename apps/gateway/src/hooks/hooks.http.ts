import { ClusterView, HookPath, HookSkipRequest } from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { showSeq } from '../http/answers.js';
import { causeOf, FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { unwrap } from '../http/refusal.error.js';
import { hooks } from './hooks.decider.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/hooks/:hook'))
export class HooksHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ClusterQueries) private readonly queries: ClusterQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Post('skip')
  @HttpCode(200)
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'skipHook',
    tag: 'clusters',
    records: 'work',
    summary: 'Release what a hook holds',
    description:
      'What waits for the hook now goes on as if it had answered with Success, and the history records who decided it and why. The hook is asked again at the next moment; to go on without it for good, take it out of the manifest.',
    answers: [{ status: 200, description: 'The cluster', schema: ClusterView }],
    refusals: [...OF_CLUSTER, 'cluster.paused', 'hook.holds-nothing', ...CHANGE_REFUSALS],
  })
  async skip(
    @Param({ schema: HookPath }) { hook, ...path }: HookPath,
    @Body({ schema: HookSkipRequest }) { point, node, reason }: HookSkipRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ClusterView> {
    const { namespace, cluster } = path;
    const stream = { namespace, cluster, context: 'request' };
    const command = { type: 'SkipHook', data: { namespace, cluster, hook, point, node, reason } } as const;
    const { seq } = unwrap(await this.handle(hooks, stream, command, causeOf(caller)));
    showSeq(response, seq);
    return this.answers.viewAt(seq, {
      rows: () => this.queries.one(namespace, cluster),
      log: () => this.queries.recorded(namespace, cluster),
      otherwise: clusterUnknown(path),
    });
  }
}
