import type { CreatedTokenView, ErrorView, NamespaceList, RoleGrant, TokenList } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { request, useGateway } from '../gateway.fixtures.js';
import { newToken } from '@fairlead/embedded/credentials';

const gateway = useGateway(async () => {
  await gateway.ask('POST', '/ns', { body: { name: 'team' } });
  await gateway.ask('POST', '/ns/default/clusters', { body: request('demo') });
});

const tokenFor = async (name: string, ...roles: readonly { namespace: string; role: RoleGrant['role'] }[]) =>
  (await gateway.ask<CreatedTokenView>('POST', '/tokens', { body: { name, roles } })).body;

const MUTATIONS = [
  ['DELETE', '/ns/default/clusters/demo'],
  ['POST', '/ns/default/clusters/demo/retry'],
  ['DELETE', '/ns/default/clusters/demo/nodes/n'],
  ['GET', '/ns/default/clusters/demo/kubeconfig'],
] as const;

describe('a caller without a token', () => {
  it('gets only health and documents [CB-Ladybug 34]', async () => {
    for (const path of ['/healthz', '/readyz', '/healthy', '/ladybug/healthy', '/openapi.json', '/docs'])
      expect([path, (await gateway.ask('GET', path, { token: null })).status]).toEqual([path, 200]);
    expect((await gateway.ask('GET', '/', { token: null })).status).toBe(200); // the page, or how to get it
    for (const path of [
      '/ns',
      '/connections',
      '/version',
      '/whoami',
      '/events',
      '/quarantine',
      '/tokens',
      '/ns/default/clusters/demo',
    ]) {
      const { status, body, headers } = await gateway.ask<ErrorView>('GET', path, { token: null });
      expect([path, status, body.reason]).toEqual([path, 401, 'auth.token-missing']);
      expect(headers.get('www-authenticate')).toMatch('Bearer');
    }
  });
});

describe('the document that is served', () => {
  it('is the one in the repository', async () => {
    const { body } = await gateway.ask('GET', '/openapi.json', { token: null });
    const file = new URL('../../../../docs/openapi.json', import.meta.url);
    expect(body).toEqual(JSON.parse(readFileSync(file, 'utf8')));
  });
});

describe('who asks', () => {
  it('is the name, the roles and the expiry of the token, and nothing that opens anything', async () => {
    const { id, token } = await tokenFor('ada#1', { namespace: 'default', role: 'viewer' });
    const { status, body } = await gateway.ask('GET', '/whoami', { token });
    expect([status, body]).toEqual([
      200,
      {
        kind: 'Whoami',
        name: 'ada#1',
        tokenId: id,
        actor: `user/ada#1#${id}`,
        roles: [{ namespace: 'default', role: 'viewer' }],
      },
    ]);
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const grants = [{ namespace: 'default', role: 'viewer' }];
    const ending = await gateway.ask<CreatedTokenView>('POST', '/tokens', {
      body: { name: 'short', roles: grants, expiresAt },
    });
    expect((await gateway.ask('GET', '/whoami', { token: ending.body.token })).body).toMatchObject({ expiresAt });
  });
});

describe('a role', () => {
  it('of a viewer reads its own namespace, and changes nothing', async () => {
    const { token } = await tokenFor('viewer', { namespace: 'default', role: 'viewer' });
    expect((await gateway.ask('GET', '/ns/default/clusters/demo', { token })).status).toBe(200);
    for (const [method, path] of MUTATIONS) {
      const { status, body } = await gateway.ask<ErrorView>(method, path, { token });
      expect([path, status, body.message]).toEqual([path, 403, 'This requires the role operator in namespace default']);
    }
    const other = await gateway.ask<ErrorView>('GET', '/ns/team/clusters', { token });
    expect([other.status, other.body.reason]).toEqual([403, 'auth.role-missing']);
    const { body } = await gateway.ask<NamespaceList>('GET', '/ns', { token });
    expect(body.items.map(({ name }) => name)).toEqual(['default']);
  });

  it('of an operator changes clusters of its own namespace, and nothing beside them', async () => {
    const { token } = await tokenFor('operator', { namespace: 'team', role: 'operator' });
    const made = await gateway.ask('POST', '/ns/team/clusters', { body: request('mine'), token });
    expect(made.status).toBe(202);
    expect((await gateway.ask('POST', '/ns/default/clusters', { body: request('theirs'), token })).status).toBe(403);
    for (const [method, path] of [
      ['POST', '/ns'],
      ['PUT', '/connections/lab'],
      ['GET', '/events'],
      ['GET', '/tokens'],
      ['POST', '/tokens'],
      ['POST', '/quarantine/release'],
    ] as const) {
      const { status } = await gateway.ask(method, path, { token, ...(method === 'GET' ? {} : { body: {} }) });
      expect([method, path, status]).toEqual([method, path, 403]);
    }
  });

  it('of an administrator of one namespace is none of the others, and not of what belongs to none', async () => {
    const { token } = await tokenFor('local-admin', { namespace: 'team', role: 'admin' });
    expect((await gateway.ask('GET', '/ns/default/clusters', { token })).status).toBe(403);
    expect((await gateway.ask('GET', '/connections', { token })).status).toBe(200);
    for (const [method, path] of [
      ['DELETE', '/ns/team'],
      ['GET', '/events'],
      ['GET', '/quarantine'],
    ] as const)
      expect([path, (await gateway.ask(method, path, { token })).status]).toEqual([path, 403]);
  });
});

describe('a token', () => {
  it('is shown once, kept only as a hash, and on record', async () => {
    const created = await tokenFor('shown-once', { namespace: '*', role: 'viewer' });
    expect(created.token).toMatch(/^fl_[0-9a-f]{16}_/);
    const { body } = await gateway.ask<TokenList>('GET', '/tokens');
    expect(JSON.stringify(body)).not.toContain(created.token);
    const secret = created.token.split('_').slice(2).join('_');
    const everything = JSON.stringify(await gateway.log());
    expect(everything).toContain(`"id":"${created.id}"`);
    expect(everything).not.toContain(secret);
    expect(everything).not.toContain(gateway.token.split('_').slice(2).join('_'));
  });

  it('opens nothing from the moment that it is revoked', async () => {
    const { token, id } = await tokenFor('short-lived', { namespace: '*', role: 'viewer' });
    expect((await gateway.ask('GET', '/version', { token })).status).toBe(200);
    expect((await gateway.ask('DELETE', `/tokens/${id}`)).status).toBe(200);
    const { status, body } = await gateway.ask<ErrorView>('GET', '/version', { token });
    expect([status, body.reason]).toEqual([401, 'auth.token-unknown']);
    const unknown = await gateway.ask<ErrorView>('DELETE', '/tokens/none');
    expect([unknown.status, unknown.body.reason]).toEqual([404, 'token.unknown']);
  });

  it('with the id of another and a wrong secret is not known', async () => {
    const { token } = await tokenFor('victim', { namespace: '*', role: 'admin' });
    const forged = `${token.slice(0, 20)}${newToken().token.slice(20)}`;
    expect((await gateway.ask('GET', '/version', { token: forged })).status).toBe(401);
  });

  it('of the local administrator is in a file that only its owner reads, and stays the same', async () => {
    const file = join(gateway.folder, 'local.token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await gateway.startReplica();
    expect(readFileSync(file, 'utf8').trim()).toBe(gateway.token);
    expect((await gateway.ask('GET', '/tokens', { replica: 1 })).status).toBe(200);
    const locals = (await gateway.log()).filter(
      ({ type, data }) => type === 'ApiTokenCreated' && 'name' in data && data.name === 'local',
    );
    expect(locals).toHaveLength(1);
  });
});

describe('who tries tokens', () => {
  it('is stopped after a while, and a token that was good lately still opens', async () => {
    const wrong = () => gateway.ask<ErrorView>('GET', '/version', { token: newToken().token });
    let last = await wrong();
    for (let tries = 0; tries < 25 && last.status === 401; tries += 1) last = await wrong();
    expect([last.status, last.body.reason]).toEqual([429, 'auth.too-many-failures']);
    expect((await gateway.ask('GET', '/version')).status).toBe(200);
  });
});
