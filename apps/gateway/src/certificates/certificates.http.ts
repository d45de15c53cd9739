import { CertificateList, ClusterPath, ReadQuery, refuse } from '@fairlead/contracts';
import { Controller, Inject, Param, Query } from '@nestjs/common';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { bothBases } from '../http/documented.js';
import { LogFollower } from '../http/log.follower.js';
import { OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { CertificateQueries } from './certificates.queries.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/certificates'))
export class CertificatesHttp {
  constructor(
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(CertificateQueries) private readonly certificates: CertificateQueries,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @ReadRoute('', {
    id: 'listCertificates',
    tag: 'upgrades',
    summary: "The certificates of a cluster's control planes and kubelets, the first to expire first",
    description:
      'As the agents on the nodes said last. Those of control planes are renewed by an upgrade with renewCertificates; kubelets renew their own.',
    answer: 'The certificates',
    schema: CertificateList,
    refusals: OF_CLUSTER,
  })
  async list(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<CertificateList> {
    await this.follower.shown(minSeq);
    const uid = await this.clusters.uidOf(namespace, cluster);
    if (uid === undefined) throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    return { kind: 'CertificateList', items: await this.certificates.all(namespace, cluster, uid) };
  }
}
