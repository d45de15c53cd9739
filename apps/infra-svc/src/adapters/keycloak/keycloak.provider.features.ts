import { CheckedHttp, parseRanges, type HttpRequest } from '@fairlead/service-kit/http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { DesiredIdentity, RealmAccess } from '../../realms/realm.ports.js';
import type { RealmHttp } from './keycloak.client.js';
import { keycloak } from './keycloak.provider.js';

/** A realm called `lab`, with a client that manages its clients and groups. One of this name and secret at `master` may create realms. */
export interface TestRealm {
  readonly issuerUrl: string;
  readonly ca: string;
  readonly clientId: string;
  readonly clientSecret: string;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.0/8';
/** Longer than that of the adapter, for Keycloak on a machine that others use. */
const TIME_LIMIT_MS = 120_000;
const checkedHttp = (allowed = LOOPBACK): RealmHttp => {
  const http = new CheckedHttp({ allowed: parseRanges(allowed).ranges, setting: 'REALM_ADDRESSES_ALLOWED' });
  return {
    request: (url, request, signal) => http.request(url, { ...request, timeLimitMs: TIME_LIMIT_MS }, signal),
  };
};

/** Every request that was sent, as `<method> <path>`. */
const listening = (): RealmHttp & { readonly sent: string[] } => {
  const http = checkedHttp();
  const sent: string[] = [];
  return {
    sent,
    request: (url, request, signal) => {
      sent.push(`${request.method} ${new URL(url).pathname}`);
      return http.request(url, request, signal);
    },
  };
};

export const desiredIdentity = (cluster: string, changes: Partial<DesiredIdentity> = {}): DesiredIdentity => ({
  namespace: 'default',
  cluster,
  uid: `uid-of-${cluster}`,
  clientId: `kube-default.${cluster}`,
  group: `/kube-default.${cluster}`,
  groupsClaim: 'groups',
  services: [],
  ...changes,
});

interface ClientRow {
  readonly id: string;
  readonly clientId: string;
  readonly [field: string]: unknown;
}
interface GroupRow {
  readonly id: string;
  readonly name: string;
}

const OWNER = 'fairlead.dev/cluster-uid';
const CLUSTER = 'fairlead.dev/cluster';
const REDIRECTS = ['http://localhost:18000', 'http://localhost:8000'];
const GRAFANA = { name: 'grafana', url: 'https://grafana.example.org' };
const WIKI = { name: 'wiki', url: 'https://example.org/wiki/' };
const TIMEOUT_MS = 600_000;

/** How Fairlead uses Keycloak: what holds with Keycloak itself, and with its imitation. */
export const describeKeycloak = (start: () => Promise<TestRealm>): void => {
  const { signal } = new AbortController();
  const desired = desiredIdentity;
  let identity: TestRealm;
  let access: RealmAccess;

  beforeAll(async () => {
    identity = await start();
    const { issuerUrl, ca, clientId, clientSecret } = identity;
    const name = { namespace: 'default', name: 'company', provider: 'keycloak' } as const;
    access = { ...name, issuerUrl, ca, clientId, clientSecret };
  }, 900_000);
  afterAll(() => identity.stop());

  const open = (changes: Partial<RealmAccess> = {}, http: RealmHttp = checkedHttp()) =>
    keycloak(http).open({ ...access, ...changes }, signal);

  const ask = async (url: string, request: Partial<HttpRequest>): Promise<string> => {
    const limits = { timeLimitMs: TIME_LIMIT_MS, answerBytesMax: 1_000_000, headers: {} };
    const answer = await checkedHttp().request(url, { method: 'GET', ca: identity.ca, ...limits, ...request }, signal);
    if (answer.kind !== 'answered') throw new Error(answer.why);
    return answer.body ?? '';
  };
  const tokenAt = async (issuerUrl: string): Promise<string> => {
    const { clientId: client_id, clientSecret: client_secret } = identity;
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await ask(`${issuerUrl}/protocol/openid-connect/token`, { method: 'POST', headers, body });
    return (JSON.parse(answer) as { readonly access_token: string }).access_token;
  };
  const issuerOf = (realm: string): string => access.issuerUrl.replace(/lab$/, realm);

  /** Queries the Admin API without the adapter. `realm`: one that was created. */
  const admin = async <Body>(path: string, method: HttpRequest['method'] = 'GET', json?: unknown, realm = 'lab') => {
    const token = await tokenAt(issuerOf(realm === 'lab' ? 'lab' : 'master'));
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const text = await ask(`${issuerOf(realm).replace('/realms/', '/admin/realms/')}${path}`, {
      method,
      headers,
      ...body,
    });
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  };
  const clientsOf = (cluster: string): Promise<readonly ClientRow[]> =>
    admin<readonly ClientRow[]>(`/clients?clientId=kube-default.${cluster}`);
  const clientOf = async (cluster: string): Promise<ClientRow> => (await clientsOf(cluster))[0] as ClientRow;
  const groups = (realm?: string) => admin<readonly GroupRow[]>('/groups', 'GET', undefined, realm);
  const groupNames = async (realm?: string): Promise<readonly string[]> =>
    (await groups(realm)).map(({ name }) => name);
  const groupOf = (cluster: string): Promise<GroupRow> => admin<GroupRow>(`/group-by-path/kube-default.${cluster}`);
  const childrenOf = async (cluster: string): Promise<readonly string[]> =>
    (await admin<readonly GroupRow[]>(`/groups/${(await groupOf(cluster)).id}/children`))
      .map(({ name }) => name)
      .toSorted();
  const redirectsOf = ({ redirectUris }: ClientRow): readonly string[] =>
    (redirectUris as readonly string[]).toSorted();

  describe('a client in a Keycloak realm', () => {
    it("is public, has the device flow and kubelogin's authorization code flow, and lists groups by path", async () => {
      const session = await open();
      await session.ensureClient(desired('flows', { groupsClaim: 'example.org/groups' }), signal);
      const client = await clientOf('flows');
      expect(client).toMatchObject({
        publicClient: true,
        standardFlowEnabled: true,
        implicitFlowEnabled: false,
        directAccessGrantsEnabled: false,
        serviceAccountsEnabled: false,
        attributes: {
          'oauth2.device.authorization.grant.enabled': 'true',
          'fairlead.dev/cluster': 'default/flows',
          'fairlead.dev/cluster-uid': 'uid-of-flows',
        },
        protocolMappers: [
          {
            protocolMapper: 'oidc-group-membership-mapper',
            config: { 'claim.name': String.raw`example\.org/groups`, 'full.path': 'true', 'id.token.claim': 'true' },
          },
        ],
      });
      expect(client).not.toHaveProperty('secret');
      expect(redirectsOf(client)).toEqual(REDIRECTS);
    });

    it('is created once, however often and concurrently it is ensured, and by several replicas [azimuth 3]', async () => {
      const sessions = await Promise.all([open(), open(), open()]);
      await Promise.all(sessions.map((session) => session.ensureClient(desired('often'), signal)));
      for (const session of sessions) await session.ensureClient(desired('often'), signal);
      await Promise.all(sessions.map((session) => session.ensureGroup(desired('often'), signal)));
      expect(await clientsOf('often')).toHaveLength(1);
      expect((await groupNames()).filter((name) => name === 'kube-default.often')).toHaveLength(1);
    });

    it('is corrected, with its mapper, after manual changes', async () => {
      const session = await open();
      await session.ensureClient(desired('changed'), signal);
      const { id } = await clientOf('changed');
      await admin(`/clients/${id}`, 'PUT', { directAccessGrantsEnabled: true, redirectUris: ['https://evil.example'] });
      await session.ensureClient(desired('changed', { groupsClaim: 'roles' }), signal);
      const client = await clientOf('changed');
      expect(redirectsOf(client)).toEqual(REDIRECTS);
      expect(client).toMatchObject({
        id,
        directAccessGrantsEnabled: false,
        protocolMappers: [{ config: { 'claim.name': 'roles' } }],
      });
    });

    it('is not written again while it is as it should be', async () => {
      const services = [GRAFANA, WIKI];
      const once = await open();
      for (const what of ['ensureGroup', 'ensureClient', 'ensureServices'] as const)
        await once[what](desired('quiet', { services }), signal);
      const http = listening();
      const again = await open({}, http);
      for (const what of ['ensureGroup', 'ensureClient', 'ensureServices'] as const)
        await again[what](desired('quiet', { services }), signal);
      expect(http.sent.filter((request) => !request.startsWith('GET') && !request.endsWith('/token'))).toEqual([]);
    });

    it('of the same cluster is adopted; one of another cluster or without a known owner is refused and kept [azimuth 3, azimuth 28]', async () => {
      const session = await open();
      const own = { clientId: 'kube-default.mine', publicClient: false };
      await admin('/clients', 'POST', { ...own, attributes: { 'fairlead.dev/cluster-uid': 'uid-of-mine' } });
      await session.ensureClient(desired('mine'), signal);
      expect(await clientsOf('mine')).toMatchObject([{ publicClient: true, protocolMappers: [{ name: 'groups' }] }]);
      await session.ensureClient(desired('theirs', { uid: 'another' }), signal);
      await expect(session.ensureClient(desired('theirs'), signal)).rejects.toMatchObject({
        reason: 'ClientTaken',
        message: expect.stringContaining('default/theirs'),
      });
      await admin('/clients', 'POST', { clientId: 'kube-default.byhand' });
      await expect(session.ensureClient(desired('byhand'), signal)).rejects.toMatchObject({
        reason: 'ClientTaken',
        message: expect.stringContaining('fairlead.dev/cluster = default/byhand'),
      });
      for (const cluster of ['theirs', 'byhand']) await session.deleteClient(desired(cluster), signal);
      expect([await clientsOf('theirs'), await clientsOf('byhand')]).toMatchObject([[{}], [{}]]);
    });

    it('that an administrator prepared for the cluster is adopted by its mark, with its group; one for another cluster is refused [azimuth 3]', async () => {
      const session = await open();
      const prepared = (cluster: string, mark: string) => ({
        client: { clientId: `kube-default.${cluster}`, publicClient: true, attributes: { [CLUSTER]: mark } },
        group: { name: `kube-default.${cluster}`, attributes: { [CLUSTER]: [mark], note: ['of the team'] } },
      });
      const ours = prepared('prepared', 'default/prepared');
      await admin('/clients', 'POST', ours.client);
      await admin('/groups', 'POST', ours.group);
      const { id } = await clientOf('prepared');
      await session.ensureGroup(desired('prepared'), signal);
      await session.ensureClient(desired('prepared'), signal);
      expect(await clientOf('prepared')).toMatchObject({
        id,
        attributes: { [OWNER]: 'uid-of-prepared', [CLUSTER]: 'default/prepared' },
        protocolMappers: [{ name: 'groups' }],
      });
      expect(await groupOf('prepared')).toMatchObject({
        attributes: { [OWNER]: ['uid-of-prepared'], note: ['of the team'] },
      });
      const theirs = prepared('elsewhere', 'default/another');
      await admin('/clients', 'POST', theirs.client);
      await admin('/groups', 'POST', theirs.group);
      await expect(session.ensureClient(desired('elsewhere'), signal)).rejects.toMatchObject({
        reason: 'ClientTaken',
        message:
          'the realm has a client kube-default.elsewhere already, which is of the cluster default/another. Rename or delete it there',
      });
      await expect(session.ensureGroup(desired('elsewhere'), signal)).rejects.toMatchObject({ reason: 'GroupTaken' });
      await session.deleteClient(desired('prepared'), signal);
      await session.deleteGroup(desired('prepared'), signal);
      expect(await clientsOf('prepared')).toEqual([]);
    });

    it('is deleted with its group, idempotently; a group of another cluster is kept', async () => {
      const session = await open();
      await session.ensureGroup(desired('gone'), signal);
      await session.ensureClient(desired('gone'), signal);
      for (let time = 0; time < 2; time += 1) {
        await session.deleteClient(desired('gone'), signal);
        await session.deleteGroup(desired('gone'), signal);
      }
      expect([await clientsOf('gone'), (await groupNames()).includes('kube-default.gone')]).toEqual([[], false]);
      await session.ensureGroup(desired('kept', { uid: 'another' }), signal);
      await expect(session.ensureGroup(desired('kept'), signal)).rejects.toMatchObject({ reason: 'GroupTaken' });
      await session.deleteGroup(desired('kept'), signal);
      expect(await groupNames()).toContain('kube-default.kept');
    });
  });

  describe('a service of a cluster in a Keycloak realm', () => {
    const ensure = async (cluster: string, services: DesiredIdentity['services']): Promise<void> => {
      const session = await open();
      const all = desired(cluster, { services });
      await session.ensureGroup(all, signal);
      await session.ensureServices(all, signal);
    };

    it('has a group below that of the cluster, and a public client that requires PKCE and returns to its URL', async () => {
      await ensure('shop', [GRAFANA, WIKI]);
      expect(await childrenOf('shop')).toEqual(['grafana', 'wiki']);
      expect(await clientOf('shop.grafana')).toMatchObject({
        publicClient: true,
        standardFlowEnabled: true,
        directAccessGrantsEnabled: false,
        baseUrl: 'https://grafana.example.org',
        redirectUris: ['https://grafana.example.org/*'],
        attributes: { 'pkce.code.challenge.method': 'S256', [OWNER]: 'uid-of-shop' },
        protocolMappers: [{ name: 'groups', config: { 'claim.name': 'groups', 'full.path': 'true' } }],
      });
      expect(await clientOf('shop.wiki')).toMatchObject({ redirectUris: ['https://example.org/wiki/*'] });
    });

    it('is put right after manual changes, also after its group and its client were deleted', async () => {
      await ensure('repaired', [GRAFANA]);
      const { id } = await clientOf('repaired.grafana');
      await admin(`/clients/${id}`, 'PUT', { redirectUris: ['https://evil.example/*'], enabled: false });
      await ensure('repaired', [GRAFANA]);
      expect(await clientOf('repaired.grafana')).toMatchObject({
        id,
        enabled: true,
        redirectUris: ['https://grafana.example.org/*'],
      });
      await admin(`/clients/${id}`, 'DELETE');
      await admin(`/groups/${(await groupOf('repaired')).id}`, 'DELETE');
      await ensure('repaired', [GRAFANA]);
      expect([await childrenOf('repaired'), await clientsOf('repaired.grafana')]).toMatchObject([['grafana'], [{}]]);
    });

    it('is pruned with its group and its client; what someone else made beside it is kept', async () => {
      await ensure('pruned', [GRAFANA, WIKI]);
      await ensure('pruned2', [GRAFANA]);
      await admin(`/groups/${(await groupOf('pruned')).id}/children`, 'POST', { name: 'on-call' });
      await admin('/clients', 'POST', { clientId: 'kube-default.pruned.own' });
      await ensure('pruned', [WIKI]);
      expect(await childrenOf('pruned')).toEqual(['on-call', 'wiki']);
      const clients = async () =>
        (await admin<readonly ClientRow[]>('/clients?clientId=kube-default.pruned&search=true&max=100'))
          .map(({ clientId }) => clientId)
          .toSorted();
      const others = ['kube-default.pruned.own', 'kube-default.pruned2.grafana'];
      expect(await clients()).toEqual(['kube-default.pruned.own', 'kube-default.pruned.wiki', others[1]]);
      const session = await open();
      await session.deleteClient(desired('pruned'), signal);
      await session.deleteGroup(desired('pruned'), signal);
      expect([await clients(), (await groupNames()).includes('kube-default.pruned')]).toEqual([others, false]);
    });

    it('is refused where the realm has another client of its name', async () => {
      await admin('/clients', 'POST', { clientId: 'kube-default.clash.grafana' });
      await expect(ensure('clash', [GRAFANA])).rejects.toMatchObject({
        reason: 'ClientTaken',
        message: expect.stringContaining('kube-default.clash.grafana'),
      });
    });
  });

  describe('a Keycloak realm that Fairlead creates', () => {
    const name = `team-${randomUUID().slice(0, 8)}`;
    const created = (changes: Partial<RealmAccess> = {}): Partial<RealmAccess> => ({
      issuerUrl: issuerOf(name),
      create: true,
      ...changes,
    });

    it(
      'is there once with the groups platform-users and admins, however often and concurrently it is opened',
      async () => {
        await open(created());
        await Promise.all([open(created()), open(created())]);
        expect((await groupNames(name)).toSorted()).toEqual(['admins', 'platform-users']);
        const [management] = await admin<readonly ClientRow[]>(
          '/clients?clientId=realm-management',
          'GET',
          undefined,
          name,
        );
        const { id } = (await groups(name)).find((group) => group.name === 'admins') as GroupRow;
        const roles = await admin<readonly GroupRow[]>(
          `/groups/${id}/role-mappings/clients/${management?.id}`,
          'GET',
          undefined,
          name,
        );
        expect(roles.map((role) => role.name).toSorted()).toEqual([
          'manage-users',
          'query-groups',
          'query-users',
          'view-realm',
        ]);
      },
      TIMEOUT_MS,
    );

    it(
      'has the clients and groups of clusters, and gets its own groups back',
      async () => {
        const session = await open(created());
        const all = desired('shop', { services: [GRAFANA] });
        await session.ensureGroup(all, signal);
        await session.ensureClient(all, signal);
        await session.ensureServices(all, signal);
        const { id } = (await groups(name)).find((group) => group.name === 'platform-users') as GroupRow;
        await admin(`/groups/${id}`, 'DELETE', undefined, name);
        await open(created());
        expect((await groupNames(name)).toSorted()).toEqual(['admins', 'kube-default.shop', 'platform-users']);
      },
      TIMEOUT_MS,
    );

    it(
      'is not shared with another namespace, and none that someone else made is taken over',
      async () => {
        await expect(open(created({ namespace: 'other' }))).rejects.toMatchObject({
          reason: 'RealmTaken',
          message: expect.stringContaining('was not made for the namespace other'),
        });
        const before = await groupNames();
        await expect(open({ create: true })).rejects.toMatchObject({ reason: 'RealmTaken' });
        expect(await groupNames()).toEqual(before);
      },
      TIMEOUT_MS,
    );

    it('needs a credential of the realm master', async () => {
      await expect(open(created({ clientSecret: 'wrong' }))).rejects.toMatchObject({ reason: 'CredentialRefused' });
    });
  });

  describe('a Keycloak realm is not ready', () => {
    it('with a wrong client credential', async () => {
      await expect(open({ clientSecret: 'wrong-and-secret' })).rejects.toMatchObject({
        reason: 'CredentialRefused',
        message: expect.stringMatching(/^realm company: POST .*\/token answers 401 \(unauthorized_client\)/),
      });
    });

    it('if its certificate is of an unknown CA, nothing listens, or its address is not allowed', async () => {
      const { ca: _ca, ...without } = access;
      await expect(keycloak(checkedHttp()).open(without, signal)).rejects.toMatchObject({ reason: 'RealmUnreachable' });
      await expect(open({ issuerUrl: 'https://127.0.0.1:1/realms/lab' })).rejects.toMatchObject({
        reason: 'RealmUnreachable',
      });
      await expect(open({}, checkedHttp(''))).rejects.toMatchObject({
        reason: 'RealmUnreachable',
        message: expect.stringContaining('REALM_ADDRESSES_ALLOWED'),
      });
    });

    it('if it does not exist', async () => {
      await expect(open({ issuerUrl: access.issuerUrl.replace(/lab$/, 'other') })).rejects.toMatchObject({
        reason: 'RealmInvalid',
      });
    });
  });
};
