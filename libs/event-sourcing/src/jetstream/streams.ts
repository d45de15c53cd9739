import { SECRETS_BUCKET, SNAPSHOTS_BUCKET, STREAMS } from '@fairlead/contracts';
import { DiscardPolicy, jetstreamManager, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { Objm } from '@nats-io/obj';
import { nanos, type NatsConnection } from '@nats-io/transport-node';

const MINUTE_MS = 60_000;
const HEARTBEAT_AGE_MS = 120_000;
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

/** Throws a sentence that says what to do when the server cannot be trusted with the log. */
export const checkServer = async (nc: NatsConnection): Promise<void> => {
  const version = nc.info?.version ?? 'unknown';
  if (olderThan(version, SERVER_VERSION_MIN)) {
    throw new Error(
      `nats-server ${version} is too old: Fairlead needs ${SERVER_VERSION_MIN} or newer. Upgrade it, or point NATS_URL at a newer one.`,
    );
  }
  const response = await nc.request('$JS.API.INFO', undefined, { timeout: 5_000 });
  const account = response.json<{ api?: { level?: number }; error?: { description?: string } }>();
  if (account.error !== undefined)
    throw new Error(
      `JetStream is not available: ${account.error.description ?? 'unknown error'}. Enable it on the server and for the account.`,
    );
  const level = account.api?.level ?? 0;
  if (level < API_LEVEL_MIN)
    throw new Error(
      `JetStream's API level is ${level}, Fairlead needs ${API_LEVEL_MIN}. Upgrade every nats-server of the cluster to ${SERVER_VERSION_MIN}.`,
    );
};

const eventsStream = (replicas: number): Partial<StreamConfig> & { name: string } => ({
  name: STREAMS.events,
  description: 'The truth: every fact, for ever',
  subjects: ['evt.>'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  num_replicas: replicas,
  duplicate_window: nanos(10 * MINUTE_MS),
  deny_delete: true,
  deny_purge: true,
  allow_direct: true,
  allow_atomic: true,
});

const otherStreams = (replicas: number): (Partial<StreamConfig> & { name: string })[] => [
  {
    name: STREAMS.heartbeats,
    subjects: ['hb.>'],
    storage: StorageType.Memory,
    max_msgs_per_subject: 1,
    max_age: nanos(HEARTBEAT_AGE_MS),
    allow_direct: true,
    num_replicas: 1,
  },
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

/** Creates the streams, the secrets bucket and the store of snapshots, or brings their settings up to date. Needs an administrator's credential. */
export const ensureStreams = async (
  nc: NatsConnection,
  options: { readonly replicas?: number } = {},
): Promise<void> => {
  await checkServer(nc);
  const jsm = await jetstreamManager(nc);
  const replicas = options.replicas ?? 1;
  for (const config of [eventsStream(replicas), ...otherStreams(replicas)]) {
    const exists = await jsm.streams.info(config.name).then(
      () => true,
      (error: { code?: number; message: string }) => {
        if (/not found/i.test(error.message)) return false;
        throw error;
      },
    );
    if (exists) await jsm.streams.update(config.name, config);
    else await jsm.streams.add(config as StreamConfig);
  }
  await new Kvm(nc).create(SECRETS_BUCKET, { history: 1, replicas });
  await new Objm(nc).create(SNAPSHOTS_BUCKET, { storage: StorageType.File, replicas });
};
