import { readFileSync } from 'node:fs';
import { inboxPrefix, nodePermissions } from '@fairlead/contracts';
import { mintNodeCredentials } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';

/** What the server says about a publish: its own words when it refuses. */
const refusalOf = async (nc: NatsConnection, subject: string): Promise<string | undefined> => {
  const refused = (async () => {
    for await (const status of nc.status()) {
      if (status.type === 'error') return status.error.message;
    }
    return undefined;
  })();
  nc.publish(subject, '{}');
  await nc.flush();
  return Promise.race([refused, new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 300))]);
};

describe('the NATS server', () => {
  let environment: TestEnvironment;
  let node: NatsConnection;

  beforeAll(async () => {
    environment = await testEnvironment();
    await ensureStreams(await environment.connect('admin'));
    const { signing } = environment.nats;
    if (signing === undefined) throw new Error('the test environment runs a server of its own');
    const creds = mintNodeCredentials({
      signingSeed: readFileSync(signing.seedFile, 'utf8').trim(),
      accountPublicKey: signing.accountPublicKey,
      name: 'node-w1',
      permissions: nodePermissions({ namespace: 'default', cluster: 'demo', node: 'w1' }),
    });
    node = await connect({
      servers: environment.nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(creds)),
      inboxPrefix: inboxPrefix('default-demo-w1'),
    });
  }, 60_000);

  afterAll(async () => {
    await node?.close();
    await environment?.stop();
  }, 30_000);

  it('refuses an agent that speaks for another node, sends another`s heartbeat, or says what a service says', async () => {
    expect(await refusalOf(node, 'hb.default.demo.w1')).toBeUndefined();
    expect(await refusalOf(node, 'hb.default.demo.w2')).toMatch(/permissions violation/i);
    const [own = ''] = nodePermissions({ namespace: 'default', cluster: 'demo', node: 'w1' }).publish;
    expect(await refusalOf(node, own.replace('*', 'NodeReady'))).toBeUndefined();
    expect(await refusalOf(node, own.replace('node-w1.*', 'node-w2.NodeReady'))).toMatch(/permissions violation/i);
    expect(await refusalOf(node, own.replace('node-w1.*', 'bootstrap.ClusterReady'))).toMatch(/permissions violation/i);
  });

  it('refuses a service that states another service`s facts', async () => {
    const infra = await environment.connect('infra-svc');
    expect(await refusalOf(infra, 'evt.1.default.demo.machines.VmsPlanned')).toBeUndefined();
    expect(await refusalOf(infra, 'evt.1.default.demo.bootstrap.ClusterReady')).toMatch(/permissions violation/i);
    expect(await refusalOf(infra, 'evt.1.default.demo.wish.ClusterRequested')).toMatch(/permissions violation/i);
    expect(await refusalOf(infra, 'evt.1.default.demo.node-w1.NodeReady')).toMatch(/permissions violation/i);
    expect(await refusalOf(infra, '$JS.API.STREAM.PURGE.EVENTS')).toMatch(/permissions violation/i);
  });
});
