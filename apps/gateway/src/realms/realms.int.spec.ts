import {
  REALMS_MAX,
  realmSecretRef,
  type ClusterUid,
  type ClusterView,
  type ErrorView,
  type Fact,
  type Namespace,
  type RealmList,
  type RealmName,
  type RealmView,
} from '@fairlead/contracts';
import { issueAuthority } from '@fairlead/embedded/credentials';
import { NatsSecrets } from '@fairlead/service-kit';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request, useGateway } from '../gateway.fixtures.js';

const gateway = useGateway();
const REALMS = '/ns/default/realms';
const COMPANY = `${REALMS}/company`;
const SECRET = 'the-secret-of-the-client';
const ISSUER = 'https://id.example.org/realms/team';
const BODY = { issuerUrl: ISSUER, clientId: 'fairlead', clientSecret: SECRET };

type Answer = RealmView & Omit<ErrorView, 'kind'>;
const put = (path: string, body: object = BODY, token?: string) =>
  gateway.ask<Answer>('PUT', path, { body, ...(token === undefined ? {} : { token }) });
const secretOf = async (
  realm: string,
  reader: 'infra-svc' | 'bootstrap-svc' = 'infra-svc',
): Promise<string | undefined> => {
  const master = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
  const secrets = new NatsSecrets(await gateway.environment.connect(reader), reader, master);
  return secrets.get(realmSecretRef('default', realm));
};
const inNamespace = { cluster: '_', context: 'realms' } as const;
const registrationOf = async (realm: string): Promise<string> => {
  const found = (await gateway.log()).findLast(
    (event) => event.type === 'RealmRegistered' && event.data.realm === realm,
  );
  return found?.meta.id ?? '';
};

describe('a realm of a namespace', () => {
  it('is registered with a credential that infra-svc alone can read, and that is in no event and no answer', async () => {
    const { status, body } = await put(COMPANY);
    expect([status, body]).toEqual([
      200,
      {
        kind: 'Realm',
        namespace: 'default',
        name: 'company',
        provider: 'keycloak',
        issuerUrl: ISSUER,
        clientId: 'fairlead',
        registeredTime: expect.any(String),
        state: 'Unknown',
        reason: '',
        message: '',
        changedTime: null,
        clusters: [],
      },
    ]);
    expect(await secretOf('company')).toBe(SECRET);
    const shown = [await gateway.log(), (await gateway.ask('GET', REALMS)).body, body];
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    await expect(secretOf('company', 'bootstrap-svc')).rejects.toThrow();
  });

  it('changes nothing when it is registered as it is, and keeps its secret for the same client of the same issuer only', async () => {
    const { clientSecret: _secret, ...without } = BODY;
    const before = (await gateway.log()).length;
    expect((await put(COMPANY, without)).status).toBe(200);
    expect((await gateway.log()).length).toBe(before);
    const pair = await issueAuthority({ name: 'another', days: 1, now: new Date() });
    const ca = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----\n/.exec(pair)?.[0];
    for (const other of [{ clientId: 'other' }, { issuerUrl: 'https://evil.example.org/realms/team' }, { ca }])
      expect((await put(COMPANY, { ...without, ...other })).body.reason).toBe('realm.secret-missing');
    expect((await put(`${REALMS}/new`, without)).body.reason).toBe('realm.secret-missing');
    expect(await secretOf('company')).toBe(SECRET);
  });

  it('is refused where it is no realm of Keycloak, or has a certificate that cannot be read', async () => {
    const pem = '-----BEGIN CERTIFICATE-----\nMIIBnotacertificate\n-----END CERTIFICATE-----\n';
    expect((await put(COMPANY, { ...BODY, issuerUrl: 'https://id.example.org' })).body.reason).toBe(
      'realm.issuer-invalid',
    );
    expect((await put(COMPANY, { ...BODY, ca: pem })).body.reason).toBe('realm.ca-invalid');
    expect((await put(COMPANY, { ...BODY, issuerUrl: 'http://id.example.org/realms/a' })).status).toBe(400);
    expect((await put(COMPANY, { ...BODY, password: 'x' })).status).toBe(400);
    expect((await put('/ns/nowhere/realms/company')).body.reason).toBe('namespace.unknown');
  });

  it('is created by Fairlead where that is requested, with a group of users, and needs the secret of another client then', async () => {
    const { clientSecret: _secret, ...without } = BODY;
    expect((await put(COMPANY, { ...without, create: true })).body.reason).toBe('realm.secret-missing');
    for (const name of ['master', 'a%20b', 'a.b'])
      expect(
        (await put(`${REALMS}/new`, { ...BODY, create: true, issuerUrl: `https://id.example.org/realms/${name}` }))
          .body,
      ).toMatchObject({ reason: expect.stringMatching(/realm\.not-creatable|request/) });
    const team = `${REALMS}/team`;
    expect((await put(team, { ...BODY, create: true })).body).toMatchObject({
      create: true,
      usersGroup: '/platform-users',
    });
    expect((await put(team, { ...without, create: true, usersGroup: '/staff' })).body.usersGroup).toBe('/staff');
    expect((await put(team, { ...BODY, usersGroup: 'no-path' })).status).toBe(400);
    await gateway.ask('DELETE', team);
  });

  it('is not found under what cannot be a name', async () => {
    const { status, body } = await gateway.ask<ErrorView>('GET', `${REALMS}/Not_a_name`);
    expect([status, body.reason]).toEqual([404, 'realm.not-found']);
  });

  it('is shown as infra-svc found it last, and not as it was before it was registered again', async () => {
    const name = 'default' as Namespace;
    const realm = 'company' as RealmName;
    const registration = await registrationOf('company');
    const shownAfter = async (fact: Fact): Promise<RealmView> => {
      const { meta } = await gateway.state(fact, inNamespace);
      return (await gateway.ask<RealmView>('GET', `${COMPANY}?minSeq=${meta.seq}`)).body;
    };
    const problem = { reason: 'CredentialRefused', message: 'realm company: 401' } as const;
    const notReady: Fact = { type: 'RealmNotReady', data: { name, realm, registration, ...problem } };
    expect(await shownAfter(notReady)).toMatchObject({ state: 'NotReady', ...problem });
    const ready: Fact = { type: 'RealmReady', data: { name, realm, registration } };
    expect(await shownAfter(ready)).toMatchObject({ state: 'Ready', reason: '' });
    await put(COMPANY);
    expect(await shownAfter(notReady)).toMatchObject({ state: 'Unknown' });
  });

  it('is read by viewers, and registered and deleted by administrators of its namespace', async () => {
    const roles = (role: string) => [{ namespace: 'default', role }];
    const token = async (role: string): Promise<string> =>
      (await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: role, roles: roles(role) } })).body
        .token;
    const [viewer, operator, admin] = [await token('viewer'), await token('operator'), await token('admin')];
    expect((await gateway.ask<RealmList>('GET', REALMS, { token: viewer })).body.items).toHaveLength(1);
    expect((await put(COMPANY, BODY, operator)).status).toBe(403);
    expect((await gateway.ask('DELETE', COMPANY, { token: operator })).status).toBe(403);
    expect((await put(`${REALMS}/other`, BODY, admin)).status).toBe(200);
    expect((await gateway.ask('DELETE', `${REALMS}/other`, { token: admin })).status).toBe(200);
    expect(await secretOf('other')).toBeUndefined();
  });

  it('is one of a limited number', async () => {
    for (let at = 1; at < REALMS_MAX; at += 1) expect((await put(`${REALMS}/r${at}`)).status).toBe(200);
    expect((await put(`${REALMS}/more`)).body.reason).toBe('realm.too-many');
    expect(await secretOf('more')).toBeUndefined();
    for (let at = 1; at < REALMS_MAX; at += 1) await gateway.ask('DELETE', `${REALMS}/r${at}`);
  });
});

describe('a realm that a cluster uses', () => {
  let uid: ClusterUid;
  const client = {
    realm: 'company' as RealmName,
    issuerUrl: ISSUER,
    clientId: 'kube-default.demo',
    group: '/kube-default.demo',
    groupsClaim: 'groups',
  };

  beforeAll(async () => {
    const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('demo') });
    uid = body.uid as ClusterUid;
    await gateway.state(
      { type: 'IdentityRequested', data: { uid, ...client } },
      { cluster: 'demo', context: 'identity' },
    );
  });

  it('is deleted, and moves to another issuer, only when none uses it: the refusal names the clusters', async () => {
    const deleted = await gateway.ask<ErrorView>('DELETE', COMPANY);
    expect([deleted.status, deleted.body.reason]).toEqual([409, 'realm.in-use']);
    expect(deleted.body.message).toContain('demo');
    const moved = await put(COMPANY, { ...BODY, issuerUrl: 'https://id.example.org/realms/other' });
    expect([moved.status, moved.body.reason]).toEqual([409, 'realm.would-move']);
    expect((await gateway.ask<RealmView>('GET', COMPANY)).body.clusters).toEqual(['demo']);
    expect(await secretOf('company')).toBe(SECRET);
    // Another credential for the same realm is no move.
    expect((await put(COMPANY, { ...BODY, clientSecret: 'a-newer-secret' })).status).toBe(200);
    expect(await secretOf('company')).toBe('a-newer-secret');
  });

  it('is why the creation waits, as a condition says, until the client is there', async () => {
    const conditionAfter = async (fact: Fact) => {
      const { meta } = await gateway.state(fact, { cluster: 'demo', context: 'identity' });
      const { body } = await gateway.ask<ClusterView>('GET', `/ns/default/clusters/demo?minSeq=${meta.seq}`);
      return body.conditions.find(({ type }) => type === 'IdentityReady');
    };
    const message = 'realm company: GET /realms/team answers 503';
    const blocked = { uid, realm: client.realm, reason: 'RealmUnreachable', message } as const;
    expect(await conditionAfter({ type: 'IdentityBlocked', data: blocked })).toMatchObject({
      status: 'False',
      reason: 'RealmUnreachable',
      message,
    });
    expect(await conditionAfter({ type: 'IdentityReady', data: { uid, ...client } })).toMatchObject({
      status: 'True',
      reason: '',
    });
  });

  it('is deleted all the same when that is forced, and the record names the clusters', async () => {
    expect((await gateway.ask('DELETE', `${COMPANY}?force=true`)).status).toBe(200);
    const removed = (await gateway.log()).findLast(({ type }) => type === 'RealmRemoved');
    expect(removed?.data).toMatchObject({ realm: 'company', abandoned: ['demo'] });
    expect(await secretOf('company')).toBeUndefined();
    expect((await gateway.ask<ErrorView>('GET', COMPANY)).body.reason).toBe('realm.not-found');
  });
});
