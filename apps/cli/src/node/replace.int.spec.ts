import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const DEMO = '/ns/default/clusters/demo';
const NODE = 'demo-w-1-aaaaa';
const REPLACE = `${DEMO}/nodes/${NODE}/replace`;
const node = {
  name: NODE,
  phase: 'Ready',
  role: 'worker',
  spec: 'lab.medium',
  publicIp: '127.0.0.9',
  createdTime: '2026-11-21T08:00:00.000Z',
  software: { kubelet: '1.34.4' },
  ready: true,
  reason: '',
  updatesDisabled: null,
};

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  gateway.on('GET', `${DEMO}/nodes`, { body: { kind: 'NodeList', items: [node] } });
  gateway.on('POST', REPLACE, { status: 202, headers: { 'x-fairlead-seq': '40' }, body: node });
});
afterEach(() => gateway.stop());

const ask = (...args: readonly string[]): Promise<Ran> =>
  run(['--server', gateway.url, 'node', 'replace', 'demo', NODE, '--yes', ...args]);

describe('fairlead node replace', () => {
  it('has the new node join first, and states how to watch it [ORBITER 31]', async () => {
    const { code, stdout, stderr } = await ask();
    expect([code, stderr]).toEqual([
      0,
      `${NODE} is being replaced; watch it with "fairlead cluster describe demo --watch".\n`,
    ]);
    expect(stdout.split('\n')[1]).toMatch(/^demo-w-1-aaaaa +\S+ +Ready +v1\.34\.4 /u);
    const [asked] = gateway.asked('POST', REPLACE);
    expect(asked?.body).toEqual({ order: 'create-first', reason: '' });
    expect(asked?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/u);
  });

  it('removes the old node first on request, and sends a reason and an idempotency key', async () => {
    expect((await ask('--remove-first', '--reason', 'disk errors', '--idempotency-key', 'k-1')).code).toBe(0);
    const [asked] = gateway.asked('POST', REPLACE);
    expect(asked?.body).toEqual({ order: 'remove-first', reason: 'disk errors' });
    expect(asked?.headers['idempotency-key']).toBe('k-1');
  });

  it('prints the nodes of the cluster with --output json', async () => {
    expect(JSON.parse((await ask('--output', 'json')).stdout)).toEqual([node]);
  });

  it('refuses --timeout without --wait before any request', async () => {
    const { code, stderr } = await ask('--timeout', '1m');
    expect([code, stderr]).toEqual([2, expect.stringContaining('--timeout needs --wait')]);
    expect(gateway.received).toEqual([]);
  });

  it.each([
    [404, 'node.unknown', 5],
    [409, 'node.control-plane-replacement', 6],
    [409, 'cluster.paused', 6],
  ])('that is refused with %i %s exits with %i and the message of the server', async (status, reason, exit) => {
    gateway.on('POST', REPLACE, refusal(status, reason, 'No, because.'));
    expect(await ask()).toEqual({
      code: exit,
      stdout: '',
      stderr: `Error: No, because. [${reason}]\n  What can be done.\n`,
    });
  });
});

describe('fairlead node replace of several nodes', () => {
  const REPLACEMENTS = `${DEMO}/nodes/replacements`;
  const OTHER = 'demo-w-2-bbbbb';
  const answer = { kind: 'NodeReplacements', nodes: [NODE, OTHER], operations: ['01a'] };

  const askAll = (...args: readonly string[]): Promise<Ran> =>
    run(['--server', gateway.url, 'node', 'replace', 'demo', ...args]);

  beforeEach(() => {
    gateway.on('POST', REPLACEMENTS, { status: 202, headers: { 'x-fairlead-seq': '40' }, body: answer });
  });

  it('sends a selection, a reason and a key [ORBITER 31]', async () => {
    const { code, stdout } = await askAll(NODE, OTHER, '--yes', '--reason', 'bad disks', '--idempotency-key', 'k-1');
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${NODE}, ${OTHER} will be replaced`)]);
    const [asked] = gateway.asked('POST', REPLACEMENTS);
    expect(asked?.body).toEqual({ select: { nodes: [NODE, OTHER] }, reason: 'bad disks' });
    expect(asked?.headers['idempotency-key']).toBe('k-1');
    await askAll('--pool', 'web', '-l', 'tier=web', '--yes');
    expect(gateway.asked('POST', REPLACEMENTS)[1]?.body).toEqual({
      select: { pools: ['web'], labels: { tier: 'web' } },
    });
    await askAll('--all', '--yes', '--output', 'json');
    expect(gateway.asked('POST', REPLACEMENTS)[2]?.body).toEqual({ select: { all: true } });
  });

  it.each([
    [['--all'], 'There is no terminal'],
    [[], 'no node is named'],
    [[NODE, '--all', '--yes'], 'nodes are named, and others selected'],
    [['--all', '--remove-first', '--yes'], '--remove-first is for one node'],
  ])('refuses %j before any request', async (args, words) => {
    const { code, stderr } = await askAll(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(gateway.received).toEqual([]);
  });
});

describe('fairlead node abandon', () => {
  const ABANDON = `${DEMO}/nodes/abandon`;
  const abandon = (...args: readonly string[]): Promise<Ran> =>
    run(['--server', gateway.url, 'node', 'abandon', 'demo', ...args]);

  beforeEach(() => void gateway.on('POST', ABANDON, { status: 202, headers: { 'x-fairlead-seq': '40' }, body: {} }));

  it('asks for confirmation, and requires --yes without a terminal [ORBITER 31]', async () => {
    expect(await abandon()).toMatchObject({ code: 2, stderr: expect.stringContaining('Give --yes') });
    expect(gateway.asked('POST', ABANDON)).toEqual([]);
    expect((await abandon('--yes')).code).toBe(0);
    expect(gateway.asked('POST', ABANDON)).toHaveLength(1);
  });
});
