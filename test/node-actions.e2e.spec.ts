import { execFile, spawn } from 'node:child_process';
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
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
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

/** The whole product in the lab, and operators' requests about its nodes. */
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
  /** A command that runs until it is interrupted. */
  const start = (...args: string[]) => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const child = spawn(process.execPath, [join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js'), ...args], { env });
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
    return {
      stdout: () => stdout,
      interrupt: () => {
        child.kill('SIGINT');
        return exit;
      },
    };
  };
  /** Whether Kubernetes reports the node as cordoned. */
  const isCordoned = async (name: string): Promise<boolean> => {
    const { body } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
    const kubernetes = new KubernetesClient('shop', body, () => undefined);
    try {
      return (await kubernetes.core.readNode({ name })).spec?.unschedulable === true;
    } finally {
      kubernetes.close();
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
    'reboots a selection one by one, those with an unreachable agent once it is back, and each exactly once [ORBITER 22]',
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

  it(
    'cordons and drains nodes with a reason that survives a reboot, and reverts only its own cordons',
    async () => {
      const [first = '', second = ''] = await namesIn('web');
      await fairlead('node', 'cordon', 'shop', first, '--reason', 'bad disks', '--wait');
      expect((await fairlead('node', 'list', 'shop')).stdout).toContain('cordoned by user/');
      expect((await nodes()).find(({ name }) => name === first)).toMatchObject({ cordon: { reason: 'bad disks' } });
      const drained = await fairlead('node', 'drain', 'shop', second, '--yes', '--wait');
      expect([drained.code, await isCordoned(second)]).toEqual([0, true]);
      expect((await fairlead('node', 'reboot', 'shop', first, '--yes', '--wait')).code).toBe(0);
      expect(await isCordoned(first)).toBe(true);
      expect((await fairlead('node', 'uncordon', 'shop', '--pool', 'web', '--wait')).code).toBe(0);
      expect([await isCordoned(first), await isCordoned(second)]).toEqual([false, false]);
      expect((await nodes()).some(({ cordon }) => cordon !== undefined)).toBe(false);
      const again = await fairlead('node', 'uncordon', 'shop', first);
      expect([again.code, again.stderr]).toEqual([6, expect.stringContaining('is not cordoned by Fairlead')]);
    },
    TIMEOUT_MS,
  );

  it(
    'asks for confirmation before nodes are taken down or a cluster is deleted, and refuses an unknown node with the nearest name [ORBITER 31]',
    async () => {
      const [first = ''] = await namesIn('web');
      const before = await lastSeq();
      for (const args of [
        ['node', 'drain', 'shop', first],
        ['node', 'remove', 'shop', first],
        ['node', 'replace', 'shop', first],
        ['cluster', 'delete', 'shop'],
      ])
        expect(await fairlead(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining('Give --yes') });
      const misspelled = await fairlead('node', 'reboot', 'shop', `${first}x`, '--yes');
      expect(misspelled).toMatchObject({ code: 5, stderr: expect.stringContaining(`Did you mean ${first}?`) });
      expect(await lastSeq()).toBe(before);
    },
    TIMEOUT_MS,
  );

  it(
    'holds nodes by label and releases them, recorded with reason and user [ORBITER 31]',
    async () => {
      const web = await namesIn('web');
      const before = await lastSeq();
      const held = async (): Promise<readonly string[]> =>
        (await nodes()).flatMap(({ name, updatesDisabled }) => (updatesDisabled === null ? [] : [name]));
      const ran = await fairlead('node', 'hold', 'shop', '-l', 'tier=web', '--reason', 'a long test runs');
      expect([ran.code, ran.stderr]).toEqual([0, '']);
      expect(new Set(await held())).toEqual(new Set(web));
      const stated = await since(before, 'UpdatesDisabledSet');
      expect(stated.map(({ data, meta }) => [data.reason, data.disabled, meta.actor])).toEqual(
        web.map(() => ['a long test runs', true, expect.stringMatching(/^user\//)]),
      );
      expect((await fairlead('node', 'unhold', 'shop', '--all')).code).toBe(0);
      expect(await held()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'runs a command on a node once and reads logs, recorded without the output [ORBITER 31]',
    async () => {
      const [first = ''] = await namesIn('web');
      const before = await lastSeq();
      const ran = await fairlead('node', 'exec', 'shop', first, '--', 'hostname');
      expect(ran).toEqual({ code: 0, stdout: `${first}\n`, stderr: '' });
      const failed = await fairlead(
        'node',
        'exec',
        'shop',
        first,
        '--output',
        'json',
        '--',
        'systemctl',
        'is-active',
        'nothing',
      );
      expect(failed.code).toBe((JSON.parse(failed.stdout) as { exitCode: number }).exitCode);
      expect(failed.code).toBeGreaterThan(0);
      expect((await fairlead('node', 'logs', 'shop', first, '--lines', '5')).code).toBe(0);
      const requested = await since(before, 'NodeExecRequested', first);
      expect(requested.map(({ data, meta }) => [data.purpose, data.command[0], meta.actor])).toEqual([
        ['exec', 'hostname', expect.stringMatching(/^user\//)],
        ['exec', 'systemctl', expect.stringMatching(/^user\//)],
        ['logs', 'journalctl', expect.stringMatching(/^user\//)],
      ]);
      const [finished] = await since(before, 'NodeExecFinished', first);
      expect(finished?.data).toMatchObject({ exitCode: 0, stdoutBytes: first.length + 1, truncated: false });
      expect(await since(before, 'NodeExecStarted', first)).toHaveLength(3);
      // The host is not queried after its reader has disconnected, and the audit has two entries for the whole read.
      const agent = ['--unit', 'fairlead-agent', '--lines', '3'];
      const follow = start('node', 'logs', 'shop', first, ...agent, '--follow');
      await eventually(() => follow.stdout() !== '', { withinMs: TIMEOUT_MS });
      const once = await fairlead('node', 'logs', 'shop', first, ...agent);
      expect(follow.stdout().split('\n')[0]).not.toBe('');
      expect(once.stdout).toContain(follow.stdout().trim().split('\n').at(-1));
      expect(await follow.interrupt()).toBe(130);
      const ended = await until('NodeLogsFollowEnded', before, first);
      expect(ended.data).toMatchObject({ reason: 'reader-gone', skippedLines: 0 });
      expect((await since(before, 'NodeLogsFollowRequested', first)).map(({ data }) => data.unit)).toEqual([
        'fairlead-agent',
      ]);
      // Operators inspect hosts during a pause.
      expect((await fairlead('cluster', 'pause', 'shop', '--reason', 'a look at its hosts')).code).toBe(0);
      expect(await fairlead('node', 'exec', 'shop', first, '--', 'hostname')).toMatchObject({ code: 0 });
      const drained = await fairlead('node', 'drain', 'shop', first, '--yes');
      expect([drained.code, drained.stderr]).toEqual([6, expect.stringContaining('has been paused since')]);
      expect((await fairlead('cluster', 'resume', 'shop')).code).toBe(0);
    },
    TIMEOUT_MS,
  );
});
