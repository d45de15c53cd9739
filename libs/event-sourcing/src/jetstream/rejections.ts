import type { StoredEvent } from '@fairlead/contracts';
import type { PoolClient } from 'pg';
import type { RejectionReason } from '../acceptance.js';
import type { RawEvent } from './direct.reader.js';
import type { Decoded } from './envelope.codec.js';
import { storableText } from './message.text.js';

/** A message of the log that is not an event: it has no effect, and is reported to operators. */
export interface RejectedMessage {
  readonly subject: string;
  readonly seq: number;
  readonly reason: RejectionReason;
  readonly detail: string;
}

export interface DecodedBatch {
  readonly events: readonly StoredEvent[];
  readonly rejected: readonly RejectedMessage[];
}

export const decodeBatch = (raw: readonly RawEvent[], decode: (message: RawEvent) => Decoded): DecodedBatch => {
  const events: StoredEvent[] = [];
  const rejected: RejectedMessage[] = [];
  for (const message of raw) {
    const { subject, seq } = message;
    const decoded = decode(message);
    if (decoded.kind === 'event') events.push(decoded.event);
    if (decoded.kind === 'rejected') rejected.push({ subject, seq, ...decoded.rejection });
  }
  return { events, rejected };
};

const PLACE_TOKENS = 5;
const TEXT_LENGTH_MAX = 300;
const shortened = (text: string): string => storableText(text.slice(0, TEXT_LENGTH_MAX));

/** The stream of a message. A writer can choose types freely, so types do not create separate rows. */
const placeOf = (subject: string): string => shortened(subject.split('.').slice(0, PLACE_TOKENS).join('.'));

interface Tally {
  readonly first: RejectedMessage;
  readonly last: RejectedMessage;
  readonly count: number;
}

const talliesOf = (rejected: readonly RejectedMessage[]): ReadonlyMap<string, Tally> => {
  const tallies = new Map<string, Tally>();
  for (const message of rejected) {
    const key = `${placeOf(message.subject)} ${message.reason}`;
    const before = tallies.get(key);
    tallies.set(key, { first: before?.first ?? message, last: message, count: (before?.count ?? 0) + 1 });
  }
  return tallies;
};

/** One row per stream and reason, so that a flood of them stays one row. */
export const writeRejected = async (client: PoolClient, rejected: readonly RejectedMessage[]): Promise<void> => {
  for (const { first, last, count } of talliesOf(rejected).values()) {
    await client.query(
      `insert into rejected_events as r (place, reason, count, first_seq, last_seq, subject, detail)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (place, reason) do update set count = r.count + excluded.count, last_seq = excluded.last_seq,
         subject = excluded.subject, detail = excluded.detail, rejected_at = now()`,
      [placeOf(last.subject), last.reason, count, first.seq, last.seq, shortened(last.subject), shortened(last.detail)],
    );
  }
};

/** Messages that a service's readers have skipped in one stream for one reason. */
export interface RejectedRow {
  readonly place: string;
  readonly reason: RejectionReason;
  readonly count: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** From the last one. */
  readonly subject: string;
  readonly detail: string;
  readonly rejectedAt: string;
}

const ROWS_MAX = 1_000;

type StoredRow = Readonly<
  Record<'place' | 'reason' | 'count' | 'first_seq' | 'last_seq' | 'subject' | 'detail', string> & { rejected_at: Date }
>;

/** Latest first. */
export const rejectedRows = async (
  query: (sql: string, values: readonly unknown[]) => Promise<readonly StoredRow[]>,
): Promise<readonly RejectedRow[]> => {
  const rows = await query('select * from rejected_events order by last_seq desc limit $1', [ROWS_MAX]);
  return rows.map((row) => ({
    place: row.place,
    reason: row.reason as RejectionReason,
    count: Number(row.count),
    firstSeq: Number(row.first_seq),
    lastSeq: Number(row.last_seq),
    subject: row.subject,
    detail: row.detail,
    rejectedAt: row.rejected_at.toISOString(),
  }));
};

const LINES_MAX = 3;
const QUIET_MS = 10_000;

/** Logs rejected messages: the first few immediately, then a limited number of lines per ten seconds. */
export class RejectionTeller {
  private quietUntilMs = 0;
  private unreported = 0;

  constructor(
    private readonly warn: (line: string) => void,
    private readonly nowMs: () => number = Date.now,
  ) {}

  tell(rejected: readonly RejectedMessage[]): void {
    if (rejected.length === 0) return;
    if (this.nowMs() < this.quietUntilMs) {
      this.unreported += rejected.length;
      return;
    }
    for (const { seq, subject, reason, detail } of rejected.slice(0, LINES_MAX))
      this.warn(`message ${seq} on ${shortened(subject)} is no event (${reason}): ${shortened(detail)}; it is skipped`);
    const more = this.unreported + Math.max(0, rejected.length - LINES_MAX);
    if (more > 0) this.warn(`${more} more messages were no events and were skipped`);
    this.unreported = 0;
    this.quietUntilMs = this.nowMs() + QUIET_MS;
  }
}
