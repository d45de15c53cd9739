import { ActivityQuery, FleetActivity, FleetList, FleetQuery } from '@fairlead/contracts';
import { Controller, Get, Inject, Query } from '@nestjs/common';
import { Authenticated } from '../access/access.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { CommandAnswers } from '../http/command.answers.js';
import { bothBases, Documented } from '../http/documented.js';
import { pageOf, pageRequest } from '../http/page.js';
import { FleetActivityIndex } from './fleet.activity.js';
import { FleetQueries } from './fleet.queries.js';
import { filterFleet, sortKeyOf } from './fleet.rules.js';
import { PastFleet } from './past.fleet.js';

/** All clusters in one list, as they are and as they were. */
@Controller(bothBases('fleet'))
export class FleetHttp {
  constructor(
    @Inject(FleetQueries) private readonly fleet: FleetQueries,
    @Inject(PastFleet) private readonly past: PastFleet,
    @Inject(FleetActivityIndex) private readonly activity: FleetActivityIndex,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  @Get()
  @Authenticated()
  @Documented({
    id: 'listFleet',
    tag: 'clusters',
    records: 'nothing',
    summary: 'The clusters of all namespaces that the caller may see, each in one line',
    description:
      'Filtered and sorted here. With at: as they were at an earlier moment, folded from the log, also those that are deleted since; at most 1,000 clusters.',
    answers: [{ status: 200, description: 'The clusters', schema: FleetList }],
    refusals: [
      'namespace.unknown',
      'list.continue-invalid',
      'wait.seq-ahead',
      'wait.too-long',
      'token.too-many-audits',
    ],
  })
  async list(
    @Query({ schema: FleetQuery }) { minSeq = 0, at, sort, order, ...query }: FleetQuery,
    @FromExchange() exchange: Exchange,
  ): Promise<FleetList> {
    await this.answers.waitForProjection(minSeq);
    if (typeof at === 'number') await this.answers.waitForProjection(at, 'at');
    const rows =
      at === undefined
        ? await this.fleet.rows(exchange.caller.identity)
        : await this.past.rows(at, query.namespace, exchange);
    const { items, counts } = filterFleet(rows, query);
    const request = pageRequest(`fleet/${sort}/${order}`, query, false);
    return {
      kind: 'FleetList',
      total: items.length,
      counts,
      ...pageOf(request, items, { keyOf: sortKeyOf(sort), order }),
    };
  }

  @Get('activity')
  @Authenticated()
  @Documented({
    id: 'getFleetActivity',
    tag: 'events',
    records: 'nothing',
    summary: 'How many events of each class there were, by time',
    description: 'Of clusters in namespaces that the caller may see; at most 400 intervals.',
    answers: [{ status: 200, description: 'Intervals with events', schema: FleetActivity }],
  })
  async activityBetween(
    @Query({ schema: ActivityQuery }) query: ActivityQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<FleetActivity> {
    return this.activity.between(query, identity);
  }
}
