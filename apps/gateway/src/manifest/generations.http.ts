import { ClusterPath, GenerationPath, ManifestGenerationList, ManifestOfGeneration } from '@fairlead/contracts';
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { GenerationQueries } from './generations.queries.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/manifest/generations'))
export class GenerationsHttp {
  constructor(@Inject(GenerationQueries) private readonly generations: GenerationQueries) {}

  @Get()
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listManifestGenerations',
    tag: 'manifests',
    records: 'nothing',
    summary: 'What a cluster was declared to be, who changed it, and what',
    description:
      'Each event that changed the desired state makes a generation, whichever route it was requested by. Folded from the log, also of a cluster that is deleted since. The latest 100 are listed, with at most 20 fields each.',
    answers: [{ status: 200, description: 'The generations, latest first', schema: ManifestGenerationList }],
    refusals: [...OF_CLUSTER, 'token.too-many-audits'],
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @FromExchange() exchange: Exchange,
  ): Promise<ManifestGenerationList> {
    return this.generations.all(path, exchange);
  }

  @Get(':generation')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getManifestGeneration',
    tag: 'manifests',
    records: 'nothing',
    summary: 'The manifest of a generation',
    description: 'As it was declared, with defaults. PUT it to declare it again.',
    answers: [{ status: 200, description: 'The manifest', schema: ManifestOfGeneration }],
    refusals: [...OF_CLUSTER, 'cluster.generation-unknown', 'token.too-many-audits'],
  })
  async get(
    @Param({ schema: GenerationPath }) { generation, ...path }: GenerationPath,
    @FromExchange() exchange: Exchange,
  ): Promise<ManifestOfGeneration> {
    return this.generations.one(path, Number(generation), exchange);
  }
}
