import { Kvm } from '@nats-io/kv';
import { PUBLISHED_NAMES_BUCKET } from '@fairlead/contracts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describePublished, startPublished, type Published } from './system/published.js';

const TIMEOUT_MS = 240_000;

describePublished('an API that is published through the tunnel (lab)', () => {
  let published: Published;

  beforeAll(async () => {
    published = await startPublished();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await published?.system.stop();
  }, 60_000);

  it(
    'is known by its name before a machine is requested, and kubectl reaches it by the kubeconfig of an operator [azimuth 16]',
    async () => {
      const { system, name } = published;
      await system.until('demo', ({ type }) => type === 'EndpointAvailable', TIMEOUT_MS);
      const types = (await system.events('demo')).map(({ type }) => type);
      expect(types.indexOf('EndpointReserved')).toBeLessThan(types.indexOf('VmsPlanned'));
      const { server, file } = await published.kubeconfig();
      expect(new URL(server).hostname).toBe(name);
      expect(await published.nodes(file)).toMatch(/^node\/demo-cp-1-/);
      const { status } = await published.manifest();
      expect(status?.endpoint).toBe(server);
      expect(status?.conditions.find(({ type }) => type === 'EndpointAvailable')?.status).toBe('True');
    },
    TIMEOUT_MS,
  );

  it('keeps its name', async () => {
    const { status, body } = await published.apply({ publish: false });
    expect([status, body.errors]).toMatchObject([422, [{ reason: 'cluster.field-immutable' }]]);
  });

  it(
    'leaves no name and no key with its cluster [azimuth 26]',
    async () => {
      const { system, name } = published;
      const names = await new Kvm(system.admin).open(PUBLISHED_NAMES_BUCKET);
      expect((await names.get(name))?.operation).toBe('PUT');
      await system.call('DELETE', '/ns/default/clusters/demo');
      await system.until('demo', ({ type }) => type === 'ClusterDeleted', TIMEOUT_MS);
      expect((await names.get(name))?.operation).not.toBe('PUT');
      expect((await system.events('demo')).map(({ type }) => type)).toContain('EndpointReleased');
    },
    TIMEOUT_MS,
  );
});
