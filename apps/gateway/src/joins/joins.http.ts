import { JoinTokenRequest, JoinTokenView, PoolPath } from '@fairlead/contracts';
import { Body, Controller, Inject, Param, Post, Res } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { accept } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { JoinFiles } from './join.files.js';
import { JoiningPools } from './joining.pools.queries.js';
import { JoinCommands } from './joins.commands.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/pools/:pool/join-tokens'))
export class JoinTokensHttp {
  constructor(
    @Inject(JoinCommands) private readonly commands: JoinCommands,
    @Inject(JoiningPools) private readonly pools: JoiningPools,
    @Inject(JoinFiles) private readonly files: JoinFiles,
  ) {}

  @Post()
  @RoleInNamespace('operator')
  @KeyedCommand('sealed')
  @Documented({
    id: 'createJoinToken',
    tag: 'nodes',
    records: 'work',
    summary: 'Issue a token by which one host joins a pool by itself',
    description:
      'The token admits exactly one host to this pool of this cluster, until it expires. To issue it is to approve that host: there is no provider that could vouch for it. The host needs no inbound connection: it connects to the gateway and to NATS.',
    answers: [{ status: 201, description: 'The token, shown this once', schema: JoinTokenView }],
    refusals: [
      ...OF_CLUSTER,
      'pool.unknown',
      'connection.not-found',
      'join.pool-makes-machines',
      'join.tokens-many',
      'join.not-served',
      ...CHANGE_REFUSALS,
    ],
  })
  async create(
    @Param({ schema: PoolPath }) path: PoolPath,
    @Body({ schema: JoinTokenRequest }) request: JoinTokenRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<JoinTokenView> {
    const { sha256 } = await this.files.script();
    const { seq, ...view } = await this.commands.issue(await this.pools.one(path, caller.identity), request, caller);
    const { namespace, cluster, pool } = view;
    const location = `/ns/${namespace}/clusters/${cluster}/pools/${pool}`;
    accept(response, { seq, location, status: 201, waited: false });
    response.setHeader('Cache-Control', 'no-store');
    return { ...view, script: { path: '/join/install.sh', sha256 } };
  }
}
