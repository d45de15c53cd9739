import type { ClusterUid, ErrorView, HostJoinView, JoinTokenView, StoredEvent } from '@fairlead/contracts';
import { newFolder } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request, useGateway } from '../gateway.fixtures.js';
import { plan } from '../story.fixtures.js';

const bundle = join(newFolder('join'), 'agent.mjs');
writeFileSync(bundle, 'process.exit(0);\n');

const FACTS = {
  ...{ hostname: 'shed-1', machineId: '5a1c0e9f4b7d4d5e8a0f3c2b1d6e7f80', address: '192.168.1.20' },
  ...{ architecture: 'amd64', cpus: 4, memoryMiB: 8192 },
};
const userOf = (letter: string): string => `U${letter.repeat(55)}`;

/** What is read of a refusal. */
type Refusal = Pick<ErrorView, 'message' | 'reason'>;

let uid: ClusterUid;

/** A cluster that is Ready, with an empty pool for hosts that join. */
const gateway = useGateway(
  async () => {
    const edge = { provider: 'join', region: 'shed', zone: 'shed-1', namespaces: ['*'], settings: {} };
    expect((await gateway.ask('PUT', '/connections/edge', { body: edge })).status).toBeLessThan(300);
    const { status } = await gateway.ask('POST', '/ns/default/clusters', {
      body: request('shop', {
        serviceType: 'multi',
        controlPlane: [{ connection: 'lab', count: 1, spec: 'lab.small' }],
        worker: [{ connection: 'lab', count: 1, spec: 'lab.small' }],
        config: { kubernetes: { networkCni: 'kilo' } },
      }),
    });
    expect(status).toBe(202);
    const [asked] = await gateway.log('evt.*.default.shop.request.ClusterRequested');
    uid = (asked as StoredEvent<'ClusterRequested'>).data.uid;
    const machines = ['demo-cp-1', 'demo-w-1'].map(plan);
    await gateway.state({ type: 'VmsPlanned', data: { uid, machines } }, { cluster: 'shop' });
    await gateway.state({ type: 'ClusterReady', data: { uid } }, { cluster: 'shop' });
    const path = '/ns/default/clusters/shop/manifest';
    const { body } = await gateway.ask<{ spec: { pools: object[] } }>('GET', path);
    const web = { name: 'web', connection: 'edge', machineType: 'join.any', replicas: 0 };
    const patched = await gateway.ask('PATCH', path, {
      body: { spec: { pools: [...body.spec.pools, web] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(patched.status).toBeLessThan(300);
  },
  { variables: { AGENT_BUNDLE: bundle } },
);

const POOLS = '/ns/default/clusters/shop/pools';
const issue = (pool = 'web', headers = {}) =>
  gateway.ask<JoinTokenView & Refusal>('POST', `${POOLS}/${pool}/join-tokens`, { body: {}, headers });
const present = (token: string, user: string, more: object = {}) =>
  gateway.ask<HostJoinView & Refusal>('POST', '/join', {
    token: null,
    body: { namespace: 'default', cluster: 'shop', token, user, facts: FACTS, ...more },
  });

describe('a host that joins by itself', () => {
  it('is admitted by its token: the pool grows by it once, and the log has no token', async () => {
    const { status, body } = await issue();
    expect({ status, body }).toMatchObject({ status: 201, body: { pool: 'web', cluster: 'shop' } });
    const first = await present(body.token, userOf('A'));
    expect({ status: first.status, body: first.body }).toMatchObject({ status: 200, body: { status: 'Waiting' } });
    expect(first.body.message).toContain('becomes a node of pool web');
    const second = await present(body.token, userOf('A'));
    expect(second.body).toMatchObject({ status: 'Waiting', host: first.body.host });
    const events = await gateway.log('evt.*.default.shop.>');
    const added = events.filter(({ type }) => type === 'NodesRequested');
    expect(added).toMatchObject([{ data: { adopts: first.body.host, workers: [{ pool: 'web', count: 1 }] } }]);
    expect(added[0]?.meta.actor).toBe('system/gateway');
    expect(JSON.stringify(events)).not.toContain(body.token);
    expect(JSON.stringify(events)).toContain(createHash('sha256').update(body.token).digest('hex'));
  });

  it('is refused with the token of another host, and learns nothing about other tokens', async () => {
    const { body } = await issue();
    expect((await present(body.token, userOf('B'))).status).toBe(200);
    const replayed = await present(body.token, userOf('C'));
    const unknown = await present(`flj_000000000000_${'a'.repeat(43)}`, userOf('D'));
    expect([replayed.status, replayed.body.reason]).toEqual([401, 'join.token-refused']);
    expect(unknown.body.message).toBe(replayed.body.message);
  });

  it.each([
    ['an unknown field', { evil: true }],
    ['a host name with a line break', { facts: { ...FACTS, hostname: 'a\nb' } }],
    ['an address that is none', { facts: { ...FACTS, address: '$(reboot)' } }],
    ['a key that is none', { user: 'U1' }],
  ])('is refused with %s, and its token is not used up', async (_words, more) => {
    const { body } = await issue();
    expect((await present(body.token, userOf('E'), more)).status).toBe(400);
    const used = await gateway.log('evt.*.default.shop.joins.HostAdmitted');
    expect(used.map(({ data }) => (data as { admission: string }).admission)).not.toContain(body.id);
  });

  it('gets a script that names the checksums of what it downloads, without a token of the API', async () => {
    const { body } = await issue();
    const script = await gateway.ask<string>('GET', body.script.path, { token: null });
    expect(createHash('sha256').update(script.body).digest('hex')).toBe(body.script.sha256);
    const agent = await fetch(`${gateway.baseUrl()}/join/agent.mjs`);
    const sha256 = createHash('sha256')
      .update(Buffer.from(await agent.arrayBuffer()))
      .digest('hex');
    expect(script.body).toContain(sha256);
  });
});

describe('a join token', () => {
  it('is issued for pools of connections whose hosts join by themselves only', async () => {
    const { status, body } = await issue('worker-1');
    expect([status, body.reason]).toEqual([409, 'join.pool-makes-machines']);
    expect((await issue('nowhere')).body.reason).toBe('pool.unknown');
  });

  it('is the same one when the request is repeated with its key', async () => {
    const headers = { 'idempotency-key': 'once' };
    const [first, second] = [await issue('web', headers), await issue('web', headers)];
    expect(second.body.token).toBe(first.body.token);
  });
});
