import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeGateway } from '../spec/gateway.fixtures.js';
import { run, type Ran } from '../spec/io.fixtures.js';

const MANIFEST = '/ns/default/clusters/demo/manifest';
const END = '2026-12-01T18:00:00.000Z';

const manifest = (lease: object | undefined) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'demo', namespace: 'default', uid: 'u', resourceVersion: '17' },
  spec: { version: 'v1.34.4', ...(lease === undefined ? {} : { lease }) },
});

describe('fairlead cluster extend', () => {
  let gateway: FakeGateway;
  beforeEach(async () => {
    gateway = new FakeGateway();
    await gateway.start();
  });
  afterEach(() => gateway.stop());
  const ask = (...args: readonly string[]): Promise<Ran> =>
    run(['--server', gateway.url, 'cluster', 'extend', 'demo', ...args]);
  const declared = (lease: object | undefined): void => {
    gateway.on('GET', MANIFEST, { status: 200, body: manifest(lease) });
    gateway.on('PUT', MANIFEST, { status: 200, body: manifest(lease) });
  };

  it.each([
    ['--by', '48h', '2026-12-03T18:00:00.000Z'],
    ['--until', '2026-12-24T18:00:00Z', '2026-12-24T18:00:00.000Z'],
  ])('changes only the end in the manifest that it has read (%s)', async (option, value, endsAt) => {
    declared({ endsAt: END, gracePeriod: '1h' });
    const { code, stdout, stderr } = await ask(option, value);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`The lease of demo will end at ${endsAt}, if a reservation does not prevent it.`);
    expect(gateway.asked('PUT', MANIFEST)[0]?.body).toEqual({
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'demo', namespace: 'default', resourceVersion: '17' },
      spec: { version: 'v1.34.4', lease: { endsAt, gracePeriod: '1h' } },
    });
  });

  it('states what to do if the cluster has no end, or no new end was given', async () => {
    declared(undefined);
    const none = await ask('--by', '1h');
    expect([none.code === 0, none.stderr]).toEqual([false, expect.stringContaining('Declare spec.lease')]);
    const nothing = await ask();
    expect([nothing.code === 0, nothing.stderr]).toEqual([false, expect.stringContaining('48h, or --until')]);
    expect(gateway.asked('PUT', MANIFEST)).toEqual([]);
  });
});
