import type { StoredEvent, UpgradeView } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const TIMEOUT_MS = 240_000;
/** Shorter, so that the wait then prints the story so far. */
const ROLLOUT_MS = 200_000;
const CLUSTER = '/ns/default/clusters/careful';
const EMULATED = '--emulated-version=1.33';
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

/** The whole product in the lab; kubeadm's stand-in applies the patches from the agents. */
describe('G5: an upgrade in two steps', () => {
  let system: System;
  let kubernetes: KubernetesClient;
  let upgrade: UpgradeView;

  /** The running components in kube-system: version, and flags besides kubeadm's own. */
  const running = async (): Promise<readonly string[]> => {
    const { items } = await kubernetes.core.listNamespacedPod({ namespace: 'kube-system' });
    return items
      .filter(({ metadata }) => COMPONENTS.includes(metadata?.labels?.['component'] ?? ''))
      .flatMap(({ spec }) => spec?.containers ?? [])
      .map(({ image = '', command = [] }) => [image.split(':')[1], ...command.slice(1)].join(' '));
  };
  const mine = (event: StoredEvent): boolean => 'upgradeId' in event.data && event.data.upgradeId === upgrade.id;

  beforeAll(async () => {
    system = await startSystem({
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    const body = clusterBody('careful', { controlPlanes: 3, workers: 1, version: OLD });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await system.until('careful', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    kubernetes = new KubernetesClient(
      'careful',
      (await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`)).body,
      () => undefined,
    );
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it('is planned as two passes over the control planes, the first with the old behaviour', async () => {
    const asked = { version: NEW, strategy: { twoStep: true } };
    const answer = await system.call<UpgradeView>('POST', `${CLUSTER}/upgrades`, asked, { prefer: 'wait=60' });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    expect({ phase: answer.body.phase, findings: answer.body.findings }).toMatchObject({ phase: 'Planned' });
    upgrade = answer.body;
    const passes = upgrade.plan?.operations.flatMap(({ kind, change }) =>
      kind === 'control-plane' && change !== null ? [change.emulatedVersion] : [],
    );
    expect(passes).toEqual(['1.33', '1.33', '1.33', null, null, null]);
  }, 90_000);

  it(
    "runs the new binaries with the old version's behaviour on every control plane before the second pass begins",
    async () => {
      await system.call('POST', `${CLUSTER}/upgrades/${upgrade.id}/approve`, { planHash: upgrade.planHash });
      const second = upgrade.plan?.operations.find(
        ({ kind, change }) => kind === 'control-plane' && change?.emulatedVersion === null,
      );
      await system.until(
        'careful',
        (event) => mine(event) && event.type === 'OperationStarted' && event.data.operation === second?.id,
        ROLLOUT_MS,
      );
      expect(await running()).toEqual(Array.from({ length: 9 }, () => `${NEW} ${EMULATED}`));
    },
    TIMEOUT_MS,
  );

  it(
    'ends with the new version everywhere, and no flag of the first pass',
    async () => {
      const end = await system.until(
        'careful',
        (event) => mine(event) && ['RolloutCompleted', 'RolloutHalted'].includes(event.type),
        ROLLOUT_MS,
      );
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'RolloutCompleted', data: { skipped: [] } });
      expect(await running()).toEqual(Array.from({ length: 9 }, () => NEW));
      const { items } = await kubernetes.core.listNode();
      expect(items.map(({ status }) => status?.nodeInfo?.kubeletVersion)).toEqual([NEW, NEW, NEW, NEW]);
    },
    TIMEOUT_MS,
  );
});
