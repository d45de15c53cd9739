import { readFileSync } from 'node:fs';
import {
  AGENT_MESSAGE_MAX_BYTES,
  agentFactSubject,
  agentOutputSubject,
  eventSubject,
  heartbeatSubject,
  STREAMS,
} from '@fairlead/contracts';
import { mintNodeCredentials, type NodeSigning } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, credsAuthenticator, headers, type NatsConnection } from '@nats-io/transport-node';

const W1 = { namespace: 'default', cluster: 'demo', node: 'w1' };
const W2 = { ...W1, node: 'w2' };
const LOST_MS = 300;

/** The server's error message for an attempt; undefined if it is accepted. */
const refusalOf = async (nc: NatsConnection, attempt: () => unknown): Promise<string | undefined> => {
  const refused = (async () => {
    for await (const status of nc.status()) if (status.type === 'error') return status.error.message;
    return undefined;
  })();
  attempt();
  await nc.flush();
  return Promise.race([refused, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LOST_MS))]);
};

const publishing = (nc: NatsConnection, subject: string): Promise<string | undefined> =>
  refusalOf(nc, () => nc.publish(subject, '{}'));

describe('the NATS server', () => {
  let environment: TestEnvironment;
  let admin: NatsConnection;
  let node: NatsConnection;

  const connectNode = async (address: typeof W1, inboxPrefix?: string): Promise<NatsConnection> => {
    const { nodeSigningFile } = environment.nats;
    if (nodeSigningFile === undefined) throw new Error('the test environment runs a server of its own');
    const signing = JSON.parse(readFileSync(nodeSigningFile, 'utf8')) as NodeSigning;
    const creds = mintNodeCredentials(signing, { ...address, expiresInSeconds: 600 });
    return connect({
      servers: environment.nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
      ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    });
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    node = await connectNode(W1);
  }, 60_000);

  afterAll(async () => {
    await node?.close();
    await environment?.stop();
  }, 30_000);

  it("rejects an agent's facts or heartbeats of another node, and facts of a service", async () => {
    expect(await publishing(node, heartbeatSubject('default', 'demo', 'w1'))).toBeUndefined();
    expect(await publishing(node, agentFactSubject(W1, 'NodeReady'))).toBeUndefined();
    for (const subject of [
      heartbeatSubject('default', 'demo', 'w2'),
      agentFactSubject(W2, 'NodeReady'),
      agentFactSubject(W1, 'ClusterDeletionRequested'),
      agentFactSubject({ ...W1, cluster: '*' }, 'NodeReady'),
      agentOutputSubject(W1, 'desired'),
      eventSubject({ namespace: 'default', cluster: 'demo', context: 'node-w1' }, 'NodeReady'),
      eventSubject({ namespace: 'default', cluster: 'demo', context: 'request' }, 'ClusterDeletionRequested'),
      eventSubject({ namespace: 'default', cluster: 'demo', context: 'bootstrap' }, 'ClusterReady'),
      '>',
    ])
      expect([subject, await publishing(node, subject)]).toEqual([
        subject,
        expect.stringMatching(/permissions violation/i),
      ]);
  });

  it('denies an agent the JetStream API, buckets, system subjects and inboxes', async () => {
    for (const subject of [
      '$JS.API.INFO',
      `$JS.API.STREAM.INFO.${STREAMS.events}`,
      `$JS.API.STREAM.MSG.GET.${STREAMS.events}`,
      `$JS.API.DIRECT.GET.${STREAMS.events}`,
      `$JS.API.DIRECT.GET.${STREAMS.events}.${eventSubject({ namespace: 'default', cluster: 'demo', context: 'node-w1' }, 'NodeReady')}`,
      `$JS.API.CONSUMER.CREATE.${STREAMS.events}.x`,
      `$JS.API.CONSUMER.CREATE.${STREAMS.agentFacts}.x`,
      `$JS.API.CONSUMER.MSG.NEXT.${STREAMS.agentFacts}.upgrade-svc`,
      `$JS.ACK.${STREAMS.agentFacts}.upgrade-svc.1.1.1.1.1`,
      `$JS.API.STREAM.PURGE.${STREAMS.events}`,
      `$JS.FC.${STREAMS.events}.x`,
      '$KV.SECRETS.gateway.x',
      '$O.SNAPSHOTS.M.x',
      '$SYS.REQ.ACCOUNT.PING.CONNZ',
      '$SYS.REQ.CLAIMS.UPDATE',
      '_INBOX.x.y',
      '_INBOX_gateway.x',
    ])
      expect([subject, await publishing(node, subject)]).toEqual([
        subject,
        expect.stringMatching(/permissions violation/i),
      ]);
    for (const subject of [
      '>',
      'evt.>',
      'hb.>',
      'agent.in.>',
      'agent.out.>',
      '_INBOX.>',
      '_INBOX_gateway.>',
      '$SYS.>',
      agentOutputSubject(W2, 'desired'),
    ])
      expect([subject, await refusalOf(node, () => node.subscribe(subject))]).toEqual([
        subject,
        expect.stringMatching(/permissions violation/i),
      ]);
  });

  /** Everything that reaches the services' account during the attempt. */
  const arrivals = async (attempt: () => void): Promise<string[]> => {
    const seen: string[] = [];
    const subscription = admin.subscribe('>', {
      callback: (_error, { subject }) => {
        if (!subject.startsWith('_INBOX')) seen.push(subject);
      },
    });
    await admin.flush();
    attempt();
    await node.flush();
    await new Promise((resolve) => setTimeout(resolve, LOST_MS));
    subscription.unsubscribe();
    return seen;
  };

  it('ignores reply subjects chosen by an agent, which would write to the log through the server`s own acknowledgement', async () => {
    const evt = eventSubject({ namespace: 'default', cluster: 'demo', context: 'request' }, 'ClusterDeletionRequested');
    const desired = eventSubject(
      { namespace: 'default', cluster: 'demo', context: 'desired-cp1' },
      'DesiredVersionsSet',
    );
    const fact = agentFactSubject(W1, 'NodeReady');
    const heartbeat = heartbeatSubject('default', 'demo', 'w1');
    const seen = await arrivals(() => {
      for (const reply of [
        evt,
        desired,
        '$JS.API.STREAM.DELETE.EVENTS',
        '$KV.SECRETS.gateway.x',
        'job.infra-svc.x',
        agentOutputSubject(W2, 'desired'),
        agentFactSubject(W2, 'NodeReady'),
      ]) {
        node.publish(fact, 'x', { reply });
        node.publish(heartbeat, 'x', { reply });
        node.publish(fact, 'x'.repeat(AGENT_MESSAGE_MAX_BYTES - 1_000), { reply });
      }
    });
    expect([...new Set(seen)].sort()).toEqual([fact, heartbeat].sort());
  });

  it('ignores JetStream headers from an agent: batches, roll-ups, ids, expectations, traces, schedules', async () => {
    const fact = agentFactSubject(W1, 'NodeReady');
    const evt = eventSubject({ namespace: 'default', cluster: 'demo', context: 'request' }, 'ClusterRequested');
    const jsm = await jetstreamManager(admin);
    const before = (await jsm.streams.info(STREAMS.events)).state;
    const tricks: readonly Readonly<Record<string, string>>[] = [
      { 'Nats-Batch-Id': 'b', 'Nats-Batch-Sequence': '1', 'Nats-Batch-Commit': '1' },
      { 'Nats-Rollup': 'all' },
      { 'Nats-Rollup': 'sub' },
      { 'Nats-Msg-Id': 'x' },
      { 'Nats-Expected-Stream': STREAMS.events },
      { 'Nats-Expected-Last-Subject-Sequence-Subject': evt, 'Nats-Expected-Last-Subject-Sequence': '0' },
      { 'KV-Operation': 'PURGE' },
      { 'Nats-TTL': '1s' },
      { 'Nats-Incr': '+1' },
      { 'Nats-Schedule': '@every 1s', 'Nats-Schedule-Target': evt },
      { 'Nats-Subject': evt, 'Nats-Stream': STREAMS.events },
      { 'Nats-Trace-Dest': evt },
      { 'Nats-Trace-Dest': 'agent.out.default.demo.w2.desired', 'Nats-Trace-Only': 'true' },
    ];
    const seen = await arrivals(() => {
      for (const trick of tricks) {
        const header = headers();
        for (const [name, value] of Object.entries(trick)) header.set(name, value);
        node.publish(fact, 'x', { headers: header, reply: evt });
      }
    });
    expect(new Set(seen)).toEqual(new Set([fact]));
    const after = (await jsm.streams.info(STREAMS.events)).state;
    expect([after.messages, after.last_seq]).toEqual([before.messages, before.last_seq]);
  });

  it('limits a flood of one node to its own share, without affecting its neighbour', async () => {
    const jsm = await jetstreamManager(admin);
    const neighbour = await connectNode(W2);
    for (let n = 0; n < 2_000; n += 1) node.publish(agentFactSubject(W1, 'ProbeFailed'), 'x'.repeat(1_000));
    await node.flush();
    neighbour.publish(agentFactSubject(W2, 'NodeReady'), '{}');
    await neighbour.flush();
    // Without an acknowledgement, the server stores a message slightly after receiving it.
    const stored = async () =>
      (await jsm.streams.info(STREAMS.agentFacts, { subjects_filter: '>' })).state.subjects ?? {};
    await eventually(async () => (await stored())[agentFactSubject(W2, 'NodeReady')] === 1);
    expect((await stored())[agentFactSubject(W1, 'ProbeFailed')]).toBeLessThanOrEqual(16);
    await neighbour.close();
  });

  it('closes the connection of an agent whose message is larger than any fact', async () => {
    const w3 = { ...W1, node: 'w3' };
    const large = await connectNode(w3);
    expect(large.info?.max_payload).toBe(AGENT_MESSAGE_MAX_BYTES);
    // An attacker's client would not enforce the limit itself.
    Object.assign(large.info ?? {}, { max_payload: 2 * AGENT_MESSAGE_MAX_BYTES });
    const refused = refusalOf(large, () =>
      large.publish(agentFactSubject(w3, 'NodeReady'), 'x'.repeat(AGENT_MESSAGE_MAX_BYTES + 1)),
    ).catch((error: unknown) => String(error));
    expect(await refused).toMatch(/maximum payload|disconnect|closed/i);
    const jsm = await jetstreamManager(admin);
    const { state } = await jsm.streams.info(STREAMS.agentFacts, { subjects_filter: '>' });
    expect(state.subjects?.[agentFactSubject(w3, 'NodeReady')]).toBeUndefined();
    await large.close();
  });

  it('rejects a service that states another service`s facts', async () => {
    const infra = await environment.connect('infra-svc');
    expect(await publishing(infra, 'evt.1.default.demo.machines.VmsPlanned')).toBeUndefined();
    for (const subject of [
      'evt.1.default.demo.bootstrap.ClusterReady',
      'evt.1.default.demo.request.ClusterRequested',
      'evt.1.default.demo.node-w1.NodeReady',
      agentOutputSubject(W1, 'desired'),
      '$JS.API.STREAM.PURGE.EVENTS',
    ])
      expect([subject, await publishing(infra, subject)]).toEqual([
        subject,
        expect.stringMatching(/permissions violation/i),
      ]);
  });
});
