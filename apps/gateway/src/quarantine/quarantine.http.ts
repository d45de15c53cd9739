import {
  QuarantineList,
  QuarantineReleaseRequest,
  ReadQuery,
  refuse,
  StatusView,
  type RejectedView,
} from '@fairlead/contracts';
import {
  HANDLE,
  POSITIONS,
  rejectedRows,
  type Handle,
  type Positions,
  type RejectedRow,
} from '@fairlead/event-sourcing/jetstream';
import { DATABASE } from '@fairlead/service-kit';
import { Body, Controller, Get, HttpCode, Inject, Post, Query, Res } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { RoleEverywhere } from '../access/access.js';
import { audit } from '../events/audit.decider.js';
import { showSeq, untilShown } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { unwrap } from '../http/refusal.error.js';
import { quarantineKey, quarantinedClusterView, type QuarantinedClusterDoc } from './quarantine.projection.js';

const rejectedView = ({ place, rejectedAt, ...row }: RejectedRow): RejectedView => ({
  ...row,
  stream: place,
  rejectedTime: rejectedAt,
});

@Controller(bothBases('quarantine'))
export class QuarantineHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(DATABASE) private readonly database: DataSource,
  ) {}

  @Get()
  @RoleEverywhere('admin')
  @Documented({
    id: 'listQuarantined',
    tag: 'quarantine',
    records: 'nothing',
    summary:
      'Clusters whose events a consumer of a service could not process, and messages in the log that are not events',
    answers: [{ status: 200, description: 'What waits for an operator', schema: QuarantineList }],
    refusals: ['wait.seq-ahead', 'wait.too-long'],
  })
  async list(@Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery): Promise<QuarantineList> {
    await untilShown(this.positions, minSeq);
    const rows = await this.database.query<{ doc: QuarantinedClusterDoc }[]>(
      'select doc from quarantined_clusters order by key',
    );
    const rejected = await rejectedRows((sql, values) => this.database.query(sql, [...values]));
    return {
      kind: 'QuarantineList',
      items: rows.map(({ doc }) => quarantinedClusterView(doc)),
      rejected: rejected.map(rejectedView),
    };
  }

  @Post('release')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'releaseQuarantined',
    tag: 'quarantine',
    records: 'work',
    summary: 'Release a quarantined cluster; on record',
    answers: [{ status: 202, description: 'The service will take it up', schema: StatusView }],
    refusals: ['quarantine.unknown', ...CHANGE_REFUSALS],
  })
  async release(
    @Body({ schema: QuarantineReleaseRequest }) request: QuarantineReleaseRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const rows = await this.database.query<unknown[]>('select 1 from quarantined_clusters where key = $1', [
      quarantineKey(request),
    ]);
    const fault = rows.length === 0 ? refuse('quarantine.unknown', { ...request }) : undefined;
    const { service, consumer, namespace, cluster } = request;
    const fact = { type: 'ClusterQuarantineReleased', data: { service, consumer, mode: request.mode } } as const;
    const { seq } = unwrap(
      await this.handle(
        audit,
        { namespace, cluster, context: 'audit' },
        { type: 'Record', data: fact, fault },
        causeOf(caller),
      ),
    );
    showSeq(response, seq);
    return { kind: 'Status', code: 202, message: `${consumer} of ${service} goes on with ${namespace}/${cluster}.` };
  }
}
