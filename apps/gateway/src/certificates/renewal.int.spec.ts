import type { ClusterView, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSettings } from '../config.js';
import { prepareWorld, request, startTestGateway, type TestGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';

const DAY_MS = 24 * 3_600_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();

describe('F: certificates that end soon, where renewal is allowed', () => {
  let gateway: TestGateway;
  let uid: string;

  const state = (fact: Fact): Promise<StoredEvent> =>
    gateway.state(JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact);
  const requests = (): Promise<StoredEvent[]> => gateway.log('evt.*.default.demo.request.UpgradeRequested');
  /** How often a renewal was attempted. */
  const attempts = async (): Promise<number> => {
    const { body } = await gateway.ask<string>('GET', '/metrics', { token: null });
    const counts = body.matchAll(/^fairlead_task_duration_seconds_count\{[^}]*RenewCertificates[^}]*\} (\d+)$/gmu);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const ends = async (node: string, days: number): Promise<void> => {
    const expiresAt = inDays(days);
    await state({
      type: 'CertificatesReported',
      data: { uid: storyUid, node: node as NodeName, certificates: [{ name: 'apiserver', expiresAt }] },
    });
    await state({
      type: 'CertificatesExpiring',
      data: { uid: storyUid, node: node as NodeName, earliest: expiresAt, names: ['apiserver'] },
    });
  };
  beforeAll(async () => {
    const always = 'mon,tue,wed,thu,fri,sat,sun 00:00-00:00';
    gateway = await startTestGateway({
      variables: { CERTIFICATE_RENEWAL: 'renew', CERTIFICATE_RENEWAL_WINDOWS: always },
    });
    await prepareWorld(gateway);
    uid = (await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('demo') })).body.uid;
    for (const fact of CREATE.slice(1)) await state(fact);
  }, 90_000);
  afterAll(() => gateway?.stop());

  it('are renewed by one rollout of the control planes that no one requested, in its windows', async () => {
    await ends('demo-cp-1', 60);
    await eventually(async () => (await requests()).length > 0);
    const [request] = await requests();
    expect(request?.meta.actor).toBe('system/gateway');
    expect(request?.data).toMatchObject({
      target: { renewCertificates: true, reboot: false },
      pools: [],
      controlPlane: true,
      mode: 'go',
      strategy: { windows: [{ from: '00:00', to: '00:00' }] },
    });
    const warned = (await gateway.log('evt.*.default.demo.*.CertificatesExpiring')).map(({ meta }) => meta.id);
    expect(warned).toContain(request?.meta.causationId);
    // The other control plane's warning is answered by the same rollout.
    await ends('demo-cp-2', 61);
    await eventually(async () => (await attempts()) >= 2);
    expect(await requests()).toHaveLength(1);
  });

  it('are only reported where nothing else is configured, and an invalid window is named at the start', () => {
    expect(readSettings({}).renewal).toBe('report');
    expect(() => readSettings({ CERTIFICATE_RENEWAL_WINDOWS: 'sometimes' })).toThrow(/sometimes/);
  });
});
