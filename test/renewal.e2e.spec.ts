import { X509Certificate } from 'node:crypto';
import type { StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const CLUSTER = '/ns/default/clusters/aged';
const CONTROL_PLANES = 3;
/** kubeadm's certificates are valid for 365 days, and must be renewed in the last 90. */
const AGE_DAYS = 300;
const DAY_MS = 24 * 3_600_000;

const clientCertificate = (kubeconfig: string): X509Certificate => {
  const [, data = ''] = /client-certificate-data: (\S+)/.exec(kubeconfig) ?? [];
  return new X509Certificate(Buffer.from(data, 'base64'));
};
const daysLeft = (end: string): number => (Date.parse(end) - Date.now()) / DAY_MS;

/** The whole product in the lab, with no request except that for the cluster. */
describe('F: a cluster whose certificates expire soon', () => {
  let system: System;
  let first: string;

  const until = (type: StoredEvent['type']): Promise<StoredEvent> =>
    system.until('aged', (event) => event.type === type, TIMEOUT_MS);
  const kubeconfig = async (): Promise<string> =>
    (await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`)).body;
  const nodesBy = async (text: string): Promise<number> => {
    const client = new KubernetesClient('aged', text, () => undefined);
    try {
      return (await client.core.listNode()).items.length;
    } finally {
      client.close();
    }
  };

  beforeAll(async () => {
    system = await startSystem({
      env: {
        LAB_CERTIFICATE_AGE_DAYS: String(AGE_DAYS),
        CERTIFICATE_RENEWAL: 'renew',
        UPGRADE_PASS_INTERVAL_MS: '200',
        UPGRADE_LOOK_EVERY_MS: '100',
      },
    });
    const body = clusterBody('aged', { controlPlanes: CONTROL_PLANES, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await until('ControlPlaneInitialized');
    first = await kubeconfig();
    await until('ClusterReady');
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'is warned about, and renewed by a rollout that begins automatically',
    async () => {
      expect(daysLeft(clientCertificate(first).validTo)).toBeLessThan(365 - AGE_DAYS);
      const warned = await until('CertificatesExpiring');
      const asked = await until('UpgradeRequested');
      expect(asked.meta.seq).toBeGreaterThan(warned.meta.seq);
      expect(asked).toMatchObject({
        meta: { actor: 'system/gateway' },
        data: { target: { renewCertificates: true }, pools: [], mode: 'go' },
      });
      const end = await system.until(
        'aged',
        ({ type }) => type === 'RolloutCompleted' || type === 'RolloutHalted' || type === 'UpgradeRejected',
        TIMEOUT_MS,
      );
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'RolloutCompleted', data: { skipped: [] } });
      const renewed = (await system.events('aged')).flatMap((event) => {
        if (event.type !== 'CertificatesReported') return [];
        const admin = event.data.certificates.find(({ name }) => name === 'admin.conf');
        return admin !== undefined && daysLeft(admin.expiresAt) > 300 ? [event.data.node] : [];
      });
      expect(new Set(renewed).size).toBe(CONTROL_PLANES);
    },
    TIMEOUT_MS,
  );

  it(
    'has a new kubeconfig for its users, once, which upgrade-svc also uses',
    async () => {
      const refreshed = await until('KubeconfigRefreshed');
      const now = await kubeconfig();
      const { validTo, serialNumber } = clientCertificate(now);
      expect(daysLeft(validTo)).toBeGreaterThan(300);
      expect(serialNumber).not.toBe(clientCertificate(first).serialNumber);
      expect(refreshed.type === 'KubeconfigRefreshed' && Date.parse(refreshed.data.expiresAt)).toBe(
        Date.parse(validTo),
      );
      expect(await nodesBy(now)).toBe(CONTROL_PLANES + 1);
      expect((await system.call('POST', `${CLUSTER}/etcd/snapshots`, {})).status).toBe(202);
      await system.until(
        'aged',
        ({ type, meta }) => type === 'EtcdSnapshotTaken' && meta.seq > refreshed.meta.seq,
        TIMEOUT_MS,
      );
      const log = await system.events('aged');
      expect(log.filter(({ type }) => type === 'KubeconfigRefreshed')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );
});
