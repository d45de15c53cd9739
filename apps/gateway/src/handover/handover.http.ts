import { epochOf, handoverWords, HandoverView, holdsLog, type HandoverRecord } from '@fairlead/contracts';
import { LogOwnership } from '@fairlead/service-kit';
import { Controller, Get, Inject } from '@nestjs/common';
import { Authenticated } from '../access/access.js';
import { bothBases, Documented } from '../http/documented.js';

const viewOf = (record: HandoverRecord | undefined): HandoverView => ({
  kind: 'Handover',
  holdsLog: holdsLog(record),
  epoch: epochOf(record),
  state: record?.state ?? 'none',
  id: record?.id ?? null,
  startedTime: record?.at ?? null,
  message: record === undefined ? 'it was never handed over' : handoverWords(record),
});

/** Which installation acts: asked by operators and pipelines that may know two. */
@Controller(bothBases('handover'))
export class HandoverHttp {
  constructor(@Inject(LogOwnership) private readonly ownership: LogOwnership) {}

  @Get()
  @Authenticated()
  @Documented({
    id: 'getHandover',
    tag: 'system',
    records: 'nothing',
    summary: 'Whether this installation was handed over to another one, or took one over',
    description: 'At most two seconds old. An installation that was handed over answers reads, and refuses commands.',
    answers: [{ status: 200, description: 'The handover', schema: HandoverView }],
  })
  show(): HandoverView {
    return viewOf(this.ownership.record);
  }
}
