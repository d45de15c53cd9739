import {
  ClusterPath,
  OperationList,
  OperationPath,
  OperationView,
  PastListQuery,
  ReadQuery,
  refuse,
} from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject, Param, Query } from '@nestjs/common';
import type { Identity } from '../access/identity.js';
import { untilShown } from '../http/answers.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases } from '../http/documented.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { ListRoute, OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { RefusalError } from '../http/refusal.error.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { PastMoments, type PastMoment } from '../namespaces/past.moments.js';
import { nodesProjection } from '../nodes/nodes.projection.js';
import { operationsProjection } from './operations.projection.js';
import { OperationQueries } from './operations.queries.js';
import { operationView } from './operations.view.js';

/** Of the largest sequence that a number can be. */
const SEQ_DIGITS = String(Number.MAX_SAFE_INTEGER).length;

@Controller(bothBases('ns/:namespace/clusters/:cluster/operations'))
export class OperationsHttp {
  constructor(
    @Inject(OperationQueries) private readonly queries: OperationQueries,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(PastMoments) private readonly past: PastMoments,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  @ListRoute('', {
    id: 'listOperations',
    tag: 'operations',
    summary: 'The operations on a cluster, oldest first',
    description:
      'Also of a cluster that is gone, until another takes its name. With at: as they were at an earlier moment.',
    answer: 'The operations',
    schema: OperationList,
    refusals: [...OF_CLUSTER, 'token.too-many-audits'],
  })
  async list(
    @Param({ schema: ClusterPath }) { namespace, cluster }: ClusterPath,
    @Query({ schema: PastListQuery }) { minSeq = 0, at, ...query }: PastListQuery,
    @FromExchange() exchange: Exchange,
    @IsWhole() isWhole: boolean,
  ): Promise<OperationList> {
    await untilShown(this.positions, minSeq);
    const request = pageRequest(`operations/${namespace}/${cluster}`, query, isWhole);
    if (typeof at === 'number') await untilShown(this.positions, at, 'at');
    const address = { namespace, cluster };
    const items =
      at === undefined
        ? await this.all(address, exchange.caller.identity)
        : operationsAt(await this.past.of(address, at, exchange));
    return {
      kind: 'OperationList',
      // One change may request several operations at the same moment, and who follows them relies on their order.
      ...pageOf(request, items, { keyOf: ({ seq }) => String(seq).padStart(SEQ_DIGITS, '0') }),
    };
  }

  private async all({ namespace, cluster }: ClusterPath, identity: Identity): Promise<OperationView[]> {
    const after = await this.incarnations.visibleAfter(namespace, identity);
    const items = await this.queries.all(namespace, cluster, after);
    if (items === undefined) throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    return items;
  }

  @ReadRoute(':operation', {
    id: 'getOperation',
    tag: 'operations',
    summary: 'An operation on a cluster',
    answer: 'The operation',
    schema: OperationView,
    refusals: [...OF_CLUSTER, 'operation.unknown'],
  })
  async get(
    @Param({ schema: OperationPath }) { namespace, cluster, operation }: OperationPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<OperationView> {
    await untilShown(this.positions, minSeq);
    const items = await this.all({ namespace, cluster }, identity);
    const found = items.find(({ id }) => id === operation);
    if (found === undefined) throw new RefusalError(refuse('operation.unknown', { namespace, cluster, operation }));
    return found;
  }
}

/** None at a moment before the first request. */
const operationsAt = ({ rowsOf }: PastMoment): OperationView[] => {
  const nodes = rowsOf(nodesProjection).map(({ doc }) => doc);
  return rowsOf(operationsProjection).flatMap(({ doc }) =>
    doc.operations.map((operation) => operationView(doc, operation, nodes)),
  );
};
