import {
  ManifestQuery,
  PoolPath,
  ReadQuery,
  refuse,
  ScaleRequest,
  ScaleView,
  type ClusterManifestView,
} from '@fairlead/contracts';
import { Body, Controller, Inject, Param, Put, Query } from '@nestjs/common';
import { FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { CHANGE_REFUSALS, ChangeAnswers } from './change.answers.js';
import { ManifestCommands } from './manifest.commands.js';
import { ManifestQueries } from './manifest.queries.js';
import { appliedView, scaleView } from './manifest.view.js';

const orUnknown = (view: ClusterManifestView, { namespace, cluster, pool }: PoolPath): ScaleView => {
  const scale = scaleView(view, pool);
  if (scale === undefined) throw new RefusalError(refuse('pool.unknown', { namespace, cluster, pool }));
  return scale;
};

@Controller(bothBases('ns/:namespace/clusters/:cluster/pools/:pool/scale'))
export class ScaleHttp {
  constructor(
    @Inject(ManifestCommands) private readonly commands: ManifestCommands,
    @Inject(ManifestQueries) private readonly queries: ManifestQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
    @Inject(ChangeAnswers) private readonly changes: ChangeAnswers,
  ) {}

  @ReadRoute('', {
    id: 'getScale',
    tag: 'manifests',
    summary: 'The size of a pool',
    answer: 'The size',
    schema: ScaleView,
    refusals: [...OF_CLUSTER, 'pool.unknown'],
  })
  async get(
    @Param({ schema: PoolPath }) path: PoolPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ScaleView> {
    await this.answers.waitForProjection(minSeq);
    const view = await this.queries.one(path);
    if (view === undefined) throw new RefusalError(clusterUnknown(path));
    return orUnknown(view, path);
  }

  @Put()
  @OperatorCommand({ dryRun: true })
  @Documented({
    id: 'putScale',
    tag: 'manifests',
    records: 'work',
    summary: 'Scale a pool',
    description:
      'The same as a change of its replicas in the manifest. Nodes that are not Ready are removed first, then the newest. A pool of 0 stays declared. One with autoscaling stays within its bounds. The pool control-plane has the control planes: they come and go one by one.',
    answers: [
      { status: 200, description: 'Nothing has to be done, or a dry run', schema: ScaleView },
      { status: 202, description: 'The change is recorded; Location is its first operation', schema: ScaleView },
    ],
    refusals: [...CHANGE_REFUSALS, 'pool.unknown', 'pool.scale-out-of-bounds'],
  })
  async put(
    @Param({ schema: PoolPath }) path: PoolPath,
    @Query({ schema: ManifestQuery }) { dryRun }: ManifestQuery,
    @Body({ schema: ScaleRequest }) request: ScaleRequest,
    @FromExchange() exchange: Exchange,
  ): Promise<ScaleView> {
    const { pool, ...address } = path;
    const options = { caller: exchange.caller, dryRun: dryRun === 'All' };
    const applied = await this.commands.scale({ ...address, pool }, request, options);
    return this.changes.of(exchange, address, applied, orUnknown(appliedView(address, applied), path));
  }
}
