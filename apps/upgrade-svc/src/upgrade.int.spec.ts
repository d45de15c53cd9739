import { heartbeatSubject, parseEventSubject, partitionOf, type Fact, type StoredEvent } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { decode, ensureStreams, JetStreamStore, readAll } from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { startService, type RunningService } from '@fairlead/service-kit';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from './config.js';
import { upgradeService } from './service.js';
import type { HealthReport } from './health/health.effects.js';
import { clusterRequested, node, SOFTWARE_1_34, uid, vmsCreated, vmsPlanned } from './nodes/nodes.fixtures.js';

const LOST_AFTER_MS = 1_500;
const CONTEXT_OF: Partial<Record<Fact['type'], string>> = {
  ClusterRequested: 'request',
  VmsPlanned: 'machines',
  VmsCreated: 'machines',
  VmDeleted: 'machines',
  ClusterDeleted: 'machines',
  AgentStarted: 'bootstrap',
};
const CP = 'demo-cp-1-aaaaa';

describe('upgrade-svc, two replicas', () => {
  let environment: TestEnvironment;
  let folder: string;
  let admin: NatsConnection;
  const replicas: RunningService[] = [];
  let beating: NodeJS.Timeout | undefined;

  const startReplica = (): Promise<RunningService> =>
    startService(upgradeService(readSettings({ NODE_LOST_AFTER_MS: String(LOST_AFTER_MS) })), {
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('upgrade-svc'),
      DATABASE_URL: environment.databases['upgrade-svc'],
      FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
      LOG_LEVEL: 'error',
    });

  const events = async (cluster = 'demo'): Promise<StoredEvent[]> => {
    const found: StoredEvent[] = [];
    for await (const batch of readAll(admin, `evt.${partitionOf('default', cluster)}.default.${cluster}.>`, 0))
      for (const { subject, seq, bytes } of batch) found.push(decode(subject, seq, bytes)!);
    return found;
  };
  const typesOf = async (context: string, cluster = 'demo'): Promise<string[]> =>
    (await events(cluster)).filter(({ meta }) => meta.context === context).map(({ type }) => type);

  const append = async (fact: Fact, cluster = 'demo'): Promise<void> => {
    const context = CONTEXT_OF[fact.type]!;
    const { source, actor } = writerOf({ namespace: 'default', cluster, context }, fact.type);
    const store = new JetStreamStore({ nc: admin, source, now: () => new Date(), newId: randomUUID });
    const read = await store.read(`evt.${partitionOf('default', cluster)}.default.${cluster}.${context}.>`, 0);
    const last = read.at(-1);
    const position = { seq: last?.event.meta.seq ?? 0, streamVersion: read.length, hash: last?.hash ?? '0'.repeat(64) };
    const cause = { actor, correlationId: 'request', causationId: 'request' };
    const outcome = await store.append({ namespace: 'default', cluster, context }, position, [fact], cause);
    expect(outcome.kind).toBe('appended');
  };

  const beat = (names: readonly string[]): void => {
    clearInterval(beating);
    beating = setInterval(() => {
      if (!admin.isClosed()) for (const name of names) admin.publish(heartbeatSubject('default', 'demo', name), '{}');
    }, 100);
  };
  const report = async ({ port }: RunningService): Promise<HealthReport> =>
    (await (await fetch(`http://127.0.0.1:${port}/health/nodes`)).json()) as HealthReport;

  beforeAll(async () => {
    environment = await testEnvironment();
    folder = newFolder('upgrade');
    writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
    admin = await environment.connect('admin', { maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    await ensureStreams(admin);
    replicas.push(await startReplica(), await startReplica());
  }, 60_000);

  afterAll(async () => {
    clearInterval(beating);
    await Promise.all(replicas.map((replica) => replica.stop()));
    await environment?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it('sets the desired versions of every machine of a new cluster, once', async () => {
    await append(clusterRequested());
    await append(vmsPlanned(CP, node));
    await append(vmsCreated(uid, CP, node));
    await eventually(async () => (await events()).filter(({ type }) => type === 'DesiredVersionsSet').length === 2);
    const [first] = (await events()).filter(({ meta }) => meta.context === `desired-${node}`);
    expect(first?.data).toEqual({
      uid,
      node,
      revision: 1,
      software: SOFTWARE_1_34,
      changesAllowed: true,
      changesAllowedUntil: 'NodeReady',
    });
    expect(parseEventSubject(`evt.1.default.demo.desired-${node}.DesiredVersionsSet`)?.context).toBe(
      first?.meta.context,
    );
    // Facts that follow from the request have its correlation ID.
    expect(first?.meta.correlationId).toBe('request');
  });

  it('records that a silent node is lost and that it returns, once each', async () => {
    for (const name of [CP, node])
      await append({ type: 'AgentStarted', data: { uid, node: name as typeof node, agentVersion: '1', sha256: 'x' } });
    beat([CP, node]);
    await eventually(async () => {
      const reports = await Promise.all(replicas.map(report));
      return (
        reports.every(({ heartbeats }) => heartbeats >= 4) &&
        reports.reduce((sum, { watched }) => sum + watched, 0) === 2
      );
    });
    beat([CP]);
    await eventually(async () => (await typesOf(`health-${node}`)).length > 0);
    beat([CP, node]);
    await eventually(async () => (await typesOf(`health-${node}`)).length > 1);
    expect(await typesOf(`health-${node}`)).toEqual(['NodeLost', 'NodeRecovered']);
    expect(await typesOf(`health-${CP}`)).toEqual([]);
    const [lost, back] = (await events()).filter(({ meta }) => meta.context === `health-${node}`);
    expect(
      lost?.type === 'NodeLost' && Date.parse(lost.meta.time) - Date.parse(lost.data.lastSeenAt ?? ''),
    ).toBeGreaterThan(LOST_AFTER_MS);
    expect(back?.type === 'NodeRecovered' && back.data.lostForMs).toBeGreaterThan(LOST_AFTER_MS);
  });

  it('does not report a node as lost because NATS was unavailable for longer than the limit', async () => {
    const before = (await events()).length;
    await environment.killNats();
    await new Promise((resolve) => {
      setTimeout(resolve, LOST_AFTER_MS * 2);
    });
    await environment.startNats();
    await eventually(async () => (await Promise.all(replicas.map(report))).every(({ listening }) => listening), {
      withinMs: 20_000,
    });
    const heard = (await report(replicas[0]!)).heartbeats;
    await eventually(async () => (await report(replicas[0]!)).heartbeats > heard + 40, { withinMs: 20_000 });
    expect((await events()).length).toBe(before);
  }, 60_000);

  it('continues when the replica that owns the cluster is gone, and reports no node as lost because of it', async () => {
    const owners = await Promise.all(replicas.map(async (replica) => ({ replica, ...(await report(replica)) })));
    const owner = owners.find(({ partitions }) => partitions.includes(partitionOf('default', 'demo')))!;
    await owner.replica.stop();
    replicas.splice(replicas.indexOf(owner.replica), 1);
    await eventually(async () => (await report(replicas[0]!)).watched === 2, { withinMs: 20_000 });
    expect(await typesOf(`health-${CP}`)).toEqual([]);
    beat([node]);
    await eventually(async () => (await typesOf(`health-${CP}`)).length > 0);
    expect(await typesOf(`health-${CP}`)).toEqual(['NodeLost']);
  }, 60_000);

  it('drops the nodes of a deleted cluster', async () => {
    for (const name of [CP, node]) await append({ type: 'VmDeleted', data: { uid, name: name as typeof node } });
    await append({ type: 'ClusterDeleted', data: { uid } });
    await eventually(async () => (await report(replicas[0]!)).watched === 0);
    expect(await replicas[0]!.query('select key from nodes', [])).toEqual([]);
  });
});
