import { NONE, type ClusterManifestView, type ClusterName } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { PastClusters } from '../clusters/past.queries.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { LogMoment } from '../common/history.js';
import type { Exchange } from '../http/caller.js';
import { manifestsProjection } from '../lifecycle/manifests.projection.js';
import { PastMoments } from '../namespaces/past.moments.js';
import { nodesProjection } from '../nodes/nodes.projection.js';
import { templatesProjection } from '../templates/templates.projection.js';
import { ManifestQueries } from './manifest.queries.js';
import { manifestView } from './manifest.view.js';

/** What is declared, or was at earlier moments, and how the cluster is or was then. */
@Injectable()
export class PastManifests {
  constructor(
    @Inject(ManifestQueries) private readonly queries: ManifestQueries,
    @Inject(PastMoments) private readonly past: PastMoments,
    @Inject(PastClusters) private readonly clusters: PastClusters,
  ) {}

  /** `at` undefined: now. */
  async one(
    address: ClusterAddress,
    at: LogMoment | undefined,
    exchange: Pick<Exchange, 'caller' | 'response'>,
  ): Promise<ClusterManifestView | undefined> {
    if (at === undefined) return this.queries.one(address);
    const moment = await this.past.of(address, at, exchange);
    const declared = moment.rowsOf(manifestsProjection)[0]?.doc;
    const cluster = this.clusters.viewAt(moment);
    if (declared === undefined || cluster === undefined) return undefined;
    const nodes = moment.rowsOf(nodesProjection).map(({ doc }) => doc);
    const isDeprecated = await this.isDeprecated(address, declared.template?.name, { at, exchange });
    return manifestView(declared, { cluster, nodes, now: moment.now, isDeprecated });
  }

  /** Templates are in the log of their namespace. */
  private async isDeprecated(
    { namespace }: ClusterAddress,
    template: string | undefined,
    { at, exchange }: { readonly at: LogMoment; readonly exchange: Pick<Exchange, 'caller' | 'response'> },
  ): Promise<boolean> {
    if (template === undefined) return false;
    const { rowsOf } = await this.past.beside({ namespace, cluster: NONE as ClusterName }, at, exchange);
    return rowsOf(templatesProjection)[0]?.doc[template]?.deprecated === true;
  }
}
