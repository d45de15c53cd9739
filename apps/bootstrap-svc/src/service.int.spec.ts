import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { clusterFilter, type Fact, type SecretRef, type StoredEvent, type StreamId } from '@fairlead/contracts';
import { ensureStreams, JetStreamStore, makeTail } from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { NatsSecrets, SECRETS, startService, type RunningService, type SecretStore } from '@fairlead/service-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sealedAdministrator } from '@fairlead/kubernetes/kubeconfig';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { FakeKubernetes, FakeShell, FakeWorld, RENEWED_UNTIL, type Passage } from '../test/world.js';
import { balanced, cp, created, machinesOf, requested, SOFTWARE, UID, w } from './bootstrap/bootstrap.fixtures.js';
import { kubeconfigRef } from './kubernetes/cluster.access.js';
import { readSettings } from './config.js';
import { bootstrapService } from './service.js';

const CLUSTER = { namespace: 'default', cluster: 'demo' };
const STORY_MS = 40_000;
const CAUSE = { actor: 'user/spec', correlationId: 'c', causationId: 'c' };

/** bootstrap-svc with a real NATS and a real PostgreSQL; hosts, infra-svc, upgrade-svc and the agents are simulated. */
describe('bootstrap-svc', () => {
  let environment: TestEnvironment;
  let folder: string;
  let admin: NatsConnection;
  let world: FakeWorld;
  let events: StoredEvent[];
  let services: RunningService[];
  let silent: Set<string>;
  let playing: Promise<void>;
  let stopPlaying: AbortController;

  const slow: Passage = async (_what, work) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return work();
  };

  const say = async (context: string, ...facts: readonly Fact[]): Promise<void> => {
    const stream: StreamId = { ...CLUSTER, context };
    for (const fact of facts) {
      const { source, actor } = writerOf(stream, fact.type);
      const store = new JetStreamStore({ nc: admin, source, now: () => new Date(), newId: randomUUID });
      const own = (await store.read(clusterFilter('default', 'demo'), 0)).filter(
        ({ event }) => event.meta.context === context,
      );
      const last = own.at(-1);
      const expected = {
        seq: last?.event.meta.seq ?? 0,
        streamVersion: own.length,
        hash: last?.hash ?? '0'.repeat(64),
      };
      expect((await store.append(stream, expected, [fact], { ...CAUSE, actor })).kind).toBe('appended');
    }
  };

  /** upgrade-svc decides the software of new machines; agents report changes of their hosts. */
  const play = async (event: StoredEvent): Promise<void> => {
    const report = { uid: UID, revision: 1, software: SOFTWARE };
    if (event.type === 'VmsCreated')
      for (const { name: node } of event.data.machines)
        await say(`desired-${node}`, { type: 'DesiredVersionsSet', data: { ...report, node, changesAllowed: true } });
    if (event.type === 'AgentStarted' && !silent.has(event.data.node)) {
      const { node } = event.data;
      const machine = { os: 'Debian 12', kernel: '6.1', bootId: 'b', changed: [] };
      await say(`node-${node}`, { type: 'NodeInitialized', data: { ...report, ...machine, node } });
    }
    for (const node of world.nodes)
      if (world.network && !world.said('NodeReady', node) && !ready.has(node)) {
        ready.add(node);
        await say(`node-${node}`, { type: 'NodeReady', data: { ...report, node: node as never } });
      }
  };
  let ready: Set<string>;

  const follow = async (): Promise<void> => {
    for await (const event of makeTail(admin)(clusterFilter('default', 'demo'), 0, stopPlaying.signal)) {
      events.push(event);
      await play(event);
    }
  };

  const until = (type: StoredEvent['type']): Promise<StoredEvent> =>
    eventually(() => events.find((event) => event.type === type), {
      withinMs: STORY_MS / 2,
      what: type,
    });

  const start = async (env: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
    const all = {
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('bootstrap-svc'),
      DATABASE_URL: environment.databases['bootstrap-svc'],
      FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
      AGENT_BUNDLE: join(folder, 'agent.mjs'),
      LOG_LEVEL: 'error',
      POLL_INTERVAL_MS: '10',
      ...env,
    };
    const adapters = { shell: () => new FakeShell(world, slow), kubernetes: () => new FakeKubernetes(world, slow) };
    const service = await startService(bootstrapService(readSettings(all), adapters), all);
    services.push(service);
    return service;
  };

  const begin = async (): Promise<void> => {
    await say('request', requested(3, 2));
    await say('machines', created(machinesOf(3, 2)), balanced);
  };

  const own = (): readonly string[] =>
    events.filter(({ meta }) => meta.context === 'bootstrap').map(({ type }) => type);

  beforeAll(() => {
    folder = newFolder('bootstrap');
    writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
    writeFileSync(join(folder, 'agent.mjs'), "process.stdout.write('0.1.0\\n');\n");
  });

  beforeEach(async () => {
    environment = await testEnvironment();
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    const masterKey = randomBytes(32);
    writeFileSync(join(folder, 'master.key'), masterKey.toString('base64'));
    const infra = await environment.connect('infra-svc');
    await new NatsSecrets(infra, 'infra-svc', masterKey).put('infra-svc.ssh-key.lab' as SecretRef, 'a key', 'shared');
    events = [];
    world = new FakeWorld(events);
    services = [];
    silent = new Set();
    ready = new Set();
    stopPlaying = new AbortController();
    playing = follow();
  }, 60_000);

  afterEach(async () => {
    stopPlaying.abort();
    await playing;
    await Promise.all(services.map((service) => service.stop()));
    await environment.stop();
  }, 60_000);

  afterAll(() => removeFolder(folder));

  it(
    'creates a cluster in the designed order',
    async () => {
      await start();
      await begin();
      await until('ClusterReady');
      expect(world.violations).toEqual([]);
      expect(own().filter((type) => type === 'NodeBootstrapped')).toHaveLength(5);
      const stated = own().slice(own().indexOf('ControlPlaneInitialized'));
      const joined = 'WorkerJoined';
      expect(stated.filter((type) => type !== joined)).toEqual([
        'ControlPlaneInitialized',
        'NetworkReady',
        'ControlPlaneJoined',
        'ControlPlaneJoined',
        'ControlPlaneReady',
        'AddonInstalled',
        'AddonInstalled',
        'ClusterReady',
      ]);
      // Workers join in parallel with the control planes: after the network, before the addons.
      expect(stated.filter((type) => type === joined)).toHaveLength(2);
      expect(stated.indexOf(joined)).toBeGreaterThan(stated.indexOf('NetworkReady'));
      expect(stated.lastIndexOf(joined)).toBeLessThan(stated.indexOf('AddonInstalled'));
    },
    STORY_MS,
  );

  it(
    'continues after a restart in the middle, and initialises nothing twice',
    async () => {
      const first = await start();
      await begin();
      await until('ControlPlaneInitialized');
      await first.stop();
      services = [];
      await start();
      await until('ClusterReady');
      expect(world.inits).toEqual([cp(1)]);
      expect([...world.joins].sort()).toEqual([cp(2), cp(3), w(1), w(2)].sort());
      expect(world.violations).toEqual([]);
    },
    STORY_MS,
  );

  it(
    'does nothing twice if two replicas share the work [Cluster API 3]',
    async () => {
      await Promise.all([start(), start()]);
      await begin();
      await until('ClusterReady');
      expect(world.inits).toEqual([cp(1)]);
      expect([...world.joins].sort()).toEqual([cp(2), cp(3), w(1), w(2)].sort());
      expect(world.violations).toEqual([]);
    },
    STORY_MS,
  );

  it(
    'reports which agent never reported, after its timeout, and continues on a retry',
    async () => {
      silent.add(w(2));
      await start({ AGENT_LIMIT_MS: '1500' });
      await begin();
      expect((await until('ClusterFailed')).data).toMatchObject({
        step: 'InitializeNode',
        node: w(2),
        reason: 'BootstrapFailed',
        cause: { target: w(2) },
      });
      const machine = { os: 'Debian 12', kernel: '6.1', bootId: 'b', changed: [] };
      await say('request', { type: 'ClusterRetryRequested', data: { uid: UID } });
      await say(`node-${w(2)}`, {
        type: 'NodeInitialized',
        data: { uid: UID, node: w(2), revision: 1, software: SOFTWARE, ...machine },
      });
      await until('ClusterReady');
    },
    STORY_MS,
  );

  it(
    'seals the kubeconfig again after its renewal on a control plane, with the load-balanced address',
    async () => {
      const service = await start();
      const secrets = service.get<SecretStore>(SECRETS);
      await begin();
      await until('ClusterReady');
      const before = await secrets.get(kubeconfigRef(UID));
      const ends = (expiresAt: string): Fact => ({
        type: 'CertificatesReported',
        data: { uid: UID, node: cp(1), certificates: [{ name: 'admin.conf', expiresAt }] },
      });
      await say(`node-${cp(1)}`, ends('2027-01-20T10:00:00.000Z'), ends(RENEWED_UNTIL));
      expect((await until('KubeconfigRefreshed')).data).toEqual({
        uid: UID,
        node: cp(1),
        kubeconfigRef: kubeconfigRef(UID),
        expiresAt: RENEWED_UNTIL,
      });
      const after = await secrets.get(kubeconfigRef(UID));
      expect(sealedAdministrator(before ?? '', 'demo').expiresAt).toBe('2027-01-20T10:00:00.000Z');
      expect(sealedAdministrator(after ?? '', 'demo')).toMatchObject({
        expiresAt: RENEWED_UNTIL,
        server: 'https://198.18.7.1:6443',
      });
    },
    STORY_MS,
  );

  it(
    'ends its work when a deletion is requested, and destroys the secrets when all machines are gone',
    async () => {
      const service = await start();
      const secrets = service.get<SecretStore>(SECRETS);
      await begin();
      await until('ControlPlaneInitialized');
      expect(await secrets.get(kubeconfigRef(UID))).toContain('https://198.18.7.1:6443');
      await say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
      await until('ClusterDismantled');
      expect(own().at(-1)).toBe('ClusterDismantled');
      await say('machines', { type: 'ClusterDeleted', data: { uid: UID } });
      await eventually(async () => (await secrets.get(kubeconfigRef(UID))) === undefined);
    },
    STORY_MS,
  );
});
