import {
  clusterFilter,
  ClusterManifest,
  heartbeatSubject,
  specOfManifest,
  type DeclaredSpec,
  type EventType,
  type StoredEvent,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { decode, ensureStreams, readAll } from '@fairlead/event-sourcing/jetstream';
import { startService, type RunningService } from '@fairlead/service-kit';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import { NatsSecrets } from '../../../../libs/service-kit/src/secrets.nats.js';
import { teller, type Tell } from '../../test/stand-in.agents.js';
import { readSettings } from '../config.js';
import { ClusterAccess } from '../kubernetes/cluster.access.js';
import { clusterRequested, machineOf, SOFTWARE_1_34, uid } from '../nodes/nodes.fixtures.js';
import { upgradeService } from '../service.js';
import { nodeFact, planFor } from './remediation.fixtures.js';

const CP = 'demo-cp-1';
const WORKERS = ['demo-w-1', 'demo-w-2', 'demo-w-3'] as const;
const [SICK, SILENT, UNKNOWN] = WORKERS;
const CHECK = { unhealthyAfter: '1s', maxUnhealthy: '100%', remediation: 'reboot-then-replace', retryPeriod: '0s' };

const declared = (): DeclaredSpec => {
  const machines = { connection: 'lab', machineType: 'lab.medium' };
  const { spec } = ClusterManifest.parse({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'demo' },
    spec: {
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: WORKERS.length, ...machines, health: CHECK }],
    },
  });
  return specOfManifest(spec);
};

describe('unhealthy nodes, by two replicas of upgrade-svc', () => {
  let environment: TestEnvironment;
  let folder: string;
  let admin: NatsConnection;
  let lab: LabCluster;
  let tell: Tell;
  let beating: NodeJS.Timeout | undefined;
  const replicas: RunningService[] = [];
  const looks = jest.spyOn(ClusterAccess.prototype, 'of');

  const events = async (): Promise<StoredEvent[]> => {
    const found: StoredEvent[] = [];
    for await (const batch of readAll(admin, clusterFilter('default', 'demo'), 0))
      found.push(...batch.flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []));
    return found;
  };
  const of = async <T extends EventType>(type: T, node: string): Promise<readonly StoredEvent<T>[]> =>
    (await events()).filter(
      ({ type: found, data }) => found === type && 'node' in data && data.node === node,
    ) as unknown as readonly StoredEvent<T>[];
  const first = <T extends EventType>(type: T, node: string): Promise<StoredEvent<T>> =>
    eventually(async () => (await of(type, node))[0], { withinMs: 30_000 });
  const lookedAgain = async (): Promise<void> => {
    const before = looks.mock.calls.length;
    await eventually(() => looks.mock.calls.length > before, { withinMs: 30_000 });
  };
  const say = (node: string, type: 'NodeReady' | 'NodeNotReady', data: object): Promise<void> =>
    tell(`node-${node}`, nodeFact(type, node, { revision: 1, ...data }));
  const ready = (node: string): Promise<void> => say(node, 'NodeReady', { software: SOFTWARE_1_34 });
  const notReady = (node: string): Promise<void> =>
    say(node, 'NodeNotReady', { reason: 'KubernetesNotReady', message: 'PLEG is not healthy' });
  /** Simulates the kubelet's report about its container runtime. */
  const hang = (node: string, runtimeHangs: boolean): void =>
    lab.simulated.setKubelet(node, { running: true, runtimeHangs });
  const beat = (names: readonly string[]): void => {
    clearInterval(beating);
    beating = setInterval(() => {
      for (const name of names) admin.publish(heartbeatSubject('default', 'demo', name), '{}');
    }, 100);
  };

  const startReplica = (): Promise<RunningService> =>
    startService(upgradeService(readSettings({ NODE_LOST_AFTER_MS: '1500' })), {
      NATS_URL: environment.nats.url,
      NATS_CREDS: environment.nats.credsFile('upgrade-svc'),
      DATABASE_URL: environment.databases['upgrade-svc'],
      FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
      LOG_LEVEL: 'error',
    });

  /** A Ready cluster with a health check for its workers. */
  const reportBeginning = async (): Promise<void> => {
    const planned = [planFor(CP, 'control-plane'), ...WORKERS.map((name) => planFor(name, 'web'))];
    await tell('request', clusterRequested());
    await tell('request', { type: 'ClusterSpecChanged', data: { uid, revision: 1, spec: declared() } });
    await tell('machines', { type: 'VmsPlanned', data: { uid, machines: planned } });
    const machines = planned.map(({ name, pool, role }) => ({ ...machineOf(name), pool, role }));
    for (const machine of machines) await tell('machines', { type: 'VmCreated', data: { uid, machine } });
    await tell('machines', { type: 'VmsCreated', data: { uid, machines } });
    await Promise.all(planned.map(({ name }) => first('DesiredVersionsSet', name)));
    for (const { name } of planned) {
      await tell('bootstrap', nodeFact('AgentStarted', name, { agentVersion: '1', sha256: 'x' }));
      await ready(name);
    }
    await tell('bootstrap', { type: 'ClusterReady', data: { uid } });
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    folder = newFolder('remediation');
    const master = randomBytes(32);
    writeFileSync(join(folder, 'master.key'), master.toString('base64'));
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    lab = await startLabCluster({ controlPlanes: 1, workers: WORKERS.length });
    const secrets = new NatsSecrets(await environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
    await secrets.put(`bootstrap-svc.kubeconfig.${uid}` as Parameters<typeof secrets.put>[0], lab.kubeconfig, uid);
    tell = teller(admin);
    beat([CP, ...WORKERS]);
    replicas.push(await startReplica(), await startReplica());
    await reportBeginning();
  }, 60_000);

  afterAll(async () => {
    clearInterval(beating);
    looks.mockRestore();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await lab?.stop();
    await environment?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it('are not remediated while Kubernetes reports them as Ready, and remediated once it does not', async () => {
    await notReady(SICK);
    await lookedAgain();
    expect(await of('RemediationRequested', SICK)).toEqual([]);
    hang(SICK, true);
    expect((await first('RemediationRequested', SICK)).data).toMatchObject({
      requestId: 'remediation-1',
      action: 'reboot',
      attempt: 1,
      reason: { condition: 'NotReady', unhealthy: 1, total: 3, limit: 3 },
    });
  }, 60_000);

  it('are rebooted by their agents, which may do so until the node is healthy again', async () => {
    const permitted = await eventually(async () =>
      (await of('DesiredVersionsSet', SICK)).find(({ data }) => data.change !== undefined),
    );
    const change = { id: 'remediation-1', reboot: true, kubeadm: null, kubernetes: null };
    expect(permitted.data).toMatchObject({ changesAllowed: true, change });
    hang(SICK, false);
    await ready(SICK);
    expect((await first('RemediationSucceeded', SICK)).data).toMatchObject({
      requestId: 'remediation-1',
      action: 'reboot',
    });
    const withdrawn = await eventually(async () =>
      (await of('DesiredVersionsSet', SICK)).find(({ meta }) => meta.seq > permitted.meta.seq),
    );
    expect(withdrawn.data).toMatchObject({ changesAllowed: false });
    expect(withdrawn.data.change).toBeUndefined();
  }, 60_000);

  it('are not remediated while the Kubernetes API does not respond: their state is unknown', async () => {
    const listener = lab.listeners.get(CP)!;
    await listener.close();
    hang(UNKNOWN, true);
    await notReady(UNKNOWN);
    await lookedAgain();
    expect(await of('RemediationRequested', UNKNOWN)).toEqual([]);
    const again = await lab.simulated.listen({ host: '127.0.0.1', port: listener.port, sans: [], node: CP });
    try {
      expect((await first('RemediationRequested', UNKNOWN)).data).toMatchObject({ action: 'reboot' });
    } finally {
      await again.close();
    }
    await lab.simulated.listen({ host: '127.0.0.1', port: listener.port, sans: [], node: CP });
  }, 60_000);

  it('that are silent are replaced: the old node is removed first, and each replacement is requested once', async () => {
    beat([CP, SICK, UNKNOWN]);
    expect((await first('RemediationRequested', SILENT)).data).toMatchObject({
      action: 'replace',
      order: 'remove-first',
      reason: { condition: 'Lost' },
    });
    const requested = (await events()).filter(({ type }) => type === 'RemediationRequested');
    expect(requested.map(({ data }) => 'node' in data && data.node)).toEqual([SICK, UNKNOWN, SILENT]);
  }, 60_000);
});
