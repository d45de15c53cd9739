import {
  FIRST_PREVHASH,
  sentenceOfEvent,
  type AuditEntry,
  type AuditView,
  type StoredEvent,
} from '@fairlead/contracts';

/** An event as it was read, with the SHA-256 of its stored message. */
export interface ReadEvent {
  readonly event: StoredEvent;
  readonly hash: string;
}

type Verification = AuditView['verification'];

interface Link {
  readonly hash: string;
  readonly version: number;
}

const faultOf = ({ event: { meta } }: ReadEvent, before: Link): string | undefined => {
  if (meta.streamVersion !== before.version + 1)
    return `is number ${meta.streamVersion} of its stream, not ${before.version + 1}: an event is missing or was added`;
  if (meta.prevHash !== before.hash) return 'does not follow from the event before it: that one was changed';
  return undefined;
};

/** Computes the hash chain of each context anew. The last event of a stream has no witness but itself. */
export const verify = (history: readonly ReadEvent[]): Verification => {
  const links = new Map<string, Link>();
  const faults: Verification['faults'] = [];
  for (const read of history) {
    const { context, seq, streamVersion } = read.event.meta;
    const fault = faultOf(read, links.get(context) ?? { hash: FIRST_PREVHASH, version: 0 });
    if (fault !== undefined) faults.push({ seq, context, fault });
    links.set(context, { hash: read.hash, version: streamVersion });
  }
  return { intact: faults.length === 0, events: history.length, streams: links.size, faults };
};

const CAUSES_MAX = 20;

/** The causes of an event, nearest first, as far as they lie in this history. */
const causesOf = (event: StoredEvent, byId: ReadonlyMap<string, StoredEvent>): AuditEntry['because'] => {
  const causes: AuditEntry['because'] = [];
  let cause = byId.get(event.meta.causationId);
  while (cause !== undefined && causes.length < CAUSES_MAX) {
    causes.push({ seq: cause.meta.seq, type: cause.type, id: cause.meta.id });
    cause = byId.get(cause.meta.causationId);
  }
  return causes;
};

/** The history as people read it: who, what, why, in order. */
export const auditEntries = (history: readonly ReadEvent[]): AuditEntry[] => {
  const byId = new Map(history.map(({ event }) => [event.meta.id, event]));
  return history.map(({ event }) => ({
    seq: event.meta.seq,
    id: event.meta.id,
    time: event.meta.time,
    type: event.type,
    actor: event.meta.actor,
    source: event.meta.source,
    sentence: sentenceOfEvent(event),
    because: causesOf(event, byId),
  }));
};
