import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, 'host', 'power', ...args], io);

const site = (last: object | null = null, name = 'site') => ({
  name,
  hosts: [
    {
      ...{ name: 'rack-1', address: '198.51.100.11', state: 'in-use', cluster: 'default/demo', machine: 'demo-w-1' },
      power: { protocol: 'redfish', last },
    },
  ],
});
const answer = (power: string | null, problem = '') => ({ action: 'cycle', request: 7, power, problem, time: 'now' });

describe('host power', () => {
  beforeEach(() => {
    gateway.on('GET', '/connections', { body: { items: [site(), { name: 'lab' }] } });
    gateway.on('POST', '/connections/site/hosts/rack-1/power', {
      status: 202,
      body: {},
      headers: { 'X-Fairlead-Seq': '7' },
    });
    gateway.on('GET', '/connections/site', { body: site(answer('on')) });
  });

  it('finds the connection of the host, and says what its controller answered', async () => {
    const { stdout } = await ask(['rack-1', 'status']);
    expect(stdout).toContain('The power of host rack-1 is on.');
    expect(gateway.received.find(({ method }) => method === 'POST')?.body).toEqual({ action: 'status' });
  });

  it('asks before it switches a host off, and says who has it', async () => {
    const { code, stderr } = await ask(['rack-1', 'cycle']);
    expect([code === 0, gateway.received.some(({ method }) => method === 'POST')]).toEqual([false, false]);
    expect(stderr).toContain('it is demo-w-1 of default/demo');
    expect((await ask(['rack-1', 'cycle', '--yes'])).code).toBe(0);
  });

  it('says why the power could not be switched', async () => {
    gateway.on('GET', '/connections/site', { body: site(answer(null, 'no answer within 15 s')) });
    const { code, stderr } = await ask(['rack-1', 'on']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('no answer within 15 s')]);
  });

  it('wants the connection named where several have such a host', async () => {
    gateway.on('GET', '/connections', { body: { items: [site(), site(null, 'other')] } });
    const { code, stderr } = await ask(['rack-1', 'status']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('Several connections have a host rack-1: site, other.'),
    ]);
    expect((await ask(['rack-1', 'status', '--connection', 'site'])).code).toBe(0);
    expect((await ask(['rack-9', 'status'])).code).toBe(2);
    expect((await ask(['rack-1', 'reset'])).code).toBe(2);
  });
});
