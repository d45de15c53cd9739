import { UpgradeStrategy, type EventData, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { clusterFilter } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { decode, ensureStreams, makeTail, readAll } from '@fairlead/event-sourcing/jetstream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NatsSecrets } from '../../../libs/service-kit/src/secrets.nats.js';
import { clusterRequested, machineOf, uid } from '../src/nodes/nodes.fixtures.js';
import {
  budget,
  controlPlane,
  deployment,
  eventually,
  startLabCluster,
  worker,
  type LabCluster,
} from './lab.cluster.js';
import { StandInAgents, teller, type Tell } from './stand-in.agents.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const CONTROL_PLANES = [1, 2, 3].map(controlPlane);
const WORKERS = [1, 2].map(worker);
const NODES = [...CONTROL_PLANES, ...WORKERS];
const SETTLE_MS = 90_000;

/** A real upgrade-svc process, killed without warning, against a simulated cluster and agents that stand in. */
describe('a roll-out from v1.33.13 to v1.34.4, 3 control planes and 2 workers', () => {
  let environment: TestEnvironment;
  let folder: string;
  let admin: NatsConnection;
  let lab: LabCluster;
  let agents: StandInAgents;
  let tell: Tell;
  let service: ChildProcess | undefined;
  const said: string[] = [];

  const startService = (): void => {
    service = spawn(process.execPath, [MAIN], {
      env: {
        PATH: process.env['PATH'],
        NATS_URL: environment.nats.url,
        NATS_CREDS: environment.nats.credsFile('upgrade-svc'),
        DATABASE_URL: environment.databases['upgrade-svc'],
        FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
        LOG_LEVEL: 'warn',
        PORT: '0',
        JOB_ACK_WAIT_MS: '1000',
        UPGRADE_LOOK_EVERY_MS: '50',
        UPGRADE_PASS_INTERVAL_MS: '50',
        UPGRADE_LEASE_INTERVAL_MS: '2100',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    service.stdout?.on('data', (text: Buffer) => said.push(text.toString()));
    service.stderr?.on('data', (text: Buffer) => said.push(text.toString()));
  };
  const killService = async (): Promise<void> => {
    const ended = new Promise((resolve) => service?.once('exit', resolve));
    service?.kill('SIGKILL');
    await ended;
  };

  const events = async (): Promise<StoredEvent[]> => {
    const found: StoredEvent[] = [];
    for await (const batch of readAll(admin, clusterFilter('default', 'demo'), 0))
      for (const { subject, seq, bytes } of batch) found.push(...[decode(subject, seq, bytes) ?? []].flat());
    return found;
  };
  const until = async (wanted: (event: StoredEvent) => boolean, timeoutMs = SETTLE_MS): Promise<StoredEvent> => {
    const stop = AbortSignal.timeout(timeoutMs);
    const seen: string[] = [];
    for await (const event of makeTail(admin)(clusterFilter('default', 'demo'), 0, stop)) {
      seen.push(`${event.meta.seq} ${event.type} ${JSON.stringify(event.data).slice(0, 400)}`);
      if (wanted(event)) return event;
    }
    throw new Error(`not within ${timeoutMs} ms:\n${seen.slice(-40).join('\n')}\n${said.slice(-20).join('')}`);
  };

  const wish = (type: 'UpgradePauseRequested' | 'UpgradeResumeRequested', more: object = {}): Fact =>
    ({ type, data: { uid, upgradeId: 'u-story1', ...more } }) as Fact;

  beforeAll(async () => {
    if (!existsSync(MAIN)) throw new Error('upgrade-svc is not built: npm run build');
    environment = await testEnvironment();
    folder = mkdtempSync(join(tmpdir(), 'fairlead-rollout-'));
    const master = randomBytes(32);
    writeFileSync(join(folder, 'master.key'), master.toString('base64'));
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    lab = await startLabCluster({ controlPlanes: 3, workers: 2 });
    const secrets = new NatsSecrets(await environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
    await secrets.put(`bootstrap-svc.kubeconfig.${uid}` as Parameters<typeof secrets.put>[0], lab.kubeconfig, uid);
    tell = teller(admin);
    agents = new StandInAgents(admin, lab, uid, NODES);
    agents.start();
    startService();
    await tell('wish', clusterRequested(uid, 'v1.33.13'));
    const machines = NODES.map((name) => ({
      ...machineOf(name),
      role: name.includes('-cp-') ? ('control-plane' as const) : ('worker' as const),
      pool: name.includes('-cp-') ? 'control-plane' : 'w',
    }));
    await tell('machines', { type: 'VmsCreated', data: { uid, machines } } as Fact<'VmsCreated'>);
    const balancer = { uid, host: '198.18.0.1', port: 6443, kind: 'haproxy' } as EventData<'LoadBalancerReady'>;
    await tell('machines', { type: 'LoadBalancerReady', data: balancer });
    for (const node of NODES) await until((event) => event.type === 'NodeReady' && event.data.node === node);
    await tell('bootstrap', { type: 'ClusterReady', data: { uid } });
    await lab.apply(deployment('web', 2), budget('web', 1));
  }, 120_000);

  afterAll(async () => {
    await killService();
    await agents?.stop();
    await lab?.stop();
    await environment?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  }, 60_000);

  it('goes on to its end over a pause, a resume and three kills', async () => {
    const strategy = UpgradeStrategy.parse({ workers: { maxUnavailable: 1 } });
    await tell('wish', {
      type: 'UpgradeRequested',
      data: {
        uid,
        upgradeId: 'u-story1',
        target: { kubernetes: 'v1.34.4', renewCertificates: false, reboot: false },
        pools: null,
        controlPlane: true,
        strategy,
        mode: 'go',
        overrides: [],
        requestHash: 'x',
      } as unknown as EventData<'UpgradeRequested'>,
    });
    const checked = await until(({ type }) => type === 'UpgradePlanned' || type === 'UpgradeRejected');
    if (checked.type !== 'UpgradePlanned') throw new Error(JSON.stringify(checked.data, undefined, 2));
    await until(({ type }) => type === 'EtcdSnapshotTaken');
    await killService();
    startService();
    const first = await until(({ type }) => type === 'OperationCompleted');
    expect(first.data).toMatchObject({ upgradeId: 'u-story1' });
    await until(({ type }) => type === 'UpgradeWithdrawn');
    await tell('wish', wish('UpgradePauseRequested', { reason: 'lunch' }));
    await until(({ type }) => type === 'RolloutPaused');
    await killService();
    startService();
    await tell('wish', wish('UpgradeResumeRequested'));
    await until((event) => event.type === 'NodeEmptied' && WORKERS.includes(event.data.node));
    await killService();
    startService();
    const end = await until(({ type }) => type === 'RolloutCompleted' || type === 'RolloutHalted');
    expect(agents.failures).toEqual([]);
    expect({ type: end.type, data: end.data }).toMatchObject({
      type: 'RolloutCompleted',
      data: { upgradeId: 'u-story1' },
    });
  }, 180_000);

  it('has every node at the target, taking pods, with nothing left of the roll-out', async () => {
    const nodes = await eventually(
      () => lab.cluster.nodes(),
      (found) => found.every(({ unschedulable }) => !unschedulable),
    );
    expect(nodes.map(({ kubeletVersion, cordonedBy }) => [kubeletVersion, cordonedBy])).toEqual(
      NODES.map(() => ['v1.34.4', null]),
    );
    const pods = await lab.cluster.staticPods();
    expect(new Set(pods.map(({ image }) => image.split(':').at(-1)))).toEqual(new Set(['v1.34.4', '3.6.5-0']));
    const taints = (await lab.client.core.listNode()).items.flatMap(({ spec }) => spec?.taints ?? []);
    expect(taints.filter(({ key }) => key.startsWith('fairlead.dev/'))).toEqual([]);
  });

  it('changed each node once, control planes one after the other with the leader of etcd last, then workers', async () => {
    const log = await events();
    const changed = agents.done;
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

  it('asked every gate that the rules name, and took the snapshot before anything', async () => {
    const log = await events();
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
