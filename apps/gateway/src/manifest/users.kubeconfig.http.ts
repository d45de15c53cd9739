import { ClusterPath, ReadQuery, refuse } from '@fairlead/contracts';
import { effectiveOidc, NO_IDENTITY } from '@fairlead/domain';
import { Controller, Get, Header, Inject, Param, Query } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { Kubeconfigs } from '../clusters/kubeconfigs.js';
import { bothBases, Documented } from '../http/documented.js';
import { LogFollower } from '../http/log.follower.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { ManifestQueries } from './manifest.queries.js';

/** The kubeconfig of users who sign in by OpenID Connect, as the manifest declares it. */
@Controller(bothBases('ns/:namespace/clusters/:cluster/kubeconfig/oidc'))
export class UsersKubeconfigHttp {
  constructor(
    @Inject(ManifestQueries) private readonly manifests: ManifestQueries,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(Kubeconfigs) private readonly kubeconfigs: Kubeconfigs,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get()
  @RoleInNamespace('viewer')
  @Header('Content-Type', 'application/yaml')
  @Documented({
    id: 'getUsersKubeconfig',
    tag: 'clusters',
    records: 'nothing',
    summary: 'A kubeconfig without a secret: its user signs in by OpenID Connect, with the device flow of kubelogin',
    answers: [{ status: 200, description: 'The kubeconfig', contentType: 'application/yaml' }],
    refusals: [
      ...OF_CLUSTER,
      'cluster.kubeconfig-no-oidc',
      'cluster.kubeconfig-not-ready',
      'cluster.kubeconfig-refused',
      'wait.seq-ahead',
      'wait.too-long',
    ],
  })
  async read(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<string> {
    await this.follower.shown(minSeq);
    const manifest = await this.manifests.one({ namespace, cluster });
    if (manifest === undefined) throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    const { metadata, spec } = manifest;
    const { oidc: declared } = spec.authentication ?? {};
    if (declared === undefined) throw new RefusalError(refuse('cluster.kubeconfig-no-oidc', { cluster }));
    const oidc = effectiveOidc(declared, (await this.clusters.identityOf(namespace, cluster)) ?? NO_IDENTITY);
    if (oidc === undefined) throw new RefusalError(refuse('cluster.kubeconfig-not-ready', { cluster }));
    const published = await this.clusters.publishedServerOf(namespace, cluster);
    const text = await this.kubeconfigs.ofUsers({ namespace, cluster, uid: metadata.uid, published }, oidc);
    if (text === undefined) throw new RefusalError(refuse('cluster.kubeconfig-not-ready', { cluster }));
    return text;
  }
}
