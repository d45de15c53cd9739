import type { ClusterView, RealmView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@fairlead/testing';
import { parse } from 'yaml';
import { askNodes } from './system/issuer.js';
import { labRealm, realmAdmin, signIn, type LabRealm } from './system/realm.js';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const CLUSTER = '/ns/default/clusters/demo';
const REALM = '/ns/default/realms/company';
const CLIENT = 'kube-default.demo';
/** A cluster that waits for a realm continues at most this long after it is ready. */
const GOES_ON_WITHIN_MS = 15_000;

describe('users of a cluster sign in at a realm of its namespace', () => {
  let system: System;
  let realm: LabRealm;

  beforeAll(async () => {
    system = await startSystem({ light: false, identity: true });
    realm = await labRealm(system);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  const until = (type: StoredEvent['type'], isIt: (event: StoredEvent) => boolean = () => true) =>
    system.until('demo', (event) => event.type === type && isIt(event), TIMEOUT_MS);
  const types = async (): Promise<readonly string[]> => (await system.events('demo')).map(({ type }) => type);
  const register = (clientSecret: string) =>
    system.call<RealmView>('PUT', REALM, { provider: 'keycloak', ...realm, clientSecret });
  const shown = async (): Promise<object | undefined> => {
    const { body } = await system.call<ClusterView>('GET', CLUSTER);
    return body.conditions.find(({ type }) => type === 'IdentityReady');
  };

  it(
    'that is not registered yet: the creation waits, reports that once, and requests no machine [azimuth 1, azimuth 4]',
    async () => {
      const { status } = await system.call('PUT', `${CLUSTER}/manifest`, {
        apiVersion: 'fairlead.dev/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'demo' },
        spec: {
          serviceType: 'single',
          controlPlane: { replicas: 1, ...machines },
          pools: [{ name: 'web', replicas: 1, ...machines }],
          authentication: { oidc: { usernameClaim: 'preferred_username' } },
        },
      });
      expect(status).toBe(202);
      const blocked = await until('IdentityBlocked');
      expect(blocked.data).toMatchObject({ realm: null, reason: 'RealmNotFound' });
      expect(await shown()).toMatchObject({ status: 'False', reason: 'RealmNotFound' });
      expect(await types()).not.toContain('VmsPlanned');
    },
    TIMEOUT_MS,
  );

  it(
    'that is not ready: the reason names it, and the creation continues when it is [azimuth 2]',
    async () => {
      expect(await register('not-the-secret')).toMatchObject({ status: 200 });
      const blocked = await until('IdentityBlocked', ({ data }) => 'realm' in data && data.realm === 'company');
      expect(blocked.data).toMatchObject({
        reason: 'CredentialRefused',
        message: expect.stringContaining('realm company'),
      });
      expect((await system.call<RealmView>('GET', REALM)).body).toMatchObject({
        state: 'NotReady',
        reason: 'CredentialRefused',
      });
      const ready = Date.now();
      await register(system.labAccess.token);
      // Between the intent and its outcome: another process completes it.
      await until('IdentityRequested');
      system.kill('infra-svc');
      const identity = await until('IdentityReady');
      expect(Date.parse(identity.meta.time) - ready).toBeLessThan(GOES_ON_WITHIN_MS * 2);
      await until('ClusterReady');
      const order = (await types()).filter((type) =>
        ['IdentityReady', 'VmsPlanned', 'ControlPlaneInitialized'].includes(type),
      );
      expect(order).toEqual(['IdentityReady', 'VmsPlanned', 'ControlPlaneInitialized']);
      expect((await types()).filter((type) => type === 'IdentityBlocked')).toHaveLength(2);
    },
    TIMEOUT_MS,
  );

  it('with one client and one group for the cluster, whose members have its role, and no other users [azimuth 3, azimuth 5]', async () => {
    const ask = await realmAdmin(realm, system.labAccess.token);
    const clients = await ask<readonly object[]>('clients');
    expect(clients.body).toMatchObject([{ clientId: CLIENT, publicClient: true }]);
    const { body: group } = await ask<{ id: string }>(`group-by-path/${CLIENT}`);
    const { body: alice } = await ask<{ id: string }>('users', 'POST', { username: 'alice' });
    await ask(`users/${alice.id}/groups/${group.id}`, 'PUT');
    const { body: kubeconfig } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/oidc`);
    const { clusters, users } = parse(kubeconfig) as {
      readonly clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
      readonly users: { user: { exec: { args: string[] } } }[];
    };
    expect(users[0]?.user.exec.args).toEqual(
      expect.arrayContaining([`--oidc-issuer-url=${realm.issuerUrl}`, `--oidc-client-id=${CLIENT}`]),
    );
    expect(kubeconfig).not.toContain(system.labAccess.token);
    const { server, 'certificate-authority-data': data } = clusters[0]!.cluster;
    const ca = Buffer.from(data, 'base64').toString();
    expect(await askNodes(server, ca, await signIn(realm, CLIENT, 'alice'))).toBe(200);
    expect(await askNodes(server, ca, await signIn(realm, CLIENT, 'bob'))).toBe(403);
    await ask(`users/${alice.id}/groups/${group.id}`, 'DELETE');
    expect(await askNodes(server, ca, await signIn(realm, CLIENT, 'alice'))).toBe(403);
  });

  it('that cannot be deleted while a cluster uses it', async () => {
    const { status, body } = await system.call('DELETE', REALM);
    expect([status, body]).toMatchObject([409, { reason: 'realm.in-use', message: expect.stringContaining('demo') }]);
  });

  it(
    'without a client, a group or a secret left in the log after the cluster is deleted',
    async () => {
      await system.call('DELETE', CLUSTER);
      await until('ClusterDeleted');
      const order = (await types()).filter((type) => type === 'IdentityReleased' || type === 'ClusterDeleted');
      expect(order).toEqual(['IdentityReleased', 'ClusterDeleted']);
      const ask = await realmAdmin(realm, system.labAccess.token);
      expect([(await ask('clients')).body, (await ask('groups')).body]).toEqual([[], []]);
      expect((await system.call('DELETE', REALM)).status).toBe(200);
      const events = [...(await system.events('demo')), ...(await system.events('_'))];
      expect(events.map(({ type }) => type)).toContain('RealmRemoved');
      expect(JSON.stringify(events)).not.toContain(system.labAccess.token);
    },
    TIMEOUT_MS,
  );

  it(
    'that Fairlead creates: platform users have access, services have clients, and manual changes are reverted [azimuth 1, azimuth 6, azimuth 7]',
    async () => {
      const team = { ...realm, issuerUrl: realm.issuerUrl.replace(/lab$/, 'team') };
      const grafana = { name: 'grafana', url: 'https://grafana.example.org' };
      const request = { provider: 'keycloak', ...team, clientSecret: system.labAccess.token, create: true };
      expect((await system.call('PUT', '/ns/default/realms/team', request)).status).toBe(200);
      const manifest = (services: readonly object[]) => ({
        apiVersion: 'fairlead.dev/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'team' },
        spec: {
          serviceType: 'single',
          controlPlane: { replicas: 1, ...machines },
          pools: [{ name: 'web', replicas: 1, ...machines }],
          authentication: { oidc: { usernameClaim: 'preferred_username', services } },
        },
      });
      const path = '/ns/default/clusters/team';
      expect((await system.call('PUT', `${path}/manifest`, manifest([grafana]))).status).toBe(202);
      await system.until('team', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
      const ask = await realmAdmin(team, system.labAccess.token);
      const { body: users } = await ask<{ id: string }>('group-by-path/platform-users');
      const { body: alice } = await ask<{ id: string }>('users', 'POST', { username: 'alice' });
      await ask(`users/${alice.id}/groups/${users.id}`, 'PUT');
      const { body: kubeconfig } = await system.call<string>('GET', `${path}/kubeconfig/oidc`);
      const { clusters } = parse(kubeconfig) as {
        readonly clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
      };
      const { server, 'certificate-authority-data': data } = clusters[0]!.cluster;
      const ca = Buffer.from(data, 'base64').toString();
      expect(await askNodes(server, ca, await signIn(team, 'kube-default.team', 'alice'))).toBe(200);
      expect(await askNodes(server, ca, await signIn(team, 'kube-default.team', 'bob'))).toBe(403);

      const clientIds = async () =>
        (await ask<readonly { clientId: string }[]>('clients')).body.map(({ clientId }) => clientId);
      expect(await clientIds()).toContain('kube-default.team.grafana');
      const [client] = (await ask<readonly { id: string }[]>('clients?clientId=kube-default.team.grafana')).body;
      await ask(`clients/${client?.id}`, 'DELETE');
      system.kill('infra-svc'); // It is put right at the next start, and at intervals.
      await eventually(async () => (await clientIds()).includes('kube-default.team.grafana'), { withinMs: 60_000 });
      await system.call('PUT', `${path}/manifest`, manifest([]));
      await eventually(async () => !(await clientIds()).includes('kube-default.team.grafana'), { withinMs: 60_000 });
      await system.call('DELETE', path);
      await system.until('team', ({ type }) => type === 'ClusterDeleted', TIMEOUT_MS);
      expect(await clientIds()).toEqual(['realm-management']);
    },
    TIMEOUT_MS * 2,
  );
});
