import { ExternalFailure } from '@fairlead/contracts';
import {
  JetStreamApiError,
  jetstreamManager,
  StorageType,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { Objm } from '@nats-io/obj';
import { millis, type NatsConnection } from '@nats-io/transport-node';
import { FORMER_STREAMS, STORES, type Store, type StoreKind } from './stores.js';
import { askedReplicas, planStore, type FoundStore, type StoreNote, type StorePlan } from './store.changes.js';

/**
 * Older servers silently ignore some options, so they are rejected: expected sequences on wildcards came with 2.11,
 * atomic batches with 2.12.
 */
const SERVER_VERSION_MIN = '2.12.0';
const API_LEVEL_MIN = 2;

const olderThan = (version: string, min: string): boolean => {
  const [a, b] = [version, min].map((text) => text.split(/[.-]/).slice(0, 3).map(Number)) as [number[], number[]];
  for (let index = 0; index < 3; index += 1) {
    if ((a[index] ?? 0) !== (b[index] ?? 0)) return (a[index] ?? 0) < (b[index] ?? 0);
  }
  return false;
};

const tooOld = (nc: NatsConnection, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'check the NATS server', target: nc.getServer(), message, retryable: false });

/** Throws an error with instructions if the server is unsuitable for the log. */
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
    throw new ExternalFailure({
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

/** nats-server's error codes for too few servers: none to place a replica on (10005), and no cluster at all (10074). */
const TOO_FEW_SERVERS = new Set([10005, 10074]);

/** NATS has fewer servers than the requested replicas. */
export class TooFewServers extends ExternalFailure {}

export interface StoreState {
  readonly store: Store;
  readonly found: FoundStore;
  /** How many servers are up to date, including the leader. */
  readonly inSync: number;
}

export interface StoreReport {
  readonly name: string;
  readonly kind: StoreKind;
  readonly replicas: number;
  readonly inSync: number;
  readonly notes: readonly StoreNote[];
}

export interface EnsureStreamsOptions {
  /** Replicas of each store; undefined: as previously requested, or as the log has, or one. */
  readonly replicas?: number | undefined;
}

/**
 * Creates or updates the streams, the buckets of secrets and of their keys, and the store of snapshots. Replicas are
 * never lowered, and limits that an operator changed are kept; the result reports it. Requires an administrator's
 * credential. Throws `TooFewServers`.
 */
export const ensureStreams = async (
  nc: NatsConnection,
  { replicas: given }: EnsureStreamsOptions = {},
): Promise<readonly StoreReport[]> => {
  await checkServer(nc);
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const found = await Promise.all(STORES.map((store) => findStore(jsm, store)));
  const asked = askedReplicas(given, found[0]?.config);
  const plans = STORES.map((store, index) => planStore(store, found[index]?.config, { asked, given }));
  const [log, ...others] = STORES.map((store, index) => () => carryOut(nc, jsm, store, plans[index]!));
  await log?.();
  await Promise.all([...others.map((change) => change()), ...FORMER_STREAMS.map((name) => removeStream(jsm, name))]);
  return Promise.all(
    STORES.map(async (store, index) => {
      const plan = plans[index]!;
      const info = plan.action === 'none' ? found[index] : await findStore(jsm, store);
      return { ...store, replicas: plan.replicas, inSync: inSyncOf(info), notes: plan.notes };
    }),
  );
};

/** The existing stores. Requires the permission to list the account's streams. */
export const readStores = async (nc: NatsConnection): Promise<readonly StoreState[]> => {
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const known = new Map(STORES.map((store) => [store.stream, store]));
  const states: StoreState[] = [];
  for await (const info of jsm.streams.list()) {
    const store = known.get(info.config.name);
    if (store !== undefined) states.push({ store, found: info.config, inSync: inSyncOf(info) });
  }
  return states;
};

/** A single server is not a cluster, and a store without replicas has no others. */
const inSyncOf = (info: Pick<StreamInfo, 'cluster'> | undefined): number => {
  const { leader, replicas = [] } = info?.cluster ?? { leader: 'the only one' };
  return replicas.filter(({ current }) => current).length + (leader === undefined || leader === '' ? 0 : 1);
};

const findStore = (jsm: JetStreamManager, { stream }: Store): Promise<StreamInfo | undefined> =>
  jsm.streams.info(stream).catch((error: Error) => {
    if (/not found/i.test(error.message)) return undefined;
    throw error;
  });

const carryOut = async (
  nc: NatsConnection,
  jsm: JetStreamManager,
  store: Store,
  { action, settings, replicas }: StorePlan,
): Promise<void> => {
  try {
    if (action === 'recreate') await jsm.streams.delete(store.stream);
    if (action === 'create' || action === 'recreate') await create(nc, jsm, { store, settings, replicas });
    if (action === 'update') await jsm.streams.update(store.stream, settings);
  } catch (error) {
    throw isTooFew(error) ? tooFewServers(nc, replicas, error) : error;
  }
};

interface NewStore extends Pick<StorePlan, 'settings' | 'replicas'> {
  readonly store: Store;
}

/** The client library determines the stream behind a bucket. */
const create = async (nc: NatsConnection, jsm: JetStreamManager, { store, settings, replicas }: NewStore) => {
  switch (store.kind) {
    case 'stream':
      await jsm.streams.add({ name: store.stream, ...settings } as StreamConfig);
      break;
    case 'bucket':
      await new Kvm(nc).create(store.name, { history: 1, replicas, ttl: millis(store.required.max_age ?? 0) });
      break;
    case 'object store':
      await new Objm(nc).create(store.name, { storage: StorageType.File, replicas });
  }
};

const isTooFew = (error: unknown): error is JetStreamApiError =>
  error instanceof JetStreamApiError && TOO_FEW_SERVERS.has(error.code);

const tooFewServers = (nc: NatsConnection, replicas: number, error: JetStreamApiError): TooFewServers => {
  const [server, cluster] = [nc.getServer(), nc.info?.cluster];
  const what =
    cluster === undefined
      ? `NATS at ${server} is a single server`
      : `the NATS cluster "${cluster}" has fewer than ${replicas} servers with JetStream and room`;
  return new TooFewServers({
    operation: 'place replicas',
    target: server,
    message: `${what}: it cannot keep ${replicas} replicas of each store (${error.message}). Nothing was changed.`,
    retryable: false,
    cause: error,
  });
};

const removeStream = async (jsm: JetStreamManager, name: string): Promise<void> => {
  await jsm.streams.delete(name).catch((error: Error) => {
    if (!/not found/i.test(error.message)) throw error;
  });
};
