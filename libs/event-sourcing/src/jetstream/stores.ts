import {
  AGENT_FACTS_FILTER,
  AGENT_MESSAGE_MAX_BYTES,
  EVERY_EVENT,
  HELD_NAME_LIFETIME_MS,
  HELD_NAMES_BUCKET,
  PUBLISHED_NAMES_BUCKET,
  SECRET_KEYS_BUCKET,
  SECRETS_BUCKET,
  SNAPSHOTS_BUCKET,
  STREAMS,
  storedSubject,
} from '@fairlead/contracts';
import { DiscardPolicy, PersistMode, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';

/* All streams and buckets of Fairlead in NATS. */

const MINUTE_MS = 60_000;
const FACT_AGE_MS = 120_000;
/** Larger than any event; nats-server's own limit is 1 MiB per message. */
export const EVENT_MAX_BYTES = 768 * 1024;
/** An agent sends facts one by one, so more of one type from one node are a flood. */
const AGENT_FACTS_PER_SUBJECT_MAX = 16;
const AGENT_FACTS_MAX_BYTES = 128 * 1024 * 1024;
/** The minimum of nats-server. Agents set no message ids, so there are no duplicates to detect. */
const DUPLICATE_WINDOW_MIN_MS = 100;
const DEAD_LETTERS_MAX = 100_000;
const UNLIMITED = -1;
const FOR_EVER = 0;

export type StoreKind = 'stream' | 'bucket' | 'object store';

export interface Store {
  /** Fairlead's name: `EVENTS`, `SECRETS`. */
  readonly name: string;
  readonly kind: StoreKind;
  /** The nats-server stream behind it. */
  readonly stream: string;
  /** Settings that Fairlead depends on, restored if they were changed. */
  readonly required: Partial<StreamConfig>;
  /** Limits that an operator may change, with their initial values. */
  readonly limits: Partial<StreamConfig>;
}

const stream = (name: string, { required, limits }: Pick<Store, 'required' | 'limits'>): Store => ({
  name,
  kind: 'stream',
  stream: name,
  required: { storage: StorageType.File, ...required },
  limits,
});

const bucket = (name: string): Store => ({
  name,
  kind: 'bucket',
  stream: `KV_${name}`,
  required: { max_msgs_per_subject: 1, max_age: FOR_EVER, allow_direct: true },
  limits: { max_bytes: UNLIMITED },
});

/** Of what is true only as long as it is repeated. */
const passingBucket = (name: string, lifetimeMs: number): Store => {
  const lasting = bucket(name);
  return { ...lasting, required: { ...lasting.required, max_age: nanos(lifetimeMs) } };
};

const log = stream(STREAMS.events, {
  required: {
    description: 'The truth: every fact, for ever',
    subjects: [EVERY_EVENT],
    // Readers follow the log without reading it again.
    republish: { src: EVERY_EVENT, dest: storedSubject(EVERY_EVENT) },
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_age: FOR_EVER,
    max_msgs_per_subject: UNLIMITED,
    max_msg_size: EVENT_MAX_BYTES,
    duplicate_window: nanos(10 * MINUTE_MS),
    deny_delete: true,
    deny_purge: true,
    allow_direct: true,
    allow_atomic: true,
  },
  limits: { max_bytes: UNLIMITED, max_msgs: UNLIMITED },
});

/**
 * Messages from agents. The server acknowledges none (`no_ack`): a reply subject is chosen by the sender, and an
 * acknowledgement would be published into the account of the services.
 */
const agentFacts = stream(STREAMS.agentFacts, {
  required: {
    description: 'Facts that agents state, until they are validated and recorded',
    subjects: [AGENT_FACTS_FILTER],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
    max_msgs_per_subject: AGENT_FACTS_PER_SUBJECT_MAX,
    max_msg_size: AGENT_MESSAGE_MAX_BYTES,
    duplicate_window: nanos(DUPLICATE_WINDOW_MIN_MS),
    no_ack: true,
  },
  limits: { max_bytes: AGENT_FACTS_MAX_BYTES, max_age: nanos(FACT_AGE_MS) },
});

const deadLetters = stream(STREAMS.deadLetters, {
  required: { subjects: ['dlq.>'], allow_direct: true },
  limits: { max_msgs: DEAD_LETTERS_MAX, max_bytes: UNLIMITED, max_age: FOR_EVER },
});

const snapshots: Store = {
  name: SNAPSHOTS_BUCKET,
  kind: 'object store',
  stream: `OBJ_${SNAPSHOTS_BUCKET}`,
  required: { max_age: FOR_EVER, allow_direct: true },
  limits: { max_bytes: UNLIMITED },
};

/** The log comes first: it shows whether NATS can hold this many replicas before anything else is changed. */
export const STORES: readonly [Store, ...Store[]] = [
  log,
  agentFacts,
  deadLetters,
  bucket(SECRETS_BUCKET),
  bucket(SECRET_KEYS_BUCKET),
  bucket(PUBLISHED_NAMES_BUCKET),
  passingBucket(HELD_NAMES_BUCKET, HELD_NAME_LIFETIME_MS),
  snapshots,
];

/**
 * Streams of earlier releases: the last heartbeat of each node (until ADR 72), and queued work, which reconcilers plan
 * again (until ADR 113).
 */
export const FORMER_STREAMS: readonly string[] = ['HB', 'JOBS'];

export const isLog = ({ stream: name }: Store): boolean => name === STREAMS.events;

/**
 * With a single replica, agents' facts may be written without waiting for the disk, because an agent keeps each one
 * until the recording service has acknowledged it. nats-server supports this only without replicas, and never changes
 * it.
 */
export const persistModeOf = (store: Store, replicas: number): Partial<StreamConfig> =>
  store === agentFacts && replicas === 1 ? { persist_mode: PersistMode.Async } : {};

/**
 * Metadata key of the log with the number of replicas that an operator requested, so that stores of later releases get
 * as many.
 */
export const REPLICAS_METADATA = 'fairlead-replicas';
