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
describe('token', () => {
  it('create prints the token alone, for a file', async () => {
    gateway.on('POST', '/tokens', {
      status: 201,
      body: { id: 't1', name: 'ci', roles: [], createdTime: '', token: 'flt_secret' },
    });
    const roles = ['--role', 'team-a=operator', '--role', '*=viewer'];
    const { stdout } = await ask(['token', 'create', 'ci', ...roles, '-o', 'name']);
    expect(stdout).toBe('flt_secret\n');
    expect(gateway.received[0]?.body).toEqual({
      name: 'ci',
      roles: [
        { namespace: 'team-a', role: 'operator' },
        { namespace: '*', role: 'viewer' },
      ],
    });
  });

  it('create grants nothing in all namespaces unless "*" is written: the namespace is that of the command', async () => {
    const roles = [{ namespace: 'team-a', role: 'operator' }];
    gateway.on('POST', '/tokens', {
      status: 201,
      body: { id: 't1', name: 'anna', roles, createdTime: '', token: 'x' },
    });
    const grantedBy = async (args: readonly string[], env: Record<string, string> = {}) => {
      expect((await ask([...args, '--role', 'operator'], fakeIo({ env }))).code).toBe(0);
      return (gateway.received.at(-1)?.body as { roles: unknown }).roles;
    };
    const create = ['token', 'create', 'anna'];
    expect(await grantedBy([...create, '--namespace', 'team-a'])).toEqual(roles);
    expect(await grantedBy(['--namespace', 'team-a', ...create])).toEqual(roles);
    expect(await grantedBy(create, { FAIRLEAD_NAMESPACE: 'team-a' })).toEqual(roles);
    expect(await grantedBy(create)).toEqual([{ namespace: 'default', role: 'operator' }]);
    expect((await ask([...create, '-n', 'team-a', '--role', 'operator'])).stderr).toContain('team-a=operator');
    const useless = await ask([...create, '-n', 'team-a', '--role', '*=operator']);
    expect([useless.code, useless.stderr]).toEqual([2, expect.stringContaining('--namespace has no effect')]);
  });

  it('create asks for a token that ends, and list shows when', async () => {
    const expiresAt = new Date(Date.now() - 1_000).toISOString();
    const token = { id: 't1', name: 'ci', roles: [], createdTime: '' };
    gateway.on('POST', '/tokens', { status: 201, body: { ...token, token: 'flt_secret' } });
    await ask(['token', 'create', 'ci', '--role', 'viewer', '--expires-in', '30d']);
    const { expiresAt: asked } = gateway.received[0]?.body as { readonly expiresAt: string };
    expect(Math.abs(Date.parse(asked) - Date.now() - 30 * 86_400_000)).toBeLessThan(60_000);
    gateway.on('GET', '/tokens', { body: { items: [{ ...token, expiresAt }, token] } });
    const { stdout } = await ask(['token', 'list']);
    expect(stdout).toContain(`${expiresAt} (ended)`);
    expect(stdout).toContain('never');
  });
});
