import { FIRST_PREVHASH, type AuditEntry, type AuditView, type StoredEvent } from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';
import type { LogEntry } from '@fairlead/event-sourcing';

type Verification = AuditView['verification'];

interface Link {
  readonly hash: string;
  readonly version: number;
}

const faultOf = ({ event, rejection }: LogEntry, before: Link): string | undefined => {
  if (rejection !== undefined)
    return `is not an event (${rejection.reason}): ${rejection.detail}; an intruder or a fault added it, and it has no effect`;
  if (event === undefined) return undefined;
  const { meta } = event;
  if (meta.streamVersion !== before.version + 1)
    return `is number ${meta.streamVersion} of its stream, not ${before.version + 1}: an event is missing or was added`;
  if (meta.prevHash !== before.hash) return 'does not follow from the event before it: that one was changed';
  return undefined;
};

const CAUSES_MAX = 20;

/** So many of the latest events can be found as causes; older ones are not named any more. */
const CAUSES_KEPT_MAX = 5_000;

type Cause = AuditEntry['because'][number] & { readonly of: string };

/** What a page of an audit follows from: the end of each hash chain, and the events that may be causes. Bounded by contexts, not by events. */
export interface AuditPlace {
  readonly links: ReadonlyMap<string, Link>;
  readonly causes: ReadonlyMap<string, Cause>;
}

export const AUDIT_BEGINNING: AuditPlace = { links: new Map(), causes: new Map() };

/**
 * Replays a history from a place on, entry by entry. It computes the hash chain of each context again. The last event of a stream has no
 * witness but itself. A message that is not an event is reported and counts as a link, for its writers go on after it.
 */
export class AuditReplay {
  private readonly items: AuditEntry[] = [];
  private readonly faults: Verification['faults'] = [];
  private readonly contexts = new Set<string>();
  private readonly links: Map<string, Link>;
  private readonly causes: Map<string, Cause>;
  private events = 0;

  constructor(from: AuditPlace) {
    this.links = new Map(from.links);
    this.causes = new Map(from.causes);
  }

  /** Follows the chains only: the entry is not on the page. `isTheirs`: its reader may see it as a cause. */
  pass(entry: LogEntry, isTheirs: boolean): void {
    this.link(entry);
    if (isTheirs && entry.event !== undefined) this.remember(entry.event);
  }

  tell(entry: LogEntry): void {
    const fault = this.link(entry);
    const { seq, context, event } = entry;
    if (fault !== undefined) this.faults.push({ seq, context, fault });
    this.contexts.add(context);
    this.events += 1;
    if (event === undefined) return;
    this.remember(event);
    this.items.push(this.entryOf(event));
  }

  page(): Pick<AuditView, 'items' | 'verification'> {
    const { items, faults, events, contexts } = this;
    return { items, verification: { intact: faults.length === 0, events, streams: contexts.size, faults } };
  }

  place(): AuditPlace {
    return { links: new Map(this.links), causes: new Map(this.causes) };
  }

  private link(entry: LogEntry): string | undefined {
    const { context, hash, event } = entry;
    const before = this.links.get(context) ?? { hash: FIRST_PREVHASH, version: 0 };
    this.links.set(context, { hash, version: event?.meta.streamVersion ?? before.version + 1 });
    return faultOf(entry, before);
  }

  private remember({ type, meta: { seq, id, causationId } }: StoredEvent): void {
    this.causes.set(id, { seq, type, id, of: causationId });
    for (const oldest of this.causes.keys()) {
      if (this.causes.size <= CAUSES_KEPT_MAX) return;
      this.causes.delete(oldest);
    }
  }

  /** The history as people read it: who, what, why. */
  private entryOf(event: StoredEvent): AuditEntry {
    const { seq, id, time, actor, source, context } = event.meta;
    const because = this.causesOf(event);
    return { seq, id, time, type: event.type, actor, source, context, sentence: sentenceOfEvent(event), because };
  }

  /** Nearest first, as far as they lie in this history. */
  private causesOf(event: StoredEvent): AuditEntry['because'] {
    const because: AuditEntry['because'] = [];
    let cause = this.causes.get(event.meta.causationId);
    while (cause !== undefined && because.length < CAUSES_MAX) {
      const { seq, type, id, of } = cause;
      because.push({ seq, type, id });
      cause = this.causes.get(of);
    }
    return because;
  }
}
