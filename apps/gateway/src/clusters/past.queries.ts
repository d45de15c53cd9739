import type { ClusterView } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { eventsUntil, History, rowsOfEvents, type LogMoment, type RowsOf } from '../common/history.js';
import { holdsProjection } from '../holds/holds.projection.js';
import type { Exchange } from '../http/caller.js';
import { TokenSlots } from '../limits/token.slots.js';
import { Incarnations } from '../namespaces/incarnations.js';
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
    @Inject(History) private readonly history: History,
    @Inject(AroundClusters) private readonly around: AroundClusters,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  /** By what the log says of it, as far as that is the caller's to read. The history of the name is replayed, as for an audit. */
  async asOf(
    { namespace, cluster }: ClusterAddress,
    at: LogMoment,
    { caller: { identity }, response }: Pick<Exchange, 'caller' | 'response'>,
  ): Promise<ClusterView | undefined> {
    const since = await this.incarnations.visibleAfter(namespace, identity);
    this.slots.take('audits', identity.tokenId, response);
    const events = eventsUntil(await this.history.events(namespace, cluster, since), at);
    const { now, stalledAfterMs } = this.around.moment;
    const then = typeof at === 'number' ? events.at(-1)?.meta.time : new Date(at).toISOString();
    return viewFromLog(rowsOfEvents(events), { now: then === undefined || then > now ? now : then, stalledAfterMs });
  }
}
