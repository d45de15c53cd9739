import {
  FIRST_PREVHASH,
  sentenceOfEvent,
  type AuditEntry,
  type AuditView,
  type StoredEvent,
} from '@fairlead/contracts';
import type { LogEntry } from '@fairlead/event-sourcing';

type Verification = AuditView['verification'];

interface Link {
  readonly hash: string;
  readonly version: number;
}

const faultOf = ({ event, rejection }: LogEntry, before: Link): string | undefined => {
  if (rejection !== undefined)
    return `is no event (${rejection.reason}): ${rejection.detail}; it was added by an intruder or a fault, and has no effect`;
  if (event === undefined) return undefined;
  const { meta } = event;
  if (meta.streamVersion !== before.version + 1)
    return `is number ${meta.streamVersion} of its stream, not ${before.version + 1}: an event is missing or was added`;
  if (meta.prevHash !== before.hash) return 'does not follow from the event before it: that one was changed';
  return undefined;
};

/**
 * Computes the hash chain of each context again. The last event of a stream has no witness but itself. A message that is no
 * event is reported and counts as a link, for its writers go on after it. Chains are followed from their beginnings; told is only what came after a
 * sequence.
 */
export const verify = (history: readonly LogEntry[], after = 0): Verification => {
  const links = new Map<string, Link>();
  const faults: Verification['faults'] = [];
  for (const read of history) {
    const { context, seq, event } = read;
    const before = links.get(context) ?? { hash: FIRST_PREVHASH, version: 0 };
    const fault = faultOf(read, before);
    if (fault !== undefined && seq > after) faults.push({ seq, context, fault });
    links.set(context, { hash: read.hash, version: event?.meta.streamVersion ?? before.version + 1 });
  }
  const told = history.filter(({ seq }) => seq > after);
  const streams = new Set(told.map(({ context }) => context)).size;
  return { intact: faults.length === 0, events: told.length, streams, faults };
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
export const auditEntries = (history: readonly LogEntry[]): AuditEntry[] => {
  const events = history.flatMap(({ event }) => event ?? []);
  const byId = new Map(events.map((event) => [event.meta.id, event]));
  return events.map((event) => ({
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
