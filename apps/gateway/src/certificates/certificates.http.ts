import { CertificateList, ClusterPath, ReadQuery, refuse } from '@fairlead/contracts';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { bothBases, Documented } from '../http/documented.js';
import { LogFollower } from '../http/log.follower.js';
import { Refused } from '../http/refused.js';
import { CertificateQueries } from './certificates.queries.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/certificates'))
export class CertificatesHttp {
  constructor(
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(CertificateQueries) private readonly certificates: CertificateQueries,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get()
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listCertificates',
    tag: 'upgrades',
    records: 'nothing',
    summary: "The certificates of a cluster's control planes and kubelets, the first to expire first",
    description:
      'As the agents on the nodes said last. Those of control planes are renewed by an upgrade with renewCertificates; kubelets renew their own.',
    answers: [{ status: 200, description: 'The certificates', schema: CertificateList }],
    refusals: ['namespace.unknown', 'cluster.unknown', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<CertificateList> {
    await this.follower.shown(minSeq);
    const uid = await this.clusters.uidOf(namespace, cluster);
    if (uid === undefined) throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return { kind: 'CertificateList', items: await this.certificates.all(namespace, cluster, uid) };
  }
}
