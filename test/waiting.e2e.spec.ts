import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const WAIT_MS = 120_000;
const MAIN = fileURLToPath(new URL('../apps/cli/dist/main.js', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real command in a separate process. */
class Command {
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(readonly child: ChildProcess) {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = new Promise((resolve) =>
      child.once('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr })),
    );
  }

  async says(words: string | RegExp): Promise<void> {
    const isSaid = (): boolean =>
      typeof words === 'string' ? this.stderr.includes(words) : words.test(this.stderr) || words.test(this.stdout);
    await eventually(() => isSaid() || this.child.exitCode !== null, { what: String(words), withinMs: WAIT_MS });
    if (!isSaid()) throw new Error(`it never said ${String(words)}:\n${this.stdout}\n${this.stderr}`);
  }
}

const machines = { connection: 'lab', machineType: 'lab.medium' };

describe('a waiting command', () => {
  let system: System;
  let hook: Server;
  let hookUrl = '';
  let folder = '';

  const start = (...args: readonly string[]): Command =>
    new Command(
      spawn(process.execPath, [MAIN, ...args], {
        cwd: folder,
        env: { PATH: process.env['PATH'], CI: 'true', FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  const run = (...args: readonly string[]): Promise<Ended> => start(...args).ended;

  /** SIGKILL; the supervisor restarts it. */
  const killGateway = async (command: Command): Promise<void> => {
    const before = command.stderr.split('answers again').length;
    system.kill('gateway');
    await eventually(() => command.stderr.split('answers again').length > before, {
      what: `the gateway answers again: ${command.stderr}`,
      withinMs: WAIT_MS,
    });
  };

  beforeAll(async () => {
    folder = newFolder('e2e');
    hook = createServer((_request, response) => response.writeHead(500).end('no space left'));
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
    const env = { HOOK_ADDRESSES_ALLOWED: '127.0.0.0/8', HOOK_RETRY_MIN_MS: '200' };
    system = await startSystem({ light: true, env });
  }, TIMEOUT_MS);
  afterAll(async () => {
    await system?.stop();
    hook?.close();
    removeFolder(folder);
  }, 60_000);

  it(
    'shows each attempt to reach a host that does not answer, and survives kill -9 of the gateway without repeated output',
    async () => {
      await system.lab('PUT', '/v1/faults', {
        items: [{ kind: 'ssh-slow', machine: 'shop-w-*', delayMs: 60_000, times: 2 }],
      });
      const spec = {
        serviceType: 'single',
        controlPlane: { replicas: 1, ...machines },
        pools: [{ name: 'web', replicas: 1, ...machines }],
        hooks: [{ name: 'backup', points: ['BeforeClusterDelete'], url: hookUrl }],
      };
      const manifest = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
      expect((await system.call('PUT', '/ns/default/clusters/shop/manifest', manifest)).status).toBe(202);
      const waiting = start('cluster', 'wait', 'shop');
      await waiting.says(
        /Reach over SSH: open SSH on shop-w-\S+ failed: \S+ does not answer: .* \(attempt 1, next in /,
      );
      const shown = await run('cluster', 'get', 'shop');
      expect(shown.stdout).toMatch(/Provisioning: Reach over SSH: open SSH on shop-w-.* \(attempt \d+, /);
      await killGateway(waiting);
      const { code, stdout, stderr } = await waiting.ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/shop {2}Ready\n$/) });
      expect(stdout).toContain('Running');
      const lines = stderr.trimEnd().split('\n');
      expect(new Set(lines).size).toBe(lines.length);
    },
    TIMEOUT_MS,
  );

  it(
    'exits with 130 on Ctrl-C and shows how to resume; past events are not followed',
    async () => {
      const watching = start('cluster', 'describe', 'shop', '--watch');
      await watching.says(/shop {2}Running: nothing is in progress/);
      watching.child.kill('SIGINT');
      const { code, stderr } = await watching.ended;
      expect(code).toBe(130);
      expect(stderr).toContain('Watch it again with "fairlead cluster describe shop --watch".');
      const following = start('events', 'shop', '--follow', '--tail', '1');
      await following.says(/\n/);
      following.child.kill('SIGINT');
      expect((await following.ended).stdout.trimEnd().split('\n')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  it(
    'shows the etcd restore step by step, and describe shows it afterwards',
    async () => {
      const snapshot = await run('etcd', 'snapshot', 'shop', '--wait', '-o', 'name');
      expect(snapshot).toMatchObject({ code: 0, stderr: expect.stringContaining('shop  Take a snapshot: done (') });
      const restored = await run('etcd', 'restore', 'shop', snapshot.stdout.trim(), '--yes', '--wait');
      expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining('shop  etcd restored\n') });
      expect(restored.stderr).toContain('Restore etcd: ');
      expect((await run('cluster', 'describe', 'shop')).stdout).toMatch(/^✔ default\/shop {2}etcd restored, /);
    },
    TIMEOUT_MS,
  );

  it(
    'names the hook that blocks a deletion in every view, and continues once it is skipped, despite another kill -9',
    async () => {
      const deleting = start('cluster', 'delete', 'shop', '--yes', '--wait');
      await deleting.says(/the hook backup \(BeforeClusterDelete\) failed: .* \(attempt 1, next in /);
      await deleting.says(
        'next: Continue without the hook: fairlead hook skip shop backup --point BeforeClusterDelete',
      );
      expect((await run('cluster', 'get', 'shop')).stdout).toMatch(/the hook backup \(BeforeClusterDelete\) failed: /);
      const { stdout } = await run('cluster', 'describe', 'shop');
      expect(stdout).toMatch(/▲ Stop workloads and release load balancers and volumes {2}attempt \d+, /);
      expect(stdout).toContain('the hook backup (BeforeClusterDelete) failed: ');
      await killGateway(deleting);
      const skipped = await run('hook', 'skip', 'shop', 'backup', '--reason', 'no data');
      expect(skipped).toMatchObject({ code: 0 });
      expect(await deleting.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/shop {2}Deleted\n$/) });
      expect((await run('cluster', 'wait', 'shop', '--for', 'deleted')).code).toBe(0);
    },
    TIMEOUT_MS,
  );
});
