import { REFUSALS } from '@fairlead/contracts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';

const ORPHANS = '/connections/lab/orphans';
const STRAY = `${ORPHANS}/i-1`;
const orphan = (id: string, more: object = {}) => ({
  id,
  name: `stray-${id}`,
  group: 'default.stray.lab',
  status: 'running',
  spec: 'lab.medium',
  zone: 'lab-1a',
  foundTime: '2026-11-21T08:00:00.000Z',
  deletion: 'none',
  reason: '',
  ...more,
});
const ITEMS = [
  orphan('i-1'),
  orphan('i-2', { deletion: 'requested' }),
  orphan('i-3', { deletion: 'refused', reason: 'a cluster has planned it' }),
];

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  gateway.on('GET', ORPHANS, { body: { kind: 'OrphanList', items: ITEMS } });
  gateway.on('DELETE', STRAY, { status: 202, headers: { 'x-fairlead-seq': '7' }, body: { kind: 'Status', code: 202 } });
});
afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, 'connection', 'orphans', ...args], io);

describe('fairlead connection orphans list', () => {
  it('shows each machine without a cluster, and the state of its deletion', async () => {
    const { code, stdout } = await ask(['list', 'lab']);
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['ID', 'NAME', 'GROUP', 'STATE', 'MACHINE TYPE', 'ZONE', 'FOUND', 'DELETION'],
      ['i-1', 'stray-i-1', 'default.stray.lab', 'running', 'lab.medium', 'lab-1a', '2026-11-21T08:00:00.000Z', '-'],
      [
        'i-2',
        'stray-i-2',
        'default.stray.lab',
        'running',
        'lab.medium',
        'lab-1a',
        '2026-11-21T08:00:00.000Z',
        'being deleted',
      ],
      [
        'i-3',
        'stray-i-3',
        'default.stray.lab',
        'running',
        'lab.medium',
        'lab-1a',
        '2026-11-21T08:00:00.000Z',
        'not deleted: a cluster has planned it',
      ],
    ]);
  });

  it('prints the machines with --output json, and their ids with --output name', async () => {
    expect(JSON.parse((await ask(['list', 'lab', '--output', 'json'])).stdout)).toEqual(ITEMS);
    expect((await ask(['list', 'lab', '--output', 'name'])).stdout).toBe('i-1\ni-2\ni-3\n');
  });

  it('prints a message if there are none', async () => {
    gateway.on('GET', ORPHANS, { body: { kind: 'OrphanList', items: [] } });
    expect((await ask(['list', 'lab'])).stdout).toBe('The connection lab has no orphaned machines.\n');
  });

  it('exits with 5 for a connection that does not exist', async () => {
    gateway.on('GET', ORPHANS, refusal(404, 'connection.not-found', 'There is no connection lab'));
    expect((await ask(['list', 'lab'])).code).toBe(5);
  });
});

describe('fairlead connection orphans delete', () => {
  it('asks for confirmation, and deletes the confirmed machine', async () => {
    const { code, stdout, stderr } = await ask(['delete', 'lab', 'i-1'], fakeIo({ answer: 'y' }));
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'Machine i-1 of connection lab will be checked again and deleted.\n',
      stderr: 'Machine i-1 of lab will be deleted, and its data lost.\nGo on? [y/N] \n',
    });
    expect(gateway.asked('DELETE', STRAY)).toHaveLength(1);
  });

  it.each(['', 'n', 'nay'])('deletes nothing if the answer is "%s"', async (answer) => {
    const { code, stderr } = await ask(['delete', 'lab', 'i-1'], fakeIo({ answer }));
    expect([code, stderr]).toEqual([1, expect.stringContaining('Not confirmed; nothing was changed')]);
    expect(gateway.asked('DELETE', STRAY)).toEqual([]);
  });

  it('deletes nothing without a terminal, and names the option', async () => {
    const { code, stderr } = await ask(['delete', 'lab', 'i-1']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give --yes to skip the confirmation.')]);
    expect(gateway.asked('DELETE', STRAY)).toEqual([]);
  });

  it('prints JSON with --yes and --output json, and does not ask', async () => {
    const { code, stdout, stderr } = await ask(['delete', 'lab', 'i-1', '--yes', '--output', 'json']);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ name: 'lab', id: 'i-1', deleting: true });
  });

  it('names the command that lists orphans for a machine that is not one', async () => {
    const { help } = REFUSALS['connection.orphan-unknown'];
    const message = "The connection 'lab' has no orphaned machine i-1";
    const of = { help: help.replaceAll('{connection}', 'lab') };
    gateway.on('DELETE', STRAY, refusal(404, 'connection.orphan-unknown', message, of));
    const { code, stderr } = await ask(['delete', 'lab', 'i-1', '--yes']);
    expect([code, stderr]).toEqual([5, expect.stringContaining('"fairlead connection orphans list lab"')]);
  });
});

describe('fairlead connection orphans adopt', () => {
  const ADOPT = `${STRAY}/adopt`;
  const into = ['--cluster', 'demo', '--pool', 'web'];
  beforeEach(() => {
    gateway.on('POST', ADOPT, { status: 202, headers: { 'x-fairlead-seq': '7' }, body: { kind: 'Status', code: 202 } });
  });

  it('asks for confirmation, and states the target of the machine and that it is deleted with its node', async () => {
    const { code, stdout, stderr } = await ask(['adopt', 'lab', 'i-1', ...into], fakeIo({ answer: 'y' }));
    expect([code, stdout]).toEqual([
      0,
      'Machine i-1 of connection lab is checked, and becomes a node of pool web of demo.\n',
    ]);
    expect(stderr).toContain('Machine i-1 of lab will become a node of pool web of demo, and be deleted with it.');
    expect(gateway.asked('POST', ADOPT)).toMatchObject([
      { body: { namespace: 'default', cluster: 'demo', pool: 'web' } },
    ]);
  });

  it('changes nothing without confirmation', async () => {
    expect((await ask(['adopt', 'lab', 'i-1', ...into], fakeIo({ answer: '' }))).code).toBe(1);
    expect(gateway.asked('POST', ADOPT)).toEqual([]);
  });

  it('requires a cluster and a pool', async () => {
    const { code, stderr } = await ask(['adopt', 'lab', 'i-1', '--yes', '--cluster', 'demo']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--pool')]);
  });
});
