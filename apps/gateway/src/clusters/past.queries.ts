import type { ClusterView } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { LogMoment, RowsOf } from '../common/history.js';
import { holdsProjection } from '../holds/holds.projection.js';
import type { Exchange } from '../http/caller.js';
import { PastMoments, type PastMoment } from '../namespaces/past.moments.js';
import { nodesProjection } from '../nodes/nodes.projection.js';
import { operationsProjection } from '../operations/operations.projection.js';
import { aroundInLog, AroundClusters, type Moment } from './around.queries.js';
import { clustersProjection } from './clusters.projection.js';
import { clusterView } from './clusters.view.js';

/** A cluster by rows that are folded from the log; undefined: there is none. */
export const viewFromLog = (rowsOf: RowsOf, moment: Moment): ClusterView | undefined => {
  const [row] = rowsOf(clustersProjection);
  if (row === undefined) return undefined;
  return clusterView({
    cluster: row.doc,
    seq: row.seq,
    nodes: rowsOf(nodesProjection).map(({ doc }) => doc),
    operations: rowsOf(operationsProjection)[0]?.doc,
    holds: rowsOf(holdsProjection)[0]?.doc,
    around: aroundInLog(rowsOf),
    ...moment,
  });
};

/** Clusters as they were at earlier moments. */
@Injectable()
export class PastClusters {
  constructor(
    @Inject(PastMoments) private readonly past: PastMoments,
    @Inject(AroundClusters) private readonly around: AroundClusters,
  ) {}

  async asOf(
    address: ClusterAddress,
    at: LogMoment,
    exchange: Pick<Exchange, 'caller' | 'response'>,
  ): Promise<ClusterView | undefined> {
    return this.viewAt(await this.past.of(address, at, exchange));
  }

  viewAt({ rowsOf, now }: PastMoment): ClusterView | undefined {
    return viewFromLog(rowsOf, { ...this.around.moment, now });
  }
}
