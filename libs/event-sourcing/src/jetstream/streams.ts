import {
  AGENT_FACTS_FILTER,
  AGENT_MESSAGE_MAX_BYTES,
  EVERY_EVENT,
  SECRET_KEYS_BUCKET,
  SECRETS_BUCKET,
  SNAPSHOTS_BUCKET,
  STREAMS,
  storedSubject,
  WorldFailure,
} from '@fairlead/contracts';
import {
  DiscardPolicy,
  jetstreamManager,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { Objm } from '@nats-io/obj';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { isDeepStrictEqual } from 'node:util';

const MINUTE_MS = 60_000;
const FACT_AGE_MS = 120_000;
/** Streams of earlier releases: the last heartbeat of each node (until ADR 72). */
const FORMER_STREAMS = ['HB'];
/** Larger than any event; nats-server's own limit is 1 MiB a message. */
export const EVENT_MAX_BYTES = 768 * 1024;
/** An agent sends one fact after the other, so that more of one type from one node are a flood. */
const AGENT_FACTS_PER_SUBJECT_MAX = 16;
const AGENT_FACTS_MAX_BYTES = 128 * 1024 * 1024;
/** The shortest that nats-server takes. Agents name no message, so there is nothing to compare. */
const DUPLICATE_WINDOW_MIN_MS = 100;
const DEAD_LETTERS_MAX = 100_000;

/** Older servers accept options that they do not honour, so refuse them: expected sequences on wildcards came with 2.11, atomic batches with 2.12. */
const SERVER_VERSION_MIN = '2.12.0';
const API_LEVEL_MIN = 2;

const olderThan = (version: string, min: string): boolean => {
  const [a, b] = [version, min].map((text) => text.split(/[.-]/).slice(0, 3).map(Number)) as [number[], number[]];
  for (let index = 0; index < 3; index += 1) {
    if ((a[index] ?? 0) !== (b[index] ?? 0)) return (a[index] ?? 0) < (b[index] ?? 0);
  }
  return false;
};

const tooOld = (nc: NatsConnection, message: string): WorldFailure =>
  new WorldFailure({ operation: 'check the NATS server', target: nc.getServer(), message, retryable: false });

/** Throws an error with instructions if the server is not suitable for the log. */
export const checkServer = async (nc: NatsConnection): Promise<void> => {
  const version = nc.info?.version ?? 'unknown';
  if (olderThan(version, SERVER_VERSION_MIN)) {
    throw tooOld(
      nc,
      `nats-server ${version} is too old: Fairlead needs ${SERVER_VERSION_MIN} or newer. Upgrade it, or point NATS_URL at a newer one.`,
    );
  }
  const response = await nc.request('$JS.API.INFO', undefined, { timeout: 5_000 });
  const account = response.json<{ api?: { level?: number }; error?: { description?: string } }>();
  if (account.error !== undefined)
    throw new WorldFailure({
      operation: 'check JetStream',
      target: nc.getServer(),
      message: `JetStream is not available: ${account.error.description ?? 'unknown error'}. If this does not pass, enable it on the server and for the account.`,
    });
  const level = account.api?.level ?? 0;
  if (level < API_LEVEL_MIN)
    throw tooOld(
      nc,
      `JetStream's API level is ${level}, Fairlead needs ${API_LEVEL_MIN}. Upgrade every nats-server of the cluster to ${SERVER_VERSION_MIN}.`,
    );
};

const eventsStream = (replicas: number): Partial<StreamConfig> & { name: string } => ({
  name: STREAMS.events,
  description: 'The truth: every fact, for ever',
  subjects: [EVERY_EVENT],
  // Readers follow the log without reading it again.
  republish: { src: EVERY_EVENT, dest: storedSubject(EVERY_EVENT) },
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_msg_size: EVENT_MAX_BYTES,
  num_replicas: replicas,
  duplicate_window: nanos(10 * MINUTE_MS),
  deny_delete: true,
  deny_purge: true,
  allow_direct: true,
  allow_atomic: true,
});

/**
 * What agents send. Nothing is acknowledged by the server (`no_ack`): a reply subject is the sender's to choose, and an answer would be
 * published into the account of the services. Facts are written without waiting for the disk, since an agent keeps each until the
 * service that records it has answered.
 */
const agentStreams: readonly (Partial<StreamConfig> & { name: string })[] = [
  {
    name: STREAMS.agentFacts,
    description: 'Facts that agents state, until they are validated and recorded',
    subjects: [AGENT_FACTS_FILTER],
    storage: StorageType.File,
    persist_mode: PersistMode.Async,
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
    max_msgs_per_subject: AGENT_FACTS_PER_SUBJECT_MAX,
    max_msg_size: AGENT_MESSAGE_MAX_BYTES,
    max_bytes: AGENT_FACTS_MAX_BYTES,
    max_age: nanos(FACT_AGE_MS),
    duplicate_window: nanos(DUPLICATE_WINDOW_MIN_MS),
    no_ack: true,
    num_replicas: 1,
  },
];

const otherStreams = (replicas: number): (Partial<StreamConfig> & { name: string })[] => [
  ...agentStreams,
  {
    name: STREAMS.jobs,
    subjects: ['job.>'],
    storage: StorageType.File,
    retention: RetentionPolicy.Workqueue,
    duplicate_window: nanos(10 * MINUTE_MS),
    num_replicas: replicas,
  },
  {
    name: STREAMS.deadLetters,
    subjects: ['dlq.>'],
    storage: StorageType.File,
    max_msgs: DEAD_LETTERS_MAX,
    allow_direct: true,
    num_replicas: replicas,
  },
];

/** A log that is handed over stays closed: its settings are those of the handover. */
const isClosed = ({ max_msg_size, sealed }: Pick<StreamConfig, 'max_msg_size' | 'sealed'>): boolean =>
  sealed || (max_msg_size > 0 && max_msg_size < EVENT_MAX_BYTES);

/** Creates the streams, the buckets of secrets and of their keys, and the store of snapshots, or brings their settings up to date. Needs an administrator's credential. */
export const ensureStreams = async (
  nc: NatsConnection,
  options: { readonly replicas?: number } = {},
): Promise<void> => {
  await checkServer(nc);
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const replicas = options.replicas ?? 1;
  await Promise.all([
    ...[eventsStream(replicas), ...otherStreams(replicas)].map((config) => ensureStream(jsm, config)),
    ...FORMER_STREAMS.map((name) => removeStream(jsm, name)),
    ...[SECRETS_BUCKET, SECRET_KEYS_BUCKET].map((bucket) => new Kvm(nc).create(bucket, { history: 1, replicas })),
    new Objm(nc).create(SNAPSHOTS_BUCKET, { storage: StorageType.File, replicas }),
  ]);
};

/** Writes nothing where nothing differs: each write of settings is one to the disk, and every start comes here. */
const ensureStream = async (
  jsm: JetStreamManager,
  config: Partial<StreamConfig> & { readonly name: string },
): Promise<void> => {
  const found = await jsm.streams.info(config.name).then(
    (info) => info.config,
    (error: { code?: number; message: string }) => {
      if (/not found/i.test(error.message)) return undefined;
      throw error;
    },
  );
  if (found === undefined) await jsm.streams.add(config as StreamConfig);
  else if (!has(found, config) && (config.name !== STREAMS.events || !isClosed(found)))
    await jsm.streams.update(config.name, config);
};

const removeStream = async (jsm: JetStreamManager, name: string): Promise<void> => {
  await jsm.streams.delete(name).catch((error: Error) => {
    if (!/not found/i.test(error.message)) throw error;
  });
};

const has = (found: StreamConfig, desired: Partial<StreamConfig>): boolean =>
  Object.entries(desired).every(([name, value]) => isDeepStrictEqual(found[name as keyof StreamConfig], value));
