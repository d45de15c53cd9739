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
  run(['--server', gateway.url, ...args], io);
describe.each([
  [['namespace', 'delete', 'team-a'], '/ns/team-a', 'The namespace team-a will be deleted'],
  [['connection', 'delete', 'lab2'], '/connections/lab2', 'The connection lab2 will be deleted'],
  [['token', 'revoke', 'e8b2'], '/tokens/e8b2', 'The token e8b2 will be revoked with immediate effect'],
  [
    ['autoscaler', 'revoke', 'demo', '9f2c4e6a8b0d1f35'],
    '/ns/default/clusters/demo/autoscaler/credentials/9f2c4e6a8b0d1f35',
    'The certificate 9f2c4e6a8b0d1f35 of demo will be revoked with immediate effect',
  ],
  [['realm', 'delete', 'company'], '/ns/default/realms/company', 'The realm company will be deleted'],
  [
    ['addon', 'delete-secret', 'audit'],
    '/ns/default/addon-secrets/audit',
    'changes of add-ons that refer to it will fail',
  ],
  [['hook', 'delete-secret', 'audit'], '/ns/default/hook-secrets/audit', 'hooks that refer to it will fail'],
])('%j', (command, path, what) => {
  beforeEach(() => void gateway.on('DELETE', path, { body: { kind: 'Status', code: 200, message: '' } }));

  it('states the consequences and asks, unless --yes is given', async () => {
    const no = await ask(command, fakeIo({ answer: 'n' }));
    expect([no.code, no.stderr]).toEqual([1, expect.stringContaining(what)]);
    const unattended = await ask(command);
    expect([unattended.code, unattended.stderr]).toEqual([2, expect.stringContaining('Give --yes')]);
    expect(gateway.received).toEqual([]);
    expect((await ask(command, fakeIo({ answer: 'y' }))).code).toBe(0);
    expect((await ask([...command, '--yes'])).code).toBe(0);
    expect(gateway.asked('DELETE', path)).toHaveLength(2);
  });
});
