import type {
  AuditView,
  ClusterView,
  ConnectionList,
  ErrorView,
  EventList,
  HookSecretList,
  HookSecretView,
  OperationList,
  RoleGrant,
  TokenList,
} from '@fairlead/contracts';
import { events } from '@fairlead/api-client';
import { hookSecretRef, oldHookSecretOf, oldHookSecretRef } from '@fairlead/contracts';
import { NatsSecrets } from '@fairlead/service-kit';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request, useGateway } from '../gateway.fixtures.js';

const gateway = useGateway();

const tokenFor = async (...roles: readonly { namespace: string; role: RoleGrant['role'] }[]): Promise<string> => {
  const { body } = await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: 'someone', roles } });
  return body.token;
};

const create = (name: string) => gateway.ask('POST', '/ns', { body: { name } });
const remove = async (name: string): Promise<void> => {
  expect((await gateway.ask('DELETE', `/ns/${name}`)).status).toBe(200);
};

/** A cluster that comes and goes. */
const clusterOf = async (namespace: string, token: string): Promise<void> => {
  const made = await gateway.ask<ClusterView>('POST', `/ns/${namespace}/clusters`, { body: request('shop'), token });
  expect(made.status).toBe(202);
  const uid = made.body.uid as never;
  const at = { namespace, cluster: 'shop' };
  await gateway.state({ type: 'ClusterAccepted', data: { uid } }, at);
  const path = `/ns/${namespace}/clusters/shop`;
  await gateway.ask('DELETE', path, { token });
  const { meta } = await gateway.state({ type: 'ClusterDeleted', data: { uid } }, at);
  expect((await gateway.ask('GET', `${path}?minSeq=${meta.seq}`, { token })).status).toBe(404);
};

const HISTORY = ['events', 'events/stream', 'audit', 'operations'] as const;

describe('a namespace that was deleted and created again', () => {
  it('is not opened by a token of the old one, neither to read nor to change', async () => {
    await create('reborn');
    const old = await tokenFor({ namespace: 'reborn', role: 'admin' });
    expect((await gateway.ask('GET', '/ns/reborn/clusters', { token: old })).status).toBe(200);
    await remove('reborn');
    expect((await gateway.ask('GET', '/ns/reborn/clusters', { token: old })).status).toBe(403);
    await create('reborn');
    for (const [method, path, body] of [
      ['GET', '/ns/reborn/clusters', undefined],
      ['POST', '/ns/reborn/clusters', request('mine')],
      ['POST', '/tokens', { name: 'heir', roles: [{ namespace: 'reborn', role: 'admin' }] }],
    ] as const)
      expect([path, (await gateway.ask(method, path, { token: old, body })).status]).toEqual([path, 403]);
    const fresh = await tokenFor({ namespace: 'reborn', role: 'admin' });
    expect((await gateway.ask('GET', '/ns/reborn/clusters', { token: fresh })).status).toBe(200);
  });

  it('does not show the tokens of the old one to its administrators', async () => {
    await create('listed');
    await tokenFor({ namespace: 'listed', role: 'viewer' });
    await remove('listed');
    await create('listed');
    const token = await tokenFor({ namespace: 'listed', role: 'admin' });
    const { body } = await gateway.ask<TokenList>('GET', '/tokens', { token });
    expect(body.items.map(({ id }) => id)).toEqual([token.split('_')[1]]);
  });

  it('does not show the history of the clusters of the old one; administrators of all namespaces see both', async () => {
    await create('history');
    const old = await tokenFor({ namespace: 'history', role: 'operator' });
    await clusterOf('history', old);
    const path = '/ns/history/clusters/shop';
    expect((await gateway.ask<EventList>('GET', `${path}/events`, { token: old })).body.items).toHaveLength(4);
    await remove('history');
    await create('history');
    const fresh = await tokenFor({ namespace: 'history', role: 'operator' });
    const everywhere = await tokenFor({ namespace: '*', role: 'operator' });
    for (const token of [fresh, everywhere])
      for (const what of HISTORY) {
        const { status, body } = await gateway.ask<ErrorView>('GET', `${path}/${what}`, { token });
        expect([what, status, body.reason]).toEqual([what, 404, 'cluster.unknown']);
      }
    const [requested] = (await gateway.ask<EventList>('GET', `${path}/events`)).body.items;
    expect((await gateway.ask<EventList>('GET', `${path}/events`)).body.items).toHaveLength(4);
    const asOf = async (token?: string): Promise<number> =>
      (await gateway.ask('GET', `${path}?at=${requested?.seq}`, token === undefined ? {} : { token })).status;
    expect([await asOf(fresh), await asOf(everywhere), await asOf()]).toEqual([404, 404, 200]);

    await clusterOf('history', fresh);
    const listed = await gateway.ask<EventList>('GET', `${path}/events?after=0`, { token: fresh });
    expect(listed.body.items.map(({ type }) => type)).toEqual([
      'ClusterRequested',
      'ClusterAccepted',
      'ClusterDeletionRequested',
      'ClusterDeleted',
    ]);
    const [first] = listed.body.items;
    const audit = await gateway.ask<AuditView>('GET', `${path}/audit`, { token: fresh });
    expect(audit.body.items.map(({ seq }) => seq)).toEqual(listed.body.items.map(({ seq }) => seq));
    expect(audit.body.verification).toEqual({ intact: true, events: 4, streams: 2, faults: [] });
    const operations = await gateway.ask<OperationList>('GET', `${path}/operations`, { token: fresh });
    expect(operations.body.items).toHaveLength(2);
    const all = await gateway.ask<AuditView>('GET', `${path}/audit`);
    expect(all.body.verification).toMatchObject({ intact: true, events: 8 });

    const stream = events({
      baseUrl: gateway.baseUrl(),
      token: fresh,
      of: { namespace: 'history', cluster: 'shop' },
      after: 0,
      signal: AbortSignal.timeout(10_000),
    });
    expect((await stream.next()).value).toMatchObject({ seq: first?.seq });
    await stream.return(undefined);
  });

  it('ends a stream that was opened in the old one before anything of the new one is sent', async () => {
    await create('streamed');
    const old = await tokenFor({ namespace: 'streamed', role: 'operator' });
    await clusterOf('streamed', old);
    const response = await fetch(`${gateway.baseUrl()}/ns/streamed/clusters/shop/events/stream`, {
      headers: { authorization: `Bearer ${old}` },
    });
    const sent = response.text();
    await remove('streamed');
    await create('streamed');
    await clusterOf('streamed', await tokenFor({ namespace: 'streamed', role: 'operator' }));
    expect((await sent).match(/^event: ClusterRequested$/gm)).toHaveLength(1);
  });

  it('has none of the connections that were granted to the old one, also after they are registered again', async () => {
    await create('granted');
    const settings = { endpoint: 'http://127.0.0.1:1' };
    const lab = { provider: 'lab', region: 'lab-1', settings };
    await gateway.ask('PUT', '/connections/leased', { body: { ...lab, namespaces: ['granted', 'default'] } });
    await remove('granted');
    await create('granted');
    const token = await tokenFor({ namespace: 'granted', role: 'operator' });
    const worker = [{ connection: 'leased', count: 1, spec: 's' }];
    for (const zone of ['lab-1a', 'lab-1b']) {
      const { body } = await gateway.ask<ConnectionList>('GET', '/connections', { token });
      expect(body.items.map(({ name }) => name)).not.toContain('leased');
      const made = await gateway.ask<ErrorView>('POST', '/ns/granted/clusters', {
        body: request('x', { worker, serviceType: 'multi' }),
        token,
      });
      expect([made.status, made.body.reason]).toEqual([422, 'connection.unknown']);
      const limited = await gateway.ask('PATCH', '/connections/leased', { body: { quota: { clusters: 9 } } });
      expect([limited.status, limited.body['namespaces']]).toEqual([200, ['default']]);
      const again = await gateway.ask('PUT', '/connections/leased', { body: { ...lab, zone } });
      expect([again.status, again.body['namespaces']]).toEqual([200, ['default']]);
    }
  });

  it('has no quota of the old one', async () => {
    await create('bounded');
    const set = await gateway.ask('PUT', '/ns/bounded/quota', { body: { clusters: 0 } });
    expect(set.body['quota']).toEqual({ clusters: 0 });
    await remove('bounded');
    await create('bounded');
    const { body } = await gateway.ask('GET', '/ns/bounded');
    expect(body['quota']).toEqual({});
  });
});

describe('the hook secrets of a namespace', () => {
  const value = 'a-value-that-no-answer-and-no-event-has';
  const sealed = async (name: string, refOf = hookSecretRef): Promise<string | undefined> => {
    const key = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
    const nats = await gateway.environment.connect('upgrade-svc');
    return new NatsSecrets(nats, 'upgrade-svc', key).get(refOf(name, 'inventory'));
  };
  const put = (name: string, body: object = { value }) =>
    gateway.ask<HookSecretView>('PUT', `/ns/${name}/hook-secrets/inventory`, { body });

  it('are sealed for the services that ask hooks, listed without their values, and gone with the namespace', async () => {
    await create('signed');
    const set = await put('signed');
    expect([set.status, set.body]).toMatchObject([200, { kind: 'HookSecret', name: 'inventory' }]);
    expect(await sealed('signed')).toBe(value);
    const seq = set.headers.get('x-fairlead-seq');
    const listed = await gateway.ask<HookSecretList>('GET', `/ns/signed/hook-secrets?minSeq=${seq}`);
    expect(listed.body.items).toEqual([set.body]);
    expect(JSON.stringify([listed.body, await gateway.log()])).not.toContain(value);
    await remove('signed');
    await create('signed');
    expect(await sealed('signed')).toBeUndefined();
    expect((await gateway.ask<HookSecretList>('GET', '/ns/signed/hook-secrets')).body.items).toEqual([]);
  });

  it('stay valid for a while after another value was set, unless that is to end them at once', async () => {
    const [first, second, third] = ['1', '2', '3'].map((mark) => mark.repeat(40)) as [string, string, string];
    await create('rotated');
    const set = async (body: object) => (await put('rotated', body)).body.oldValidUntil;
    const old = async () => {
      const text = await sealed('rotated', oldHookSecretRef);
      return text === undefined ? undefined : oldHookSecretOf(text);
    };
    expect(await set({ value: first })).toBeUndefined();
    expect(await old()).toBeUndefined();
    const validUntil = await set({ value: second });
    expect(Math.abs(Date.parse(validUntil ?? '') - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000);
    expect([await sealed('rotated'), await old()]).toEqual([second, { value: first, validUntil }]);
    // A repetition, e.g. of a request whose answer was lost.
    await set({ value: second });
    expect((await old())?.value).toBe(first);
    const shorter = await set({ value: third, expireOldAfterSeconds: 60 });
    expect(await old()).toEqual({ value: second, validUntil: shorter });
    const seq = (await gateway.log()).at(-1)?.meta.seq;
    const listed = await gateway.ask<HookSecretList>('GET', `/ns/rotated/hook-secrets?minSeq=${seq}`);
    expect(listed.body.items).toMatchObject([{ name: 'inventory', oldValidUntil: shorter }]);
    expect(await set({ value: first, expireOldAfterSeconds: 0 })).toBeUndefined();
    expect([await sealed('rotated'), await old()]).toEqual([first, undefined]);
    expect((await put('rotated', { value: first, expireOldAfterSeconds: 604_801 })).status).toBe(400);
    await set({ value: second });
    await remove('rotated');
    expect([await sealed('rotated'), await old()]).toEqual([undefined, undefined]);
  });

  it('are deleted by name, and refused where they are short, or where there is no namespace', async () => {
    await create('sealed');
    await put('sealed');
    expect((await gateway.ask('DELETE', '/ns/sealed/hook-secrets/inventory')).status).toBe(200);
    expect(await sealed('sealed')).toBeUndefined();
    const again = await gateway.ask<ErrorView>('DELETE', '/ns/sealed/hook-secrets/inventory');
    expect([again.status, again.body.reason]).toEqual([404, 'hook.secret-unknown']);
    expect((await put('sealed', { value: 'short' })).status).toBe(400);
    expect((await put('no-such-namespace')).status).toBe(404);
  });

  it('are set by operators of the namespace only', async () => {
    await create('guarded');
    const token = await tokenFor({ namespace: 'guarded', role: 'viewer' });
    const { status } = await gateway.ask('PUT', '/ns/guarded/hook-secrets/inventory', { body: { value }, token });
    expect(status).toBe(403);
  });
});

const SEALED = [
  {
    kind: 'hook',
    part: 'value',
    body: { value: 'a-value-that-no-event-and-no-log-ever-shows' },
    read: 'HookSecretRead',
  },
  {
    kind: 'addon',
    part: 'values',
    body: { values: { admin: { password: 'open-sesame-on-no-record' } } },
    read: 'AddonSecretRead',
  },
] as const;

describe.each(SEALED)('a sealed $kind secret', ({ kind, part, body, read }) => {
  const namespace = `read-${kind}`;
  const at = `/ns/${namespace}/${kind}-secrets/inventory`;

  it('is read back by administrators of its namespace, on record and without its value there; others get 403 [ORBITER 31]', async () => {
    await create(namespace);
    await create(`${namespace}-other`);
    await gateway.ask('PUT', at, { body });
    const token = await tokenFor({ namespace, role: 'admin' });
    const answer = await gateway.ask('GET', `${at}/${part}`, { token });
    expect([answer.status, answer.body]).toMatchObject([200, { name: 'inventory', ...body }]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const reads = (await gateway.log()).filter(({ type }) => type === read);
    expect(reads.map(({ data, meta }) => ({ data, actor: meta.actor }))).toEqual([
      { data: { name: namespace, secretName: 'inventory' }, actor: expect.stringMatching(/^user\//) },
    ]);
    expect(answer.headers.get('x-fairlead-seq')).toBe(String(reads[0]?.meta.seq));
    for (const grant of [
      { namespace, role: 'viewer' },
      { namespace, role: 'operator' },
      { namespace: `${namespace}-other`, role: 'admin' },
    ] as const) {
      const refused = await gateway.ask('GET', `${at}/${part}`, { token: await tokenFor(grant) });
      expect([grant, refused.status]).toEqual([grant, 403]);
    }
    expect((await gateway.log()).filter(({ type }) => type === read)).toHaveLength(1);
    expect(JSON.stringify(await gateway.log())).not.toMatch(/a-value-that-no-event|open-sesame/);
  });

  it('is refused where there is none', async () => {
    const unknown = await gateway.ask<ErrorView>('GET', `${at}-2/${part}`);
    expect([unknown.status, unknown.body.reason]).toEqual([404, `${kind}.secret-unknown`]);
  });
});

describe('a credential', () => {
  const reads = async (type: string) =>
    (await gateway.log()).filter((event) => event.type === type).map(({ data, meta }) => ({ data, actor: meta.actor }));
  const SEALED_TEXT = 'a-credential-that-no-event-shows';

  it('of a connection is read back by administrators of all namespaces, on record and without its value there; others get 403 [ORBITER 31]', async () => {
    const key = 'a-key-of-one-host-that-no-event-shows';
    const hosts = [{ name: 'rack-1', address: '198.51.100.61', keyRef: 'gateway.connection.rack.own' }];
    const put = await gateway.ask('PUT', '/connections/rack', {
      body: { provider: 'ssh', settings: { hosts, secret: SEALED_TEXT, keys: { own: key } } },
    });
    expect(put.status).toBe(200);
    const answer = await gateway.ask('GET', '/connections/rack/credential');
    expect([answer.status, answer.body]).toEqual([
      200,
      { kind: 'ConnectionCredential', name: 'rack', secret: SEALED_TEXT, keys: { own: key } },
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    await create('of-admin');
    for (const role of ['viewer', 'operator', 'admin'] as const) {
      const token = await tokenFor({ namespace: 'of-admin', role });
      expect((await gateway.ask('GET', '/connections/rack/credential', { token })).status).toBe(403);
    }
    expect(await reads('ConnectionCredentialRead')).toEqual([{ data: { name: 'rack' }, actor: expect.any(String) }]);
    expect(JSON.stringify(await gateway.log())).not.toMatch(/that-no-event-shows/);
    const none = await gateway.ask<ErrorView>('GET', '/connections/nowhere/credential');
    expect([none.status, none.body.reason]).toEqual([404, 'connection.not-found']);
  });

  it('of a realm is read back by administrators of its namespace, on record and without its value there; others get 403 [ORBITER 31]', async () => {
    await create('with-realm');
    await create('without-realm');
    const at = '/ns/with-realm/realms/company';
    const body = { issuerUrl: 'https://id.example.org/realms/team', clientId: 'fairlead', clientSecret: SEALED_TEXT };
    expect((await gateway.ask('PUT', at, { body })).status).toBe(200);
    const token = await tokenFor({ namespace: 'with-realm', role: 'admin' });
    const answer = await gateway.ask('GET', `${at}/credential`, { token });
    const { clientId, clientSecret } = body;
    expect([answer.status, answer.body]).toEqual([
      200,
      { kind: 'RealmCredential', namespace: 'with-realm', name: 'company', clientId, clientSecret },
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    for (const grant of [
      { namespace: 'with-realm', role: 'viewer' },
      { namespace: 'with-realm', role: 'operator' },
      { namespace: 'without-realm', role: 'admin' },
    ] as const)
      expect((await gateway.ask('GET', `${at}/credential`, { token: await tokenFor(grant) })).status).toBe(403);
    expect(await reads('RealmCredentialRead')).toEqual([
      { data: { name: 'with-realm', realm: 'company' }, actor: expect.stringMatching(/^user\//) },
    ]);
    expect(JSON.stringify(await gateway.log())).not.toContain(SEALED_TEXT);
  });
});
