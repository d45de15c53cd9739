import type { StoredEvent, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const FROM = 'v1.34.4';
const TO = 'v1.35.4';
const PATH = '/ns/default/clusters/sick';
const WORDS = '[ERROR CoreDNSUnsupportedPlugins]: there are unsupported plugins in the CoreDNS Corefile';
const machines = { connection: 'lab', machineType: 'lab.medium' };

const manifest = {
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'sick' },
  spec: {
    version: FROM,
    serviceType: 'single',
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
  },
};

/** The whole product in the lab: an agent on each host runs kubeadm, which the lab makes fail. */
describe('kubeadm that refuses an upgrade', () => {
  let system: System;

  const fault = (command: string): Promise<unknown> =>
    system.lab('PUT', '/v1/faults', { items: [{ kind: 'command-failure', command, message: WORDS }] });
  const healed = (): Promise<unknown> => system.lab('DELETE', '/v1/faults');
  const latest = async (): Promise<UpgradeView> => {
    const minSeq = (await system.events('sick')).at(-1)?.meta.seq ?? 0;
    const { body } = await system.call<{ readonly items: readonly { readonly id: string }[] }>(
      'GET',
      `${PATH}/upgrades?minSeq=${minSeq}`,
    );
    const id = body.items[0]?.id ?? '';
    return (await system.call<UpgradeView>('GET', `${PATH}/upgrades/${id}?minSeq=${minSeq}`)).body;
  };
  const steer = async (action: string, body?: object): Promise<number> =>
    (await system.call('POST', `${PATH}/upgrades/${(await latest()).id}/${action}`, body)).status;
  const after = (seq: number, ...types: readonly StoredEvent['type'][]): Promise<StoredEvent> =>
    system.until('sick', ({ type, meta }) => meta.seq > seq && types.includes(type), 60_000);
  const lastSeq = async (): Promise<number> => (await system.events('sick')).at(-1)?.meta.seq ?? 0;
  const msBetween = (one: StoredEvent, other: StoredEvent): number =>
    Date.parse(other.meta.time) - Date.parse(one.meta.time);

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    expect((await system.call('PUT', `${PATH}/manifest`, manifest)).status).toBe(202);
    await system.until('sick', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  const expectHaltedWithItsCause = async (began: StoredEvent): Promise<void> => {
    const halted = await after(began.meta.seq, 'RolloutHalted', 'RolloutCompleted');
    expect(halted.type).toBe('RolloutHalted');
    const log = await system.events('sick');
    const failures = log.filter(
      (event) =>
        event.meta.seq > began.meta.seq && event.type === 'NodeChangeProgressed' && event.data.status === 'failed',
    );
    expect(failures).toHaveLength(3);
    expect(msBetween(failures.at(-1)!, halted)).toBeLessThan(10_000);
    const view = await latest();
    expect(view.phase).toBe('Halted');
    expect(view.message).toContain(WORDS);
    expect(view.nodes.filter(({ failure }) => failure.includes(WORDS))).toMatchObject([{ phase: 'Failed' }]);
  };

  it(
    "in its dry run is a finding of the plan with kubeadm's message, without changes; an override ignores the check",
    async () => {
      const refusal = { kind: 'upgrade-refused', message: WORDS };
      await system.lab('PUT', '/v1/faults', { items: [refusal] });
      const seq = await lastSeq();
      const plan = async (body: object): Promise<unknown> =>
        system.call('POST', `${PATH}/upgrades?dryRun=true`, { version: TO, ...body });
      await plan({});
      const rejected = await after(seq, 'UpgradeRejected', 'UpgradePlanned');
      expect(rejected.data).toMatchObject({
        findings: [{ rule: 'B13', facts: { version: TO, checks: ['CoreDNSUnsupportedPlugins'] } }],
      });
      expect(JSON.stringify(rejected.data)).toContain('there are unsupported plugins in the CoreDNS Corefile');
      const overrides = [{ rule: 'B13', reason: 'CoreDNS has it' }];
      await plan({ overrides });
      const planned = await after(rejected.meta.seq, 'UpgradeRejected', 'UpgradePlanned');
      expect(JSON.stringify(planned.data)).toContain('"ignoredPreflightErrors":["CoreDNSUnsupportedPlugins"]');
      const log = (await system.events('sick')).filter(({ meta }) => meta.seq > seq).map(({ type }) => type);
      expect(log).not.toEqual(expect.arrayContaining(['NodeCordoned']));
      expect(log).not.toEqual(expect.arrayContaining(['VersionChanged']));
      await healed();
    },
    TIMEOUT_MS,
  );

  it(
    'on the control plane is detected within seconds; an abort leaves nothing cordoned, and every node Ready',
    async () => {
      await fault('kubeadm upgrade apply*');
      const body = { ...manifest, spec: { ...manifest.spec, version: TO } };
      expect((await system.call('PUT', `${PATH}/manifest`, body)).status).toBe(202);
      const began = await after(0, 'RolloutStarted');
      await expectHaltedWithItsCause(began);
      expect(await steer('abort', { reason: 'the Corefile first' })).toBe(202);
      const { data } = await after(began.meta.seq, 'RolloutAborted');
      expect(data).toMatchObject({ leftFailed: [] });
      const log = await system.events('sick');
      const types = log.map(({ type }) => type);
      expect(types.filter((type) => type === 'NodeUncordoned')).toHaveLength(
        types.filter((type) => type === 'NodeCordoned').length,
      );
      expect(types.lastIndexOf('NodeReady')).toBeGreaterThan(types.lastIndexOf('NodeNotReady'));
      const { body: cluster } = await system.call<{
        readonly conditions: readonly { readonly type: string; readonly status: string }[];
      }>('GET', `${PATH}?minSeq=${await lastSeq()}`);
      const wrong = cluster.conditions.filter(
        ({ type, status }) => ['Available', 'ControlPlaneReady', 'NodesReady'].includes(type) && status !== 'True',
      );
      expect(wrong).toEqual([]);
      expect((await latest()).message).toContain('the Corefile first');
    },
    TIMEOUT_MS,
  );

  it(
    'on a worker is detected within seconds, and a retry completes the upgrade once the cause is gone',
    async () => {
      await fault('kubeadm upgrade node*');
      const seq = await lastSeq();
      const asked = await system.call('POST', `${PATH}/upgrades`, { version: TO });
      expect(asked.status).toBe(202);
      await after(seq, 'UpgradePlanned');
      expect(await steer('approve', { planHash: (await latest()).planHash })).toBe(202);
      await expectHaltedWithItsCause(await after(seq, 'RolloutStarted'));
      await healed();
      const halted = await lastSeq();
      expect(await steer('retry')).toBe(202);
      expect((await after(halted, 'RolloutCompleted', 'RolloutHalted')).type).toBe('RolloutCompleted');
      expect((await latest()).nodes.map(({ phase }) => phase)).toEqual(['Done', 'Done']);
    },
    TIMEOUT_MS,
  );
});
