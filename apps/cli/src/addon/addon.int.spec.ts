import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type Ran } from '../spec/io.fixtures.js';

const CLUSTER = '/ns/default/clusters/demo';
const METRICS = {
  ...{ name: 'metrics', phase: 'Failed', version: '3.13.0', revision: 2, since: '2026-11-21T08:30:00.000Z' },
  message: 'helm upgrade on metrics failed: no',
};

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  gateway.on('GET', CLUSTER, { body: clusterView({ addons: [METRICS] } as never) });
  const spec = { pools: [], addons: [{ name: 'metrics', application: 'metrics-server', version: '3.13.0' }] };
  gateway.on('GET', `${CLUSTER}/manifest`, { body: { metadata: { name: 'demo' }, spec } });
});
afterEach(() => gateway.stop());

const addon = (...args: readonly string[]): Promise<Ran> => run(['--server', gateway.url, 'addon', ...args]);

describe('fairlead addon', () => {
  it('list shows phase, version and revision of each add-on, also in JSON', async () => {
    expect((await addon('list', 'demo')).stdout).toMatch(/^metrics +Failed +3\.13\.0/mu);
    expect(JSON.parse((await addon('list', 'demo', '-o', 'json')).stdout)).toEqual([METRICS]);
  });

  it('get and its alias show print the declaration, and refuse an unknown add-on', async () => {
    for (const verb of ['get', 'show'])
      expect((await addon(verb, 'demo', 'metrics')).stdout).toContain('metrics-server');
    const { code, stderr } = await addon('get', 'demo', 'nothing');
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('has no add-on nothing')]);
    expect(code).not.toBe(0);
  });

  it('set-secret sends values from standard input, and prints none of them', async () => {
    const path = '/ns/default/addon-secrets/registry';
    gateway.on('PUT', path, { body: { kind: 'AddonSecret', name: 'registry', setTime: METRICS.since } });
    const io = fakeIo({ stdin: 'username: ada\npassword: open-sesame\n' });
    const { stdout } = await run(
      ['--server', gateway.url, 'addon', 'set-secret', 'registry', '--values-file', '-'],
      io,
    );
    expect(gateway.asked('PUT', path)[0]?.body).toEqual({ values: { username: 'ada', password: 'open-sesame' } });
    expect(stdout).toBe('The add-on secret registry is set.\n');
  });

  it('get-secret prints values as YAML, which set-secret takes', async () => {
    const values = { username: 'ada', auth: { password: 'open-sesame' } };
    const body = { kind: 'AddonSecretValues', name: 'registry', values };
    gateway.on('GET', '/ns/default/addon-secrets/registry/values', { body });
    expect((await addon('get-secret', 'registry')).stdout).toBe('username: ada\nauth:\n  password: open-sesame\n');
  });
});
