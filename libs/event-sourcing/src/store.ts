import type { Fact, StoredEvent, StreamId } from '@fairlead/contracts';
import type { Rejection } from './acceptance.js';

/** Actor and reason, recorded in the envelope of everything that follows. */
export interface Cause {
  /** user/<name of the token>#<its id>, system/<service>, node/<name>. */
  readonly actor: string;
  readonly correlationId: string;
  /** With the prefix of `repeatable`, its effect on a stream happens once. */
  readonly causationId: string;
  /**
   * For a fact that was observed elsewhere and is recorded here: its author's report. At most one is appended at a
   * time.
   */
  readonly observed?: Observation;
}

const REPEATABLE = 'command/';

/**
 * The causation id of a request that may be repeated, by another replica and after any crash: it has one effect on a
 * stream.
 */
export const repeatable = (commandId: string): string => `${REPEATABLE}${commandId}`;

export const isRepeatable = (causationId: string): boolean => causationId.startsWith(REPEATABLE);

export interface Observation {
  readonly id: string;
  /** RFC 3339. */
  readonly time: string;
  /** E.g. `/node-agent/<node>`. */
  readonly source: string;
}

/** The position of a stream that an append expects. */
export interface StreamPosition {
  /** Sequence (in the log) of the stream's last event; 0 for an empty stream. */
  readonly seq: number;
  readonly streamVersion: number;
  /** SHA-256 of the stream's last message; FIRST_PREVHASH for an empty stream. */
  readonly hash: string;
}

/** The position at which a decision read another stream: the decision is valid only while that stream is unchanged. */
export interface ReadElsewhere {
  readonly stream: StreamId;
  /** Sequence (in the log) of its last event; 0 for an empty stream. */
  readonly seq: number;
}

export interface Expected extends StreamPosition {
  /**
   * Only for appends of at least two facts, because each message carries one expectation. Absent: no other stream was
   * read.
   */
  readonly elsewhere?: ReadElsewhere;
}

export type AppendResult =
  | { readonly kind: 'appended'; readonly events: readonly StoredEvent[]; readonly position: StreamPosition }
  | { readonly kind: 'conflict' };

/** A message of the log, whether or not it is an event: it counts in the order of its stream and in its hash chain. */
export interface LogEntry {
  readonly seq: number;
  /** The stream that contains it, by its subject. */
  readonly context: string;
  /** SHA-256 of the message. */
  readonly hash: string;
  /** undefined: readers skip it. */
  readonly event: StoredEvent | undefined;
  /** Why it is not an event; undefined: it is one, or its type is unknown to this release. */
  readonly rejection: Rejection | undefined;
}

/** The log, as the shell around deciders needs it. */
export interface EventStore {
  /** Events that match the subject filter after a sequence, in order, each with its raw message's SHA-256. */
  read(filter: string, afterSeq: number): Promise<readonly { readonly event: StoredEvent; readonly hash: string }[]>;
  /** Every matching message, events or not, in order: the basis of hash chains and positions. */
  entries(filter: string, afterSeq: number): Promise<readonly LogEntry[]>;
  /**
   * Appends all facts or none, if the log is still as `expected`. Rejects with ExternalFailure if the log is unreachable.
   */
  append(stream: StreamId, expected: Expected, facts: readonly Fact[], cause: Cause): Promise<AppendResult>;
}

/** A message carries one expectation, and the first one carries that of the stream itself. */
export const requireRoomForElsewhere = ({ elsewhere }: Expected, facts: readonly Fact[]): void => {
  if (elsewhere !== undefined && facts.length < 2)
    throw new Error('a decision that depends on another stream records at least two facts');
};
