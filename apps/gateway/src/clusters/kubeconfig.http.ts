import { ClusterPath, ReadQuery, refuse } from '@fairlead/contracts';
import { Controller, Get, Header, Inject, Param, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../auth/access.js';
import { showSeq } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { LogFollower } from '../http/log.follower.js';
import { Refused } from '../http/refused.js';
import { ClusterQueries } from './clusters.queries.js';
import { Kubeconfigs } from './kubeconfigs.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/kubeconfig'))
export class KubeconfigHttp {
  constructor(
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(Kubeconfigs) private readonly kubeconfigs: Kubeconfigs,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get()
  @RoleInNamespace('operator')
  @Header('Content-Type', 'application/yaml')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getKubeconfig',
    tag: 'clusters',
    summary: "The cluster's administrator kubeconfig; reading it is recorded",
    answers: [{ status: 200, description: 'The kubeconfig', contentType: 'application/yaml' }],
    refusals: [
      'namespace.unknown',
      'cluster.unknown',
      'cluster.kubeconfig-not-yet',
      'cluster.kubeconfig-refused',
      'conflict.concurrent',
      'wait.seq-ahead',
      'wait.too-long',
    ],
  })
  async read(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<string> {
    await this.follower.shown(minSeq);
    const uid = await this.clusters.uidOf(namespace, cluster);
    if (uid === undefined) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    const kubeconfig = await this.kubeconfigs.read({ namespace, cluster, uid }, causeOf(caller));
    if (kubeconfig === undefined) throw new Refused(refuse('cluster.kubeconfig-not-yet', { cluster }));
    showSeq(response, kubeconfig.seq);
    return kubeconfig.text;
  }
}
