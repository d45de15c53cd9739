import { RequestMethod } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { gatewayRoutes } from '../http/routes.fixtures.js';
import { FailureLimit } from './failures.limit.js';
import { mayEverywhere, mayIn, type Identity } from '../access/identity.js';
import { hashOf, idOf, newToken, opens } from '@fairlead/embedded/credentials';

const routes = gatewayRoutes();

/** A session of the page stands for a token: it changes nothing that the log is about. */
const SESSIONS: ReadonlySet<string> = new Set(['SignInHttp.signIn', 'SignInHttp.createCode', 'SignOutHttp.signOut']);

/** A host that joins has a token of its own, in the body; what it downloads is no secret. */
const JOINS: ReadonlySet<string> = new Set(
  ['join', 'script', 'agent', 'runtime'].map((name) => `JoinHostsHttp.${name}`),
);

/** What is needed before anybody is signed in: where the issuer is, and the way there and back. */
const ISSUER: ReadonlySet<string> = new Set(['show', 'begin', 'end'].map((name) => `IssuerHttp.${name}`));

describe('every route', () => {
  it('declares what it adds to the log: a change is never without a trace, and a read alone is access', () => {
    for (const { name, method, records } of routes) {
      if (name === 'LadybugHealthHttp.healthy' || SESSIONS.has(name)) continue;
      const declared = method === RequestMethod.GET ? ['nothing', 'access'] : ['work', 'end'];
      expect([name, declared.includes(records ?? '')]).toEqual([name, true]);
    }
  });

  it('says what it asks of its caller', () => {
    expect(routes.length).toBeGreaterThan(30);
    expect(routes.filter(({ access }) => access === undefined).map(({ name }) => name)).toEqual([]);
  });

  it('is closed to no one but one that is public on purpose', () => {
    expect(routes.filter(({ access }) => access?.kind === 'public').map(({ name }) => name)).toEqual([
      ...JOINS,
      'SignInHttp.signIn',
      ...ISSUER,
      'LadybugHealthHttp.healthy',
    ]);
  });

  it('with a namespace in its path asks for a role in it, and one without for a role everywhere, in some namespace, or for none', () => {
    for (const { name, path, access } of routes) {
      if (name === 'LadybugHealthHttp.healthy' || SESSIONS.has(name) || JOINS.has(name) || ISSUER.has(name)) continue;
      const kinds = path.includes(':namespace')
        ? ['namespace', 'everywhere']
        : ['authenticated', 'some-namespace', 'everywhere'];
      expect([name, kinds.includes(access?.kind ?? '')]).toEqual([name, true]);
    }
  });

  it('that changes something asks for more than a viewer', () => {
    for (const { name, method, access } of routes) {
      if (method === RequestMethod.GET || SESSIONS.has(name) || JOINS.has(name)) continue;
      const role = access !== undefined && 'role' in access ? access.role : 'none';
      expect([name, ['operator', 'admin'].includes(role)]).toEqual([name, true]);
    }
  });

  it('is planned for a viewer, if planning is all that it does', () => {
    const planned = routes.filter(({ access }) => access?.kind === 'namespace' && access.dryRunRole !== access.role);
    expect(planned.map(({ name }) => name)).toEqual([
      'ManifestHttp.put',
      'ManifestHttp.patch',
      'ScaleHttp.put',
      'TemplatesHttp.put',
    ]);
  });

  it('but the compatible health is in the documentation', () => {
    const undocumented = routes.filter(({ refuses }) => refuses === undefined).map(({ name }) => name);
    expect(undocumented).toEqual(['LadybugHealthHttp.healthy']);
  });
});

const identity = (...roles: readonly { namespace: string; role: 'viewer' | 'operator' | 'admin' }[]): Identity =>
  ({ tokenId: 't', actor: 'user/t', roles }) as unknown as Identity;

describe('a role', () => {
  it('holds in its namespace, and includes the lower ones', () => {
    const operator = identity({ namespace: 'a', role: 'operator' });
    expect([mayIn(operator, 'viewer', 'a'), mayIn(operator, 'operator', 'a'), mayIn(operator, 'admin', 'a')]).toEqual([
      true,
      true,
      false,
    ]);
    expect([mayIn(operator, 'viewer', 'b'), mayEverywhere(operator, 'viewer')]).toEqual([false, false]);
  });

  it('in all namespaces holds in each; one in a namespace of the path "*" does not', () => {
    expect(mayIn(identity({ namespace: '*', role: 'viewer' }), 'viewer', 'anything')).toBe(true);
    expect(mayIn(identity({ namespace: 'a', role: 'admin' }), 'viewer', '*')).toBe(false);
  });
});

describe('a token', () => {
  it('opens its own hash and no other', () => {
    const one = newToken();
    expect([
      opens(one.token, one.sha256),
      opens(one.token, newToken().sha256),
      opens(one.token, Buffer.alloc(3)),
    ]).toEqual([true, false, false]);
    expect([idOf(one.token), idOf('fl_x'), idOf(`${one.token}x`)]).toEqual([one.id, undefined, undefined]);
    expect(hashOf(one.token).equals(one.sha256)).toBe(true);
  });
});

describe('the limit of failures', () => {
  const fail = (limit: FailureLimit, times: number, address = 'a'): readonly number[] =>
    Array.from({ length: times }, (_, time) => limit.failed(address, `wrong-${time}`));

  it('holds an address back after twenty, for a minute at most, and no other address', () => {
    const limit = new FailureLimit();
    expect(new Set(fail(limit, 20))).toEqual(new Set([0]));
    const [seconds = 0] = fail(limit, 1);
    expect([seconds > 0, seconds <= 60]).toEqual([true, true]);
    expect(fail(limit, 1, 'b')).toEqual([0]);
  });

  /** Begins lookups that end on request, and counts those under way. */
  const lookups = (limit: FailureLimit, address: string, hashes: readonly string[]) => {
    const ends: (() => void)[] = [];
    const all = hashes.map((hash) =>
      limit.inTurn(address, hash, () => new Promise<string>((resolve) => ends.push(() => resolve(hash)))),
    );
    return { ends, all };
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };

  it('looks the tokens of such an address up one at a time, and refuses none unseen', async () => {
    const limit = new FailureLimit();
    fail(limit, 30);
    const { ends, all } = lookups(limit, 'a', ['x', 'y', 'z']);
    for (let ended = 0; ended < 3; ended += 1) {
      await settle();
      expect(ends).toHaveLength(ended + 1);
      ends[ended]?.();
    }
    expect(await Promise.all(all)).toEqual(['x', 'y', 'z']);
  });

  it('looks a token up at once that was good lately, and those of other addresses', async () => {
    const limit = new FailureLimit();
    limit.succeeded('good');
    fail(limit, 30);
    const own = lookups(limit, 'a', ['x', 'good', 'good']);
    const others = lookups(limit, 'b', ['x', 'y']);
    await settle();
    expect([own.ends.length, others.ends.length]).toEqual([3, 2]);
  });
});
