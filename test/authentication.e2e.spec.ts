import type { ClusterManifestView, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { askNodes, startIssuer, type Issuer } from './system/issuer.js';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const CLUSTER = '/ns/default/clusters/demo';
const DEFAULTS = {
  usernameClaim: 'preferred_username',
  roleBindings: [{ clusterRole: 'cluster-admin', groups: ['/platform-users', '/kube-demo'] }],
};

describe('users of a cluster sign in at an identity provider', () => {
  let system: System;
  let [former, latter]: Issuer[] = [];
  let ca: string;

  const apply = async (authentication?: object, replicas = 1): Promise<ClusterManifestView> => {
    const { status, body } = await system.call<ClusterManifestView>('PUT', `${CLUSTER}/manifest`, {
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'demo' },
      spec: {
        serviceType: 'single',
        controlPlane: { replicas, ...machines },
        pools: [{ name: 'web', replicas: 1, ...machines }],
        ...(authentication === undefined ? {} : { authentication }),
      },
    });
    if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
    return body;
  };
  const oidcOf = ({ url, ca: issuerCa }: Issuer, more: object = {}) => ({
    oidc: { issuerUrl: url, clientId: 'kubernetes', ca: issuerCa, ...DEFAULTS, ...more },
  });
  const until = (desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('demo', desired, TIMEOUT_MS);
  const lastSeq = async (): Promise<number> => (await system.events('demo')).at(-1)?.meta.seq ?? 0;
  /** The API server of each control plane, at its own address. */
  const servers = async (): Promise<readonly string[]> =>
    (await system.events('demo')).flatMap(({ type, data }) =>
      type === 'VmCreated' && 'machine' in data && data.machine.role === 'control-plane'
        ? [`https://${data.machine.privateIp}:6443`]
        : [],
    );
  const answers = async (token: string): Promise<readonly number[]> =>
    Promise.all((await servers()).map((server) => askNodes(server, ca, token)));
  const member = { preferred_username: 'alice', groups: ['/kube-demo'] };

  beforeAll(async () => {
    [former, latter] = await Promise.all([startIssuer(), startIssuer()]);
    system = await startSystem({ light: false });
    await apply(oidcOf(former!));
    await until(({ type }) => type === 'ClusterReady');
    const { body } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/oidc`);
    const { clusters } = parse(body) as { clusters: { cluster: { 'certificate-authority-data': string } }[] };
    ca = Buffer.from(clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64').toString();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await system?.stop();
    await former?.stop();
    await latter?.stop();
  }, 60_000);

  it('members of its groups have the role, others get 403, and expired or foreign tokens 401 [azimuth 6]', async () => {
    expect(await answers(await former!.token(member))).toEqual([200]);
    expect(await answers(await former!.token({ ...member, groups: ['/platform-users', '/others'] }))).toEqual([200]);
    // A user who leaves the group keeps the role until the last token with the group expires.
    expect(await answers(await former!.token({ ...member, groups: ['/others'] }))).toEqual([403]);
    expect(await answers(await former!.token({ preferred_username: 'alice' }))).toEqual([403]);
    expect(await answers(await former!.token(member, -120))).toEqual([401]);
    expect(await answers(await latter!.token(member))).toEqual([401]);
    const noUser = await former!.token({ groups: ['/kube-demo'] });
    expect(await answers(noUser)).toEqual([401]);
    const forged = `${(await former!.token(member)).slice(0, -8)}AAAAAAAA`;
    expect(await answers(forged)).toEqual([401]);
  });

  it('with a kubeconfig without secrets, by the device flow [azimuth 29]', async () => {
    const { status, body } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/oidc`);
    expect(status).toBe(200);
    const { users } = parse(body) as { users: unknown };
    expect(users).toEqual([
      {
        name: 'oidc',
        user: {
          exec: expect.objectContaining({
            apiVersion: 'client.authentication.k8s.io/v1',
            command: 'kubectl',
            args: [
              'oidc-login',
              'get-token',
              '--grant-type=device-code',
              `--oidc-issuer-url=${former!.url}`,
              '--oidc-client-id=kubernetes',
              `--certificate-authority-data=${Buffer.from(former!.ca).toString('base64')}`,
            ],
          }),
        },
      },
    ]);
    expect(body).not.toMatch(/client-key|client-certificate|token:|secret/i);
  });

  it(
    'at another provider after a change, without a restart, and on control planes that join later',
    async () => {
      const dryRun = await system.call<ClusterManifestView>('PATCH', `${CLUSTER}/manifest?dryRun=All`, {
        spec: { authentication: { oidc: { issuerUrl: latter!.url } } },
      });
      expect(dryRun.body.plan).toMatchObject([
        {
          action: 'configure-authentication',
          count: 1,
          reason: 'authentication.oidc.issuerUrl: 1 control plane, one at a time, without a restart',
        },
      ]);
      await apply(oidcOf(latter!));
      await until(
        ({ type, data }) =>
          type === 'AuthenticationConfigured' && 'authentication' in data && data.authentication === 2,
      );
      expect(await answers(await latter!.token(member))).toEqual([200]);
      expect(await answers(await former!.token(member))).toEqual([401]);
      await apply(oidcOf(latter!), 3);
      await until(({ type, data }) => type === 'ControlPlaneReady' && 'nodes' in data && data.nodes.length === 3);
      expect(await answers(await latter!.token(member))).toEqual([200, 200, 200]);
    },
    TIMEOUT_MS,
  );

  it(
    'no longer, one control plane after the other, once the manifest does not declare it',
    async () => {
      const before = await lastSeq();
      await until(({ type, meta }) => type === 'ClusterReady' && meta.seq > 0);
      await apply(undefined, 3);
      const isOff = ({ type, meta, data }: StoredEvent): boolean =>
        type === 'AuthenticationConfigured' &&
        meta.seq > before &&
        'authentication' in data &&
        data.authentication === 3;
      await until((event) => isOff(event));
      await system.until('demo', ({ type, meta }) => type === 'UsersAuthorized' && meta.seq > before, TIMEOUT_MS);
      const off = async () => (await system.events('demo')).filter(isOff).length;
      while ((await off()) < 3) await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await answers(await latter!.token(member))).toEqual([401, 401, 401]);
      const last = (await system.events('demo')).findLast(({ type }) => type === 'UsersAuthorized');
      expect(last?.data).toMatchObject({ roleBindings: [{ clusterRole: 'cluster-admin', groups: [] }] });
      expect((await system.call('GET', `${CLUSTER}/kubeconfig/oidc?minSeq=${await lastSeq()}`)).body).toMatchObject({
        reason: 'cluster.kubeconfig-no-oidc',
      });
    },
    TIMEOUT_MS,
  );
});
