import type { FleetCauses, FleetDurations, OperationKind, StoredEvent } from '@fairlead/contracts';
import type { ScoreEvent } from '@fairlead/domain';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setImmediate } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { mayIn, type Identity } from '../access/identity.js';
import { History } from '../common/history.js';
import type { Exchange } from '../http/caller.js';
import { TokenSlots } from '../limits/token.slots.js';
import { kindOf, type StepSequence } from '../operations/step.sequence.js';
import { causesOf, causeTimesOf, durationsOf, type CauseTimes } from './durations.rules.js';
import { READER } from './fleet.rules.js';

interface SucceededRow {
  readonly id: string;
  readonly seq: number;
  readonly namespace: string;
  readonly cluster: string;
  readonly course: StepSequence;
  readonly startedAt: string;
  readonly finishedAt: string;
}

type Succeeded = Omit<SucceededRow, 'course'> & { readonly kind: OperationKind };

/** How many operations have their events read for an answer. */
const READ_MAX = 20;
/** Times that are kept, of all operations together. */
const TIMES_KEPT_MAX = 50_000;

const scoreEvent = ({ type, data, meta: { seq, time } }: StoredEvent): ScoreEvent => ({
  ...{ seq, type, time, sentence: '' },
  data: data as Readonly<Record<string, unknown>>,
});

/** The latest of them count. */
const OPERATIONS_MAX = 10_000;

/** A retry has another beginning than what it continues, so it counts for nothing. */
const SUCCEEDED = `
  select operation->>'id' as id, operation->'seq' as seq,
         doc->>'namespace' as namespace, doc->>'cluster' as cluster, operation->>'course' as course,
         operation->>'startedAt' as "startedAt", operation->>'finishedAt' as "finishedAt"
    from operations, jsonb_array_elements(doc->'operations') operation
   where operation->>'phase' = 'Succeeded' and operation->>'kind' <> 'retry'
   order by seq desc
   limit ${OPERATIONS_MAX}`;

@Injectable()
export class DurationQueries {
  /** What an operation took that is over never changes. */
  private readonly times = new LRUCache<string, CauseTimes>({
    maxSize: TIMES_KEPT_MAX,
    sizeCalculation: ({ length }) => length + 1,
  });

  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(History) private readonly history: History,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  /** Of operations in namespaces that the caller may see. */
  async durations(identity: Identity): Promise<FleetDurations> {
    return { kind: 'FleetDurations', items: durationsOf(await this.succeeded(identity)) };
  }

  /** Of the latest operations of a kind in namespaces that the caller may see. */
  async causes(
    kind: OperationKind,
    { caller: { identity, signal }, response }: Pick<Exchange, 'caller' | 'response'>,
  ): Promise<FleetCauses> {
    this.slots.take('audits', identity.tokenId, response);
    const latest = (await this.succeeded(identity)).filter((one) => one.kind === kind).slice(0, READ_MAX);
    const times: CauseTimes[] = [];
    for (const operation of latest) {
      times.push(await this.timesOf(operation));
      await setImmediate(undefined, { signal }); // Other requests are answered in between.
    }
    return { kind: 'FleetCauses', operations: times.length, items: causesOf(times) };
  }

  private async succeeded(identity: Identity): Promise<readonly Succeeded[]> {
    const rows = await this.database.query<SucceededRow[]>(SUCCEEDED);
    return rows
      .filter(({ namespace }) => mayIn(identity, READER, namespace))
      .map(({ course, ...row }) => ({ ...row, kind: kindOf(course) }))
      .toSorted((one, other) => other.seq - one.seq);
  }

  private async timesOf({ id, namespace, cluster, seq, ...took }: Succeeded): Promise<CauseTimes> {
    const kept = this.times.get(id);
    if (kept !== undefined) return kept;
    const events = await this.history.events(namespace, cluster, seq - 1);
    const times = causeTimesOf(events.map(scoreEvent), took);
    this.times.set(id, times);
    return times;
  }
}
