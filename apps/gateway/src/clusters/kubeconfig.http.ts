import { ClusterPath, KubeconfigQuery, ReadQuery, refuse } from '@fairlead/contracts';
import { Controller, Get, Header, Inject, Param, Query } from '@nestjs/common';
import { RoleEverywhere, RoleInNamespace } from '../access/access.js';
import { showSeq } from '../http/answers.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { LogFollower } from '../http/log.follower.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { ClusterQueries } from './clusters.queries.js';
import { Kubeconfigs, type KubeconfigOf } from './kubeconfigs.js';

const KUBECONFIG = [{ status: 200, description: 'The kubeconfig', contentType: 'application/yaml' }] as const;

@Controller(bothBases('ns/:namespace/clusters/:cluster/kubeconfig'))
export class KubeconfigHttp {
  constructor(
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(ClusterQueries) private readonly published: ClusterQueries,
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
    records: 'access',
    summary: "A kubeconfig with a new client certificate for the caller's token; issuing it is recorded",
    answers: KUBECONFIG,
    refusals: [
      ...OF_CLUSTER,
      'cluster.kubeconfig-not-ready',
      'cluster.paused',
      'cluster.kubeconfig-failed',
      'cluster.kubeconfig-late',
      'conflict.concurrent',
      'wait.seq-ahead',
      'wait.too-long',
    ],
  })
  async read(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: KubeconfigQuery }) { minSeq = 0, ttlSeconds }: KubeconfigQuery,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<string> {
    const { text, seq } = await this.kubeconfigs.read(await this.clusterOf(path, minSeq), caller, ttlSeconds);
    showSeq(response, seq);
    return text;
  }

  @Get('administrator')
  @RoleEverywhere('admin')
  @Header('Content-Type', 'application/yaml')
  @Header('Cache-Control', 'no-store')
  @Documented({
    id: 'getAdministratorKubeconfig',
    tag: 'clusters',
    records: 'access',
    summary: "The cluster's administrator kubeconfig, for when it signs no certificates; reading it is recorded",
    answers: KUBECONFIG,
    refusals: [
      ...OF_CLUSTER,
      'cluster.kubeconfig-not-ready',
      'cluster.kubeconfig-refused',
      'conflict.concurrent',
      'wait.seq-ahead',
      'wait.too-long',
    ],
  })
  async readAdministrator(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<string> {
    const kubeconfig = await this.kubeconfigs.administrator(await this.clusterOf(path, minSeq), caller);
    if (kubeconfig === undefined)
      throw new RefusalError(refuse('cluster.kubeconfig-not-ready', { cluster: path.cluster }));
    showSeq(response, kubeconfig.seq);
    return kubeconfig.text;
  }

  private async clusterOf({ namespace, cluster }: ClusterPath, minSeq: number): Promise<KubeconfigOf> {
    await this.follower.shown(minSeq);
    const uid = await this.clusters.uidOf(namespace, cluster);
    if (uid === undefined) throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    return { namespace, cluster, uid, published: await this.published.publishedServerOf(namespace, cluster) };
  }
}
