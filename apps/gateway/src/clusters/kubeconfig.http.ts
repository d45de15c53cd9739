import { ClusterPath, ReadQuery, refuse, type ClusterUid, type SecretRef } from '@fairlead/contracts';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Controller, Get, Header, Inject, Param, Query, Res } from '@nestjs/common';
import { RoleInNamespace } from '../auth/access.js';
import { audit } from '../events/audit.decider.js';
import { showSeq } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { LogFollower } from '../http/log.follower.js';
import { orRefuse, Refused } from '../http/refused.js';
import { ClusterQueries } from './clusters.queries.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/kubeconfig'))
export class KubeconfigHttp {
  constructor(
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(HANDLE) private readonly handle: Handle,
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
    const kubeconfig = await this.secrets.get(`bootstrap-svc.kubeconfig.${uid}` as SecretRef);
    if (kubeconfig === undefined) throw new Refused(refuse('cluster.kubeconfig-not-yet', { cluster }));
    // On record before it is out.
    const fact = { type: 'KubeconfigRead', data: { uid: uid as ClusterUid } } as const;
    const { seq } = orRefuse(
      await this.handle(
        audit,
        { namespace, cluster, context: 'audit' },
        { type: 'Record', data: fact },
        causeOf(caller),
      ),
    );
    showSeq(response, seq);
    return kubeconfig;
  }
}
