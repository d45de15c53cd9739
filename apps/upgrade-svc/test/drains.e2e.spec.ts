import { UpgradeStrategy, type EventData, type Fact, type StoredEvent, type UpgradeId } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { uid } from '../src/nodes/nodes.fixtures.js';
import { budget, deployment, worker } from '../../../libs/kubernetes/test/lab.cluster.js';
import { startRig, type RolloutRig } from './rollout.rig.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const WORKERS = [1, 2, 3].map(worker);
const TIMEOUT_MS = 120_000;

/** Reboots the workers, which requires a drain of each. */
const boots = (upgradeId: string, workers: object, mode: 'ask' | 'go' = 'go'): Fact<'UpgradeRequested'> => ({
  type: 'UpgradeRequested',
  data: {
    uid,
    upgradeId: upgradeId as UpgradeId,
    target: { renewCertificates: false, reboot: true },
    pools: null,
    controlPlane: false,
    strategy: UpgradeStrategy.parse({ workers: { canary: false, drainTimeoutSeconds: 1, ...workers } }),
    mode,
    overrides: [],
    requestHash: upgradeId,
  },
});

/** A real upgrade-svc process; a budget blocks the eviction of the single pod of `web`. */
describe('D5: a worker that cannot be drained in time', () => {
  let rig: RolloutRig;

  const reported = <T extends StoredEvent['type']>(
    upgradeId: string,
    ...types: readonly T[]
  ): Promise<StoredEvent<T>> =>
    rig.until(
      (event) =>
        types.some((type) => type === event.type) && 'upgradeId' in event.data && event.data.upgradeId === upgradeId,
      TIMEOUT_MS,
    ) as Promise<StoredEvent<T>>;
  const ended = (upgradeId: string) =>
    reported(upgradeId, 'RolloutCompleted', 'RolloutHalted', 'RolloutAborted', 'UpgradeRejected');
  const host = async (): Promise<string> => {
    const found = await eventually(
      async () => (await rig.lab.cluster.pods()).filter(({ labels, ready }) => labels['app'] === 'web' && ready),
      (pods) => pods.length === 1,
    );
    return found[0]?.node ?? '';
  };
  /** The plan requires approval because of the budget (B7), and is approved. */
  const start = async (upgradeId: string, workers: object): Promise<void> => {
    await rig.tell('request', boots(upgradeId, workers));
    const planned = await reported(upgradeId, 'UpgradePlanned', 'UpgradeRejected');
    if (planned.type !== 'UpgradePlanned') throw new Error(JSON.stringify(planned.data));
    const { planHash } = planned.data;
    await rig.tell('request', {
      type: 'UpgradeApproved',
      data: { uid, upgradeId, planHash } as EventData<'UpgradeApproved'>,
    });
  };
  const abort = (upgradeId: string): Promise<void> =>
    rig.tell('request', {
      type: 'UpgradeAbortRequested',
      data: { uid, upgradeId, reason: 'not today' } as EventData<'UpgradeAbortRequested'>,
    });
  const cordoned = async (): Promise<readonly string[]> =>
    (await rig.lab.cluster.nodes()).filter(({ unschedulable }) => unschedulable).map(({ name }) => name);

  beforeAll(async () => {
    rig = await startRig({ main: MAIN, controlPlanes: 1, workers: 3, env: { UPGRADE_LOOK_EVERY_MS: '50' } });
    await rig.lab.apply(deployment('web', 1), budget('web', 1));
  }, TIMEOUT_MS);

  afterAll(() => rig?.stop(), 60_000);

  it(
    'is forced within the time limit, which is recorded and counted, and the rollout continues [ORBITER 17]',
    async () => {
      const blocked = await host();
      const forceUntil = new Date(Date.now() + 10 * 60_000).toISOString();
      await start('u-force1', { onDrainTimeout: 'force', forceUntil });
      const late = await reported('u-force1', 'DrainTimedOut');
      expect(late.data).toMatchObject({
        node: blocked,
        policy: 'force',
        pods: [expect.stringMatching(/^default\/web-/)],
      });
      const end = await ended('u-force1');
      expect({ type: end.type, data: end.data }).toMatchObject({
        type: 'RolloutCompleted',
        data: { upgraded: WORKERS },
      });
      const emptied = (await rig.events()).flatMap((event) => (event.type === 'NodeEmptied' ? [event.data] : []));
      expect(emptied.find(({ node }) => node === blocked)?.forcedPods).toBe(1);
      expect(await cordoned()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'stops the rollout after the time limit, and is uncordoned when the upgrade is aborted [ORBITER 17]',
    async () => {
      const blocked = await host();
      const forceUntil = new Date(Date.now() - 1_000).toISOString();
      await start('u-force2', { onDrainTimeout: 'force', forceUntil });
      const late = await reported('u-force2', 'DrainTimedOut');
      expect(late.data).toMatchObject({ node: blocked, policy: 'stop' });
      const end = await ended('u-force2');
      expect({ type: end.type, data: end.data }).toMatchObject({
        type: 'RolloutHalted',
        data: { rule: 'D5', nodes: [blocked] },
      });
      await abort('u-force2');
      const given = await reported('u-force2', 'RolloutAborted');
      expect(given.data.leftFailed).toEqual([]);
      expect(await cordoned()).toEqual([]);
      expect(await host()).toBe(blocked);
    },
    TIMEOUT_MS,
  );

  it(
    'is skipped and stays cordoned with quarantine, while the others continue [ORBITER 17]',
    async () => {
      const blocked = await host();
      await start('u-quarantine1', { onDrainTimeout: 'quarantine', maxBlockedNodes: 1 });
      const end = await ended('u-quarantine1');
      expect({ type: end.type, data: end.data }).toMatchObject({
        type: 'RolloutCompleted',
        data: { quarantined: [blocked], upgraded: WORKERS.filter((name) => name !== blocked) },
      });
      const quarantined = await reported('u-quarantine1', 'NodeQuarantined');
      expect(quarantined.data).toMatchObject({ node: blocked, pods: [expect.stringMatching(/^default\/web-/)] });
      expect(await cordoned()).toEqual([blocked]);
    },
    TIMEOUT_MS,
  );

  it(
    'is not changed if the plan is aborted before its start: leftFailed is empty, and another one may be requested',
    async () => {
      await rig.tell('request', boots('u-never1', {}, 'ask'));
      await reported('u-never1', 'UpgradePlanned', 'UpgradeRejected');
      await abort('u-never1');
      const end = await ended('u-never1');
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'RolloutAborted', data: { leftFailed: [] } });
      await rig.tell('request', boots('u-never2', {}, 'ask'));
      const next = await reported('u-never2', 'UpgradePlanned', 'UpgradeRejected');
      expect(next.type).toBe('UpgradePlanned');
      await abort('u-never2');
      await ended('u-never2');
      const begun = (await rig.events()).filter((event) => event.type === 'OperationStarted');
      expect(begun.filter(({ data }) => 'upgradeId' in data && String(data.upgradeId).startsWith('u-never'))).toEqual(
        [],
      );
    },
    TIMEOUT_MS,
  );
});
