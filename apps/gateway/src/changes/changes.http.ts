import { ChangesQuery, ClusterChanges, ClusterPath } from '@fairlead/contracts';
import { Controller, Inject, Param, Query } from '@nestjs/common';
import { FromExchange, type Exchange } from '../http/caller.js';
import { CommandAnswers } from '../http/command.answers.js';
import { bothBases } from '../http/documented.js';
import { OF_CLUSTER, ReadRoute } from '../http/read.routes.js';
import { ChangeQueries } from './changes.queries.js';

@Controller(bothBases('ns/:namespace/clusters/:cluster/changes'))
export class ChangesHttp {
  constructor(
    @Inject(ChangeQueries) private readonly changes: ChangeQueries,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @ReadRoute('', {
    id: 'listClusterChanges',
    tag: 'events',
    summary: 'How a cluster differs between two moments, and which events changed it',
    description:
      'Declared fields, state, conditions, nodes and virtual addresses, folded from the log, also of a cluster that is deleted since. Each field names the event after which it had its value at the end.',
    answer: 'What differs, by objects',
    schema: ClusterChanges,
    refusals: [...OF_CLUSTER, 'request.malformed', 'token.too-many-audits'],
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ChangesQuery }) query: ChangesQuery,
    @FromExchange() exchange: Exchange,
  ): Promise<ClusterChanges> {
    if (typeof query.from === 'number') await this.answers.waitForProjection(query.from, 'from');
    if (typeof query.to === 'number') await this.answers.waitForProjection(query.to, 'to');
    return this.changes.between(path, query, exchange);
  }
}
