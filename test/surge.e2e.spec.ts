import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { INNER_SERVICES, type StoredEvent, type UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { clusterBody, startSystem, type ApiResponse, type System } from './system/system.js';

const run = promisify(execFile);
const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const TIMEOUT_MS = 180_000;
const PATH = '/ns/default/clusters/demo';
const WORKERS = 2;
/** One surge node first, and never fewer workers than requested. */
const SURGE = { workers: { maxUnavailable: 0, maxSurge: 1 } };

const ended = ({ type }: StoredEvent): boolean =>
  type === 'RolloutCompleted' || type === 'RolloutHalted' || type === 'RolloutAborted' || type === 'UpgradeRejected';

const extraIn = (event: StoredEvent): string | undefined =>
  event.type === 'VmsPlanned' || event.type === 'VmsCreated'
    ? event.data.machines.find(({ surge }) => surge !== undefined)?.name
    : undefined;

/** The number of workers over time, according to the events. */
const workersThere = (log: readonly StoredEvent[]): readonly number[] => {
  const extra = new Set(log.flatMap((event) => extraIn(event) ?? []));
  const away = new Set<string>();
  const come = new Set<string>();
  return log.map((event) => {
    if (event.type === 'UpgradeAllowed' && event.data.node.includes('-w-')) away.add(event.data.node);
    if (event.type === 'UpgradeWithdrawn') away.delete(event.data.node);
    if (event.type === 'NodeReady' && extra.has(event.data.node)) come.add(event.data.node);
    if (event.type === 'NodeDrained' || event.type === 'NodeRemoved') come.delete(event.data.node);
    return WORKERS + come.size - away.size;
  });
};

describe('a pool is upgraded with a surge machine', () => {
  let system: System;

  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const asked = async (request: object): Promise<string> => {
    const answer: ApiResponse<UpgradeView> = await system.call('POST', `${PATH}/upgrades`, request, {
      prefer: 'wait=60',
    });
    const { id, planHash } = answer.body;
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    const approved = await system.call('POST', `${PATH}/upgrades/${id}/approve`, { planHash });
    expect(approved.status).toBeLessThan(300);
    return id;
  };
  const of = async (id: string): Promise<readonly StoredEvent[]> => {
    const log = await system.events('demo');
    return log.slice(log.findIndex(({ type, data }) => type === 'UpgradeRequested' && data.upgradeId === id));
  };
  /** The first such event after the request of the upgrade, or its end. */
  const recorded = async (id: string, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> => {
    let begun = false;
    return system.until(
      'demo',
      (event) => {
        begun ||= event.type === 'UpgradeRequested' && event.data.upgradeId === id;
        return begun && (desired(event) || ('upgradeId' in event.data && event.data.upgradeId === id && ended(event)));
      },
      TIMEOUT_MS,
    );
  };
  const machines = async (): Promise<number> => (await system.standing())['machines'] ?? -1;

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    const body = clusterBody('demo', { controlPlanes: 1, workers: WORKERS, version: OLD });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    const made = await system.until(
      'demo',
      ({ type }) => type === 'ClusterReady' || type === 'ClusterFailed',
      TIMEOUT_MS,
    );
    expect(made.type).toBe('ClusterReady');
  }, TIMEOUT_MS + 60_000);

  afterAll(() => system?.stop(), 60_000);

  it('which its plan shows, with its reason and position', async () => {
    const plan = await fairlead('upgrade', 'plan', 'demo', '--to', NEW, '--max-surge', '1', '--max-unavailable', '0');
    expect(plan).toContain('Pool worker-1: 1 at a time of 2, with 1 extra');
    expect(plan).toMatch(/Add surge nodes .*1 surge node in worker-1 first, to keep its capacity \(D2\)/);
    expect(plan.indexOf('Add surge nodes')).toBeLessThan(plan.indexOf('canary:'));
    expect(plan.indexOf('Remove surge nodes')).toBeGreaterThan(plan.indexOf('canary:'));
  }, 60_000);

  it(
    'which is created first, at the target version, despite kill -9 of every service meanwhile; the pool cannot be scaled meanwhile',
    async () => {
      const id = await asked({ version: NEW, strategy: SURGE });
      await recorded(id, ({ type }) => type === 'SurgeRequested');
      system.kill('infra-svc');
      expect(await fairlead('upgrade', 'status', 'demo')).toContain('waits for a surge machine of pool worker-1');
      const more = await system.call('POST', `${PATH}/nodes`, {
        worker: [{ connection: 'lab', count: 1, spec: 'lab.medium' }],
      });
      expect(more.status).toBe(409);
      const created = await recorded(id, (event) => event.type === 'VmsCreated' && extraIn(event) !== undefined);
      system.kill('bootstrap-svc');
      const extra = extraIn(created);
      const joined = await recorded(id, (event) => event.type === 'NodeReady' && event.data.node === extra);
      expect(joined.data).toMatchObject({ node: extra, software: { kubelet: NEW.slice(1) } });
      system.kill('upgrade-svc');
      await recorded(id, ({ type }) => type === 'SurgeReleased');
      for (const service of INNER_SERVICES) system.kill(service);
      const end = await recorded(id, ended);
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'RolloutCompleted', data: { skipped: [] } });
      const log = await of(id);
      expect(Math.min(...workersThere(log))).toBe(WORKERS);
      const at = (type: StoredEvent['type'], node?: string): number =>
        log.findIndex(
          (event) => event.type === type && (node === undefined || ('node' in event.data && event.data.node === node)),
        );
      expect(at('NodeEmptied', extra)).toBeGreaterThan(0);
      expect(at('NodeEmptied', extra)).toBeLessThan(at('SurgeReleased'));
      const count = (type: StoredEvent['type']): number => log.filter((event) => event.type === type).length;
      expect([count('SurgeRequested'), count('VmCreated'), count('NodeRemoved'), count('VmDeleted')]).toEqual([
        1, 1, 1, 1,
      ]);
      expect(await machines()).toBe(1 + WORKERS);
      expect((await system.made())['machine']).toBe(2 + WORKERS);
    },
    TIMEOUT_MS,
  );

  it(
    'which is removed if the upgrade is aborted during its creation',
    async () => {
      const id = await asked({ reboot: true, controlPlane: false, strategy: SURGE });
      await recorded(id, (event) => event.type === 'VmsPlanned');
      const aborted = await system.call('POST', `${PATH}/upgrades/${id}/abort`, { reason: 'not today' });
      expect(aborted.status).toBeLessThan(300);
      expect((await recorded(id, ended)).type).toBe('RolloutAborted');
      let isOver = false;
      await system.until(
        'demo',
        (event) => {
          isOver ||= event.type === 'RolloutAborted';
          return isOver && event.type === 'VmDeleted';
        },
        TIMEOUT_MS,
      );
      const log = await of(id);
      expect(log.filter(({ type }) => type === 'VmDeleted')).toHaveLength(1);
      expect(log.filter(({ type }) => type === 'UpgradeAllowed')).toEqual([]);
      expect(await machines()).toBe(1 + WORKERS);
    },
    TIMEOUT_MS,
  );

  it(
    'which is removed with its cluster, if that is deleted in the middle',
    async () => {
      const id = await asked({ reboot: true, controlPlane: false, strategy: SURGE });
      await recorded(id, (event) => event.type === 'VmCreated');
      expect((await system.call('DELETE', PATH)).status).toBeLessThan(300);
      await system.until('demo', ({ type }) => type === 'ClusterDeleted', TIMEOUT_MS);
      expect(await machines()).toBe(0);
    },
    TIMEOUT_MS,
  );
});
