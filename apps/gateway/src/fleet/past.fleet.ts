import { refuse, type FleetRow, type StoredEvent } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { mayIn, type Identity } from '../access/identity.js';
import { certificatesProjection } from '../certificates/certificates.projection.js';
import { AroundClusters } from '../clusters/around.queries.js';
import { viewFromLog } from '../clusters/past.queries.js';
import { eventsUntil, History, type LogMoment } from '../common/history.js';
import { FoldedHistory } from '../common/rows.fold.js';
import type { Exchange } from '../http/caller.js';
import { RefusalError } from '../http/refusal.error.js';
import { TokenSlots } from '../limits/token.slots.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { fleetRow, READER } from './fleet.rules.js';

/** The history of a name, as far as it was read, with places from which a fold goes on. */
interface KeptHistory {
  readonly events: readonly StoredEvent[];
  readonly places: FoldedHistory[];
  /** By how many events they follow from. */
  readonly lines: Map<number, Line>;
  /** The log was read at that time, up to that sequence. */
  readonly readAtMs: number;
  readonly throughSeq: number;
}

/** A line of the fleet as it was from one time to another. */
interface Line {
  readonly row: FleetRow | undefined;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A place after each so many events. */
const PLACE_EVERY = 64;
/** Clusters of one answer: each may have its history read. */
export const PAST_CLUSTERS_MAX = 1_000;
/** Events that are kept, of all clusters together. */
const EVENTS_KEPT_MAX = 60_000;
const READ_AT_ONCE = 16;

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

/** The fleet as it was. Histories are read once and kept, so that a moment beside the last one is answered at once. */
@Injectable()
export class PastFleet {
  private readonly names = new Map<string, NamedCluster>();
  private namesThrough = 0;
  private readonly histories = new LRUCache<string, KeptHistory>({
    maxSize: EVENTS_KEPT_MAX,
    sizeCalculation: ({ events }) => events.length + 1,
  });

  constructor(
    @Inject(History) private readonly history: History,
    @Inject(AroundClusters) private readonly around: AroundClusters,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  /** The lines of all clusters that there were at that moment, of a namespace or of all that the caller may see. */
  async rows(
    at: LogMoment,
    namespace: string | undefined,
    { caller: { identity, signal }, response }: Pick<Exchange, 'caller' | 'response'>,
  ): Promise<readonly FleetRow[]> {
    this.slots.take('audits', identity.tokenId, response);
    const visible = (await this.allNames()).filter(
      (one) => mayIn(identity, READER, one.namespace) && (namespace ?? one.namespace) === one.namespace,
    );
    if (visible.length > PAST_CLUSTERS_MAX)
      throw new RefusalError(
        refuse('request.malformed', {
          detail: `at: ${visible.length} clusters would be replayed, more than ${PAST_CLUSTERS_MAX}. Name a namespace`,
        }),
      );
    const rows: FleetRow[] = [];
    for (let from = 0; from < visible.length; from += READ_AT_ONCE) {
      const some = visible.slice(from, from + READ_AT_ONCE);
      for (const kept of await Promise.all(some.map((one) => this.historyOf(one, at, identity)))) {
        const row = this.rowOf(kept, at);
        if (row !== undefined) rows.push(row);
        await setImmediate(undefined, { signal }); // Other requests are answered in between.
      }
    }
    return rows;
  }

  private rowOf(kept: KeptHistory, at: LogMoment): FleetRow | undefined {
    const { length } = eventsUntil(kept.events, at);
    const last = kept.events[length - 1];
    if (last === undefined) return undefined;
    const thenMs = Date.parse(typeof at === 'number' ? last.meta.time : at);
    const known = kept.lines.get(length);
    if (known !== undefined && known.fromMs <= thenMs && thenMs <= known.toMs) return known.row;
    const nowMs = Date.parse(this.around.moment.now);
    const line = this.lineOf(kept, length, Math.min(thenMs, nowMs), nowMs);
    kept.lines.set(length, line);
    return line.row;
  }

  /** Time alone changes a line at most once between two events, so a line that is the same at both is the same in between. */
  private lineOf(kept: KeptHistory, length: number, thenMs: number, nowMs: number): Line {
    const folded = placeOf(kept, length);
    const fromMs = Math.min(thenMs, Date.parse(kept.events[length - 1]!.meta.time));
    const next = kept.events[length];
    const toMs = Math.max(thenMs, Math.min(nowMs, next === undefined ? kept.readAtMs : Date.parse(next.meta.time)));
    const [first, last] = [this.lineAt(folded, fromMs), this.lineAt(folded, toMs)];
    if (isDeepStrictEqual(first, last)) return { row: first, fromMs, toMs };
    return { row: this.lineAt(folded, thenMs), fromMs: thenMs, toMs: thenMs };
  }

  private lineAt({ rowsOf }: FoldedHistory, ms: number): FleetRow | undefined {
    const { stalledAfterMs } = this.around.moment;
    const view = viewFromLog(rowsOf, { now: new Date(ms).toISOString(), stalledAfterMs });
    if (view === undefined) return undefined;
    const ends = rowsOf(certificatesProjection).flatMap(({ doc }) =>
      doc.certificates.map(({ expiresAt }) => expiresAt),
    );
    return fleetRow({ view, certificateEnd: ends.toSorted()[0] });
  }

  /** Read on only if the moment lies behind what was read. */
  private async historyOf(
    { namespace, cluster }: NamedCluster,
    at: LogMoment,
    identity: Identity,
  ): Promise<KeptHistory> {
    const since = await this.incarnations.visibleAfter(namespace, identity);
    const key = `${since} ${namespace}/${cluster}`;
    const kept = this.histories.get(key);
    const isRead =
      kept !== undefined && (typeof at === 'number' ? at <= kept.throughSeq : Date.parse(at) < kept.readAtMs);
    if (isRead) return kept;
    const readAtMs = Date.parse(this.around.moment.now);
    const more = await this.history.events(namespace, cluster, kept?.throughSeq ?? since);
    const events = kept === undefined ? more : [...kept.events, ...more];
    const throughSeq = events.at(-1)?.meta.seq ?? since;
    // A place in the middle of new events is the same: it ends with events that were there.
    const lines = kept?.lines ?? new Map<number, Line>();
    const read = { events, places: kept?.places ?? [], lines, readAtMs, throughSeq };
    this.histories.set(key, read);
    return read;
  }

  /** Every name that was ever requested. */
  private async allNames(): Promise<readonly NamedCluster[]> {
    for (const { meta } of await this.history.requests(this.namesThrough)) {
      const { namespace, cluster, seq } = meta;
      this.names.set(`${namespace}/${cluster}`, { namespace, cluster });
      this.namesThrough = seq;
    }
    return [...this.names.values()];
  }
}

/** The history folded up to so many events. */
const placeOf = ({ events, places }: KeptHistory, length: number): FoldedHistory => {
  const index = Math.floor(length / PLACE_EVERY);
  for (let place = places.length; place <= index; place += 1) {
    const before = places[place - 1];
    const chunk = events.slice((place - 1) * PLACE_EVERY, place * PLACE_EVERY);
    places.push(before === undefined ? FoldedHistory.of([]) : before.after(chunk));
  }
  return places[index]!.after(events.slice(index * PLACE_EVERY, length));
};
