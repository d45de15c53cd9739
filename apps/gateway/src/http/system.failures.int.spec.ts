import { servicePermissions, SERVICES, type ErrorView, type ServiceName } from '@fairlead/contracts';
import { ensureCredentials } from '@fairlead/embedded';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kvm } from '@nats-io/kv';
import { prepareWorld, request, startTestGateway, type TestGateway } from '../gateway.fixtures.js';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
  await prepareWorld(gateway);
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
}, 60_000);

const isService = (name: string): name is ServiceName => SERVICES.some((service) => service === name);

/** From now on replicas start with a credential that may state no request. */
const withdrawRight = (): void => {
  const everything = { publish: ['>'], subscribe: ['>'] };
  ensureCredentials(gateway.environment.dataDir, (name) => {
    if (!isService(name)) return everything;
    const { publish, ...others } = servicePermissions(name);
    return { ...others, publish: publish.filter((subject) => !subject.endsWith('.request.*')) };
  });
};

describe('what a gateway cannot do', () => {
  it('is answered with the secret and the words where a secret does not open', async () => {
    const bucket = await new Kvm(await gateway.environment.connect('admin')).open('SECRET_KEYS');
    const kept = await bucket.get('gateway.key.shared');
    await bucket.put('gateway.key.shared', 'v2.0123456789abcdef.AAAA');
    // Another replica: the first one still has the key in its cache.
    const { index } = await gateway.startReplica();
    const body = { provider: 'lab', region: 'lab-1', settings: { endpoint: 'http://127.0.0.1:1', token: 'new' } };
    const answer = await gateway.ask<ErrorView>('PUT', '/connections/other', { body, replica: index });
    expect([answer.status, answer.body.reason]).toEqual([503, 'system.secret-unreadable']);
    expect(answer.body.message).toMatch(/^open the secret on gateway\.key\.shared failed: .*does not open/);
    await bucket.put('gateway.key.shared', kept?.string() ?? '');
    expect((await gateway.ask('PUT', '/connections/other', { body, replica: index })).status).toBe(200);
  }, 60_000);

  it('is answered with the subject where its credential lacks a right', async () => {
    withdrawRight();
    const { index } = await gateway.startReplica();
    const answer = await gateway.ask<ErrorView>('POST', '/ns/default/clusters', {
      body: request('denied'),
      replica: index,
    });
    expect([answer.status, answer.body.reason]).toEqual([503, 'system.permission-missing']);
    expect(answer.body.message).toMatch(
      /^append to the event log on evt\.\d+\.default\.denied\.request\.ClusterRequested failed: .*permission/i,
    );
    expect(answer.body.help).toContain('provision keys');
  }, 60_000);
});
