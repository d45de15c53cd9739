import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const CONNECTION = '/connections/lab';
const ROTATE = `${CONNECTION}/ssh-key/rotate`;
const host = { namespace: 'default', cluster: 'demo', node: 'demo-w-1-abcde' };
const running = { status: 'replacing', requestedTime: 't0', replaced: 2, pending: 1, hosts: [host], problem: '' };
const rotated = { time: 't1', replaced: 3, leftOut: 0, hosts: [] };

describe('keys rotate connection', () => {
  let gateway: FakeGateway;

  beforeEach(async () => {
    gateway = new FakeGateway();
    await gateway.start();
    gateway.on('POST', ROTATE, { status: 202, body: { kind: 'Status', code: 202, message: 'requested' } });
  });
  afterEach(() => gateway.stop());

  /** The gateway returns these views in order, and then repeats the last one. */
  const shows = (...keys: readonly object[]): void => {
    let at = 0;
    gateway.on('GET', CONNECTION, () => {
      const sshKey = { name: 'lab-sshkey', publicKey: 'ssh-ed25519 AAAA', rotation: null, rotated: null, ...keys[at] };
      at = Math.min(at + 1, keys.length - 1);
      return { body: { name: 'lab', kind: 'Connection', provider: 'lab', sshKey } };
    });
  };
  const rotate = (...more: readonly string[]): Promise<Ran> =>
    run(['--server', gateway.url, 'keys', 'rotate', 'connection', 'lab', ...more], fakeIo());
  const sent = (): readonly unknown[] => gateway.received.filter(({ path }) => path === ROTATE).map(({ body }) => body);

  it('follows the rotation, and names the hosts that still use the former key, until that key is destroyed', async () => {
    shows({}, { rotation: running }, { rotated });
    const { code, stdout, stderr } = await rotate();
    expect([code, sent()]).toEqual([0, [{}]]);
    expect(stderr).toContain('2 hosts have the new key only, 1 still need the former one: default/demo/demo-w-1-abcde');
    expect(stdout).toContain('The SSH key of connection lab is rotated: 3 hosts have the new key only');
  });

  it('only requests the rotation with --no-wait, and completes it with --force', async () => {
    shows({ rotation: running });
    expect((await rotate('--no-wait')).code).toBe(0);
    expect((await rotate('--no-wait', '--force')).code).toBe(0);
    expect(sent()).toEqual([{}, { force: true }]);
  });

  it('exits with the cause if the rotation stops, and as timed out if hosts are unreachable', async () => {
    shows({ rotation: { ...running, status: 'failed', problem: 'delete SSH key on lab failed: no' } });
    const failed = await rotate();
    expect([failed.code === 0, failed.stderr]).toEqual([
      false,
      expect.stringContaining('delete SSH key on lab failed: no'),
    ]);
    shows({ rotation: running });
    const late = await rotate('--timeout', '0s');
    expect([late.code, late.stderr]).toEqual([8, expect.stringContaining('default/demo/demo-w-1-abcde')]);
  });

  it('exits with the refusal of the server, and advice', async () => {
    shows({});
    gateway.on('POST', ROTATE, refusal(409, 'connection.ssh-key-own', "The SSH key of connection 'lab' is your own"));
    const { code, stderr } = await rotate();
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('is your own')]);
  });
});
