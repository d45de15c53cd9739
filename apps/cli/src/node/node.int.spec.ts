import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { WORKERS } from '../spec/story.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);
describe('node', () => {
  const worker = {
    name: WORKERS[0],
    role: 'worker',
    pool: 'web',
    connection: 'lab',
    spec: 'lab.small',
    phase: 'Ready',
    software: { kubelet: '1.34.4' },
    publicIp: '127.1.1.1',
    createdTime: '',
    reason: '',
    updatesDisabled: null,
  };

  const pool = (name: string, replicas: number, machineType: string) => ({
    ...{ name, replicas, machineType, connection: 'lab', rootDisk: { type: 'default', size: 'default' }, zones: [] },
  });
  const machines = { connection: 'lab', machineType: 'lab.small', rootDisk: { type: 'default', size: 'default' } };
  const manifest = {
    ...{ apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster' },
    metadata: { name: 'demo', namespace: 'default', uid: 'u', resourceVersion: '12' },
    spec: {
      ...{ version: 'v1.34.4', serviceType: 'single', loadBalancer: 'haproxy' },
      network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
      controlPlane: { replicas: 1, ...machines, etcd: 'local', schedulable: false },
      pools: [pool('web', 2, 'lab.small'), pool('batch', 1, 'lab.large')],
    },
  };

  it('list shows the location of each node', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    expect((await ask(['node', 'list', 'demo'])).stdout).toContain(
      'demo-w-1-p4t6z   web    Ready   v1.34.4   lab.small      127.1.1.1',
    );
  });

  it('list shows the nodes as they were at an earlier moment, filtered by pools and labels', async () => {
    const [web, batch] = [{ tier: 'web' }, { tier: 'batch' }].map((labels, at) => ({
      ...worker,
      ...{ labels, pool: labels.tier, name: WORKERS[at] },
    }));
    gateway.on('GET', '/ns/default/clusters/demo', { body: { name: 'demo', nodes: [web, batch] } });
    const names = async (...more: readonly string[]): Promise<readonly string[]> =>
      (await ask(['node', 'list', 'demo', '-o', 'name', '--at', '4711', ...more])).stdout.trim().split('\n');
    expect(await names()).toEqual([WORKERS[0], WORKERS[1]]);
    expect(await names('--pool', 'batch')).toEqual([WORKERS[1]]);
    expect(await names('-l', 'tier=web')).toEqual([WORKERS[0]]);
    const { query } = gateway.asked('GET', '/ns/default/clusters/demo').at(-1)!;
    expect(query).toMatchObject({ at: '4711' });
    expect((await ask(['node', 'list', 'demo', '--at', 'yesterday'])).code).toBe(2);
  });

  it('list filters by pools and labels', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    const zone = 'topology.kubernetes.io/zone=lab-1a';
    const { code } = await ask([
      'node',
      'list',
      'demo',
      '--pool',
      'web',
      '--pool',
      'control-plane',
      '-l',
      `tier=a,${zone}`,
    ]);
    expect([code, gateway.asked('GET', '/ns/default/clusters/demo/nodes').map(({ query }) => query)]).toEqual([
      0,
      [{ pool: 'web,control-plane', labelSelector: `tier=a,${zone}` }],
    ]);
  });

  it('list shows surge nodes during an upgrade, and held nodes', async () => {
    const [name, extra] = WORKERS;
    const items = [
      { ...worker, name },
      { ...worker, name: extra, extraFor: 'u-8f3k2m9q01', reason: 'kubelet stopped posting' },
      { ...worker, name: 'demo-w-3-h7n2b', updatesDisabled: 'a course runs' },
    ];
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items } });
    const { stdout } = await ask(['node', 'list', 'demo']);
    expect(stdout.split('\n').map((line) => line.split(/ {3,}/).at(-1))).toEqual([
      'MESSAGE',
      '-',
      'kubelet stopped posting; extra until the upgrade ends',
      'held: a course runs',
      '',
    ]);
  });

  describe('list and similar commands, with a filter that matches no node,', () => {
    beforeEach(() => {
      gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [] } });
      gateway.on('GET', '/ns/default/clusters/demo/manifest', { body: manifest });
      const none = refusal(404, 'node.none-selected', 'No node is selected.');
      gateway.on('POST', '/ns/default/clusters/demo/nodes/actions', none);
      gateway.on('PUT', '/ns/default/clusters/demo/nodes/updates', none);
    });

    it('report that, and not that the cluster has none', async () => {
      const { code, stdout } = await ask(['node', 'list', 'demo', '--pool', 'web', '-l', 'tier=b']);
      const see = '"fairlead node describe" shows the labels of a node.';
      expect([code, stdout]).toEqual([0, `No node of demo is in the pool web and has tier=b. ${see}\n`]);
      expect((await ask(['node', 'list', 'demo'])).stdout).toBe('The cluster demo has no nodes.\n');
    });

    it.each([['list'], ['cordon'], ['hold', '--reason', 'x']])('name the existing pools (%s)', async (...verb) => {
      const [word = '', ...more] = verb;
      const { code, stderr } = await ask(['node', word, 'demo', '--pool', 'wbe', ...more]);
      expect([code, stderr]).toEqual([5, expect.stringContaining('The cluster demo has no pool wbe [pool.unknown]')]);
      expect(stderr).toContain('Its pools: control-plane, web, batch.');
    });
  });

  describe('add', () => {
    beforeEach(() => {
      gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
      gateway.on('GET', '/ns/default/clusters/demo/manifest', { body: manifest });
      const accepted = { status: 202, headers: { 'x-fairlead-seq': '200' } };
      gateway.on('POST', '/ns/default/clusters/demo/nodes', { ...accepted, body: {} });
      for (const pool of ['web', 'batch'])
        gateway.on('PUT', `/ns/default/clusters/demo/pools/${pool}/scale`, ({ body }) => ({
          ...accepted,
          body: { spec: { replicas: 2 + (body as { spec: { add: number } }).spec.add }, operations: ['op-200'] },
        }));
    });
    const scaled = (pool: string): readonly unknown[] =>
      gateway
        .asked('PUT', `/ns/default/clusters/demo/pools/${pool}/scale`)
        .filter(({ query }) => query['dryRun'] === undefined)
        .map(({ body }) => body);

    it('scales the first pool up, and names it', async () => {
      const { code, stderr } = await ask(['node', 'add', 'demo', '--count', '2']);
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining('The pool web of demo gets 2 more workers, and has 4 then.'),
      ]);
      expect(scaled('web')).toEqual([{ spec: { add: 2 } }]);
      expect(gateway.asked('POST', '/ns/default/clusters/demo/nodes')).toEqual([]);
    });

    it('scales the named pool up, or the one with such machines', async () => {
      expect((await ask(['node', 'add', 'demo', '--pool', 'batch'])).code).toBe(0);
      expect((await ask(['node', 'add', 'demo', '--machine-type', 'lab.large'])).code).toBe(0);
      expect(scaled('batch')).toEqual([{ spec: { add: 1 } }, { spec: { add: 1 } }]);
      const unknown = await ask(['node', 'add', 'demo', '--pool', 'none']);
      expect([unknown.code, unknown.stderr]).toEqual([5, expect.stringContaining('Its pools: web, batch.')]);
    });

    it('sends the same request if it is repeated with the same key, whatever the current size is', async () => {
      for (const replicas of [2, 4]) {
        const grown = { ...manifest, spec: { ...manifest.spec, pools: [{ ...manifest.spec.pools[0], replicas }] } };
        gateway.on('GET', '/ns/default/clusters/demo/manifest', { body: grown });
        await ask(['node', 'add', 'demo', '--count', '2', '--idempotency-key', 'k1']);
      }
      const [first, again, ...others] = gateway.asked('PUT', '/ns/default/clusters/demo/pools/web/scale');
      expect([again?.body, again?.headers['idempotency-key'], others]).toEqual([first?.body, 'k1', []]);
    });

    it('creates a pool if none has such machines, and names it', async () => {
      const { code, stderr } = await ask(['node', 'add', 'demo', '--machine-type', 'lab.huge', '--on-failure', 'keep']);
      expect([code, stderr]).toEqual([0, expect.stringContaining('A new pool of demo gets one more worker')]);
      expect(gateway.asked('POST', '/ns/default/clusters/demo/nodes')[0]?.body).toEqual({
        worker: [{ count: 1, connection: 'lab', spec: 'lab.huge' }],
        onFailure: 'keep',
      });
    });

    it('refuses incompatible options', async () => {
      const both = await ask(['node', 'add', 'demo', '--pool', 'web', '--machine-type', 'lab.small']);
      expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('--pool excludes')]);
      const failure = await ask(['node', 'add', 'demo', '--on-failure', 'keep']);
      expect([failure.code, failure.stderr]).toEqual([2, expect.stringContaining('--on-failure is for a new pool')]);
    });
  });

  it('remove sends the name of the node', async () => {
    gateway.on('DELETE', `/ns/default/clusters/demo/nodes/${WORKERS[0]}`, {
      status: 202,
      headers: { 'x-fairlead-seq': '200' },
      body: {},
    });
    expect((await ask(['node', 'remove', 'demo', WORKERS[0], '--yes'])).stdout).toBe(
      `The node ${WORKERS[0]} is being removed.\n`,
    );
  });
});
