import { BootstrapDataQuery, BootstrapDataView, PoolPath, refuse } from '@fairlead/contracts';
import { Controller, Get, Inject, Param, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { ManifestQueries } from '../manifest/manifest.queries.js';
import { JoinFiles } from './join.files.js';
import { JoiningPools } from './joining.pools.queries.js';
import { JoinCommands } from './joins.commands.js';

const RETRY_AFTER_SECONDS = 2;

@Controller(bothBases('ns/:namespace/clusters/:cluster/pools/:pool/bootstrap-data'))
export class BootstrapDataHttp {
  constructor(
    @Inject(JoinCommands) private readonly commands: JoinCommands,
    @Inject(JoiningPools) private readonly pools: JoiningPools,
    @Inject(ManifestQueries) private readonly manifests: ManifestQueries,
    @Inject(JoinFiles) private readonly files: JoinFiles,
  ) {}

  @Get()
  @RoleInNamespace('operator')
  @Documented({
    id: 'getBootstrapData',
    tag: 'nodes',
    records: 'nothing',
    summary: 'What hosts of a pool run at their first boot to join it',
    description:
      'A cloud-config or a script with a token of the pool. The token rotates: each is valid for 15 minutes at most and admits any number of hosts to this pool until then, so whoever has it can add nodes.',
    answers: [{ status: 200, description: 'The bootstrap data, which are a secret', schema: BootstrapDataView }],
    refusals: [
      ...OF_CLUSTER,
      'pool.unknown',
      'connection.not-found',
      'join.pool-makes-machines',
      'join.bootstrap-pending',
      'join.not-served',
    ],
  })
  async read(
    @Param({ schema: PoolPath }) path: PoolPath,
    @Query({ schema: BootstrapDataQuery }) query: BootstrapDataQuery,
    @FromCaller() { identity }: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<BootstrapDataView> {
    response.setHeader('Cache-Control', 'no-store');
    const pool = await this.pools.one(path, identity);
    const admission = await this.manifests.bootstrapOf(pool, pool.pool);
    if (admission === undefined)
      throw new RefusalError(refuse('join.bootstrap-pending', { pool: pool.pool })).retryAfter(RETRY_AFTER_SECONDS);
    const { sha256 } = await this.files.script();
    const script = { path: '/join/install.sh', sha256 };
    return this.commands.bootstrapData(pool, { admission, given: pool.bootstrap?.data, script, query });
  }
}
