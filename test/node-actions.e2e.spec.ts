import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type {
  EventType,
  NodeActionView,
  NodeList,
  OperationList,
  OperationView,
  StoredEvent,
} from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { startSystem, type System } from './system/system.js';

const run = promisify(execFile);
const TIMEOUT_MS = 120_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const path = '/ns/default/clusters/shop';

interface LabMachine {
  readonly id: string;
  readonly name: string;
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The whole product in the lab, and operators who ask its nodes for something. */
describe('nodes that are rebooted, drained and cordoned on request', () => {
  let system: System;

  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const lastSeq = async (): Promise<number> => (await log()).at(-1)!.meta.seq;
  const until = <T extends EventType>(type: T, after: number, node?: string): Promise<StoredEvent<T>> =>
    system.until(
      'shop',
      ({ type: found, data, meta }) =>
        found === type && meta.seq > after && (node === undefined || ('node' in data && data.node === node)),
      TIMEOUT_MS,
    ) as Promise<StoredEvent<T>>;
  const since = async <T extends EventType>(
    after: number,
    type: T,
    node?: string,
  ): Promise<readonly StoredEvent<T>[]> =>
    (await log()).filter(
      (event) =>
        event.type === type &&
        event.meta.seq > after &&
        (node === undefined || ('node' in event.data && event.data.node === node)),
    ) as unknown as readonly StoredEvent<T>[];
  const nodes = async (): Promise<NodeList['items']> =>
    (await system.call<NodeList>('GET', `${path}/nodes?minSeq=${await lastSeq()}`)).body.items;
  const namesIn = async (pool: string): Promise<readonly string[]> =>
    (await nodes()).filter((node) => node.pool === pool).map(({ name }) => name);
  const fairlead = async (...args: string[]): Promise<Ended> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    try {
      const { stdout, stderr } = await run(process.execPath, [main, ...args], { env, timeout: TIMEOUT_MS });
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as Ended;
      return { code, stdout, stderr };
    }
  };
  const power = async (name: string, action: 'partition' | 'heal' | 'reboot'): Promise<void> => {
    const { items } = (await system.lab<{ items: readonly LabMachine[] }>('GET', '/v1/machines')).body;
    const { id } = items.find((machine) => machine.name === name)!;
    expect((await system.lab('POST', `/v1/machines/${id}/power`, { action })).status).toBe(200);
  };
  const operation = async (id: string): Promise<OperationView> => {
    const { body } = await system.call<OperationList>('GET', `${path}/operations?minSeq=${await lastSeq()}`);
    return body.items.find((one) => one.id === id)!;
  };

  beforeAll(async () => {
    const env = { NODE_LOST_AFTER_MS: '1500', AGENT_HEARTBEAT_INTERVAL_MS: '200', INFRA_WATCH_INTERVAL_MS: '3600000' };
    system = await startSystem({ light: true, env });
    const spec = {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 2, ...machines, labels: { tier: 'web' } }],
    };
    const manifest = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    expect((await system.call('PUT', `${path}/manifest`, manifest)).status).toBe(202);
    await until('ClusterReady', 0);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'reboots a selection one after the other, the one whose agent is away once it is back, and each exactly once [ORBITER 22]',
    async () => {
      const [here = '', away = ''] = await namesIn('web');
      const before = await lastSeq();
      await power(away, 'partition');
      await until('NodeLost', before, away);
      const asked = await fairlead('node', 'reboot', 'shop', '-l', 'tier=web', '--yes', '--output', 'json');
      const { operation: id, nodes: names } = JSON.parse(asked.stdout) as NodeActionView;
      expect(names).toEqual([here, away].toSorted());
      await until('NodeActionSucceeded', before, here);
      expect((await since(before, 'NodeActionPostponed', away)).map(({ data }) => data.reason)).toEqual(['AgentAway']);
      expect((await operation(id!)).phase).toBe('Running');
      system.kill('upgrade-svc');
      await power(away, 'heal');
      await until('NodeActionSucceeded', before, away);
      for (const node of [here, away]) {
        expect(await since(before, 'NodeRebooted', node)).toHaveLength(1);
        expect(await since(before, 'NodeActionDrained', node)).toHaveLength(1);
        expect(await since(before, 'NodeActionUncordoned', node)).toHaveLength(1);
      }
      expect(await operation(id!)).toMatchObject({
        kind: 'reboot-nodes',
        phase: 'Succeeded',
        steps: [{ done: 2, total: 2 }],
      });
    },
    TIMEOUT_MS,
  );
});
