import {
  clusterFilter,
  UpgradeStrategy,
  type EventData,
  type Fact,
  type StoredEvent,
  type UpgradeTarget,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { decode, ensureStreams, makeTail, readAll } from '@fairlead/event-sourcing/jetstream';
import { newFolder } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NatsSecrets } from '../../../libs/service-kit/src/secrets.nats.js';
import { clusterRequested, machineOf, uid } from '../src/nodes/nodes.fixtures.js';
import {
  controlPlane,
  startLabCluster,
  worker,
  type LabCluster,
  type Shape,
} from '../../../libs/kubernetes/test/lab.cluster.js';
import { StandInAgents, teller, type Tell } from './stand-in.agents.js';

export const UPGRADE_ID = 'u-story1';

export interface RigOptions extends Shape {
  /** The built program of upgrade-svc. */
  readonly main: string;
  /** Additional environment variables for it. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A real upgrade-svc process with a real NATS and PostgreSQL, a simulated cluster, and stand-in agents. */
export interface RolloutRig {
  readonly lab: LabCluster;
  readonly agents: StandInAgents;
  readonly nodes: readonly string[];
  readonly tell: Tell;
  events(): Promise<StoredEvent[]>;
  /** The first matching event of the whole log; after the timeout throws with the last events. */
  until(desired: (event: StoredEvent) => boolean, timeoutMs?: number): Promise<StoredEvent>;
  /** Requests an upgrade that needs no approval. */
  ask(target: Partial<UpgradeTarget>, strategy?: object): Promise<void>;
  /** Sends SIGKILL, and starts a new process. */
  killService(): Promise<void>;
  stop(): Promise<void>;
}

const SETTLE_MS = 90_000;
const STORY_LINES = 40;

const nodesOf = ({ controlPlanes, workers }: Shape): readonly string[] => [
  ...Array.from({ length: controlPlanes }, (_, index) => controlPlane(index + 1)),
  ...Array.from({ length: workers }, (_, index) => worker(index + 1)),
];

/** The service as a process that can be killed. */
class ServiceProcess {
  private child: ChildProcess | undefined;
  readonly said: string[] = [];

  constructor(
    private readonly main: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  start(): void {
    const { env, main, said } = this;
    this.child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (text: Buffer) => void said.push(text.toString()));
  }

  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

const environmentOf = (environment: TestEnvironment, folder: string, more: RigOptions['env']): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  NATS_URL: environment.nats.url,
  NATS_CREDS: environment.nats.credsFile('upgrade-svc'),
  DATABASE_URL: environment.databases['upgrade-svc'],
  FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
  LOG_LEVEL: 'warn',
  PORT: '0',
  UPGRADE_PASS_INTERVAL_MS: '50',
  UPGRADE_LEASE_INTERVAL_MS: '2100',
  ...more,
});

const eventsOf = async (admin: NatsConnection): Promise<StoredEvent[]> => {
  const found: StoredEvent[] = [];
  for await (const batch of readAll(admin, clusterFilter('default', 'demo'), 0))
    found.push(...batch.flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []));
  return found;
};

/** The log of a cluster that was created, with every node Ready at its first revision. */
const reportBeginning = async (tell: Tell, nodes: readonly string[], until: RolloutRig['until']): Promise<void> => {
  await tell('request', clusterRequested(uid, 'v1.33.13'));
  const machines = nodes.map((name) => ({
    ...machineOf(name),
    role: name.includes('-cp-') ? ('control-plane' as const) : ('worker' as const),
    pool: name.includes('-cp-') ? 'control-plane' : 'w',
  }));
  await tell('machines', { type: 'VmsCreated', data: { uid, machines } } as Fact<'VmsCreated'>);
  const balancer = { uid, host: '198.18.0.1', port: 6443, kind: 'haproxy' } as EventData<'LoadBalancerReady'>;
  await tell('machines', { type: 'LoadBalancerReady', data: balancer });
  const ready = new Set<string>();
  await until((event) => {
    if (event.type === 'NodeReady') ready.add(event.data.node);
    return ready.size === nodes.length;
  });
  await tell('bootstrap', { type: 'ClusterReady', data: { uid } });
};

export const startRig = async ({ main, env, ...shape }: RigOptions): Promise<RolloutRig> => {
  if (!existsSync(main)) throw new Error('upgrade-svc is not built: npm run build');
  const environment = await testEnvironment();
  const folder = newFolder('rollout');
  const master = randomBytes(32);
  writeFileSync(join(folder, 'master.key'), master.toString('base64'));
  const admin = await environment.connect('admin');
  await ensureStreams(admin);
  const lab = await startLabCluster(shape);
  const secrets = new NatsSecrets(await environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
  await secrets.put(`bootstrap-svc.kubeconfig.${uid}` as Parameters<typeof secrets.put>[0], lab.kubeconfig, uid);
  const nodes = nodesOf(shape);
  const agents = new StandInAgents(admin, lab, uid, nodes);
  const service = new ServiceProcess(main, environmentOf(environment, folder, env));
  const tell = teller(admin);
  const until: RolloutRig['until'] = async (desired, timeoutMs = SETTLE_MS) => {
    const seen: string[] = [];
    for await (const event of makeTail(admin)(clusterFilter('default', 'demo'), 0, AbortSignal.timeout(timeoutMs))) {
      seen.push(`${event.meta.seq} ${event.type} ${JSON.stringify(event.data).slice(0, 400)}`);
      if (desired(event)) return event;
    }
    const end = [...seen.slice(-STORY_LINES), ...service.said.slice(-STORY_LINES)].join('\n');
    throw new Error(`not within ${timeoutMs} ms:\n${end}`);
  };
  agents.start();
  service.start();
  await reportBeginning(tell, nodes, until);
  return {
    lab,
    agents,
    nodes,
    tell,
    until,
    events: () => eventsOf(admin),
    ask: (target, strategy = {}) => tell('request', asked(target, strategy)),
    killService: async () => {
      await service.kill();
      service.start();
    },
    stop: async () => {
      await service.kill();
      await agents.stop();
      await lab.stop();
      await environment.stop();
      rmSync(folder, { recursive: true });
    },
  };
};

const asked = (target: Partial<UpgradeTarget>, strategy: object): Fact<'UpgradeRequested'> => ({
  type: 'UpgradeRequested',
  data: {
    uid,
    upgradeId: UPGRADE_ID,
    target: { renewCertificates: false, reboot: false, ...target },
    pools: null,
    controlPlane: true,
    strategy: UpgradeStrategy.parse(strategy),
    mode: 'go',
    overrides: [],
    requestHash: 'x',
  } as unknown as EventData<'UpgradeRequested'>,
});
