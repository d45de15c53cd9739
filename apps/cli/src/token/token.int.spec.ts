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
    const { stdout } = await ask([
      'token',
      'create',
      'ci',
      '--role',
      'team-a=operator',
      '--role',
      'viewer',
      '-o',
      'name',
    ]);
    expect(stdout).toBe('flt_secret\n');
    expect(gateway.received[0]?.body).toEqual({
      name: 'ci',
      roles: [
        { namespace: 'team-a', role: 'operator' },
        { namespace: '*', role: 'viewer' },
      ],
    });
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
