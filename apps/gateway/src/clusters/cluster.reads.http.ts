import {
  ClusterList,
  ClusterPath,
  ClusterQuery,
  ClusterView,
  ListQuery,
  NamespacePath,
  refuse,
  type Refusal,
} from '@fairlead/contracts';
import { Controller, Inject, Param, Query } from '@nestjs/common';
import type { LogMoment } from '../common/history.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { clusterUnknown, CommandAnswers } from '../http/command.answers.js';
import { bothBases } from '../http/documented.js';
import { IsWhole } from '../http/page.js';
import { IN_NAMESPACE, ListRoute, OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { NamespaceQueries } from '../namespaces/namespaces.queries.js';
import { ClusterQueries } from './clusters.queries.js';
import { PastClusters } from './past.queries.js';

/** Clusters as they are, and as they were. */
@Controller(bothBases('ns/:namespace/clusters'))
export class ClusterReadsHttp {
  constructor(
    @Inject(ClusterQueries) private readonly queries: ClusterQueries,
    @Inject(PastClusters) private readonly past: PastClusters,
    @Inject(NamespaceQueries) private readonly namespaces: NamespaceQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @ListRoute('', {
    id: 'listClusters',
    tag: 'clusters',
    summary: 'The clusters of a namespace',
    answer: 'The clusters, with their nodes',
    schema: ClusterList,
    refusals: IN_NAMESPACE,
  })
  async list(
    @Param({ schema: NamespacePath }) { namespace }: NamespacePath,
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @IsWhole() isWhole: boolean,
  ): Promise<ClusterList> {
    await this.answers.waitForProjection(minSeq);
    if ((await this.namespaces.one(namespace)) === undefined)
      throw new RefusalError(refuse('namespace.unknown', { namespace }));
    return { kind: 'ClusterList', ...(await this.queries.page(namespace, query, isWhole)) };
  }

  @ReadRoute(':cluster', {
    id: 'getCluster',
    tag: 'clusters',
    summary: 'A cluster',
    description:
      'With at: as it was at an earlier moment, also if it is deleted since. What other nouns say (connections, quarantines) is left out then.',
    answer: 'The cluster, with its nodes',
    schema: ClusterView,
    refusals: [...OF_CLUSTER, 'token.too-many-audits'],
  })
  async get(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ClusterQuery }) { minSeq = 0, at }: ClusterQuery,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterView> {
    await this.answers.waitForProjection(minSeq);
    if (typeof at === 'number') await this.answers.waitForProjection(at, 'at');
    const view =
      at === undefined
        ? await this.queries.one(path.namespace, path.cluster)
        : await this.past.asOf(path, at, exchange);
    if (view === undefined)
      throw new RefusalError(at === undefined ? clusterUnknown(path) : clusterUnknownAt(path, at));
    return view;
  }
}

const clusterUnknownAt = (path: ClusterPath, at: LogMoment): Refusal => ({
  ...clusterUnknown(path),
  help: `Name a moment at which it existed: there was none of that name at ${at}.`,
});
