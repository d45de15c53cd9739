import {
  EVENTS,
  Envelope,
  eventSubject,
  type EventDefinition,
  type Fact,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { hash } from 'node:crypto';
import { addressOf, envelopeFault, isRejection, type EventAddress, type Rejection } from '../acceptance.js';
import type { Cause, LogEntry, StreamPosition } from '../store.js';
import { lift } from '../upcast.js';
import type { RawEvent } from './direct.reader.js';
import { isUsualEnvelope } from './envelope.check.js';
import { DEPTH_MAX, parseMessage } from './message.text.js';

export const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** An encoded message, ready to append. */
export interface EncodedEvent {
  readonly id: string;
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly envelope: Envelope;
}

export interface Stamp {
  readonly id: string;
  readonly time: string;
  /** The writing service, e.g. `/infra-svc`. */
  readonly source: string;
  readonly cause: Cause;
}

/** A decoded message of the log. `unknown`: its type belongs to another release. */
export type Decoded =
  | { readonly kind: 'event'; readonly event: StoredEvent }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'rejected'; readonly rejection: Rejection };

/**
 * Maximum message sizes: an agent reports on one node; a service may report on all machines of a cluster, up to the
 * limit of NATS.
 */
const AGENT_BYTES_MAX = 64 * 1_024;
const SERVICE_BYTES_MAX = 1_024 * 1_024;

/** About 700 bytes each. */
const SUBJECTS_CACHED_MAX = 2_000;
/** A subject belongs to one cluster, context and type: it is read again soon, for a decision, or hardly ever. */
const addresses = new Map<string, EventAddress | Rejection | undefined>();

const knownAddressOf = (subject: string): EventAddress | Rejection | undefined => {
  const known = addresses.get(subject);
  if (known !== undefined || addresses.has(subject)) return known;
  const address = addressOf(subject);
  if (addresses.size >= SUBJECTS_CACHED_MAX) addresses.clear();
  addresses.set(subject, address);
  return address;
};

const utf8 = new TextEncoder();

/**
 * Validates the data against the event's schema and the envelope against its subject (a fault there is a bug of the
 * decider), and wraps it.
 */
export const encode = (stream: StreamId, after: StreamPosition, fact: Fact, stamp: Stamp): EncodedEvent => {
  const { cause } = stamp;
  const definition = EVENTS[fact.type];
  const envelope: Envelope = {
    specversion: '1.0',
    id: stamp.id,
    source: stamp.source,
    type: `${fact.type}.v${definition.version}`,
    subject: `${stream.namespace}/${stream.cluster}`,
    time: stamp.time,
    datacontenttype: 'application/json',
    dataschema: `fairlead:events/${fact.type}.v${definition.version}`,
    correlationid: cause.correlationId,
    causationid: cause.causationId,
    actor: cause.actor,
    streamversion: after.streamVersion + 1,
    prevhash: after.hash,
    data: definition.data.parse(fact.data) as Record<string, unknown>,
  };
  const subject = eventSubject(stream, fact.type);
  const address = knownAddressOf(subject);
  const fault = isRejection(address) || address === undefined ? address : envelopeFault(address, envelope);
  if (fault !== undefined) throw new Error(`no reader would take ${envelope.type} on ${subject}: ${fault.detail}`);
  const bytes = utf8.encode(JSON.stringify(envelope));
  return { id: stamp.id, subject, bytes, hash: sha256(bytes), envelope };
};

const rejected = (reason: Rejection['reason'], detail: string): Decoded => ({
  kind: 'rejected',
  rejection: { reason, detail },
});

const bytesMaxOf = ({ writer }: EventDefinition): number =>
  writer === 'node-agent' ? AGENT_BYTES_MAX : SERVICE_BYTES_MAX;

const issueOf = (issues: readonly { readonly path: PropertyKey[]; readonly message: string }[]): string => {
  const [issue] = issues;
  return issue === undefined ? 'it does not match its schema' : `${issue.path.join('.')}: ${issue.message}`;
};

/**
 * The only way from a stored message to an event: its subject determines the type, and its body must agree. Never
 * throws.
 */
export const read = (subject: string, seq: number, bytes: Uint8Array): Decoded => {
  const address = knownAddressOf(subject);
  if (address === undefined) return { kind: 'unknown' };
  if (isRejection(address)) return { kind: 'rejected', rejection: address };
  const limit = bytesMaxOf(address.definition);
  if (bytes.length > limit) return rejected('too-large', `${bytes.length} bytes are more than ${limit}`);
  const parsed = parseMessage(bytes);
  if (parsed === 'not-json') return rejected('not-json', 'it is not JSON in UTF-8');
  if (parsed === 'too-deep') return rejected('too-deep', `it is nested deeper than ${DEPTH_MAX} levels`);
  if (isUsualEnvelope(parsed.value)) return readEnvelope(address, seq, parsed.value);
  const envelope = Envelope.safeParse(parsed.value);
  if (!envelope.success) return rejected('envelope', issueOf(envelope.error.issues));
  return readEnvelope(address, seq, envelope.data);
};

const readEnvelope = (address: EventAddress, seq: number, envelope: Envelope): Decoded => {
  const rejection = envelopeFault(address, envelope);
  if (rejection !== undefined) return { kind: 'rejected', rejection };
  if (envelope.type === address.newest) return readData(address, seq, envelope, envelope.data);
  let lifted: ReturnType<typeof lift>;
  try {
    lifted = lift(envelope.type, envelope.data);
  } catch (error) {
    return rejected('data', `it cannot be lifted: ${error instanceof Error ? error.message : String(error)}`);
  }
  return lifted === undefined ? { kind: 'unknown' } : readData(address, seq, envelope, lifted.data);
};

const readData = (address: EventAddress, seq: number, envelope: Envelope, newest: unknown): Decoded => {
  const data = address.definition.data.safeParse(newest);
  if (!data.success) return rejected('data', issueOf(data.error.issues));
  return { kind: 'event', event: eventOf(address, seq, envelope, data.data) };
};

const eventOf = (
  { type, namespace, cluster, context }: Pick<EventAddress, 'type' | 'namespace' | 'cluster' | 'context'>,
  seq: number,
  envelope: Envelope,
  data: unknown,
): StoredEvent =>
  ({
    type,
    data,
    meta: {
      id: envelope.id,
      seq,
      namespace,
      cluster,
      context,
      time: envelope.time,
      actor: envelope.actor,
      source: envelope.source,
      correlationId: envelope.correlationid,
      causationId: envelope.causationid,
      streamVersion: envelope.streamversion,
      prevHash: envelope.prevhash,
    },
  }) as StoredEvent;

const readBefore = new WeakMap<RawEvent, Decoded>();

/** A pushed message is read for the projections, and again for each decision on its cluster. */
export const readOnce = (message: RawEvent): Decoded => {
  const known = readBefore.get(message);
  if (known !== undefined) return known;
  const decoded = read(message.subject, message.seq, message.bytes);
  readBefore.set(message, decoded);
  return decoded;
};

/** undefined: not an event, or of a type that this release does not know. */
export const decode = (subject: string, seq: number, bytes: Uint8Array): StoredEvent | undefined => {
  const decoded = read(subject, seq, bytes);
  return decoded.kind === 'event' ? decoded.event : undefined;
};

/**
 * A subject is evt.<partition>.<namespace>.<cluster>.<context>.<Type>; any other form belongs to the stream that its
 * tokens name.
 */
const CONTEXT_TOKEN = 4;

const entryBefore = new WeakMap<RawEvent, LogEntry>();

export const entryOf = (message: RawEvent): LogEntry => {
  const known = entryBefore.get(message);
  if (known !== undefined) return known;
  const { subject, seq, bytes } = message;
  const decoded = readOnce(message);
  const entry = {
    seq,
    context: subject.split('.')[CONTEXT_TOKEN] ?? '',
    hash: sha256(bytes),
    event: decoded.kind === 'event' ? decoded.event : undefined,
    rejection: decoded.kind === 'rejected' ? decoded.rejection : undefined,
  };
  entryBefore.set(message, entry);
  return entry;
};

/** An event encoded by `encode`, which has validated it. */
export const toStored = (subject: string, seq: number, envelope: Envelope): StoredEvent | undefined => {
  const address = knownAddressOf(subject);
  return address === undefined || isRejection(address) ? undefined : eventOf(address, seq, envelope, envelope.data);
};
