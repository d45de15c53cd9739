import { z } from 'zod';
import { time } from './time.js';

export const EventView = z
  .strictObject({
    seq: z.int().describe('Position in the log; also the id of a server-sent event'),
    id: z.string(),
    type: z.string(),
    time,
    namespace: z.string(),
    cluster: z.string(),
    context: z.string(),
    source: z.string(),
    actor: z.string(),
    correlationId: z.string(),
    causationId: z.string(),
    sentence: z.string().describe('What happened, for a person'),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'A fact of the log' });
export type EventView = z.infer<typeof EventView>;

export const EventList = z
  .strictObject({
    kind: z.literal('EventList'),
    items: z.array(EventView),
    next: z.int().nullable().describe('Give it as `after` to read on; null: the end of the log was reached'),
  })
  .meta({ id: 'EventList' });
export type EventList = z.infer<typeof EventList>;

export const AuditEntry = z
  .strictObject({
    seq: z.int(),
    id: z.string(),
    time,
    type: z.string(),
    actor: z.string(),
    source: z.string(),
    sentence: z.string(),
    because: z
      .array(z.strictObject({ seq: z.int(), type: z.string(), id: z.string() }))
      .describe('The chain of causes, nearest first, as far as it lies in the history of this cluster'),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditView = z
  .strictObject({
    kind: z.literal('Audit'),
    namespace: z.string(),
    cluster: z.string(),
    items: z.array(AuditEntry),
    verification: z
      .strictObject({
        intact: z.boolean(),
        events: z.int(),
        streams: z.int().describe('Hash chains that were checked: one per context'),
        faults: z.array(z.strictObject({ seq: z.int(), context: z.string(), fault: z.string() })),
      })
      .describe('The hash chains of the log, computed anew for this answer'),
  })
  .meta({ id: 'Audit', description: 'The history of a cluster name, replayed from the log' });
export type AuditView = z.infer<typeof AuditView>;

export const ParkedView = z
  .strictObject({
    service: z.string(),
    consumer: z.string(),
    namespace: z.string(),
    cluster: z.string(),
    seq: z.int().describe('The event that could not be processed'),
    eventId: z.string(),
    error: z.string(),
    parkedTime: time,
  })
  .meta({
    id: 'Parked',
    description: 'A cluster whose events a consumer cannot process; no other cluster waits for it',
  });
export type ParkedView = z.infer<typeof ParkedView>;

export const RejectedView = z
  .strictObject({
    stream: z.string().describe('evt.<partition>.<namespace>.<cluster>.<context>, as its subject has it'),
    reason: z.string(),
    count: z.int(),
    firstSeq: z.int(),
    lastSeq: z.int(),
    subject: z.string().describe('Of the last one'),
    detail: z.string().describe('Of the last one'),
    rejectedTime: time,
  })
  .meta({
    id: 'Rejected',
    description: 'Messages in a stream of the log that are no events: every reader skips them',
  });
export type RejectedView = z.infer<typeof RejectedView>;

export const ParkedList = z
  .strictObject({
    kind: z.literal('ParkedList'),
    items: z.array(ParkedView),
    rejected: z.array(RejectedView).describe('The latest first'),
  })
  .meta({ id: 'ParkedList' });
export type ParkedList = z.infer<typeof ParkedList>;
