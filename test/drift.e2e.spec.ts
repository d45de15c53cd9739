import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterManifestView, EventType, NodeList, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const PATH = '/ns/default/clusters/shop';

const manifest = (drift: 'repair' | 'report') => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    serviceType: 'single',
    drift,
    controlPlane: { replicas: 1, ...machines },
    pools: [{ name: 'web', replicas: 1, ...machines }],
  },
});

/** The whole product in the lab, a simulation: an agent on each host checks its software. */
describe('a node whose host is changed by hand', () => {
  let system: System;
  let worker = '';
  const lastSeq = async (): Promise<number> => (await system.events('shop')).at(-1)!.meta.seq;
  const read = async <Body>(path: string): Promise<Body> =>
    (await system.call<Body>('GET', `${PATH}${path}?minSeq=${await lastSeq()}`)).body;
  const until = <T extends EventType>(type: T, after: number): Promise<StoredEvent<T>> =>
    system.until('shop', ({ type: found, meta }) => found === type && meta.seq > after, TIMEOUT_MS) as Promise<
      StoredEvent<T>
    >;
  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const exec = (...command: string[]): Promise<string> => fairlead('node', 'exec', 'shop', worker, '--', ...command);
  const condition = async () =>
    (await read<ClusterManifestView>('/manifest')).status?.conditions.find(({ type }) => type === 'NodesAsDesired');

  beforeAll(async () => {
    system = await startSystem({ light: false });
    expect((await system.call('PUT', `${PATH}/manifest`, manifest('report'))).status).toBe(202);
    await until('ClusterReady', 0);
    const { items } = await read<NodeList>('/nodes');
    worker = items.find(({ pool }) => pool === 'web')?.name ?? '';
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'is reported while the cluster declares report, and repaired without a drain once it declares repair [ORBITER 10]',
    async () => {
      const before = await lastSeq();
      await exec('apt-mark', 'unhold', 'kubelet');
      await exec('systemctl', 'disable', 'kubelet');
      await until('NodeDiverged', before);
      expect(await condition()).toMatchObject({ status: 'False', reason: 'NodesDrifted' });
      expect((await condition())?.message).toContain(worker);
      expect(await fairlead('cluster', 'describe', 'shop')).toContain('NodesDrifted');
      const { items } = await read<NodeList>('/nodes');
      expect(items.find(({ name }) => name === worker)).toMatchObject({
        ready: true,
        drift: { since: expect.any(String) },
      });

      const declared = await lastSeq();
      // There is no request to wait for.
      expect((await system.call('PUT', `${PATH}/manifest`, manifest('repair'))).status).toBe(200);
      await until('DriftRepaired', declared);
      expect(await condition()).toMatchObject({ status: 'True' });
      const seen = (await system.events('shop')).flatMap(({ type, meta }) => (meta.seq > declared ? [type] : []));
      expect(seen).toContain('DriftRepairRequested');
      expect(seen).not.toContain('NodeNotReady');
      expect(await exec('systemctl', 'is-enabled', 'kubelet')).toContain('enabled');
    },
    TIMEOUT_MS,
  );

  it(
    'is drained and repaired when its kubelet has another version, and is schedulable again afterwards [ORBITER 10]',
    async () => {
      const before = await lastSeq();
      const { items } = await read<NodeList>('/nodes');
      const { kubelet = '' } = items.find(({ name }) => name === worker)?.software ?? {};
      const [major, minor, patch] = kubelet.split('.').map(Number);
      await exec('apt-mark', 'unhold', 'kubelet');
      await exec('apt-get', 'install', '-y', '--allow-downgrades', `kubelet=${major}.${minor}.${Number(patch) - 1}*`);
      await exec('systemctl', 'restart', 'kubelet');
      await until('DriftRepaired', before);
      const after = (await system.events('shop')).flatMap(({ type, meta }) => (meta.seq > before ? [type] : []));
      const steps: EventType[] = [
        ...(['NodeDiverged', 'DriftRepairRequested', 'NodeActionCordoned', 'NodeActionDrained'] as const),
        ...(['NodeNotReady', 'NodeInitialized', 'NodeReady', 'NodeActionUncordoned'] as const),
        ...(['NodeActionSucceeded', 'DriftRepaired'] as const),
      ];
      // Each after the one before; a kubelet that restarts may be stated as not Ready once more.
      steps.reduce((from, step) => {
        const at = after.indexOf(step, from);
        expect([step, at >= from]).toEqual([step, true]);
        return at + 1;
      }, 0);
      expect((await read<NodeList>('/nodes')).items.find(({ name }) => name === worker)).toMatchObject({
        ready: true,
        software: expect.objectContaining({ kubelet }),
      });
      expect(await condition()).toMatchObject({ status: 'True' });
    },
    TIMEOUT_MS,
  );
});
