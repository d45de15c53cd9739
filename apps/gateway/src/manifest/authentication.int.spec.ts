import type { ClusterManifestView, ClusterView, ErrorView, Fact, SecretRef } from '@fairlead/contracts';
import { makeKubeconfigs } from '../../../../libs/kubernetes/src/kubeconfig.fixtures.js';
import { NatsSecrets } from '@fairlead/service-kit';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request, useGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';

/** `demo` has API servers with the file; those of `old` were started by an earlier release. */
const gateway = useGateway(async () => {
  for (const cluster of ['demo', 'old']) {
    const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request(cluster) });
    uids.set(cluster, body.uid);
    for (const fact of CREATE.slice(1)) await gateway.state(about(fact, cluster), { cluster });
  }
});
const uids = new Map<string, string>();
const about = (fact: Fact, cluster: string): Fact => {
  const own = JSON.parse(
    JSON.stringify(fact)
      .replaceAll(storyUid, uids.get(cluster) ?? '')
      .replaceAll('demo-', `${cluster}-`),
  ) as Fact;
  if (own.type !== 'ControlPlaneInitialized' || cluster === 'old') return own;
  return { ...own, data: { ...own.data, authentication: 0 } };
};

const pathOf = (cluster: string): string => `/ns/default/clusters/${cluster}`;
const patch = (cluster: string, oidc: object | null, query = '') =>
  gateway.ask<ClusterManifestView & Omit<ErrorView, 'kind'>>('PATCH', `${pathOf(cluster)}/manifest${query}`, {
    body: { spec: { authentication: { oidc } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
const OIDC = { issuerUrl: 'https://id.example.org', clientId: 'kubernetes' };
const seqNow = async (): Promise<number> => (await gateway.log()).at(-1)?.meta.seq ?? 0;

describe('how users sign in', () => {
  it('cannot be declared of a cluster whose API servers were started without the file', async () => {
    const before = await seqNow();
    const { status, body } = await patch('old', OIDC);
    expect([status, body.reason]).toEqual([409, 'cluster.authentication-fixed']);
    expect(await seqNow()).toBe(before);
  });

  it('is refused where kube-apiserver would not start with it, or a token could take a name of Kubernetes', async () => {
    const pem = '-----BEGIN CERTIFICATE-----\nMIIBnotacertificate\n-----END CERTIFICATE-----\n';
    expect((await patch('demo', { ...OIDC, ca: pem })).body.reason).toBe('cluster.oidc-ca');
    expect((await patch('demo', { ...OIDC, groupsPrefix: 'system:' })).body.reason).toBe('cluster.oidc-prefix');
    expect((await patch('demo', { ...OIDC, groupsPrefix: '' })).status).toBe(400);
    expect((await patch('demo', { ...OIDC, issuerUrl: 'http://id.example.org' })).status).toBe(400);
    expect((await patch('demo', { ...OIDC, clientSecret: 'x' })).status).toBe(400);
  });

  it('is one change with a reason, and none when it is declared again', async () => {
    const none = await gateway.ask<ErrorView>('GET', `${pathOf('demo')}/kubeconfig/oidc`);
    expect([none.status, none.body.reason]).toEqual([409, 'cluster.kubeconfig-no-oidc']);
    const dryRun = await patch('demo', OIDC, '?dryRun=All');
    const { status, body } = await patch('demo', OIDC);
    expect([status, body.plan]).toEqual([200, dryRun.body.plan]);
    expect(body.plan).toMatchObject([{ action: 'configure-authentication', count: 3 }]);
    const before = await seqNow();
    expect((await patch('demo', OIDC)).body.plan).toEqual([]);
    expect(await seqNow()).toBe(before);
  });
});

describe("users' kubeconfig", () => {
  const kubeconfig = `${pathOf('demo')}/kubeconfig/oidc`;
  const sealed = async (text: string): Promise<void> => {
    const master = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
    const bootstrap = new NatsSecrets(await gateway.environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
    const uid = uids.get('demo') ?? '';
    await bootstrap.put(`bootstrap-svc.kubeconfig.${uid}` as SecretRef, text, uid);
  };

  it('has no secret of the cluster, and viewers may read it [azimuth 29]', async () => {
    await patch('demo', { ...OIDC, scopes: ['email', 'groups'] });
    const early = await gateway.ask<ErrorView>('GET', `${kubeconfig}?minSeq=${await seqNow()}`);
    expect([early.status, early.body.reason]).toEqual([409, 'cluster.kubeconfig-not-ready']);
    const { genuine, tricks } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
    await sealed(tricks[0]?.text ?? '');
    expect((await gateway.ask<ErrorView>('GET', kubeconfig)).body.reason).toBe('cluster.kubeconfig-refused');
    await sealed(genuine);
    const roles = [{ namespace: 'default', role: 'viewer' }];
    const viewer = await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: 'viewer', roles } });
    const before = await seqNow();
    const { status, body } = await gateway.ask<string>('GET', kubeconfig, { token: viewer.body.token });
    expect(status).toBe(200);
    for (const word of [/client-key-data: (\S+)/, /client-certificate-data: (\S+)/])
      expect(body).not.toContain(word.exec(genuine)?.[1]);
    expect(body).toContain('--grant-type=device-code');
    expect(body).toMatch(/--oidc-extra-scope=email\n.*--oidc-extra-scope=groups\n/);
    expect(await seqNow()).toBe(before);
  });
});
