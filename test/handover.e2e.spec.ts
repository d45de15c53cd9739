import {
  INNER_SERVICES,
  type ClusterManifestView,
  type ErrorView,
  type HandoverView,
  type StoredEvent,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensureKeys } from '../apps/cli/src/up/keys.store.js';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 300_000;
const CLUSTER = '/ns/default/clusters/shop';
const CLI = fileURLToPath(new URL('../apps/cli/bin/fairlead.mjs', import.meta.url));
const machines = { connection: 'lab', machineType: 'lab.medium' };

interface Ended {
  readonly code: number | null;
  readonly out: Readonly<Record<string, string>>;
  readonly err: string;
}

/** `fairlead handover ...` in a separate process, killed after this time if given. */
const handover = (args: readonly string[], killAfterMs?: number): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, 'handover', ...args, '-o', 'json'], { stdio: 'pipe' });
    const output = { out: '', err: '' };
    child.stdout.on('data', (text) => (output.out += String(text)));
    child.stderr.on('data', (text) => (output.err += String(text)));
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(timer);
      resolve({ code, out: code === 0 ? JSON.parse(output.out) : {}, err: output.err });
    });
  });

const succeeds = async (args: readonly string[]): Promise<Ended['out']> => {
  const { code, out, err } = await handover(args);
  if (code !== 0) throw new Error(`handover ${args.join(' ')}: ${err}`);
  return out;
};

describe('the handover of a running installation with a cluster, by commands that are killed', () => {
  let source: System;
  let environment: TestEnvironment;
  let target: System;
  let folder: string;
  let made: Readonly<Record<string, number>>;
  let history: readonly StoredEvent[];
  let token: string;

  const manifest = (replicas: number) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'shop' },
    spec: {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas, ...machines }],
    },
  });
  const file = (): string => join(folder, 'fairlead.handover');
  const at = (side: Pick<System, 'environment'>): readonly string[] => [
    '--data',
    side.environment.dataDir,
    '--nats',
    side.environment.nats.url,
  ];
  const stateOf = async (system: System): Promise<HandoverView> =>
    (await system.call<HandoverView>('GET', '/handover')).body;
  const refusal = async (system: System, method: string, path: string, body?: unknown): Promise<readonly unknown[]> => {
    const answer = await system.call<ErrorView>(method, path, body);
    return [answer.status, answer.body.reason];
  };

  beforeAll(async () => {
    folder = newFolder('handover-story');
    source = await startSystem({ light: true });
    environment = await testEnvironment();
    await ensureStreams(await environment.connect('admin'));
    ensureKeys(environment.dataDir);
    const created = await source.call('PUT', `${CLUSTER}/manifest`, manifest(2));
    if (created.status !== 202) throw new Error(JSON.stringify(created.body));
    await source.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS / 2);
    const viewer = { name: 'dashboard', roles: [{ namespace: 'default', role: 'viewer' }] };
    token = (await source.call<{ readonly token: string }>('POST', '/tokens', viewer)).body.token;
    made = await source.made();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await target?.stop();
    if (target === undefined) await environment?.stop();
    await source?.stop();
    removeFolder(folder);
  }, 60_000);

  it(
    'makes the source refuse commands and answer reads after the fence, and stops its services [Cluster API 32]',
    async () => {
      const { target: key } = await succeeds(['prepare', ...at({ environment })]);
      const exporting = ['export', ...at(source), '--to', key ?? '', '--file', file()];
      // At any stage: before the fence, while services stop, or while the file is written.
      for (const killAfterMs of [700, 1_500, 6_000]) await handover(exporting, killAfterMs);
      await succeeds(exporting);
      expect(await stateOf(source)).toMatchObject({ state: 'fenced', holdsLog: false, epoch: 1 });
      history = await source.events('shop');
      const handedOver = [409, 'installation.handed-over'];
      expect(await refusal(source, 'PUT', `${CLUSTER}/manifest`, manifest(3))).toEqual(handedOver);
      expect(await refusal(source, 'DELETE', CLUSTER)).toEqual(handedOver);
      expect(await refusal(source, 'POST', '/ns', { name: 'another' })).toEqual(handedOver);
      expect(await refusal(source, 'GET', `${CLUSTER}/kubeconfig/administrator`)).toEqual(handedOver);
      expect((await source.call('GET', `${CLUSTER}/nodes`)).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  it(
    'can be cancelled, after which the source works as before',
    async () => {
      await succeeds(['cancel', ...at(source)]);
      await eventually(async () => (await stateOf(source)).holdsLog);
      const { code } = await handover(['activate', ...at({ environment }), '--code', 'any']);
      expect(code).not.toBe(0);
      expect((await source.call('PUT', `${CLUSTER}/manifest`, manifest(1))).status).toBe(202);
      const before = history.at(-1)?.meta.seq ?? 0;
      await source.until('shop', ({ type, meta }) => type === 'VmDeleted' && meta.seq > before, TIMEOUT_MS / 2);
    },
    TIMEOUT_MS,
  );

  it(
    'moves the history to the target, where the cluster is scaled; no machine was touched meanwhile, and the source is unchanged [ORBITER 30, Cluster API 32]',
    async () => {
      const { target: key } = await succeeds(['prepare', ...at({ environment })]);
      const exported = await succeeds(['export', ...at(source), '--to', key ?? '', '--file', file()]);
      const importing = ['import', ...at({ environment }), '--from', exported['source'] ?? '', file()];
      history = await source.events('shop');
      const standing = await source.standing();
      for (const killAfterMs of [600, 900]) await handover(importing, killAfterMs);
      const { receipt } = await succeeds(importing);
      const releasing = ['release', ...at(source), '--receipt', receipt ?? ''];
      await handover(releasing, 700);
      const { code } = await succeeds(releasing);
      expect((await handover(['cancel', ...at(source)])).err).toContain('was released');
      const activating = ['activate', ...at({ environment }), '--code', code ?? ''];
      await handover(activating, 700);
      await succeeds(activating);

      target = await startSystem({ light: true, environment });
      expect(await stateOf(target)).toMatchObject({ state: 'active', holdsLog: true, epoch: 2 });
      const pending = new Set(history.flatMap((event) => (event.type === 'AgentStarted' ? [event.data.node] : [])));
      for (const event of history) if (event.type === 'VmDeleted') pending.delete(event.data.name);
      await target.until(
        'shop',
        (event) => {
          if (event.type === 'AgentTakenOver') pending.delete(event.data.node);
          return pending.size === 0;
        },
        TIMEOUT_MS / 3,
      );
      const now = await target.events('shop');
      expect(now.slice(0, history.length)).toEqual(history);
      expect(await source.standing()).toEqual(standing);

      const authorization = `Bearer ${token}`;
      expect((await target.call('GET', CLUSTER, undefined, { authorization })).status).toBe(200);
      expect((await target.call('PUT', `${CLUSTER}/manifest`, manifest(3))).status).toBe(202);
      const scaledAt = now.at(-1)?.meta.seq ?? 0;
      await target.until('shop', ({ type, meta }) => type === 'ClusterReady' && meta.seq > scaledAt, TIMEOUT_MS / 3);
      const nodes = await target.call<{ readonly items: readonly { readonly ready: boolean }[] }>(
        'GET',
        `${CLUSTER}/nodes?minSeq=${(await target.events('shop')).at(-1)?.meta.seq ?? 0}`,
      );
      expect(nodes.body.items.filter(({ ready }) => ready)).toHaveLength(4);
      expect((await source.standing())['machines']).toBe((standing['machines'] ?? 0) + 2);
      expect((await source.made())['machine']).toBe((made['machine'] ?? 0) + 2);

      expect(await refusal(source, 'PUT', `${CLUSTER}/manifest`, manifest(5))).toEqual([
        409,
        'installation.handed-over',
      ]);
      // Enough time for its services to act, if they could.
      for (const service of INNER_SERVICES) source.kill(service);
      await sleep(5_000);
      expect(await source.events('shop')).toEqual(history);
      const { body } = await target.call<ClusterManifestView>('GET', `${CLUSTER}/manifest`);
      expect(body.status?.state).toBe('Running');
    },
    TIMEOUT_MS,
  );
});
