import {
  EVENTS,
  eventSubject,
  parseEventSubject,
  type Envelope,
  type Fact,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import type { Cause, StreamPosition } from '../store.js';
import { lift } from '../upcast.js';

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A message as it goes over the wire, ready to append. */
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

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** Checks the data against the event's schema (a fault there is a bug of the decider) and wraps it. */
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
  const bytes = utf8.encode(JSON.stringify(envelope));
  return { id: stamp.id, subject: eventSubject(stream, fact.type), bytes, hash: sha256(bytes), envelope };
};

/** undefined: not an event that this release knows. */
export const decode = (subject: string, seq: number, bytes: Uint8Array): StoredEvent | undefined =>
  toStored(subject, seq, JSON.parse(text.decode(bytes)) as Envelope);

export const toStored = (subject: string, seq: number, envelope: Envelope): StoredEvent | undefined => {
  const address = parseEventSubject(subject);
  if (address === undefined) return undefined;
  const lifted = lift(envelope.type, envelope.data);
  if (lifted === undefined) return undefined;
  return {
    type: lifted.type,
    data: lifted.data,
    meta: {
      id: envelope.id,
      seq,
      namespace: address.namespace,
      cluster: address.cluster,
      context: address.context,
      time: envelope.time,
      actor: envelope.actor,
      source: envelope.source,
      correlationId: envelope.correlationid,
      causationId: envelope.causationid,
      streamVersion: envelope.streamversion,
      prevHash: envelope.prevhash,
    },
  } as StoredEvent;
};
