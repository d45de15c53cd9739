import type { DeclaredOidc, DeclaredSpec, Fact, NodeName, Oidc, RealmName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { desiredBindings } from './authentication.evolve.js';
import { bootstrap, type BootstrapCommand } from './bootstrap.decider.js';
import {
  changeStarted,
  clusterReady,
  controlPlaneInitialized,
  controlPlaneJoined,
  cp,
  desiredAfter,
  etcdSaved,
  stateAfter,
  UID,
  wholeCluster,
} from './bootstrap.fixtures.js';
import type { Cluster } from './bootstrap.state.js';

const OIDC: Oidc = {
  issuerUrl: 'https://id.example.org',
  clientId: 'kubernetes',
  usernameClaim: 'sub',
  usernamePrefix: 'oidc:',
  groupsClaim: 'groups',
  groupsPrefix: 'oidc:',
  roleBindings: [{ clusterRole: 'cluster-admin', groups: ['platform'] }],
};

const declared = (oidc?: DeclaredOidc): Fact => ({
  type: 'ClusterSpecChanged',
  data: {
    uid: UID,
    revision: 1,
    spec: { pools: [], ...(oidc === undefined ? {} : { authentication: { oidc } }) } as unknown as DeclaredSpec,
  },
});

/** A cluster whose API servers have the file, from a request with this declaration. */
const signedIn = (oidc?: DeclaredOidc, between: readonly Fact[] = []): readonly Fact[] => {
  const authentication = oidc === undefined ? 0 : 1;
  return wholeCluster().flatMap((fact): readonly Fact[] => {
    if (fact.type === 'ClusterRequested') return [fact, declared(oidc), ...between];
    if (fact.type === 'ControlPlaneInitialized' || fact.type === 'ControlPlaneJoined')
      return [{ ...fact, data: { ...fact.data, authentication } } as Fact];
    return [fact];
  });
};

/** Starts these changes, with a snapshot that was just taken. */
const begun = (...indexes: readonly number[]): readonly Fact[] => [
  etcdSaved,
  ...indexes.map((index) => changeStarted(cp(index), 'authentication', index)),
];

const configured = (node: NodeName, authentication: number): Fact<'AuthenticationConfigured'> => ({
  type: 'AuthenticationConfigured',
  data: { uid: UID, node, authentication },
});
const authorized = (authentication: number, ...roles: readonly string[]): Fact<'UsersAuthorized'> => ({
  type: 'UsersAuthorized',
  data: { uid: UID, authentication, roleBindings: roles.map((clusterRole) => ({ clusterRole, groups: ['platform'] })) },
});
const clusterAfter = (...facts: readonly Fact[]): Cluster => {
  const state = stateAfter(...facts);
  if (state.status === 'absent') throw new Error('there is no cluster');
  return state.cluster;
};

describe('authentication', () => {
  it('is configured before the first API server starts, and groups have their roles before the cluster is ready', () => {
    const facts = signedIn(OIDC);
    const before = facts.slice(
      0,
      facts.findIndex(({ type }) => type === 'ControlPlaneInitialized'),
    );
    expect(desiredAfter(...before)).toContain(`InitControlPlane/${cp(1)}`);
    expect(clusterAfter(...before).authentication).toMatchObject({ revision: 1, oidc: OIDC });
    const unfinished = facts.slice(0, -1);
    expect(desiredAfter(...unfinished)).toEqual(['AuthorizeUsers']);
    expect(desiredAfter(...unfinished, authorized(1, 'cluster-admin'))).toEqual(['InstallAddons']);
    expect(desiredAfter(...unfinished, authorized(1, 'cluster-admin'), clusterReady)).toEqual([]);
  });

  it('requires nothing if nothing was declared', () => {
    expect(desiredAfter(...signedIn())).toEqual([]);
  });

  it('changes on one control plane after the other, and the roles at once', () => {
    const facts = [...signedIn(OIDC), authorized(1, 'cluster-admin'), declared({ ...OIDC, clientId: 'other' })];
    expect(desiredAfter(...facts)).toEqual(['AuthorizeUsers']);
    expect(desiredAfter(...facts, ...begun(1))).toEqual(['AuthorizeUsers', `ConfigureAuthentication/${cp(1)}`]);
    const changed = [...facts, authorized(2, 'cluster-admin')];
    expect(
      desiredAfter(...changed, ...begun(1), configured(cp(1), 2), changeStarted(cp(2), 'authentication', 2)),
    ).toEqual([`ConfigureAuthentication/${cp(2)}`]);
    const all = [cp(1), cp(2), cp(3)].map((node) => configured(node, 2));
    expect(desiredAfter(...changed, ...all)).toEqual([]);
  });

  it('that is declared again without a difference is not a change', () => {
    const facts = [...signedIn(OIDC), authorized(1, 'cluster-admin')];
    expect(desiredAfter(...facts, declared(OIDC))).toEqual([]);
  });

  it('that changes while control planes are configured is configured again on those with the previous one', () => {
    const facts = [...signedIn(OIDC), authorized(1), declared(), configured(cp(1), 2), declared(OIDC)];
    expect(clusterAfter(...facts).authentication?.revision).toBe(3);
    expect(desiredAfter(...facts, authorized(3), ...begun(1))).toEqual([`ConfigureAuthentication/${cp(1)}`]);
  });

  it('removes roles from groups that are no longer declared, once', () => {
    const facts = [...signedIn(OIDC), authorized(1, 'cluster-admin')];
    const binding = { clusterRole: 'view', groups: ['everyone'] };
    const other = [...facts, declared({ ...OIDC, roleBindings: [binding] })];
    const bindings = [binding, { clusterRole: 'cluster-admin', groups: [] }];
    expect(desiredBindings(clusterAfter(...other))).toEqual(bindings);
    const done: Fact = { type: 'UsersAuthorized', data: { uid: UID, authentication: 2, roleBindings: bindings } };
    expect(desiredBindings(clusterAfter(...other, done))).toEqual([binding]);
    expect(desiredBindings(clusterAfter(...other, done, declared()))).toEqual([{ clusterRole: 'view', groups: [] }]);
  });

  it('cannot be changed on API servers that were started without the file', () => {
    expect(desiredAfter(...wholeCluster(), declared(OIDC))).toEqual([]);
    expect(
      controlPlaneInitialized.data.authentication ?? controlPlaneJoined(cp(2)).data.authentication,
    ).toBeUndefined();
  });

  it('is recorded once per control plane and declaration', () => {
    const facts = [...signedIn(OIDC), declared()];
    const decided = (command: BootstrapCommand, ...more: readonly Fact[]) =>
      bootstrap.decide(stateAfter(...facts, ...more), command);
    const fact = configured(cp(1), 2);
    expect(decided(fact)).toEqual([fact]);
    expect(decided(fact, fact)).toEqual([]);
    expect(decided(authorized(2))).toEqual([authorized(2)]);
    expect(decided(authorized(2), authorized(2))).toEqual([]);
  });
});

describe('authentication with a realm', () => {
  const { issuerUrl: _issuer, clientId: _client, roleBindings: _roles, ...rules } = OIDC;
  const client = (realm: string, groupsClaim = 'groups') => ({
    realm: realm as RealmName,
    issuerUrl: `https://id.example.org/realms/${realm}`,
    clientId: 'kube-default.demo',
    group: '/kube-default.demo',
    groupsClaim,
  });
  const ready = (realm: string, groupsClaim?: string): Fact<'IdentityReady'> => ({
    type: 'IdentityReady',
    data: { uid: UID, ...client(realm, groupsClaim) },
  });
  const requested: Fact = { type: 'IdentityRequested', data: { uid: UID, ...client('company') } };

  it('is configured before the first API server starts: issuer, client, claims and prefix, with the role of its group [azimuth 5]', () => {
    const facts = signedIn(rules, [requested, ready('company')]);
    const before = facts.slice(
      0,
      facts.findIndex(({ type }) => type === 'ControlPlaneInitialized'),
    );
    expect(desiredAfter(...before)).toContain(`InitControlPlane/${cp(1)}`);
    expect(clusterAfter(...before).authentication).toMatchObject({
      revision: 1,
      oidc: {
        ...rules,
        issuerUrl: 'https://id.example.org/realms/company',
        clientId: 'kube-default.demo',
        roleBindings: [{ clusterRole: 'cluster-admin', groups: ['/kube-default.demo'] }],
      },
    });
  });

  it('grants the group the declared role, in addition to the groups that already have it', () => {
    const binding = { clusterRole: 'view', groups: ['platform'] };
    const facts = signedIn({ ...rules, accessRole: 'view', roleBindings: [binding] }, [ready('company')]);
    expect(desiredBindings(clusterAfter(...facts))).toEqual([
      { clusterRole: 'view', groups: ['/kube-default.demo', 'platform'] },
    ]);
  });

  it("grants the realm's group of users the same role, and is unchanged by services that sign users in [azimuth 6]", () => {
    const users = { usersGroup: '/platform-users' };
    const services = [{ name: 'grafana', url: 'https://grafana.example.org' }];
    const of = (more: object): Fact => ({
      type: 'IdentityReady',
      data: { uid: UID, ...client('company'), ...users, ...more },
    });
    const facts = [...signedIn(rules, [of({})]), authorized(1, 'cluster-admin')];
    expect(clusterAfter(...facts).authentication?.oidc?.roleBindings).toEqual([
      { clusterRole: 'cluster-admin', groups: ['/kube-default.demo', '/platform-users'] },
    ]);
    const after = clusterAfter(...facts, declared({ ...rules, services }), of({ services }));
    expect(after.authentication?.revision).toBe(1);
  });

  it('is unchanged until the client exists at the realm of a later manifest', () => {
    const facts = [...signedIn(OIDC), authorized(1, 'cluster-admin')];
    const moved = [...facts, declared({ ...rules, realm: 'company' as RealmName })];
    expect(desiredAfter(...moved)).toEqual([]);
    expect(clusterAfter(...moved).authentication?.oidc).toEqual(OIDC);
    expect(desiredAfter(...moved, ready('other'))).toEqual([]);
    expect(desiredAfter(...moved, ready('company'), ...begun(1))).toEqual([
      'AuthorizeUsers',
      `ConfigureAuthentication/${cp(1)}`,
    ]);
  });

  it('is unchanged when the client of the previous realm is deleted', () => {
    const facts = [...signedIn(rules, [ready('company')]), authorized(1, 'cluster-admin')];
    const other = declared({ ...rules, realm: 'other' as RealmName });
    const released: Fact = { type: 'IdentityReleased', data: { uid: UID, realm: 'company' as RealmName } };
    const moved = [...facts, other, ready('other')];
    expect(clusterAfter(...moved).authentication?.revision).toBe(2);
    expect(clusterAfter(...moved, released).authentication?.revision).toBe(2);
  });
});
