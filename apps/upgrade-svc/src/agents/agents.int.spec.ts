import { readFileSync } from 'node:fs';
import {
  agentFactSubject,
  AGENT_EVENT_TYPES,
  agentOutputSubject,
  agentSyncSubject,
  partitionOf,
  streamSubject,
  type AgentNetworkMessage,
  type AgentStateMessage,
  type EventType,
  type Fact,
  type StoredEvent,
} from '@fairlead/contracts';
import { mintNodeCredentials, type NodeSigning } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { decode, ensureStreams, JetStreamStore, readAll } from '@fairlead/event-sourcing/jetstream';
import { startService, type RunningService } from '@fairlead/service-kit';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import fc from 'fast-check';
import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '../config.js';
import { upgradeService } from '../service.js';
import { agentStarted, declared } from '../network/network.fixtures.js';
import { clusterRequested, node, uid, vmsCreated, vmsPlanned } from '../nodes/nodes.fixtures.js';

const CP = 'demo-cp-1-aaaaa';
const OTHER = 'other';
const software = { kubelet: '1.34.4' };

interface Answer {
  readonly id: string;
  readonly rejected: string | null;
}

/** The client of one node, with everything that a compromised host has. */
class NodeClient {
  readonly answers: Answer[] = [];
  readonly others = new Map<string, unknown[]>();

  constructor(
    readonly nc: NatsConnection,
    readonly address: { readonly namespace: string; readonly cluster: string; readonly node: string },
  ) {
    nc.subscribe(agentOutputSubject(address, 'recorded'), {
      callback: (_error, message) => void this.answers.push(message.json<Answer>()),
    });
    for (const output of ['desired', 'network', 'state'] as const)
      nc.subscribe(agentOutputSubject(address, output), {
        callback: (_error, message) =>
          void this.others.set(output, [...(this.others.get(output) ?? []), message.json()]),
      });
  }

  send(type: EventType, data: object, over: object = {}): string {
    const id = randomUUID();
    const message = { id, time: new Date().toISOString(), desired: null, data, ...over };
    this.nc.publish(agentFactSubject(this.address, type), JSON.stringify(message));
    return id;
  }

  answer(id: string): Promise<Answer> {
    return eventually(() => Promise.resolve(this.answers.find((answer) => answer.id === id)));
  }
}

describe('messages of agents to upgrade-svc', () => {
  let environment: TestEnvironment;
  let folder: string;
  let admin: NatsConnection;
  let service: RunningService;
  let worker: NodeClient;

  const append = async (cluster: string, source: string, context: string, fact: Fact): Promise<void> => {
    const stream = { namespace: 'default', cluster, context };
    const store = new JetStreamStore({ nc: admin, source, now: () => new Date(), newId: randomUUID });
    const read = await store.read(`${streamSubject(stream)}.>`, 0);
    const last = read.at(-1);
    const position = { seq: last?.event.meta.seq ?? 0, streamVersion: read.length, hash: last?.hash ?? '0'.repeat(64) };
    const cause = { actor: `system${source}`, correlationId: 'request', causationId: 'request' };
    expect((await store.append(stream, position, [fact], cause)).kind).toBe('appended');
  };
  const events = async (cluster = 'demo'): Promise<StoredEvent[]> => {
    const found: StoredEvent[] = [];
    for await (const batch of readAll(admin, `evt.${partitionOf('default', cluster)}.default.${cluster}.>`, 0))
      for (const { subject, seq, bytes } of batch) {
        const event = decode(subject, seq, bytes);
        if (event !== undefined) found.push(event);
      }
    return found;
  };
  const connectNode = async (address: NodeClient['address'], expiresInSeconds = 600): Promise<NodeClient> => {
    const signing = JSON.parse(readFileSync(environment.nats.nodeSigningFile ?? '', 'utf8')) as NodeSigning;
    const creds = mintNodeCredentials(signing, { ...address, expiresInSeconds });
    const nc = await connect({
      servers: environment.nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
    });
    return new NodeClient(nc, address);
  };
  const desiredOf = (): Promise<StoredEvent> =>
    eventually(async () => (await events()).find(({ meta }) => meta.context === `desired-${node}`));

  beforeAll(async () => {
    environment = await testEnvironment();
    folder = newFolder('agents');
    writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    service = await startService(upgradeService(readSettings({})), {
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('upgrade-svc'),
      DATABASE_URL: environment.databases['upgrade-svc'],
      FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
      LOG_LEVEL: 'error',
    });
    worker = await connectNode({ namespace: 'default', cluster: 'demo', node });
    for (const cluster of ['demo', OTHER]) {
      await append(cluster, '/gateway', 'request', clusterRequested());
      await append(cluster, '/infra-svc', 'machines', vmsPlanned(CP, node));
      await append(cluster, '/infra-svc', 'machines', vmsCreated(uid, CP, node));
    }
    await desiredOf();
    await eventually(async () => {
      const rows = await service.query('select 1 from nodes where key like $1', [`%/${node}`]);
      return rows.length === 2 ? true : undefined;
    });
  }, 60_000);

  afterAll(async () => {
    await worker?.nc.close();
    await service?.stop();
    await environment?.stop();
    rmSync(folder, { recursive: true });
  });

  it('receive the network configuration that the manifest declares, when it is declared and on request', async () => {
    const cluster = 'walled';
    const own = await connectNode({ namespace: 'default', cluster, node });
    await append(cluster, '/gateway', 'request', clusterRequested());
    await append(cluster, '/infra-svc', 'machines', vmsPlanned(CP, node));
    await append(cluster, '/infra-svc', 'machines', vmsCreated(uid, CP, node));
    await append(cluster, '/bootstrap-svc', 'bootstrap', agentStarted(node));
    await append(cluster, '/gateway', 'request', declared({ sshd: { hardening: true } }));
    const [pushed] = (await eventually(() => Promise.resolve(own.others.get('network')))) as [AgentNetworkMessage];
    expect(pushed.data).toMatchObject({ uid, node, attempt: 1, sshd: { hardening: true, tcpForwarding: false } });
    own.nc.publish(agentSyncSubject(own.address), JSON.stringify({ uid, recover: false }));
    const [state] = (await eventually(() => Promise.resolve(own.others.get('state')))) as [AgentStateMessage];
    expect(state.network).toEqual(pushed);
    const { revision, attempt } = pushed.data;
    const id = own.send('NodeNetworkApplied', { uid, node, revision, attempt }, { desired: pushed.id });
    expect(await own.answer(id)).toEqual({ id, rejected: null });
    const applied = (await events(cluster)).find(({ type }) => type === 'NodeNetworkApplied');
    expect(applied?.meta.causationId).toBe(pushed.id);
    const said = (await events(cluster)).filter(({ type }) => type === 'DesiredNetworkSet');
    expect(said.map(({ data }) => (data as { node: string }).node)).toEqual([node]);
    await own.nc.close();
  });

  it('are recorded once as facts of that node, within moments, with their request as the cause', async () => {
    const desired = await desiredOf();
    const startedAtMs = performance.now();
    const data = { uid, node, revision: 1, software };
    const id = worker.send('NodeReady', data, { desired: desired.meta.id });
    expect(await worker.answer(id)).toEqual({ id, rejected: null });
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
    worker.nc.publish(
      agentFactSubject(worker.address, 'NodeReady'),
      JSON.stringify({ id, time: new Date().toISOString(), desired: desired.meta.id, data }),
    );
    await eventually(async () => (worker.answers.filter((answer) => answer.id === id).length === 2 ? true : undefined));
    const stated = (await events()).filter(({ meta }) => meta.context === `node-${node}`);
    expect(stated).toMatchObject([
      {
        type: 'NodeReady',
        data,
        meta: {
          id,
          actor: `node/${node}`,
          source: `/node-agent/${node}`,
          causationId: desired.meta.id,
          correlationId: desired.meta.correlationId,
          streamVersion: 1,
        },
      },
    ]);
  });

  it('are answered with the desired state as soon as it is decided, and on request', async () => {
    const sync = { uid, recover: true };
    worker.nc.publish(agentSyncSubject(worker.address), JSON.stringify(sync));
    const [state] = await eventually(async () => worker.others.get('state'));
    expect(state).toMatchObject({
      desired: { data: { node, revision: 1 } },
      last: [{ type: 'NodeReady', data: { node } }],
    });
    expect(worker.others.get('desired')?.[0] ?? (state as { desired: unknown }).desired).toMatchObject({
      data: { node },
    });
  });

  it('cannot delete a cluster through the body of a message', async () => {
    const before = (await events()).length;
    const id = worker.send(
      'NodeReady',
      { uid, node, revision: 1, software },
      {
        type: 'ClusterDeletionRequested.v1',
        actor: 'user/alice',
        source: '/gateway',
        subject: 'default/demo',
        specversion: '1.0',
      },
    );
    await worker.answer(id);
    const added = (await events()).slice(before);
    expect(added.map(({ type, meta }) => [type, meta.actor, meta.source])).toEqual([
      ['NodeReady', `node/${node}`, `/node-agent/${node}`],
    ]);
    worker.nc.publish(
      agentFactSubject(worker.address, 'NodeReady'),
      JSON.stringify({
        specversion: '1.0',
        id: randomUUID(),
        type: 'ClusterDeletionRequested.v1',
        actor: 'user/alice',
        data: { uid },
      }),
    );
    await eventually(async () => (await events()).find(({ type }) => type === 'AgentMessagesRejected'));
    expect((await events()).some(({ type }) => type === 'ClusterDeletionRequested')).toBe(false);
  });

  it('cannot name a cause elsewhere in the log, nor a future time', async () => {
    const [foreign] = await events(OTHER);
    const id = worker.send(
      'NodeReady',
      { uid, node, revision: 1, software },
      { desired: foreign!.meta.id, time: '2126-01-01T00:00:00.000Z' },
    );
    await worker.answer(id);
    const stated = (await events()).find(({ meta }) => meta.id === id);
    expect(stated?.meta).toMatchObject({ correlationId: id, causationId: `node/${node}` });
    expect(Date.parse(stated!.meta.time)).toBeLessThanOrEqual(Date.now());
  });

  it('are ignored once the node is no longer part of the cluster, although its credential is still valid', async () => {
    const gone = await connectNode({ namespace: 'default', cluster: 'demo', node: 'demo-w-9-gone1' });
    gone.send('NodeReady', { uid, node: 'demo-w-9-gone1', revision: 1, software });
    const otherUid = await worker.answer(worker.send('NodeReady', { uid: randomUUID(), node, revision: 1, software }));
    expect(otherUid.rejected).toMatch(/earlier cluster/);
    await eventually(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
      return /fairlead_agent_messages_total\{outcome="unknown-node"[^}]*\} 1/.test(metrics) ? true : undefined;
    });
    expect((await events()).some(({ meta }) => meta.context === 'node-demo-w-9-gone1')).toBe(false);
    await gone.nc.close();
  });

  it('never block the log, whatever bytes arrive on any of its subjects; other clusters are not affected', async () => {
    const bodies = fc.sample(
      fc.oneof(
        fc.uint8Array({ maxLength: 3_000 }),
        fc.json({ maxDepth: 30 }).map((text) => new TextEncoder().encode(text)),
        fc
          .constantFrom('not json', 'null', '"\\ud800"', '{"id":"\\u0000"}', '['.repeat(5_000))
          .map((text) => new TextEncoder().encode(text)),
        fc.constant(randomBytes(30_000)),
      ),
      200,
    );
    for (const [index, body] of bodies.entries()) {
      const type = AGENT_EVENT_TYPES[index % AGENT_EVENT_TYPES.length] ?? 'NodeReady';
      worker.nc.publish(agentFactSubject(worker.address, type), body);
      worker.nc.publish(agentSyncSubject(worker.address), body);
      if (index % 10 === 0) await worker.nc.flush();
    }
    const neighbour = await connectNode({ namespace: 'default', cluster: OTHER, node });
    const id = neighbour.send('NodeReady', { uid, node, revision: 1, software });
    expect(await neighbour.answer(id)).toEqual({ id, rejected: null });
    const demo = await events();
    expect(demo.filter(({ type }) => type === 'AgentMessagesRejected')).toHaveLength(1);
    const rows = await service.query<{ ready: boolean }>(
      `select doc->'ready' = 'true' as ready from nodes where key = $1`,
      [`default/${OTHER}/${node}`],
    );
    await eventually(async () => (rows.length === 1 ? true : undefined));
    await neighbour.nc.close();
  }, 60_000);
});
