import * as z from 'zod';
import type { EventData, EventType } from './events/catalogue.js';

/**
 * CloudEvents 1.0 with extensions. `subject` is `<namespace>/<cluster>`; `streamversion` counts the events of one
 * stream (a cluster's context) from 1; `prevhash` is the SHA-256 of the previous message in that stream, which reveals
 * changed and missing events.
 */
export const Envelope = z.strictObject({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string().describe('/<writer>, e.g. /infra-svc or /node-agent/<node>'),
  type: z.string().describe('<EventType>.v<version>'),
  subject: z.string(),
  time: z.iso.datetime(),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string(),
  correlationid: z
    .string()
    .describe('The first cause: the id of the request (or of the request) that all this follows from'),
  causationid: z.string().describe('The direct cause: the id of the event or request that led to this one'),
  actor: z.string().describe('Who: user/<name of the token or user>#<its id>, system/<service>, node/<name>'),
  streamversion: z.int().min(1),
  prevhash: z.string().describe('Lowercase hex, or 64 zeros for the first of a stream'),
  data: z.record(z.string(), z.unknown()),
});
export type Envelope = z.infer<typeof Envelope>;

export const FIRST_PREVHASH = '0'.repeat(64);

/** Metadata of a fact in the log. */
export interface EventMeta {
  readonly id: string;
  /** Position in the EVENTS stream; increases across all clusters. */
  readonly seq: number;
  readonly namespace: string;
  readonly cluster: string;
  readonly context: string;
  /** RFC 3339, UTC: when the writer stated the fact. */
  readonly time: string;
  readonly actor: string;
  readonly source: string;
  readonly correlationId: string;
  readonly causationId: string;
  readonly streamVersion: number;
  readonly prevHash: string;
}

/** A fact in the log, upcast to the newest version of its type. */
export type StoredEvent<T extends EventType = EventType> = {
  [K in T]: { readonly type: K; readonly data: EventData<K>; readonly meta: EventMeta };
}[T];
