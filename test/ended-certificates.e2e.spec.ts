import type { ClusterView, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 300_000;
const CLUSTER = '/ns/default/clusters/ended';
/** kubeadm's certificates are valid for 365 days; these expire this long after their creation. */
const LEFT_SECONDS = 110;
const CONTROL_PLANES = 3;
const DAY_SECONDS = 24 * 3_600;
const AGE_DAYS = 365 - LEFT_SECONDS / DAY_SECONDS;

/** The whole product in the lab; nothing renews certificates automatically. */
describe('F: a cluster whose certificates have ended', () => {
  let system: System;

  const kubeconfig = async (): Promise<string> =>
    (await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`)).body;
  const nodesBy = async (text: string): Promise<number> => {
    const client = new KubernetesClient('ended', text, () => undefined);
    try {
      return (await client.core.listNode()).items.length;
    } finally {
      client.close();
    }
  };
  const cordonedNodes = async (): Promise<readonly (string | undefined)[]> => {
    const client = new KubernetesClient('ended', await kubeconfig(), () => undefined);
    try {
      const { items } = await client.core.listNode();
      return items.flatMap(({ metadata, spec }) => (spec?.unschedulable === true ? [metadata?.name] : []));
    } finally {
      client.close();
    }
  };
  const request = async (body: object, query = ''): Promise<string> => {
    const answer = await system.call<UpgradeView>('POST', `${CLUSTER}/upgrades${query}`, body);
    expect(answer.status).toBeLessThan(300);
    return answer.body.id;
  };
  const until = (type: StoredEvent['type'], upgradeId: string): Promise<StoredEvent> =>
    system.until(
      'ended',
      ({ type: seen, data }) =>
        (seen === type || seen === 'UpgradeRejected') && 'upgradeId' in data && data.upgradeId === upgradeId,
      TIMEOUT_MS,
    );

  /** Agents' permissions before the plan. */
  const renewalsOf = async (id: string): Promise<readonly (boolean | undefined)[]> =>
    (await system.events('ended')).flatMap((event) =>
      event.type === 'DesiredVersionsSet' && event.data.change?.id === `${id}-ended`
        ? [event.data.change.renewCertificates]
        : [],
    );

  /** Number of control planes with an expired certificate, as reported by their agents. */
  const endedOn = async (): Promise<number> => {
    const reported = (await system.events('ended')).flatMap((event) =>
      event.type === 'CertificatesReported'
        ? event.data.certificates
            .filter(({ expiresAt }) => Date.parse(expiresAt) < Date.now())
            .map(() => event.data.node)
        : [],
    );
    return new Set(reported).size;
  };

  beforeAll(async () => {
    system = await startSystem({
      env: {
        LAB_CERTIFICATE_AGE_DAYS: String(AGE_DAYS),
        UPGRADE_PASS_INTERVAL_MS: '200',
        UPGRADE_LOOK_EVERY_MS: '100',
        NODES_WATCH_INTERVAL_MS: '5000',
      },
    });
    const body = clusterBody('ended', { controlPlanes: CONTROL_PLANES, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await system.until('ended', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    const old = await kubeconfig();
    await eventually(
      () => nodesBy(old).catch(() => 'refused'),
      (seen) => seen === 'refused',
      { withinMs: TIMEOUT_MS, everyMs: 1_000 },
    );
    // Certificates of control planes that joined later expire later.
    await eventually(endedOn, (nodes) => nodes === CONTROL_PLANES, { withinMs: TIMEOUT_MS, everyMs: 1_000 });
  }, 2 * TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it('reports the expired ones, and the command that renews them without the API', async () => {
    const { body } = await system.call<ClusterView>('GET', CLUSTER);
    const condition = body.conditions?.find(({ type }) => type === 'CertificatesValid');
    expect(condition).toMatchObject({ status: 'False' });
    expect(condition?.message).toMatch(/^\S+ on \S+ ended at .*client certificate by which Fairlead reaches the API/);
    expect(condition?.message).toContain(
      '"fairlead certificates renew" renews them through the agents, without the API',
    );
  });

  it(
    'has its renewal rejected by a dry run, without changes, with the certificates and that command',
    async () => {
      const id = await request({ renewCertificates: true, pools: [] }, '?dryRun=true');
      const rejected = await until('UpgradeRejected', id);
      expect(JSON.stringify(rejected.data)).toMatch(/certificates of \S+ have ended, so that the API refuses Fairlead/);
      expect(await renewalsOf(id)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'renews them through the agents on request, and continues with a new kubeconfig',
    async () => {
      const id = await request({ renewCertificates: true, pools: [] });
      const planned = await until('UpgradePlanned', id);
      expect({ type: planned.type, data: planned.data }).toMatchObject({ type: 'UpgradePlanned' });
      expect(await nodesBy(await kubeconfig())).toBe(CONTROL_PLANES + 1);
      expect(await renewalsOf(id)).toEqual(Array.from({ length: CONTROL_PLANES }, () => true));
      if (planned.type !== 'UpgradePlanned') return;
      const { planHash } = planned.data;
      expect((await system.call('POST', `${CLUSTER}/upgrades/${id}/approve`, { planHash })).status).toBe(202);
      await until('RolloutCompleted', id);
      const { body } = await system.call<ClusterView>('GET', CLUSTER);
      expect(body.conditions?.find(({ type }) => type === 'CertificatesValid')?.status).toBe('True');
      expect(body.conditions?.find(({ type }) => type === 'Available')).toMatchObject({ status: 'True' });
      expect(await cordonedNodes()).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
