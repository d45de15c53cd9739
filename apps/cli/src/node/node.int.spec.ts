import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from '../spec/gateway.fixtures.js';
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
    connection: 'lab',
    spec: 'lab.small',
    phase: 'Ready',
    software: { kubelet: '1.34.4' },
    publicIp: '127.1.1.1',
    createdTime: '',
    reason: '',
    updatesDisabled: null,
  };

  it('list shows where each node is', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    expect((await ask(['node', 'list', 'demo'])).stdout).toContain(
      'demo-w-1-p4t6z   Ready   worker   v1.34.4   lab.small   127.1.1.1',
    );
  });

  it('list asks for the nodes of pools and with labels', async () => {
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

  it('list shows which nodes are extra while an upgrade runs, and which are held', async () => {
    const [name, extra] = WORKERS;
    const items = [
      { ...worker, name },
      { ...worker, name: extra, extraFor: 'u-8f3k2m9q01', reason: 'kubelet stopped posting' },
      { ...worker, name: 'demo-w-3-h7n2b', updatesDisabled: 'a course runs' },
    ];
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items } });
    const { stdout } = await ask(['node', 'list', 'demo']);
    expect(stdout.split('\n').map((line) => line.split(/ {3,}/).at(-1))).toEqual([
      'STATUS',
      '-',
      'kubelet stopped posting; extra until the upgrade ends',
      'held: a course runs',
      '',
    ]);
  });

  it('add asks for workers like those that there are', async () => {
    gateway.on('GET', '/ns/default/clusters/demo/nodes', { body: { items: [worker] } });
    gateway.on('POST', '/ns/default/clusters/demo/nodes', {
      status: 202,
      headers: { 'x-fairlead-seq': '200' },
      body: {},
    });
    expect((await ask(['node', 'add', 'demo', '--count', '2'])).code).toBe(0);
    expect(gateway.asked('POST', '/ns/default/clusters/demo/nodes')[0]?.body).toEqual({
      worker: [{ count: 2, connection: 'lab', spec: 'lab.small' }],
    });
  });

  it('remove names the node', async () => {
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
