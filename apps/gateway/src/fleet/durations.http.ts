import { CausesQuery, FleetCauses, FleetDurations } from '@fairlead/contracts';
import { Controller, Get, Inject, Query } from '@nestjs/common';
import { Authenticated } from '../access/access.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { DurationQueries } from './durations.queries.js';

/** How long operations usually take in this installation, and what takes the time. */
@Controller(bothBases('fleet'))
export class DurationsHttp {
  constructor(@Inject(DurationQueries) private readonly durations: DurationQueries) {}

  @Get('causes')
  @Authenticated()
  @Documented({
    id: 'getFleetCauses',
    tag: 'operations',
    records: 'nothing',
    summary: 'How long nodes spent with each cause in operations of a kind that succeeded',
    description:
      'Folded from the log of clusters in namespaces that the caller may see; the latest 20 operations of the kind count.',
    answers: [{ status: 200, description: 'The causes with their durations', schema: FleetCauses }],
    refusals: ['token.too-many-audits'],
  })
  async durationsByCause(
    @Query({ schema: CausesQuery }) { operation }: CausesQuery,
    @FromExchange() exchange: Exchange,
  ): Promise<FleetCauses> {
    return this.durations.causes(operation, exchange);
  }

  @Get('durations')
  @Authenticated()
  @Documented({
    id: 'getFleetDurations',
    tag: 'operations',
    records: 'nothing',
    summary: 'How long operations took that succeeded, by kind',
    description: 'Of clusters in namespaces that the caller may see; the latest 30 of each cluster count.',
    answers: [{ status: 200, description: 'The durations', schema: FleetDurations }],
  })
  async durationsByKind(@FromCaller() { identity }: Caller): Promise<FleetDurations> {
    return this.durations.durations(identity);
  }
}
