import type { CreatedTokenView, ErrorView, RoleGrant, TokenList } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { request, useGateway, type AskOptions } from '../gateway.fixtures.js';
import { newToken } from '@fairlead/embedded/credentials';

const gateway = useGateway(async () => {
  await gateway.ask('POST', '/ns', { body: { name: 'team' } });
  await gateway.ask('POST', '/ns/default/clusters', { body: request('demo') });
  await gateway.startReplica();
});

/** On a machine that is several times slower than an idle one; far below what a stream or a wait lasts otherwise. */
const AT_ONCE_MS = 15_000;
const WAIT_SECONDS = 60;
const ADMIN: RoleGrant = { namespace: '*', role: 'admin' };
const grant = (namespace: string, role: RoleGrant['role']): RoleGrant => ({ namespace, role }) as RoleGrant;

const create = (name: string, roles: readonly RoleGrant[], options: AskOptions = {}) =>
  gateway.ask<CreatedTokenView & Pick<ErrorView, 'reason' | 'field'>>('POST', '/tokens', {
    ...options,
    body: { name, roles },
  });

const tokenFor = async (name: string, ...roles: readonly RoleGrant[]) => (await create(name, roles)).body;

const revoke = async (id: string, options: AskOptions = {}) => {
  const { status, body } = await gateway.ask<ErrorView>('DELETE', `/tokens/${id}`, options);
  return [status, body.reason];
};

const tokens = async (token?: string): Promise<TokenList['items']> =>
  (await gateway.ask<TokenList>('GET', '/tokens', token === undefined ? {} : { token })).body.items;

describe('the token of the last administrator', () => {
  it('cannot be revoked, by itself or by anybody', async () => {
    const [local] = await tokens();
    expect(await revoke(local!.id)).toEqual([409, 'token.last-administrator']);
    expect((await gateway.ask('GET', '/version')).status).toBe(200);
  });

  it('is one of two that revoke each other at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [one, other] = [await tokenFor('one', ADMIN), await tokenFor('other', ADMIN)];
      const admins = (await tokens()).filter(({ roles }) => roles.some(({ namespace }) => namespace === '*'));
      const third = admins.filter(({ id }) => id !== one.id && id !== other.id);
      expect(third.map(({ name }) => name)).toEqual(['local']);
      const ends = await Promise.all([
        revoke(one.id, { token: other.token }),
        revoke(other.id, { token: one.token, replica: 1 }),
      ]);
      expect(ends.map(([status]) => status).filter((status) => Number(status) >= 500)).toEqual([]);
      for (const { id } of await tokens()) if ([one.id, other.id].includes(id)) await revoke(id);
    }
  });
});

describe('the token in use', () => {
  it('cannot be revoked by its own request, and by another it can', async () => {
    const own = await tokenFor('own', ADMIN);
    expect(await revoke(own.id, { token: own.token })).toEqual([409, 'token.in-use']);
    expect(await revoke(own.id)).toEqual([200, undefined]);
  });
});

/** Resolves when the stream is open; `ended` when it is over, with the time. */
const stream = async (token: string, replica: number): Promise<{ readonly ended: Promise<number> }> => {
  const response = await fetch(`${gateway.baseUrl(replica)}/ns/default/clusters/demo/events/stream`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  await reader.read();
  const untilEnd = async (): Promise<number> => {
    while (!(await reader.read()).done);
    return performance.now();
  };
  return { ended: untilEnd() };
};

describe('a token that ends', () => {
  const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const sleepUntil = (time: string): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, Date.parse(time) - Date.now() + 50));

  const ending = async (name: string, ms: number, ...roles: readonly RoleGrant[]) => {
    const expiresAt = inMs(ms);
    const { status, body } = await gateway.ask<CreatedTokenView>('POST', '/tokens', {
      body: { name, roles, expiresAt },
    });
    expect([status, body.expiresAt]).toEqual([201, expiresAt]);
    return { ...body, expiresAt };
  };

  it('opens nothing from its moment on, at any replica, and only its holder learns why', async () => {
    const { token, expiresAt, id } = await ending('short', 1_500, grant('default', 'viewer'));
    expect((await gateway.ask('GET', '/version', { token })).status).toBe(200);
    await sleepUntil(expiresAt);
    for (const replica of [0, 1]) {
      const { status, body, headers } = await gateway.ask<ErrorView>('GET', '/version', { token, replica });
      expect([status, body.reason]).toEqual([401, 'auth.token-expired']);
      expect(headers.get('www-authenticate')).toContain('Bearer');
    }
    const guessed = `${token.slice(0, -43)}${newToken().token.slice(-43)}`;
    expect((await gateway.ask<ErrorView>('GET', '/version', { token: guessed })).body.reason).toBe(
      'auth.token-unknown',
    );
    expect((await tokens()).find((one) => one.id === id)?.expiresAt).toBe(expiresAt);
    const onRecord = (await gateway.log('evt.*.*.*.audit.ApiTokenCreated')).map(({ data }) => data);
    expect(onRecord).toContainEqual(expect.objectContaining({ id, expiresAt }));
  });

  it('ends its event streams and its waits at that moment, at every replica, and no other', async () => {
    const { token, expiresAt } = await ending('streams', 3_000, grant('default', 'operator'));
    const forEver = await tokenFor('goes-on', grant('default', 'viewer'));
    const streams = await Promise.all([0, 1].map((replica) => stream(token, replica)));
    const still = await stream(forEver.token, 1);
    const end = performance.now() + (Date.parse(expiresAt) - Date.now());
    const wait = await gateway.ask<ErrorView>('POST', '/ns/default/clusters', {
      body: request('ends-meanwhile'),
      headers: { prefer: 'wait=60' },
      token,
    });
    expect([wait.status, wait.body.reason]).toEqual([401, 'auth.token-expired']);
    for (const at of await Promise.all(streams.map(({ ended }) => ended))) {
      expect(at - end).toBeGreaterThan(-100);
      expect(at - end).toBeLessThan(AT_ONCE_MS);
    }
    const later = new Promise<string>((resolve) => setTimeout(() => resolve('open'), 300));
    expect(await Promise.race([still.ended, later])).toBe('open');
    await revoke(forEver.id);
  });

  it('is not the last administrator that is left', async () => {
    const [local] = (await tokens()).filter(({ name }) => name === 'local');
    const admin = await ending('admin-for-now', 3_600_000, ADMIN);
    expect(await revoke(local!.id, { token: admin.token })).toEqual([409, 'token.last-administrator']);
    expect(await revoke(admin.id)).toEqual([200, undefined]);
  });

  it('makes no token that outlives it', async () => {
    const admin = await ending('admin-for-now', 60_000, ADMIN);
    const made = async (expiresAt?: string) => {
      const body = { name: 'child', roles: [grant('default', 'viewer')], ...(expiresAt ? { expiresAt } : {}) };
      const answer = await gateway.ask<ErrorView>('POST', '/tokens', { token: admin.token, body });
      return [answer.status, answer.body.reason];
    };
    expect(await made()).toEqual([422, 'token.outlives-caller']);
    expect(await made(inMs(120_000))).toEqual([422, 'token.outlives-caller']);
    expect(await made(inMs(30_000))).toEqual([201, undefined]);
    await revoke(admin.id);
  });

  it.each([
    ['a second ago', inMs(-1_000)],
    ['in eleven years', inMs(11 * 365 * 86_400_000)],
    ['in the year 9999', '9999-12-31T23:59:59.999Z'],
  ])('cannot end %s', async (_when, expiresAt) => {
    const body = { name: 'odd', roles: [grant('default', 'viewer')], expiresAt };
    const answer = await gateway.ask<ErrorView>('POST', '/tokens', { body });
    expect([answer.status, answer.body.reason, answer.body.field]).toEqual([422, 'token.expiry-invalid', 'expiresAt']);
  });

  it.each(['tomorrow', '', 30, null])('cannot end at %j, which is no time', async (expiresAt) => {
    const body = { name: 'odd', roles: [grant('default', 'viewer')], expiresAt };
    expect((await gateway.ask('POST', '/tokens', { body })).status).toBe(400);
  });
});

describe('a revoked token', () => {
  it('ends its event streams at once, at every replica, and no other', async () => {
    const one = await tokenFor('streams', grant('default', 'viewer'));
    const other = await tokenFor('goes-on', grant('default', 'viewer'));
    const streams = await Promise.all([0, 1].map((replica) => stream(one.token, replica)));
    const still = await stream(other.token, 1);
    const revokedAt = performance.now();
    expect(await revoke(one.id)).toEqual([200, undefined]);
    const ends = await Promise.all(streams.map(({ ended }) => ended));
    for (const end of ends) expect(end - revokedAt).toBeLessThan(AT_ONCE_MS);
    const later = new Promise<string>((resolve) => setTimeout(() => resolve('open'), 500));
    expect(await Promise.race([still.ended, later])).toBe('open');
    await revoke(other.id);
    await still.ended;
  });

  it('ends its waits at once, at every replica', async () => {
    const { token, id } = await tokenFor('waits', grant('default', 'operator'));
    const waits = [0, 1].map((replica) =>
      gateway.ask<ErrorView>('POST', '/ns/default/clusters', {
        body: request(`waits-${replica}`),
        headers: { prefer: `wait=${WAIT_SECONDS}` },
        token,
        replica,
      }),
    );
    for (const replica of [0, 1])
      await eventually(async () => (await gateway.log(`evt.*.default.waits-${replica}.>`)).length > 0);
    const revokedAt = performance.now();
    await revoke(id);
    for (const { status, body } of await Promise.all(waits))
      expect([status, body.reason]).toEqual([401, 'auth.token-unknown']);
    expect(performance.now() - revokedAt).toBeLessThan(WAIT_SECONDS * 500);
  });
});

describe('the name of a token', () => {
  it('is not its identity: events and audit distinguish two tokens of one name', async () => {
    const [one, other] = [
      await tokenFor('ada', grant('default', 'operator')),
      await tokenFor('ada', grant('default', 'operator')),
    ];
    for (const [name, { token }] of [['of-one', one] as const, ['of-other', other] as const])
      expect((await gateway.ask('POST', '/ns/default/clusters', { body: request(name), token })).status).toBe(202);
    const actors = (await gateway.log('evt.*.default.*.request.ClusterRequested'))
      .filter(({ meta }) => meta.cluster.startsWith('of-'))
      .map(({ meta }) => meta.actor);
    expect(actors).toEqual([`user/ada#${one.id}`, `user/ada#${other.id}`]);
  });

  it.each(['a\u202eb', '\u2066x', 'a\u200eb', 'a\u200bb', 'a\nb', 'a\tb', 'a\u0000', ' a', 'a ', ' ', '\u2028'])(
    'is refused as %j',
    async (name) => {
      const { status, body } = await create(name, [grant('default', 'viewer')]);
      expect([status, body.field]).toEqual([400, 'name']);
    },
  );

  it('may be of any script', async () => {
    expect((await create('Zoë 李 ci/cd #1', [grant('default', 'viewer')])).status).toBe(201);
  });
});

describe('a grant', () => {
  it('is of an existing namespace', async () => {
    const { status, body } = await create('nowhere', [grant('default', 'viewer'), grant('missing', 'viewer')]);
    expect([status, body.reason, body.field]).toEqual([422, 'token.namespace-unknown', 'roles[1].namespace']);
  });

  it('of the role admin in a namespace manages the tokens of that namespace, and no others', async () => {
    const admin = await tokenFor('team-admin', grant('team', 'admin'));
    const mine = await create('team-ci', [grant('team', 'operator')], { token: admin.token });
    expect(mine.status).toBe(201);
    for (const roles of [[ADMIN], [grant('default', 'viewer')], [grant('team', 'viewer'), grant('*', 'viewer')]]) {
      const { status, body } = await create('too-much', roles, { token: admin.token });
      expect([status, body.reason]).toEqual([403, 'auth.role-missing']);
    }
    const both = await tokenFor('both', grant('team', 'viewer'), grant('default', 'viewer'));
    expect((await tokens(admin.token)).map(({ name }) => name)).toEqual(['team-admin', 'team-ci']);
    expect(await revoke(both.id, { token: admin.token })).toEqual([404, 'token.unknown']);
    expect(await revoke(mine.body.id, { token: admin.token })).toEqual([200, undefined]);
    const operator = await tokenFor('team-operator', grant('team', 'operator'));
    expect((await gateway.ask('GET', '/tokens', { token: operator.token })).status).toBe(403);
  });
});

describe('wrong tokens of an address', () => {
  it('are slowed down, and lock out no valid token of the same address, not even a new one', async () => {
    const fresh = await tokenFor('fresh', grant('default', 'viewer'));
    const wrong = () => gateway.ask<ErrorView>('GET', '/version', { token: newToken().token });
    const answers = await Promise.all(Array.from({ length: 40 }, wrong));
    expect(new Set(answers.map(({ body }) => body.reason))).toEqual(
      new Set(['auth.token-unknown', 'auth.too-many-failures']),
    );
    expect((await gateway.ask('GET', '/version', { token: fresh.token })).status).toBe(200);
    expect((await gateway.ask('GET', '/version')).status).toBe(200);
    expect((await wrong()).status).toBe(429);
  });
});
