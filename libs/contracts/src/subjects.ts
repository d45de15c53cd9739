import { NONE } from './ids.js';

/** Never changes: another number needs a new stream. */
export const PARTITION_COUNT = 16;

/** The streams of Fairlead. EVENTS is the source of truth; the others can be lost without losing history. */
export const STREAMS = {
  events: 'EVENTS',
  agentFacts: 'AGENT_FACTS',
  deadLetters: 'DLQ',
} as const;

/** Sealed secrets live in this key-value bucket, under `<service>.<name>`. */
export const SECRETS_BUCKET = 'SECRETS';

/**
 * The sealed keys of owners, by which those secrets are sealed, under `<service>.key.<owner>`. A bucket of their own, so that a backup of the data can leave
 * them out: a key that was destroyed is then in no older backup.
 */
export const SECRET_KEYS_BUCKET = 'SECRET_KEYS';

/** Sealed snapshots of etcd lie in this object store; upgrade-svc alone reaches it. */
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

/** All events of a cluster are in one partition, so that they have one order. */
export const partitionOf = (namespace: string, cluster: string): number =>
  fnv1a32(`${namespace}/${cluster}`) % PARTITION_COUNT;

/** A deciding aggregate: the unit of optimistic concurrency, of the hash chain and of `streamversion`. */
export interface StreamId {
  readonly namespace: string;
  readonly cluster: string;
  readonly context: string;
}

export const streamSubject = ({ namespace, cluster, context }: StreamId): string =>
  `evt.${partitionOf(namespace, cluster)}.${namespace}.${cluster}.${context}`;

/** Where the requests about a namespace itself are, as beside those of its clusters. */
export const namespaceStream = (namespace: string): StreamId => ({ namespace, cluster: NONE, context: 'request' });

/** Where the requests about connections are: they belong to no namespace. */
export const CONNECTIONS_STREAM: StreamId = { namespace: NONE, cluster: NONE, context: 'request' };

export const eventSubject = (stream: StreamId, type: string): string => `${streamSubject(stream)}.${type}`;

/** Matches every event of a cluster, from any writer. */
export const clusterFilter = (namespace: string, cluster: string): string =>
  `evt.${partitionOf(namespace, cluster)}.${namespace}.${cluster}.>`;

export const partitionFilter = (partition: number): string => `evt.${partition}.>`;

const EVENT_PREFIX = 'evt.';

/** undefined: the subject is not of the log. */
export const partitionInSubject = (subject: string): number | undefined => {
  if (!subject.startsWith(EVENT_PREFIX)) return undefined;
  const end = subject.indexOf('.', EVENT_PREFIX.length);
  return Number(subject.slice(EVENT_PREFIX.length, end < 0 ? undefined : end));
};

/** Every event. */
export const EVERY_EVENT = 'evt.>';

/** Where nats-server publishes what it has stored under a subject, or a filter, of the log. Only the server may publish there. */
export const storedSubject = (subject: string): string => `stored.${subject}`;

export interface EventSubject extends StreamId {
  readonly partition: number;
  readonly type: string;
}

/** The inverse of eventSubject; undefined for a subject that is not an event's. */
export const parseEventSubject = (subject: string): EventSubject | undefined => {
  const [prefix, partition, namespace, cluster, context, type, ...rest] = subject.split('.');
  if (prefix !== 'evt' || type === undefined || rest.length > 0) return undefined;
  if (partition === undefined || namespace === undefined || cluster === undefined || context === undefined)
    return undefined;
  return { partition: Number(partition), namespace, cluster, context, type };
};

export const heartbeatSubject = (namespace: string, cluster: string, node: string): string =>
  `hb.${namespace}.${cluster}.${node}`;

/** On which a service announces every few seconds that it serves; not stored. */
export const aliveSubject = (service: string): string => `alive.${service}`;

/** On which the gateway asks for more of a log that it follows, by the id of the request: a `LogAsk`; not stored. */
export const logAskSubject = (requestId: string): string => `logs.ask.${requestId}`;
/** On which bootstrap-svc answers: `LogLines`; not stored. */
export const logLinesSubject = (requestId: string): string => `logs.lines.${requestId}`;

/** Of a task that was given up. */
export const deadLetterSubject = (service: string, type: string): string => `dlq.${service}.${type}`;
