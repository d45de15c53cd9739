import { NONE } from './ids.js';

/** Never changes: a different number requires a new stream. */
export const PARTITION_COUNT = 16;

/** Fairlead's streams. EVENTS is the source of truth; the others can be lost without losing history. */
export const STREAMS = {
  events: 'EVENTS',
  agentFacts: 'AGENT_FACTS',
  deadLetters: 'DLQ',
} as const;

/** The key-value bucket of sealed secrets, under `<service>.<name>`. */
export const SECRETS_BUCKET = 'SECRETS';

/**
 * The bucket of owners' sealed keys, which seal those secrets, under `<service>.key.<owner>`. A separate bucket, so
 * that data backups can exclude it: a destroyed key then remains in no backup.
 */
export const SECRET_KEYS_BUCKET = 'SECRET_KEYS';

/** The object store of sealed etcd snapshots. */
export const SNAPSHOTS_BUCKET = 'SNAPSHOTS';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

const encoder = new TextEncoder();

/** 32-bit FNV-1a over UTF-8; equals nats-server's `{{partition(n,1)}}` for ASCII tokens. */
export const fnv1a32 = (text: string): number => {
  let hash = FNV_OFFSET;
  for (const byte of encoder.encode(text)) {
    hash ^= byte;
    hash = Math.imul(hash, FNV_PRIME) >>> 0;
  }
  return hash;
};

const HASH_LENGTH = 7;

/**
 * A DNS label as a part of a longer name that has a limit: the label itself if it fits, otherwise its beginning and a
 * hash of the whole.
 */
export const shortened = (label: string, lengthMax: number): string => {
  if (label.length <= lengthMax) return label;
  const hash = fnv1a32(label).toString(36).padStart(HASH_LENGTH, '0');
  return `${label.slice(0, lengthMax - HASH_LENGTH - 1)}-${hash}`;
};

/** All events of a cluster are in one partition, which orders them. */
export const partitionOf = (namespace: string, cluster: string): number =>
  fnv1a32(`${namespace}/${cluster}`) % PARTITION_COUNT;

/** An aggregate: the unit of optimistic concurrency, of the hash chain and of `streamversion`. */
export interface StreamId {
  readonly namespace: string;
  readonly cluster: string;
  readonly context: string;
}

export const streamSubject = ({ namespace, cluster, context }: StreamId): string =>
  `evt.${partitionOf(namespace, cluster)}.${namespace}.${cluster}.${context}`;

/** The stream of requests about a namespace itself. */
export const namespaceStream = (namespace: string): StreamId => ({ namespace, cluster: NONE, context: 'request' });

/** The stream of requests about connections, which belong to no namespace. */
export const CONNECTIONS_STREAM: StreamId = { namespace: NONE, cluster: NONE, context: 'request' };

export const eventSubject = (stream: StreamId, type: string): string => `${streamSubject(stream)}.${type}`;

/** Matches every event of a cluster, from any writer. */
export const clusterFilter = (namespace: string, cluster: string): string =>
  `evt.${partitionOf(namespace, cluster)}.${namespace}.${cluster}.>`;

export const partitionFilter = (partition: number): string => `evt.${partition}.>`;

const EVENT_PREFIX = 'evt.';

/** undefined: not a subject of the log. */
export const partitionInSubject = (subject: string): number | undefined => {
  if (!subject.startsWith(EVENT_PREFIX)) return undefined;
  const end = subject.indexOf('.', EVENT_PREFIX.length);
  return Number(subject.slice(EVENT_PREFIX.length, end < 0 ? undefined : end));
};

/** Every event. */
export const EVERY_EVENT = 'evt.>';

/**
 * Where nats-server republishes what it stored under a subject, or a filter, of the log. Only the server may publish
 * there.
 */
export const storedSubject = (subject: string): string => `stored.${subject}`;

export interface EventSubject extends StreamId {
  readonly partition: number;
  readonly type: string;
}

/** The inverse of eventSubject; undefined for other subjects. */
export const parseEventSubject = (subject: string): EventSubject | undefined => {
  const [prefix, partition, namespace, cluster, context, type, ...rest] = subject.split('.');
  if (prefix !== 'evt' || type === undefined || rest.length > 0) return undefined;
  if (partition === undefined || namespace === undefined || cluster === undefined || context === undefined)
    return undefined;
  return { partition: Number(partition), namespace, cluster, context, type };
};

export const heartbeatSubject = (namespace: string, cluster: string, node: string): string =>
  `hb.${namespace}.${cluster}.${node}`;

/** A service announces here every few seconds that it is serving; not stored. */
export const aliveSubject = (service: string): string => `alive.${service}`;

/** The gateway requests more of a log that it follows here, by request id: a `LogAsk`; not stored. */
export const logAskSubject = (requestId: string): string => `logs.ask.${requestId}`;
/** bootstrap-svc answers here: `LogLines`; not stored. */
export const logLinesSubject = (requestId: string): string => `logs.lines.${requestId}`;

/** The subject of an abandoned task. */
export const deadLetterSubject = (service: string, type: string): string => `dlq.${service}.${type}`;
