import {
  APPLICATIONS_MAX,
  NONE,
  type ApplicationList,
  type ApplicationName,
  type ApplicationVersionView,
  type ApplicationView,
  type ErrorView,
  type Fact,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { NOWHERE, useGateway } from '../gateway.fixtures.js';

const gateway = useGateway();
const GRAFANA = '/applications/grafana';
const application = 'grafana' as ApplicationName;
const BODY = { repository: 'https://charts.example.org', chart: 'grafana', range: '>=8.0.0 <9.0.0', keep: 2 };

type Answer = ApplicationView & Omit<ErrorView, 'kind'>;
const put = (path: string, body: object = BODY, token?: string) =>
  gateway.ask<Answer>('PUT', path, { body, ...(token === undefined ? {} : { token }) });
const registrationOf = async (): Promise<string> =>
  (await gateway.log()).findLast(({ type }) => type === 'ApplicationRegistered')?.meta.id ?? '';
const shownAfter = async <Body = ApplicationView>(fact: Fact, path = GRAFANA): Promise<Body> => {
  const { meta } = await gateway.state(fact, NOWHERE);
  return (await gateway.ask<Body>('GET', `${path}?minSeq=${meta.seq}`)).body;
};
const added = (version: string, schema: string | null): Fact => ({
  type: 'ApplicationVersionAdded',
  data: { application, version, digest: 'a'.repeat(64), appVersion: '11.0', schema },
});

describe('an application of the catalogue', () => {
  it('is registered for the installation, and is not known until infra-svc has read its repository', async () => {
    const { status, body } = await put(GRAFANA);
    expect([status, body]).toEqual([
      200,
      {
        kind: 'Application',
        name: 'grafana',
        ...BODY,
        label: '',
        description: '',
        icon: '',
        registeredTime: expect.any(String),
        state: 'Unknown',
        reason: '',
        message: '',
        changedTime: null,
        versions: [],
      },
    ]);
    const before = (await gateway.log()).length;
    expect((await put(GRAFANA)).status).toBe(200);
    expect((await gateway.log()).length).toBe(before);
    expect((await gateway.ask<ApplicationList>('GET', '/applications')).body.items).toEqual([body]);
  });

  it('shows its versions, the newest first, and the schema of each apart [azimuth 33]', async () => {
    await gateway.state(added('8.9.0', null), NOWHERE);
    const { versions } = await shownAfter(added('8.10.0', '{"__proto__":1,"type":"object"}'));
    expect(versions.map(({ version }) => version)).toEqual(['8.10.0', '8.9.0']);
    expect(JSON.stringify(versions)).not.toContain('schema');
    const one = await gateway.ask<ApplicationVersionView>('GET', `${GRAFANA}/versions/8.10.0`);
    expect([one.status, JSON.stringify(one.body.schema)]).toEqual([200, '{"__proto__":1,"type":"object"}']);
    const other = await gateway.ask<ApplicationVersionView>('GET', `${GRAFANA}/versions/8.9.0`);
    expect(other.body).toMatchObject({ application: 'grafana', version: '8.9.0', schema: null });
    const missing = await gateway.ask<ErrorView>('GET', `${GRAFANA}/versions/1.0.0`);
    expect([missing.status, missing.body.reason]).toEqual([404, 'application.version-not-found']);
  });

  it('reports that no version matches, until it is registered again or synchronized [azimuth 33]', async () => {
    const registration = await registrationOf();
    const problem = { reason: 'NoMatchingVersion', message: 'it has 7.3.0' } as const;
    const notSynchronized: Fact = {
      type: 'ApplicationNotSynchronized',
      data: { application, registration, ...problem },
    };
    expect(await shownAfter(notSynchronized)).toMatchObject({ state: 'NotSynchronized', ...problem });
    const synchronized: Fact = {
      type: 'ApplicationSynchronized',
      data: { application, registration, versions: ['8.10.0', '8.9.0'] },
    };
    expect(await shownAfter(synchronized)).toMatchObject({ state: 'Synchronized', reason: '', message: '' });
    await put(GRAFANA, { ...BODY, keep: 3 });
    expect(await shownAfter(notSynchronized)).toMatchObject({ state: 'Unknown', keep: 3 });
  });

  it('is synchronized on request', async () => {
    const { status } = await gateway.ask('POST', `${GRAFANA}/sync`);
    const [last] = (await gateway.log()).filter(({ type }) => type === 'ApplicationSyncRequested');
    expect([status, last?.data]).toEqual([202, { name: 'grafana' }]);
    expect((await gateway.ask<ErrorView>('POST', '/applications/none/sync')).body.reason).toBe('application.not-found');
  });

  it('is refused where its range, its repository or its certificate is none', async () => {
    const pem = '-----BEGIN CERTIFICATE-----\nMIIBnotacertificate\n-----END CERTIFICATE-----\n';
    expect((await put(GRAFANA, { ...BODY, range: 'newest' })).body.reason).toBe('application.range-invalid');
    expect((await put(GRAFANA, { ...BODY, ca: pem })).body.reason).toBe('application.ca-invalid');
    for (const repository of ['http://charts.example.org', 'https://user:x@charts.example.org', 'file:///etc'])
      expect((await put(GRAFANA, { ...BODY, repository })).status).toBe(400);
    for (const change of [{ keep: 21 }, { keep: 0 }, { icon: 'javascript:alert(1)' }, { chart: '../x' }, { extra: 1 }])
      expect((await put(GRAFANA, { ...BODY, ...change })).status).toBe(400);
  });

  it('is not found under what cannot be a name', async () => {
    expect((await put('/applications/Not_a_name')).body.reason).toBe('application.not-found');
    const long = await gateway.ask<ErrorView>('GET', `${GRAFANA}/versions/${'1'.repeat(200)}`);
    expect([long.status, long.body.reason]).toEqual([404, 'application.version-not-found']);
  });

  it('is read with any role, and registered, synchronized and deleted by administrators of all namespaces', async () => {
    const token = async (namespace: string, role: string): Promise<string> => {
      const body = { name: role, roles: [{ namespace, role }] };
      return (await gateway.ask<{ token: string }>('POST', '/tokens', { body })).body.token;
    };
    const [viewer, admin] = [await token('default', 'viewer'), await token('default', 'admin')];
    expect((await gateway.ask('GET', GRAFANA, { token: viewer })).status).toBe(200);
    expect((await gateway.ask('GET', `${GRAFANA}/versions/8.10.0`, { token: viewer })).status).toBe(200);
    expect((await put(GRAFANA, BODY, admin)).status).toBe(403);
    expect((await gateway.ask('POST', `${GRAFANA}/sync`, { token: admin })).status).toBe(403);
    expect((await gateway.ask('DELETE', GRAFANA, { token: admin })).status).toBe(403);
    const everywhere = await token('*', 'admin');
    expect((await put('/applications/loki', BODY, everywhere)).status).toBe(200);
    expect((await gateway.ask('DELETE', '/applications/loki', { token: everywhere })).status).toBe(200);
  });

  it('is gone with its versions, also where the next of its name is another one', async () => {
    expect((await gateway.ask('DELETE', GRAFANA)).status).toBe(200);
    expect((await gateway.ask<ErrorView>('GET', GRAFANA)).body.reason).toBe('application.not-found');
    expect((await gateway.ask<ErrorView>('GET', `${GRAFANA}/versions/8.9.0`)).status).toBe(404);
    await gateway.state({ type: 'ApplicationVersionRemoved', data: { application, version: '8.9.0' } }, NOWHERE);
    const last: Fact = { type: 'ApplicationVersionRemoved', data: { application, version: '8.10.0' } };
    await shownAfter(last, '/applications');
    expect((await put(GRAFANA)).body).toMatchObject({ state: 'Unknown', versions: [] });
    expect((await gateway.log(`evt.*.${NONE}.${NONE}.catalogue-grafana.>`)).length).toBeGreaterThan(0);
  });

  it('is one of a limited number, whatever their names', async () => {
    for (let at = 1; at < APPLICATIONS_MAX; at += 1)
      expect((await put(at === 1 ? '/applications/constructor' : `/applications/a${at}`)).status).toBe(200);
    expect((await put('/applications/more')).body.reason).toBe('application.too-many');
  });
});
