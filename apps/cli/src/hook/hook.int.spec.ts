import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const SECRET = '/ns/default/hook-secrets/inventory';
const SKIP = '/ns/default/clusters/demo/hooks/backup/skip';
const VIEW = { kind: 'HookSecret', name: 'inventory', setTime: '2026-11-21T08:30:00.000Z' };

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});
afterEach(() => gateway.stop());

const hook = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'hook', ...args]);
const valueSent = (): string => (gateway.asked('PUT', SECRET)[0]?.body as { readonly value: string }).value;

describe('fairlead hook', () => {
  it('skip sends the point to skip, and requires a reason', async () => {
    gateway.on('POST', SKIP, { body: clusterView({}) });
    const { code } = await hook('skip', 'demo', 'backup', '--point', 'BeforeNodeDrain', '--reason', 'it is down');
    expect([code, gateway.asked('POST', SKIP)[0]?.body]).toEqual([
      0,
      { point: 'BeforeNodeDrain', reason: 'it is down' },
    ]);
    expect((await hook('skip', 'demo', 'backup')).code).toBe(2);
  });

  it('set-secret prints a value that it generates, but not the value of a file', async () => {
    gateway.on('PUT', SECRET, { body: VIEW });
    const generated = await hook('set-secret', 'inventory');
    expect(generated.stdout.trim()).toBe(valueSent());
    expect(valueSent()).toMatch(/^[\w-]{43}$/u);
  });

  it('set-secret prints how long the old value is valid, which an option sets', async () => {
    const oldValidUntil = '2026-11-22T08:30:00.000Z';
    gateway.on('PUT', SECRET, { body: { ...VIEW, oldValidUntil } });
    const rotated = await hook('set-secret', 'inventory', '--expire-old-after', '90m');
    expect(gateway.asked('PUT', SECRET)[0]?.body).toMatchObject({ expireOldAfterSeconds: 5_400 });
    expect(rotated.stdout.trim()).toBe(valueSent());
    expect(rotated.stderr).toBe(`Requests are signed with the old value, too, until ${oldValidUntil}.\n`);
    await hook('set-secret', 'inventory', '--expire-old-after', '0s');
    expect(gateway.asked('PUT', SECRET)[1]?.body).toMatchObject({ expireOldAfterSeconds: 0 });
    expect((await hook('set-secret', 'inventory', '--expire-old-after', '8d')).code).toBe(2);
    gateway.on('GET', '/ns/default/hook-secrets', { body: { items: [{ ...VIEW, oldValidUntil }] } });
    expect((await hook('secrets')).stdout).toContain(oldValidUntil);
  });

  it('get-secret prints the value alone, as a file needs it', async () => {
    gateway.on('GET', `${SECRET}/value`, {
      body: { kind: 'HookSecretValue', name: 'inventory', value: 'v'.repeat(40) },
    });
    expect((await hook('get-secret', 'inventory')).stdout).toBe(`${'v'.repeat(40)}\n`);
  });

  it('secrets lists names, and delete-secret deletes one', async () => {
    gateway.on('GET', '/ns/default/hook-secrets', { body: { kind: 'HookSecretList', items: [VIEW] } });
    expect((await hook('secrets')).stdout).toContain('inventory');
    gateway.on('DELETE', SECRET, { body: { kind: 'Status', code: 200, message: 'gone' } });
    expect((await hook('delete-secret', 'inventory', '--yes')).stdout).toBe('The hook secret inventory is deleted.\n');
  });
});
