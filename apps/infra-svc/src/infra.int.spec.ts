import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import {
  clusterFilter,
  FIRST_PREVHASH,
  streamSubject,
  type ClusterName,
  CONNECTIONS_STREAM,
  type ClusterUid,
  type EventData,
  type EventType,
  type Fact,
  namespaceStream,
  type Namespace,
  type SecretRef,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { ensureStreams, JetStreamStore } from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { NatsSecrets, SECRETS, startService, type RunningService, type SecretStore } from '@fairlead/service-kit';
import { eventually, newFolder } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { clusterSpec, nodeSet, registered, requested, type SpecChanges } from '../test/fixtures.js';
import { LAB_TOKEN, startLab, type LabProcess } from '../test/lab.process.js';
import { readSettings } from './config.js';
import { infraService } from './service.js';

const REPLICAS = 2;
const LIMIT_MS = 60_000;
const MANY_LIMIT_MS = 120_000;
const TOKEN_REF = 'gateway.connection.lab' as SecretRef;

/** Two replicas of infra-svc with NATS, PostgreSQL and a lab as real processes. */
describe('infra-svc', () => {
  let environment: TestEnvironment;
  let lab: LabProcess;
  let folder: string;
  let nc: NatsConnection;
  let store: JetStreamStore;
  const services: RunningService[] = [];
  const cause = { actor: 'user/spec', correlationId: 'spec', causationId: 'spec' };

  const env = () => ({
    NATS_URL: environment.nats.url,
    NATS_CREDS: environment.nats.credsFile('infra-svc'),
    DATABASE_URL: environment.databases['infra-svc'],
    FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
    LOG_LEVEL: 'error',
  });

  const say = async (stream: StreamId, fact: Fact): Promise<void> => {
    const last = (await store.read(`${streamSubject(stream)}.>`, 0)).at(-1);
    const position =
      last === undefined
        ? { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }
        : { seq: last.event.meta.seq, streamVersion: last.event.meta.streamVersion, hash: last.hash };
    const { source, actor } = writerOf(stream, fact.type);
    const writer = new JetStreamStore({ nc, source, now: () => new Date(), newId: randomUUID });
    const appended = await writer.append(stream, position, [fact], { ...cause, actor });
    if (appended.kind === 'conflict') throw new Error('nobody else writes requests here');
  };
  const stream = (cluster: string, context: string): StreamId => ({ namespace: 'default', cluster, context });
  const eventsOf = async (cluster: string, namespace = 'default'): Promise<readonly StoredEvent[]> =>
    (await store.read(clusterFilter(namespace, cluster), 0)).map(({ event }) => event);
  const typesOf = async (cluster: string): Promise<readonly string[]> =>
    (await eventsOf(cluster)).map(({ type }) => type);

  const until = <T extends EventType>(cluster: string, type: T): Promise<{ readonly data: EventData<T> }> =>
    eventually(async () => {
      const found = (await eventsOf(cluster)).find((event) => event.type === type);
      return found === undefined ? undefined : { data: found.data as EventData<T> };
    });

  const request = async (cluster: string, changes: SpecChanges = {}): Promise<ClusterUid> => {
    const uid = randomUUID() as ClusterUid;
    await say(stream(cluster, 'request'), requested(clusterSpec({ name: cluster as ClusterName, ...changes }), uid));
    return uid;
  };
  const beginRemoval = async (cluster: string, uid: ClusterUid): Promise<void> => {
    await say(stream(cluster, 'request'), { type: 'ClusterDeletionRequested', data: { uid } });
    await say(stream(cluster, 'bootstrap'), { type: 'ClusterDismantled', data: { uid } });
  };
  const remove = async (cluster: string, uid: ClusterUid): Promise<void> => {
    await beginRemoval(cluster, uid);
    await until(cluster, 'ClusterDeleted');
  };
  const count = async (type: EventType): Promise<number> =>
    (await store.read(`evt.*.default.*.machines.${type}`, 0)).length;
  /** Waits until this many events of a type exist over all clusters, which one read finds. */
  const untilCount = (type: EventType, desired: number): Promise<true> =>
    eventually(async () => ((await count(type)) >= desired ? true : undefined), { withinMs: MANY_LIMIT_MS });
  /** Like bootstrap-svc: on a busy machine, clusters begin slowly while others are neither Ready nor Failed. */
  const becomeReady = async (uids: ReadonlyMap<string, ClusterUid>): Promise<void> => {
    const ready = new Set<string>();
    await eventually(
      async () => {
        for (const { event } of await store.read('evt.*.default.*.machines.LoadBalancerReady', 0)) {
          const { cluster } = event.meta;
          const uid = uids.get(cluster);
          if (uid === undefined || ready.has(cluster)) continue;
          await say(stream(cluster, 'bootstrap'), { type: 'ClusterReady', data: { uid } });
          ready.add(cluster);
        }
        return ready.size === uids.size ? true : undefined;
      },
      { withinMs: MANY_LIMIT_MS },
    );
  };
  const rows = (table: string, cluster: string) =>
    services[0]!.query<{ key: string }>(`select key from ${table} where doc->>'cluster' = $1`, [cluster]);

  const start = async (): Promise<void> => {
    lab = await startLab();
    environment = await testEnvironment();
    folder = newFolder('infra');
    const masterKey = randomBytes(32);
    writeFileSync(join(folder, 'master.key'), masterKey.toString('base64'));
    nc = await environment.connect('admin');
    await ensureStreams(nc);
    store = new JetStreamStore({ nc, source: '/gateway', now: () => new Date(), newId: randomUUID });
    await new NatsSecrets(nc, 'gateway', masterKey).put(TOKEN_REF, LAB_TOKEN, 'shared');
    for (let index = 0; index < REPLICAS; index += 1)
      services.push(await startService(infraService(readSettings({})), env()));
    await say(namespaceStream('default'), {
      type: 'NamespaceCreated',
      data: { name: 'default' as Namespace, description: '' },
    });
    await say(CONNECTIONS_STREAM, registered({ settings: { endpoint: lab.endpoint }, secretRef: TOKEN_REF }));
  };
  let starting: Promise<void> = Promise.resolve();

  beforeAll(() => {
    starting = start();
    return starting;
  }, MANY_LIMIT_MS);

  afterAll(async () => {
    // A start that failed or timed out may still have started something.
    await starting.catch(() => undefined);
    await Promise.all(services.map((service) => service.stop()));
    await Promise.all([lab?.stop(), environment?.stop()]);
    if (folder !== undefined) rmSync(folder, { recursive: true });
  }, MANY_LIMIT_MS);

  it('has a table for each of its projections, and no unused ones', async () => {
    const tables = await services[0]!.query<{ table_name: string }>(
      `select table_name from information_schema.columns where table_schema = current_schema()
       and column_name in ('key', 'seq', 'doc') group by table_name having count(*) = 3 order by table_name`,
      [],
    );
    expect(tables.map(({ table_name: name }) => name)).toEqual(
      infraService(readSettings({}))
        .projections.map(({ table }) => table)
        .sort(),
    );
  });

  it('reports what a registered connection offers', async () => {
    const { data } = await eventually(async () =>
      (await eventsOf('_', '_')).find((event) => event.type === 'ConnectionVerified'),
    );
    expect(data).toMatchObject({
      connection: 'lab',
      offer: { provider: 'lab', zones: ['lab-1a', 'lab-1b', 'lab-1c'] },
    });
  });

  it(
    'creates the machines of two clusters concurrently and their shared resources once, and deletes them completely',
    async () => {
      const [first, second] = await Promise.all([request('first'), request('second')]);
      await Promise.all([until('first', 'LoadBalancerReady'), until('second', 'LoadBalancerReady')]);
      expect(await typesOf('first')).toEqual([
        'ClusterRequested',
        'ClusterAccepted',
        'VmsPlanned',
        ...Array<string>(5).fill('VmCreated'),
        'VmsCreated',
        'LoadBalancerReady',
      ]);
      const shared = (await eventsOf('_', '_')).map(({ type }) => type).filter((type) => type.endsWith('Ensured'));
      expect(shared).toEqual(['NetworkEnsured', 'FirewallEnsured', 'SshKeyEnsured', 'ImageEnsured', 'SpecEnsured']);
      const created = Object.entries(await lab.created());
      expect(created.filter(([, times]) => times !== 1)).toEqual([]);
      expect(await rows('machines', 'first')).toHaveLength(5);

      await Promise.all([remove('first', first), remove('second', second)]);
      expect(await lab.now()).toMatchObject({ machines: 0, loadBalancers: 0 });
      await eventually(async () => ((await rows('machines', 'first')).length === 0 ? true : undefined));
      await eventually(async () => ((await rows('clusters', 'first')).length === 0 ? true : undefined));
    },
    LIMIT_MS,
  );

  it('seals a key that opens the created machines', async () => {
    const uid = await request('opened', { controlPlane: nodeSet(1), workers: [nodeSet(1)] });
    const { data } = await until('opened', 'VmsCreated');
    const { ssh } = data.machines[0]!;
    const privateKey = await services[0]!.get<SecretStore>(SECRETS).get(ssh.keyRef);
    const client = new ssh2.Client();
    await new Promise<void>((resolve, reject) => {
      client.once('ready', resolve).once('error', reject);
      client.connect({ host: ssh.host, port: ssh.port, username: ssh.user, privateKey: privateKey ?? '' });
    });
    client.end();
    await remove('opened', uid);
  });

  it("fails with the provider's message, and a retry creates only what failed", async () => {
    await lab.faults([{ kind: 'boot-failure', machine: 'unlucky-w-2-*', message: 'no boot device', times: 1 }]);
    const uid = await request('unlucky');
    const failed = await until('unlucky', 'InfrastructureFailed');
    expect(failed.data).toMatchObject({ reason: 'MachineCreationFailed', cause: { message: 'no boot device' } });
    await say(stream('unlucky', 'request'), { type: 'ClusterRetryRequested', data: { uid } });
    const { data } = await until('unlucky', 'VmsCreated');
    expect(data.machines).toHaveLength(5);
    const made = Object.entries(await lab.created()).filter(([thing]) => thing.startsWith('machine/unlucky'));
    expect(made.map(([, times]) => times).sort()).toEqual([1, 1, 1, 1, 2]);
    await remove('unlucky', uid);
  });

  it('aborts a creation when the deletion of its cluster is requested, and leaves nothing of it', async () => {
    await lab.faults([{ kind: 'boot-slow', machine: 'unwanted-*', delayMs: 300_000 }]);
    const uid = await request('unwanted');
    await until('unwanted', 'VmsPlanned');
    await remove('unwanted', uid);
    expect((await typesOf('unwanted')).filter((type) => type === 'VmDeleted')).toHaveLength(5);
    expect(await lab.now()).toMatchObject({ machines: 0, loadBalancers: 0 });
    await lab.faults([]);
  });

  it(
    'waits for a provider that is away, and continues when it is back',
    async () => {
      await lab.halt();
      const uid = await request('patient', { controlPlane: nodeSet(1), workers: [nodeSet(1)] });
      const failed = await until('patient', 'InfrastructureStepFailed');
      expect(failed.data.nextAttemptAt).not.toBeNull();
      expect(failed.data.cause.message).toContain('ECONNREFUSED');
      await lab.restart();
      await until('patient', 'LoadBalancerReady');
      await remove('patient', uid);
    },
    LIMIT_MS,
  );

  it(
    'creates a hundred clusters that are requested at once',
    async () => {
      const names = Array.from({ length: 100 }, (_, index) => `many-${index}`);
      const deleted = await count('ClusterDeleted');
      const single = { controlPlane: nodeSet(1), workers: [], singleNode: true };
      const uids = await Promise.all(names.map((name) => request(name, single)));
      await becomeReady(new Map(names.map((name, index) => [name, uids[index]!])));
      expect(await lab.now()).toMatchObject({ machines: 100, loadBalancers: 100 });
      await Promise.all(names.map((name, index) => beginRemoval(name, uids[index]!)));
      await untilCount('ClusterDeleted', deleted + names.length);
      expect(await lab.now()).toMatchObject({ machines: 0, loadBalancers: 0 });
    },
    3 * MANY_LIMIT_MS,
  );
});
