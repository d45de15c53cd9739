import {
  ClusterPath,
  HostPath,
  HostTokenRequest,
  JoinTokenView,
  ListQuery,
  RegisteredHostList,
  StatusView,
} from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, HttpCode, Inject, Param, Post, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { accept, showSeq, untilShown } from '../http/answers.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand, OperatorCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { ListRoute, OF_CLUSTER } from '../http/read.routes.js';
import { JoinFiles } from './join.files.js';
import { JoinCommands } from './joins.commands.js';
import { RegisteredHosts } from './registered.hosts.queries.js';

/** Hosts that are registered with a cluster before a pool claims them. */
@Controller(bothBases('ns/:namespace/clusters/:cluster/hosts'))
export class HostsHttp {
  constructor(
    @Inject(JoinCommands) private readonly commands: JoinCommands,
    @Inject(RegisteredHosts) private readonly hosts: RegisteredHosts,
    @Inject(JoinFiles) private readonly files: JoinFiles,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  @ListRoute('', {
    id: 'listRegisteredHosts',
    tag: 'nodes',
    summary: 'The hosts that wait until a pool claims them',
    description: 'Nothing is done on such a host. Once a pool has claimed it, it is among the nodes.',
    answer: 'The hosts',
    schema: RegisteredHostList,
    refusals: OF_CLUSTER,
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @IsWhole() isWhole: boolean,
  ): Promise<RegisteredHostList> {
    await untilShown(this.positions, minSeq);
    const request = pageRequest(`hosts/${path.namespace}/${path.cluster}`, query, isWhole);
    const items = await this.hosts.of(await this.hosts.cluster(path));
    return { kind: 'RegisteredHostList', ...pageOf(request, items, { keyOf: ({ name }) => name }) };
  }

  @Post('join-tokens')
  @RoleInNamespace('operator')
  @KeyedCommand('sealed')
  @Documented({
    id: 'createHostToken',
    tag: 'nodes',
    records: 'work',
    summary: 'Issue a token by which one host registers with a cluster, before its pool',
    description:
      'The token registers exactly one host, until it expires. The host waits, and nothing is done on it, until a pool whose hostSelector matches its labels claims it.',
    answers: [{ status: 201, description: 'The token, shown this once', schema: JoinTokenView }],
    refusals: [...OF_CLUSTER, 'join.tokens-many', 'join.not-served', ...CHANGE_REFUSALS],
  })
  async create(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: HostTokenRequest }) request: HostTokenRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<JoinTokenView> {
    const { sha256 } = await this.files.script();
    const { seq, ...view } = await this.commands.issueForHost(await this.hosts.cluster(path), request, caller);
    const location = `/ns/${view.namespace}/clusters/${view.cluster}/hosts`;
    accept(response, { seq, location, status: 201, waited: false });
    response.setHeader('Cache-Control', 'no-store');
    return { ...view, script: { path: '/join/install.sh', sha256 } };
  }

  @Delete(':host')
  @HttpCode(200)
  @OperatorCommand({ ends: false })
  @Documented({
    id: 'deleteRegisteredHost',
    tag: 'nodes',
    records: 'work',
    summary: 'Remove a host that waits for a pool',
    description: 'It cannot become a node by its token any more. Nothing was done on it, so nothing is undone there.',
    answers: [{ status: 200, description: 'It is removed', schema: StatusView }],
    refusals: [...OF_CLUSTER, 'join.host-unknown', ...CHANGE_REFUSALS],
  })
  async remove(
    @Param({ schema: HostPath }) { host, ...path }: HostPath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    showSeq(response, await this.commands.unregister(await this.hosts.cluster(path), host, caller));
    return { kind: 'Status', code: 200, message: `Host ${host} of ${path.cluster} is removed` };
  }
}
