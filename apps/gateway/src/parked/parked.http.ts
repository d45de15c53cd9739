import {
  ParkedList,
  ParkedReleaseRequest,
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
import { RoleEverywhere } from '../auth/access.js';
import { audit } from '../events/audit.decider.js';
import { showSeq, untilShown } from '../http/answers.js';
import { causeOf, FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { KEY_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { orRefuse, Refused } from '../http/refused.js';
import { parkedKey, parkedView, type ParkedDoc } from './parked.projection.js';

const rejectedView = ({ place, rejectedAt, ...row }: RejectedRow): RejectedView => ({
  ...row,
  stream: place,
  rejectedTime: rejectedAt,
});

@Controller(bothBases('parked'))
export class ParkedHttp {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(DATABASE) private readonly database: DataSource,
  ) {}

  @Get()
  @RoleEverywhere('admin')
  @Documented({
    id: 'listParked',
    tag: 'parked',
    summary: 'Clusters whose events a consumer of a service could not take, and messages of the log that are no events',
    answers: [{ status: 200, description: 'What waits for an operator', schema: ParkedList }],
    refusals: ['wait.seq-ahead', 'wait.too-long'],
  })
  async list(@Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery): Promise<ParkedList> {
    await untilShown(this.positions, minSeq);
    const rows = await this.database.query<{ doc: ParkedDoc }[]>('select doc from parked_clusters order by key');
    const rejected = await rejectedRows((sql, values) => this.database.query(sql, [...values]));
    return { kind: 'ParkedList', items: rows.map(({ doc }) => parkedView(doc)), rejected: rejected.map(rejectedView) };
  }

  @Post('release')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'releaseParked',
    tag: 'parked',
    summary: 'Let a parked cluster go on; on record',
    answers: [{ status: 202, description: 'The service will take it up', schema: StatusView }],
    refusals: ['parked.unknown', 'conflict.concurrent', ...KEY_REFUSALS],
  })
  async release(
    @Body({ schema: ParkedReleaseRequest }) request: ParkedReleaseRequest,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StatusView> {
    const [row] = await this.database.query<{ doc: ParkedDoc }[]>('select doc from parked_clusters where key = $1', [
      parkedKey(request),
    ]);
    if (row === undefined) throw new Refused(refuse('parked.unknown', { ...request }));
    const { service, consumer, namespace, cluster } = row.doc;
    const fact = { type: 'ParkedClusterReleased', data: { service, consumer, mode: request.mode } } as const;
    const { seq } = orRefuse(
      await this.handle(
        audit,
        { namespace, cluster, context: 'audit' },
        { type: 'Record', data: fact },
        causeOf(caller),
      ),
    );
    showSeq(response, seq);
    return { kind: 'Status', code: 202, message: `${consumer} of ${service} goes on with ${namespace}/${cluster}.` };
  }
}
