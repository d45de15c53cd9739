import { PUBLISHED_NAMES_BUCKET, type ClusterView, type StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Kvm } from '@nats-io/kv';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { describePublished, startPublished, type Published } from './system/published.js';
import { labRealm } from './system/realm.js';
import type { System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const SERVICE = `
apiVersion: v1
kind: Service
metadata:
  name: grafana
  namespace: default
  labels:
    fairlead.dev/publish: 'true'
  annotations:
    fairlead.dev/publish-name: dashboards
    fairlead.dev/publish-label: Grafana
    fairlead.dev/publish-icon: https://example.org/grafana.svg
    fairlead.dev/publish-description: What happens here
spec:
  ports:
    - port: 80
`;

/** Where a browser that has not signed in is sent from the page. No DNS knows its name. */
const redirectOf = (url: string, system: System): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, host, port } = new URL(url);
    const ca = readFileSync(join(system.environment.dataDir, 'keys', 'tunnel-ca.pem'));
    request({ host: '127.0.0.1', port, servername: hostname, headers: { host }, ca, agent: false }, (response) => {
      response.resume();
      resolve(String(response.headers.location));
    })
      .on('error', reject)
      .end();
  });

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
    'has a Service with the label published behind sign-in at the realm, and no longer when the Service is deleted [azimuth 18]',
    async () => {
      const { system } = published;
      const realm = await labRealm(system);
      const secret = system.labAccess.token;
      await system.call('PUT', '/ns/default/realms/company', { provider: 'keycloak', ...realm, clientSecret: secret });
      expect((await published.apply({ publish: true }, { oidc: {} })).status).toBe(200);
      await system.until('demo', ({ type }) => type === 'IdentityReady', TIMEOUT_MS);
      const { file } = await published.kubeconfig();
      const manifest = join(system.environment.dataDir, 'service.yaml');
      writeFileSync(manifest, SERVICE);
      await published.kubectl(file, 'apply', '--validate=false', '-f', manifest);
      const available = await system.until('demo', ({ type }) => type === 'PublishedServiceAvailable', TIMEOUT_MS);
      const fqdn = published.name.replace(/^api/, 'dashboards');
      expect(available.data).toMatchObject({ name: fqdn });
      const servicesOf = async () => (await system.call<ClusterView>('GET', '/ns/default/clusters/demo')).body.services;
      const [shown] = (await servicesOf()) ?? [];
      expect(shown).toMatchObject({
        ...{ key: 'default-grafana', state: 'Published', available: true, subdomain: 'dashboards', fqdn },
        ...{ label: 'Grafana', icon: 'https://example.org/grafana.svg', description: 'What happens here' },
      });
      expect((await redirectOf(shown?.url ?? '', system)).startsWith(`${realm.issuerUrl}/`)).toBe(true);

      await published.kubectl(file, 'delete', 'service', 'grafana', '-n', 'default');
      const isOver = (event: StoredEvent): boolean =>
        event.type === 'ServicesPublished' && event.data.services.length === 0;
      await system.until('demo', isOver, TIMEOUT_MS);
      const names = await new Kvm(system.admin).open(PUBLISHED_NAMES_BUCKET);
      expect((await names.get(fqdn))?.operation).not.toBe('PUT');
      expect(await servicesOf()).toEqual([]);
    },
    TIMEOUT_MS,
  );

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
