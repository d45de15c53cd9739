import type { FleetDurations } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { mayIn, type Identity } from '../access/identity.js';
import { kindOf, type StepSequence } from '../operations/step.sequence.js';
import { durationsOf } from './durations.rules.js';
import { READER } from './fleet.rules.js';

interface SucceededRow {
  readonly namespace: string;
  readonly course: StepSequence;
  readonly startedAt: string;
  readonly finishedAt: string;
}

/** The latest of them count. */
const OPERATIONS_MAX = 10_000;

/** A retry has another beginning than what it continues, so it counts for nothing. */
const SUCCEEDED = `
  select doc->>'namespace' as namespace, operation->>'course' as course,
         operation->>'startedAt' as "startedAt", operation->>'finishedAt' as "finishedAt"
    from operations, jsonb_array_elements(doc->'operations') operation
   where operation->>'phase' = 'Succeeded' and operation->>'kind' <> 'retry'
   order by seq desc
   limit ${OPERATIONS_MAX}`;

@Injectable()
export class DurationQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** Of operations in namespaces that the caller may see. */
  async durations(identity: Identity): Promise<FleetDurations> {
    const rows = await this.database.query<SucceededRow[]>(SUCCEEDED);
    const visible = rows.filter(({ namespace }) => mayIn(identity, READER, namespace));
    const operations = visible.map(({ course, ...times }) => ({ ...times, kind: kindOf(course) }));
    return { kind: 'FleetDurations', items: durationsOf(operations) };
  }
}
