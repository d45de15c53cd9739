import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { describe, expect, it } from '@jest/globals';
import 'reflect-metadata';
import { GatewayModule } from '../gateway.module.js';
import { REFUSES } from '../http/documented.js';
import { ACCESS, type Access } from './access.js';
import { FailureLimit } from './failures.limit.js';
import { mayEverywhere, mayIn, type Identity } from './identity.js';
import { hashOf, idOf, newToken, opens } from './tokens.js';

interface Route {
  readonly name: string;
  readonly method: RequestMethod;
  readonly path: string;
  readonly access: Access | undefined;
  readonly refuses: readonly string[] | undefined;
}

const routesOf = (controller: Type<unknown>): readonly Route[] => {
  const prototype = controller.prototype as Record<string, object>;
  const [base] = [Reflect.getMetadata(PATH_METADATA, controller)].flat() as string[];
  return Object.getOwnPropertyNames(prototype)
    .map((name) => ({ name, handler: prototype[name]! }))
    .filter(({ handler }) => Reflect.hasMetadata(METHOD_METADATA, handler))
    .map(({ name, handler }) => ({
      name: `${controller.name}.${name}`,
      method: Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod,
      path: `${base}/${Reflect.getMetadata(PATH_METADATA, handler)}`,
      access: Reflect.getMetadata(ACCESS, handler) as Access | undefined,
      refuses: Reflect.getMetadata(REFUSES, handler) as readonly string[] | undefined,
    }));
};

const controllers = Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, GatewayModule) as Type<unknown>[];
const routes = controllers.flatMap(routesOf);

describe('every route', () => {
  it('says what it asks of its caller', () => {
    expect(routes.length).toBeGreaterThan(30);
    expect(routes.filter(({ access }) => access === undefined).map(({ name }) => name)).toEqual([]);
  });

  it('is closed to nobody but one that is public on purpose', () => {
    expect(routes.filter(({ access }) => access?.kind === 'public').map(({ name }) => name)).toEqual([
      'LadybugHealthHttp.healthy',
    ]);
  });

  it('with a namespace in its path asks for a role in it, and one without for a role everywhere or any', () => {
    for (const { name, path, access } of routes) {
      if (name === 'LadybugHealthHttp.healthy') continue;
      const kinds = path.includes(':namespace') ? ['namespace', 'everywhere'] : ['authenticated', 'everywhere'];
      expect([name, kinds.includes(access?.kind ?? '')]).toEqual([name, true]);
    }
  });

  it('that changes something asks for more than a viewer', () => {
    for (const { name, method, access } of routes) {
      if (method === RequestMethod.GET) continue;
      const role = access !== undefined && 'role' in access ? access.role : 'none';
      expect([name, ['operator', 'admin'].includes(role)]).toEqual([name, true]);
    }
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
  const fail = (limit: FailureLimit, times: number, address = 'a'): void => {
    for (let time = 0; time < times; time += 1) limit.failed(address, `wrong-${time}`);
  };

  it('stops an address after twenty, for a minute at most, and no other address', () => {
    const limit = new FailureLimit();
    fail(limit, 19);
    expect(limit.waitSeconds('a', 'x')).toBe(0);
    fail(limit, 1);
    expect(limit.waitSeconds('a', 'x')).toBeGreaterThan(0);
    expect(limit.waitSeconds('a', 'x')).toBeLessThanOrEqual(60);
    expect(limit.waitSeconds('b', 'x')).toBe(0);
  });

  it('lets a token through that was good lately', () => {
    const limit = new FailureLimit();
    limit.succeeded('good');
    fail(limit, 30);
    expect([limit.waitSeconds('a', 'good'), limit.waitSeconds('a', 'other') > 0]).toEqual([0, true]);
  });
});
