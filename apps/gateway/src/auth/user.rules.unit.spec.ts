import { RoleGrant } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { holdsStill, parseGroupRoles, rolesOf, userOf, type UserClaims } from './user.rules.js';

const { groupRoles } = parseGroupRoles('/admins *=admin; team a  team-a=operator,default=viewer ;/b team-a=operator;');
const reading: UserClaims = { usernameClaim: 'preferred_username', groupsClaim: 'groups', groupRoles };

describe('roles of groups', () => {
  it('are a group, which may have spaces, and what its members may do in which namespace', () => {
    expect(groupRoles).toEqual([
      { group: '/admins', roles: [{ namespace: '*', role: 'admin' }] },
      {
        group: 'team a',
        roles: [
          { namespace: 'team-a', role: 'operator' },
          { namespace: 'default', role: 'viewer' },
        ],
      },
      { group: '/b', roles: [{ namespace: 'team-a', role: 'operator' }] },
    ]);
  });

  it.each([
    '/admins',
    '/admins *=root',
    '/admins *',
    '/admins Team=admin',
    '/admins a=admin=admin',
    '/admins a=admin,',
    '=admin',
  ])('are refused as %j', (rule) => {
    expect(parseGroupRoles(`/ok *=viewer;${rule}`)).toMatchObject({ faults: [rule] });
  });

  it('add up, each role once', () => {
    expect(rolesOf(['/b', 'team a', '/unknown'], reading)).toEqual([
      { namespace: 'team-a', role: 'operator' },
      { namespace: 'default', role: 'viewer' },
    ]);
    expect(rolesOf([], reading)).toEqual([]);
  });

  it('hold still while none of those before is gone', () => {
    const viewer = RoleGrant.parse({ namespace: 'default', role: 'viewer' });
    const operator = RoleGrant.parse({ namespace: 'default', role: 'operator' });
    expect(holdsStill([viewer], [operator, viewer])).toBe(true);
    expect(holdsStill([viewer, operator], [viewer])).toBe(false);
    expect(holdsStill([], [])).toBe(true);
  });
});

describe('the claims of a token', () => {
  it('name a user, and of its groups only those that give roles', () => {
    const claims = { sub: '1', preferred_username: 'alice', groups: ['/other', '/admins'] };
    expect(userOf(claims, reading)).toEqual({ subject: '1', name: 'alice', groups: ['/admins'] });
    expect(userOf({ sub: '1', preferred_username: 'alice', groups: '/admins' }, reading)?.groups).toEqual(['/admins']);
  });

  it.each([
    [{}, undefined],
    [{ sub: 1 }, undefined],
    [{ sub: '' }, undefined],
    [{ sub: 's'.repeat(256) }, undefined],
    [{ sub: '1', preferred_username: 'a\u202eb' }, '1'],
    [{ sub: '1', preferred_username: 'a\nb' }, '1'],
    [{ sub: '1', preferred_username: ' a' }, '1'],
    [{ sub: '1', preferred_username: 'a'.repeat(64) }, '1'],
    [{ sub: '1', preferred_username: { toString: 'a' } }, '1'],
    [{ sub: '1\u0000', preferred_username: 7 }, 'unnamed'],
  ])('%j are of no user, or of one without a misleading name', (claims, name) => {
    expect(userOf(claims, reading)?.name).toBe(name);
  });

  it.each([undefined, null, {}, [1, {}, null], [['/admins']], '/ADMINS', 'admins'])(
    'with the groups %j give no role',
    (groups) => {
      expect(userOf({ sub: '1', groups }, reading)?.groups).toEqual([]);
    },
  );

  it('with more groups than anybody has are read to a limit', () => {
    const groups = [...Array.from({ length: 1_000 }, (_, index) => `/g${index}`), '/admins'];
    expect(userOf({ sub: '1', groups }, reading)?.groups).toEqual([]);
  });
});
