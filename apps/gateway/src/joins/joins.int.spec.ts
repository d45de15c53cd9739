import type {
  BootstrapDataView,
  ClusterManifestView,
  ClusterUid,
  ErrorView,
  HostJoinView,
  JoinTokenView,
  RegisteredHostList,
  StoredEvent,
} from '@fairlead/contracts';
import { eventually, newFolder } from '@fairlead/testing';
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

describe('a host that is registered before its pool', () => {
  const HOSTS = '/ns/default/clusters/shop/hosts';
  const issueFor = (labels: object, headers = {}) =>
    gateway.ask<JoinTokenView & Refusal>('POST', `${HOSTS}/join-tokens`, { body: { labels }, headers });
  const waiting = async () => {
    const { body } = await gateway.ask<RegisteredHostList>('GET', HOSTS);
    return body.items;
  };
  const declare = async (pool: object) => {
    const path = '/ns/default/clusters/shop/manifest';
    const { body } = await gateway.ask<ClusterManifestView>('GET', path);
    return gateway.ask<Refusal>('PATCH', path, {
      body: { spec: { pools: [...body.spec.pools, { replicas: 0, ...pool }] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
  };
  const shed = { name: 'shed', connection: 'edge', machineType: 'join.any' };

  it('waits, is listed without an owner, and becomes a node of the first pool that selects it', async () => {
    const { status, body } = await issueFor({ site: 'shed', rack: '1' });
    expect({ status, body }).toMatchObject({ status: 201, body: { cluster: 'shop' } });
    expect(body.pool).toBeUndefined();
    const first = await present(body.token, userOf('H'));
    expect(first.body).toMatchObject({ status: 'Waiting', message: expect.stringContaining('no pool claims it yet') });
    expect(first.body.pool).toBeUndefined();
    const labels = { site: 'shed', rack: '1' };
    expect(await waiting()).toMatchObject([{ name: first.body.host, labels, facts: { hostname: 'shed-1' } }]);
    expect((await declare({ ...shed, hostSelector: { matchLabels: { site: 'shed' } } })).status).toBeLessThan(300);
    const second = await present(body.token, userOf('H'));
    expect(second.body).toMatchObject({ status: 'Waiting', host: first.body.host, pool: 'shed' });
    expect(await waiting()).toEqual([]);
    const requests = await gateway.log('evt.*.default.shop.request.NodesRequested');
    expect(requests.filter(({ data }) => (data as { adopts?: string }).adopts === first.body.host)).toHaveLength(1);
    expect(JSON.stringify(await gateway.log('evt.*.default.shop.>'))).not.toContain(body.token);
  });

  it('is removed as long as no pool has claimed it, and its token is refused from then on', async () => {
    const { body } = await issueFor({ site: 'barn' });
    const { body: asked } = await present(body.token, userOf('I'));
    expect((await gateway.ask('DELETE', `${HOSTS}/${asked.host}`)).status).toBe(200);
    expect(await waiting()).toEqual([]);
    expect((await present(body.token, userOf('I'))).body.reason).toBe('join.token-refused');
    expect((await gateway.ask<Refusal>('DELETE', `${HOSTS}/${asked.host}`)).body.reason).toBe('join.host-unknown');
  });

  it('needs labels, and is selected only by pools whose hosts join by themselves', async () => {
    expect((await issueFor({})).status).toBe(400);
    expect((await issueFor({ '$(reboot)': 'x' })).status).toBe(400);
    const made = { name: 'made', connection: 'lab', machineType: 'lab.small' };
    expect((await declare({ ...made, hostSelector: { matchLabels: { site: 'shed' } } })).body.reason).toBe(
      'pool.host-selector',
    );
    expect((await declare({ ...shed, name: 'all', hostSelector: { matchLabels: {} } })).status).toBe(400);
  });

  it('gets the same token when the request is repeated with its key', async () => {
    const headers = { 'idempotency-key': 'one host' };
    const [first, second] = [await issueFor({ site: 'lake' }, headers), await issueFor({ site: 'lake' }, headers)];
    expect(second.body.token).toBe(first.body.token);
  });
});

describe('the bootstrap data of a pool', () => {
  const dataOf = (pool = 'web', more = '') =>
    gateway.ask<BootstrapDataView & Refusal>(
      'GET',
      `${POOLS}/${pool}/bootstrap-data?server=${encodeURIComponent(gateway.baseUrl())}${more}`,
    );
  /** The command that a host would run, and its token. */
  const commandIn = (data: string): string => {
    const [, line = ''] = /echo ([A-Za-z0-9+/=]+) \| base64 -d \| sh/.exec(data) ?? [];
    return Buffer.from(line, 'base64').toString('utf8');
  };
  const tokenIn = (data: string): string => /FAIRLEAD_JOIN_TOKEN=(\S+)/.exec(commandIn(data))?.[1] ?? '';
  const bootstrapReady = async (): Promise<unknown> => {
    const { body } = await gateway.ask<ClusterManifestView>('GET', '/ns/default/clusters/shop/manifest');
    const known = body.status?.pools.filter(({ name }) => name !== 'shed');
    return known?.map(({ name, bootstrapReady: is }) => [name, is]);
  };

  it('exist soon after it is declared: bootstrapReady is true, and no secret is in the log', async () => {
    await eventually(async () => (await dataOf()).status === 200);
    expect(await bootstrapReady()).toEqual([
      ['worker-1', undefined],
      ['web', true],
    ]);
    const { body } = await dataOf();
    expect(body).toMatchObject({ pool: 'web', format: 'cloud-config', source: 'generated' });
    const log = JSON.stringify(await gateway.log());
    expect(log).toContain('BootstrapDataGenerated');
    expect(log).not.toContain(tokenIn(body.data).split('_').slice(2).join('_'));
  });

  it('make every host that runs them a node of the pool, each with a key of its own', async () => {
    const { body } = await dataOf('web', '&format=shell');
    expect(body.data.startsWith('#!/bin/sh\n')).toBe(true);
    const token = tokenIn(body.data);
    const [first, second] = [await present(token, userOf('P')), await present(token, userOf('Q'))];
    expect([first.body.status, second.body.status]).toEqual(['Waiting', 'Waiting']);
    expect(first.body.host).not.toBe(second.body.host);
    expect((await present(token, userOf('P'))).body.host).toBe(first.body.host);
    const requests = await gateway.log('evt.*.default.shop.request.NodesRequested');
    expect(requests.map(({ data }) => (data as { adopts?: string }).adopts)).toEqual(
      expect.arrayContaining([first.body.host, second.body.host]),
    );
  });

  it('are refused for a pool whose machines are made, to viewers, and without an address of the gateway', async () => {
    expect((await dataOf('worker-1')).body.reason).toBe('join.pool-makes-machines');
    expect((await gateway.ask('GET', `${POOLS}/web/bootstrap-data`)).status).toBe(400);
    const evil = encodeURIComponent('javascript:alert(1)');
    expect((await gateway.ask('GET', `${POOLS}/web/bootstrap-data?server=${evil}`)).status).toBe(400);
  });

  it('can be given: the marker is replaced, and bootstrapReady stays true [Cluster API 5]', async () => {
    const path = '/ns/default/clusters/shop/manifest';
    const { body } = await gateway.ask<ClusterManifestView>('GET', path);
    const given = '#cloud-config\npackages: [nfs-common]\nruncmd:\n  - __FAIRLEAD_JOIN__\n';
    const change = (data: string, of = 'web') =>
      gateway.ask<Refusal>('PATCH', path, {
        body: {
          spec: { pools: body.spec.pools.map((pool) => (pool.name === of ? { ...pool, bootstrap: { data } } : pool)) },
        },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    expect((await change('#cloud-config\n')).status).toBe(400);
    expect((await change(given, 'worker-1')).body.reason).toBe('pool.bootstrap-unused');
    expect((await change(given)).status).toBeLessThan(300);
    const { body: view } = await dataOf('web', '&format=shell');
    expect(view).toMatchObject({ source: 'given', format: 'cloud-config' });
    expect(view.data).toContain('packages: [nfs-common]');
    expect(tokenIn(view.data)).toMatch(/^flj_/);
    expect(await bootstrapReady()).toEqual([
      ['worker-1', undefined],
      ['web', true],
    ]);
  });
});

describe('a pool whose machines boot from user data', () => {
  const path = '/ns/default/clusters/shop/manifest';
  const declare = async (bootstrap: object, connection = 'lab', machineType = 'lab.small') => {
    const { body } = await gateway.ask<ClusterManifestView>('GET', path);
    const booted = { name: 'booted', connection, machineType, replicas: 0, bootstrap };
    return gateway.ask<Refusal>('PATCH', `${path}?dryRun=All`, {
      body: { spec: { pools: [...body.spec.pools, booted] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
  };

  it('is refused with data of a tenant where hosts are simulated, and on a provider that takes no user data', async () => {
    const data = '#!/bin/sh\nid\n__FAIRLEAD_JOIN__\n';
    expect((await declare({ by: 'userData' })).status).toBe(200);
    expect((await declare({ by: 'userData', data })).body.reason).toBe('pool.data-simulated');
    expect((await declare({ by: 'userData' }, 'edge', 'join.any')).body.reason).toBe('pool.user-data');
  });
});

describe('an image of a pool', () => {
  it('is refused where hosts keep the system that they have, and stays declared elsewhere', async () => {
    const path = '/ns/default/clusters/shop/manifest';
    const { body } = await gateway.ask<ClusterManifestView>('GET', path);
    const declare = (pool: object) =>
      gateway.ask<Refusal & ClusterManifestView>('PATCH', `${path}?dryRun=All`, {
        body: { spec: { pools: [...body.spec.pools, { name: 'rolled', replicas: 0, image: 'debian-13', ...pool }] } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    const refused = await declare({ connection: 'edge', machineType: 'join.any' });
    expect([refused.status, refused.body.reason]).toEqual([422, 'pool.image-fixed']);
    const made = await declare({ connection: 'lab', machineType: 'lab.small' });
    expect([made.status, made.body.spec?.pools.at(-1)?.image]).toEqual([200, 'debian-13']);
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
