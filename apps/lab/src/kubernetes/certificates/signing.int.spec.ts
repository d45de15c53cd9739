import { eventually } from '@fairlead/testing';
import 'reflect-metadata';
import {
  CertificatesV1Api,
  CoreV1Api,
  KubeConfig,
  RbacAuthorizationV1Api,
  type V1CertificateSigningRequest,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as x509 from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import { ManualClock } from '../clock/manual.clock.js';
import { startBench, type Bench } from '../kubectl.fixtures.js';
import './certificate.authority.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const SIGNER = 'kubernetes.io/kube-apiserver-client';
const HOUR_MS = 3_600_000;

interface Made {
  readonly csr: string;
  readonly key: string;
}

const makeRequest = async (user: string, group: string): Promise<Made> => {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const name = [{ O: [group] }, { CN: [user] }];
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: ALGORITHM });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { csr: csr.toString('pem'), key };
};

/** Over real TLS, which uses the machine's clock; the cluster's clock may lag behind. */
describe.each([
  ['a cluster of now', 0],
  ['a cluster whose clock is an hour behind', HOUR_MS],
])('certificates.k8s.io of %s', (_what, behindMs) => {
  let bench: Bench;
  let admin: KubeConfig;
  let api: CertificatesV1Api;

  beforeAll(async () => {
    bench = await startBench(behindMs === 0 ? {} : { clock: new ManualClock(Date.now() - behindMs) });
    admin = new KubeConfig();
    admin.loadFromString(await bench.cluster.kubeconfig({ server: bench.server, user: 'admin' }));
    api = admin.makeApiClient(CertificatesV1Api);
  });
  afterAll(() => bench.close());

  const create = (name: string, { csr }: Made): Promise<V1CertificateSigningRequest> => {
    const spec = { request: Buffer.from(csr).toString('base64'), signerName: SIGNER, expirationSeconds: 600 };
    const body = { metadata: { name }, spec: { ...spec, usages: ['client auth'] } };
    return api.createCertificateSigningRequest({ body });
  };

  const signed = async (name: string, made: Made): Promise<string> => {
    const created = await create(name, made);
    expect(created.spec).toMatchObject({ username: 'kubernetes-admin' });
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Spec' }];
    await api.replaceCertificateSigningRequestApproval({ name, body: { ...created, status: { conditions } } });
    let certificate = '';
    await eventually(
      async () => {
        certificate = (await api.readCertificateSigningRequest({ name })).status?.certificate ?? '';
        return certificate !== '';
      },
      { what: 'the certificate' },
    );
    return Buffer.from(certificate, 'base64').toString();
  };

  const nodesAs = (cert: string, key: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const { caData = '' } = admin.getCurrentCluster() ?? {};
      const ca = Buffer.from(caData, 'base64');
      httpsRequest(new URL('/api/v1/nodes', bench.server), { ca, cert, key, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });

  it('signs approved requests; the certificate identifies its user, who has the rights of a ClusterRoleBinding', async () => {
    const made = await makeRequest('someone', 'people');
    const certificate = await signed('someone', made);
    if (behindMs > 0) {
      // Issued an hour ago with a validity of ten minutes, so already expired.
      expect(await nodesAs(certificate, made.key)).toBe(401);
      return;
    }
    expect(await nodesAs(certificate, made.key)).toBe(403);
    await admin.makeApiClient(RbacAuthorizationV1Api).createClusterRoleBinding({
      body: {
        metadata: { name: 'people' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'people' }],
      },
    });
    expect(await nodesAs(certificate, made.key)).toBe(200);
    expect((await admin.makeApiClient(CoreV1Api).listNode()).items).toHaveLength(3);
  });

  it('signs nothing that is not approved, and rejects requests for system:masters', async () => {
    await create('waiting', await makeRequest('someone', 'people'));
    await expect(create('masters', await makeRequest('mallory', 'system:masters'))).rejects.toThrow('system:masters');
    const broken = { csr: 'no request', key: '' };
    await expect(create('broken', broken)).rejects.toThrow('unable to parse csr');
    expect((await api.readCertificateSigningRequest({ name: 'waiting' })).status?.certificate).toBeUndefined();
  });
});
