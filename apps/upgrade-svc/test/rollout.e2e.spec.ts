import type { Fact, KubernetesVersion, NodeName } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { uid } from '../src/nodes/nodes.fixtures.js';
import { budget, controlPlane, deployment, worker } from '../../../libs/kubernetes/test/lab.cluster.js';
import { startRig, UPGRADE_ID, type RolloutRig } from './rollout.rig.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const CONTROL_PLANES = [1, 2, 3].map(controlPlane);
const WORKERS = [1, 2].map(worker);
const NODES = [...CONTROL_PLANES, ...WORKERS];

const request = (type: 'UpgradePauseRequested' | 'UpgradeResumeRequested', more: object = {}): Fact =>
  ({ type, data: { uid, upgradeId: UPGRADE_ID, ...more } }) as Fact;

/** A real upgrade-svc process, killed with SIGKILL, against a simulated cluster and stand-in agents. */
describe('a rollout from v1.33.13 to v1.34.4, 3 control planes and 2 workers', () => {
  let rig: RolloutRig;

  beforeAll(async () => {
    rig = await startRig({ main: MAIN, controlPlanes: 3, workers: 2, env: { UPGRADE_LOOK_EVERY_MS: '50' } });
    await rig.lab.apply(deployment('web', 2), budget('web', 1));
  }, 120_000);

  afterAll(() => rig?.stop(), 60_000);

  it('completes despite a pause, a resumption and three kills', async () => {
    await rig.ask({ kubernetes: 'v1.34.4' as KubernetesVersion });
    const checked = await rig.until(({ type }) => type === 'UpgradePlanned' || type === 'UpgradeRejected');
    if (checked.type !== 'UpgradePlanned') throw new Error(JSON.stringify(checked.data, undefined, 2));
    await rig.until(({ type }) => type === 'EtcdSnapshotTaken');
    await rig.killService();
    const first = await rig.until(({ type }) => type === 'OperationCompleted');
    expect(first.data).toMatchObject({ upgradeId: 'u-story1' });
    await rig.until(({ type }) => type === 'UpgradeWithdrawn');
    await rig.tell('request', request('UpgradePauseRequested', { reason: 'lunch' }));
    await rig.until(({ type }) => type === 'RolloutPaused');
    await rig.killService();
    await rig.tell('request', request('UpgradeResumeRequested'));
    await rig.until((event) => event.type === 'NodeEmptied' && WORKERS.includes(event.data.node));
    await rig.killService();
    const end = await rig.until(({ type }) => type === 'RolloutCompleted' || type === 'RolloutHalted');
    expect(rig.agents.failures).toEqual([]);
    expect({ type: end.type, data: end.data }).toMatchObject({
      type: 'RolloutCompleted',
      data: { upgradeId: 'u-story1' },
    });
  }, 180_000);

  it('leaves every node at the target and schedulable, without leftovers of the rollout', async () => {
    const nodes = await eventually(
      () => rig.lab.cluster.nodes(),
      (found) => found.every(({ unschedulable }) => !unschedulable),
    );
    expect(nodes.map(({ kubeletVersion, cordonedBy }) => [kubeletVersion, cordonedBy])).toEqual(
      NODES.map(() => ['v1.34.4', null]),
    );
    const pods = await rig.lab.cluster.staticPods();
    expect(new Set(pods.map(({ image }) => image.split(':').at(-1)))).toEqual(new Set(['v1.34.4', '3.6.5-0']));
    const taints = (await rig.lab.client.core.listNode()).items.flatMap(({ spec }) => spec?.taints ?? []);
    expect(taints.filter(({ key }) => key.startsWith('fairlead.dev/'))).toEqual([]);
  });

  it('changed each node once, control planes one after the other with the etcd leader last, then workers', async () => {
    const log = await rig.events();
    const changed = rig.agents.done;
    expect(new Set(changed).size).toBe(changed.length);
    const allowed = log.flatMap((event) => (event.type === 'UpgradeAllowed' ? [event.data.node] : []));
    expect(allowed.slice(0, 3).toSorted()).toEqual(CONTROL_PLANES);
    expect(allowed.slice(3).toSorted()).toEqual(WORKERS);
    expect(allowed[2]).toBe(controlPlane(1));
    const away = new Set<NodeName>();
    for (const event of log) {
      if (event.type === 'UpgradeAllowed') away.add(event.data.node);
      if (event.type === 'UpgradeWithdrawn') away.delete(event.data.node);
      expect(away.size).toBeLessThanOrEqual(1);
    }
  });

  it('evaluated every gate of the rules, and took the snapshot first', async () => {
    const log = await rig.events();
    const gates = new Set(log.flatMap((event) => (event.type === 'GatePassed' ? [event.data.gate] : [])));
    expect([...gates].toSorted()).toEqual(
      [
        'api-answers',
        'api-server',
        'cluster-healthy',
        'daemonsets',
        'dns',
        'etcd-healthy',
        'etcd-leader',
        'etcd-member',
        'etcd-quorum',
        'kube-proxy',
        'leases',
        'node-ready',
        'static-pods',
      ].toSorted(),
    );
    const [snapshot, allowed] = (['EtcdSnapshotTaken', 'UpgradeAllowed'] as const).map((type) =>
      log.findIndex((event) => event.type === type),
    );
    expect(snapshot).toBeLessThan(allowed ?? 0);
  });
});
