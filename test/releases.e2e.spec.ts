import {
  releaseOf,
  type KubernetesRelease,
  type NodeList,
  type StoredEvent,
  type UpgradeView,
} from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
/** Shorter, so that the wait then prints the story so far. */
const ROLLOUT_MS = 150_000;

/** One cluster in the lab, which simulates hosts; an agent on each host changes its software. */
describe('the releases of an installation', () => {
  let system: System;

  const create = async (name: string, version: string): Promise<void> => {
    const body = clusterBody(name, { controlPlanes: 1, workers: 1, version });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await system.until(name, ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
  };
  const planned = async (name: string, version: string): Promise<UpgradeView> => {
    const path = `/ns/default/clusters/${name}/upgrades`;
    return (await system.call<UpgradeView>('POST', path, { version }, { prefer: 'wait=60' })).body;
  };
  /** Plans the upgrade, approves it by its hash, and waits for its end. */
  const upgraded = async (name: string, version: string): Promise<UpgradeView> => {
    const asked = await planned(name, version);
    expect([asked.phase, asked.findings]).toEqual(['Planned', expect.anything()]);
    const { id, planHash } = asked;
    await system.call('POST', `/ns/default/clusters/${name}/upgrades/${id}/approve`, { planHash });
    const isEnd = (event: StoredEvent): boolean =>
      ['RolloutCompleted', 'RolloutHalted'].includes(event.type) &&
      'upgradeId' in event.data &&
      event.data.upgradeId === id;
    const end = await system.until(name, isEnd, ROLLOUT_MS);
    expect([end.type, end.data]).toMatchObject(['RolloutCompleted', { skipped: [] }]);
    return asked;
  };
  const kubelets = async (name: string): Promise<readonly (string | undefined)[]> => {
    const minSeq = (await system.events(name)).at(-1)?.meta.seq ?? 0;
    const { body } = await system.call<NodeList>('GET', `/ns/default/clusters/${name}/nodes?minSeq=${minSeq}`);
    return body.items.map(({ ready, software }) => (ready ? `v${software['kubelet']}` : undefined));
  };

  beforeAll(async () => {
    system = await startSystem({
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    await create('patches', 'v1.34.4');
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'allow upgrades to a later patch of the current minor version, and downgrades to an earlier one [ORBITER 14]',
    async () => {
      await upgraded('patches', 'v1.34.9');
      expect(await kubelets('patches')).toEqual(['v1.34.9', 'v1.34.9']);
      await upgraded('patches', 'v1.34.2');
      expect(await kubelets('patches')).toEqual(['v1.34.2', 'v1.34.2']);
      expect((await planned('patches', 'v1.33.13')).phase).toBe('Rejected');
    },
    2 * TIMEOUT_MS,
  );

  it(
    'include a security patch released after Fairlead, as soon as it is added',
    async () => {
      expect((await planned('patches', 'v1.34.12')).phase).toBe('Rejected');
      const { version: _version, ...row }: KubernetesRelease = { ...releaseOf('v1.34.11')!, sha256: null };
      expect((await system.call('PUT', '/releases/v1.34.12', row)).status).toBe(200);
      const { findings } = await upgraded('patches', 'v1.34.12');
      expect(findings.map(({ sentence }) => sentence)).toContainEqual(expect.stringContaining('is only listed'));
      expect(await kubelets('patches')).toEqual(['v1.34.12', 'v1.34.12']);
      const said = (await system.events('patches')).findLast(({ type }) => type === 'DesiredVersionsSet');
      expect(said?.data).toMatchObject({ releases: [{ version: 'v1.34.12', etcd: row.etcd }] });
    },
    TIMEOUT_MS,
  );

  it(
    'allow upgrades from 1.30, minor by minor [ORBITER 14]',
    async () => {
      await create('old', 'v1.30.14');
      const { plan } = await upgraded('old', 'v1.33.13');
      expect(plan?.path).toEqual(['v1.30.14', 'v1.31.14', 'v1.32.13', 'v1.33.13']);
      expect(await kubelets('old')).toEqual(['v1.33.13', 'v1.33.13']);
    },
    2 * TIMEOUT_MS,
  );
});
