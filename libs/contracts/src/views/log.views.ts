import * as z from 'zod';
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
    context: z.string().describe('The hash chain that it is in'),
    sentence: z.string(),
    because: z
      .array(z.strictObject({ seq: z.int(), type: z.string(), id: z.string() }))
      .describe(
        'The chain of causes, nearest first, as far as it lies in the latest 5,000 events of this cluster before it',
      ),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditView = z
  .strictObject({
    kind: z.literal('Audit'),
    namespace: z.string(),
    cluster: z.string(),
    items: z.array(AuditEntry),
    next: z.int().nullable().describe('Give it as `after` to read on; null: the end of the log was reached'),
    verification: z
      .strictObject({
        intact: z.boolean(),
        events: z.int().describe('Messages of the log on this page'),
        streams: z.int().describe('Hash chains that they are in: one per context'),
        faults: z.array(z.strictObject({ seq: z.int(), context: z.string(), fault: z.string() })),
      })
      .describe('The hash chains of the log on this page, recomputed for this answer'),
  })
  .meta({ id: 'Audit', description: 'The history of a cluster name, replayed from the log' });
export type AuditView = z.infer<typeof AuditView>;

export const LogMessage = z
  .strictObject({
    seq: z.int(),
    context: z.string().describe('The hash chain that it is in'),
    sha256: z.string().describe('Of the bytes of the message, as the gateway computes it'),
    prevHash: z.string().describe('What the message says of the one before it in its chain; empty: it is not an event'),
    message: z
      .string()
      .nullable()
      .describe(
        "The message as it is stored; null: it is not text, or holds a connection's settings, which the caller may not see",
      ),
  })
  .meta({ id: 'LogMessage', description: 'A message of the log, for those who check its hash chains themselves' });
export type LogMessage = z.infer<typeof LogMessage>;

export const LogPage = z
  .strictObject({
    kind: z.literal('LogPage'),
    namespace: z.string(),
    cluster: z.string(),
    items: z.array(LogMessage),
    next: z.int().nullable().describe('Give it as `after` to read on; null: the end of the log was reached'),
  })
  .meta({ id: 'LogPage' });
export type LogPage = z.infer<typeof LogPage>;

export const QuarantinedClusterView = z
  .strictObject({
    service: z.string(),
    consumer: z.string(),
    namespace: z.string(),
    cluster: z.string(),
    seq: z.int().describe('The event that could not be processed'),
    eventId: z.string(),
    error: z.string(),
    quarantinedTime: time,
  })
  .meta({
    id: 'QuarantinedCluster',
    description: 'A cluster whose events a consumer cannot process; no other cluster waits for it',
  });
export type QuarantinedClusterView = z.infer<typeof QuarantinedClusterView>;

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

export const QuarantineList = z
  .strictObject({
    kind: z.literal('QuarantineList'),
    items: z.array(QuarantinedClusterView),
    rejected: z.array(RejectedView).describe('The latest first'),
  })
  .meta({ id: 'QuarantineList' });
export type QuarantineList = z.infer<typeof QuarantineList>;
