import { describe, expect, it } from '@jest/globals';
import {
  authenticationFaults,
  completeOidc,
  ManifestAuthentication,
  specOfManifest,
  ClusterManifest,
} from '@fairlead/contracts';
import { changedFields } from './manifest.diff.js';
import { planOf } from './manifest.plan.js';

const ISSUER = 'https://id.example.org/realms/team';
const given = { issuerUrl: ISSUER, clientId: 'kubernetes' };
const parsed = (oidc: object) => ManifestAuthentication.safeParse({ oidc });
const faultsOf = (oidc: object) => authenticationFaults(ManifestAuthentication.parse({ oidc }), 'cluster.local');

const specOf = (authentication?: object) =>
  specOfManifest(
    ClusterManifest.parse({
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'demo' },
      spec: {
        controlPlane: { replicas: 3, connection: 'lab', machineType: 'lab.medium' },
        ...(authentication === undefined ? {} : { authentication }),
      },
    }).spec,
  );

describe('how users sign in', () => {
  it('has the defaults of kube-apiserver, with prefixes that exclude names of Kubernetes', () => {
    expect(parsed(given).data?.oidc).toEqual({
      ...given,
      usernameClaim: 'sub',
      usernamePrefix: 'oidc:',
      groupsClaim: 'groups',
      groupsPrefix: 'oidc:',
    });
  });

  it.each([
    'http://id.example.org',
    'https://user:secret@id.example.org',
    'https://id.example.org?realm=team',
    'https://id.example.org/#team',
    'https://id.example.org/a b',
    'https://id.example.org/%zz',
    '/realms/team',
    `https://id.example.org/${'a'.repeat(512)}`,
    'https://id.example.org\n',
  ])('rejects an issuer that kube-apiserver would reject: %j', (issuerUrl) => {
    expect(parsed({ ...given, issuerUrl }).success).toBe(false);
  });

  it.each([
    { clientId: '' },
    { clientId: 'a\nb' },
    { usernamePrefix: '' },
    { groupsPrefix: '' },
    { groupsPrefix: 'x'.repeat(65) },
    { scopes: ['--oidc-client-secret=x'] },
    { scopes: ['a b'] },
    { requiredClaims: { hd: '' } },
    { requiredClaims: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`c${at}`, 'x'])) },
    { ca: 'not a certificate' },
    { ca: '-----BEGIN PRIVATE KEY-----\nMII=\n-----END PRIVATE KEY-----\n' },
    { roleBindings: [{ clusterRole: 'a/b', groups: ['x'] }] },
    { roleBindings: [{ clusterRole: 'view', groups: [] }] },
    { clientSecret: 'x' },
  ])('has only well-formed fields: %j', (field) => {
    expect(parsed({ ...given, ...field }).success).toBe(false);
  });

  it.each(['system:', 's', 'system:serviceaccount:', 'kubeadm:', 'fairlead:oper', 'k'])(
    'rejects a prefix with which a name of Kubernetes, kubeadm or Fairlead can begin: %s',
    (prefix) => {
      expect(faultsOf({ ...given, usernamePrefix: prefix, groupsPrefix: prefix })).toMatchObject([
        { code: 'cluster.oidc-prefix', field: 'spec.authentication.oidc.usernamePrefix' },
        { code: 'cluster.oidc-prefix', field: 'spec.authentication.oidc.groupsPrefix' },
      ]);
    },
  );

  it('does not replace the issuer of service accounts, and binds each role once', () => {
    expect(faultsOf(given)).toEqual([]);
    expect(faultsOf({ ...given, issuerUrl: 'https://kubernetes.default.svc.cluster.local' })).toMatchObject([
      { code: 'cluster.oidc-issuer' },
    ]);
    const binding = { clusterRole: 'view', groups: ['a'] };
    expect(faultsOf({ ...given, roleBindings: [binding, binding] })).toMatchObject([
      { code: 'cluster.oidc-role-repeated', field: 'spec.authentication.oidc.roleBindings[1]' },
    ]);
  });

  it('takes issuer and client either from the manifest or from a realm, never one from each', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ realm: 'company', accessRole: 'view' })).toEqual([]);
    expect(faultsOf({ ...given, realm: 'company' })).toMatchObject([
      { code: 'cluster.oidc-realm', field: 'spec.authentication.oidc.issuerUrl' },
    ]);
    expect(faultsOf({ ...given, accessRole: 'view' })).toMatchObject([{ code: 'cluster.oidc-realm' }]);
    expect(faultsOf({ issuerUrl: ISSUER })).toMatchObject([
      { code: 'cluster.oidc-incomplete', field: 'spec.authentication.oidc.clientId' },
    ]);
    expect(faultsOf({ clientId: 'kubernetes' })).toMatchObject([
      { code: 'cluster.oidc-incomplete', field: 'spec.authentication.oidc.issuerUrl' },
    ]);
    expect(parsed({ realm: 'Not A Name' }).success).toBe(false);
  });

  it('names each service once, with an address that browsers reach over TLS, and only with a realm', () => {
    const grafana = { name: 'grafana', url: 'https://grafana.example.org' };
    expect(faultsOf({ services: [grafana, { ...grafana, name: 'wiki' }] })).toEqual([]);
    expect(faultsOf({ services: [grafana, grafana] })).toMatchObject([
      { code: 'cluster.oidc-service-repeated', field: 'spec.authentication.oidc.services[1]' },
    ]);
    expect(faultsOf({ ...given, services: [grafana] })).toMatchObject([{ code: 'cluster.oidc-realm' }]);
    for (const wrong of [
      { name: 'a.b' },
      { name: 'A' },
      { url: 'http://grafana.example.org' },
      { url: 'https://a/?b' },
    ])
      expect(parsed({ services: [{ ...grafana, ...wrong }] }).success).toBe(false);
    const sorted = specOf({ oidc: { services: [{ ...grafana, name: 'z' }, grafana] } }).authentication?.oidc?.services;
    expect(sorted?.map(({ name }) => name)).toEqual(['grafana', 'z']);
  });

  it('is equal in another order, and with duplicate groups', () => {
    const roles = (...groups: string[]) => [
      { clusterRole: 'view', groups },
      { clusterRole: 'edit', groups: ['e'] },
    ];
    const one = {
      ...given,
      scopes: ['groups', 'email'],
      requiredClaims: { b: '1', a: '2' },
      roleBindings: roles('b', 'a'),
    };
    const other = {
      ...given,
      scopes: ['email', 'groups'],
      requiredClaims: { a: '2', b: '1' },
      roleBindings: roles('a', 'b', 'a').toReversed(),
    };
    const [first, second] = [one, other].map((oidc) => specOf({ oidc }));
    expect(JSON.stringify(first?.authentication)).toBe(JSON.stringify(second?.authentication));
    expect(changedFields(first, second!)).toEqual([]);
    expect(completeOidc(first!.authentication!.oidc!)).toEqual(first!.authentication!.oidc);
  });

  it('changes in one step with a reason, only on control planes', () => {
    const members = ['demo-cp-1', 'demo-cp-2', 'demo-w-1'].map((name) => ({
      name,
      pool: name.startsWith('demo-cp') ? 'control-plane' : 'web',
      ready: true,
      joined: true,
      zone: '',
      machine: { connection: 'lab', machineType: 'lab.medium', rootDisk: { type: 'default', size: 'default' } },
    }));
    const before = { ...specOf({ oidc: given }), controlPlane: { ...specOf().controlPlane, replicas: 2 } };
    const plan = (after: typeof before) => planOf(before, after, { members: members as never });
    expect(
      plan({ ...before, authentication: specOf({ oidc: { ...given, clientId: 'other' } }).authentication }),
    ).toEqual([
      {
        action: 'configure-authentication',
        pool: null,
        count: 2,
        nodes: [],
        reason: 'authentication.oidc.clientId: 2 control planes, one at a time, without a restart',
      },
    ]);
    const { authentication: _none, ...without } = before;
    expect(plan(without)).toMatchObject([
      { reason: expect.stringMatching(/^authentication\.oidc\.issuerUrl, .* and 3 more: 2 control planes/) },
    ]);
    expect(plan(before)).toEqual([]);
  });
});
