import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StoredEvent, UpgradePlan, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CHECKOUT } from '../apps/cli/src/checkout.js';
import { findKubectl } from './system/kubectl.js';
import { clusterBody, startSystem, type ApiResponse, type System } from './system/system.js';

const run = promisify(execFile);
const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const CREATE_TIMEOUT_MS = 120_000;
const ROLLOUT_TIMEOUT_MS = 180_000;
const PATH = '/ns/default/clusters/demo';
const PODS = 4;

const ended = ({ type }: StoredEvent): boolean =>
  type === 'RolloutCompleted' || type === 'RolloutHalted' || type === 'RolloutAborted';

/** A plan without the name of its upgrade. */
const withoutId = (plan: UpgradePlan | null | undefined): unknown =>
  JSON.parse(JSON.stringify(plan ?? null).replaceAll(plan?.upgradeId ?? 'none', '<upgrade>'));

interface NodeItem {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly { readonly key: string }[] };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly nodeInfo: { readonly kubeletVersion: string };
  };
}

const web = (minAvailable: number): readonly object[] => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: PODS,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'nginx' }] } },
    },
  },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { minAvailable, selector: { matchLabels: { app: 'web' } } },
  },
];

/** The whole product in the lab: an agent on every host, every service, the API and the command line. */
describe('a cluster of 3 control planes and 2 workers is upgraded under load', () => {
  let system: System;
  let workers: readonly string[];
  let whatIf: UpgradeView;
  let upgrade: UpgradeView;
  let kubectl: (...args: string[]) => Promise<string>;

  const fairlead = async (...args: string[]): Promise<string> => {
    const env = { ...process.env, FAIRLEAD_SERVER: system.server, FAIRLEAD_TOKEN: system.token, NODE_OPTIONS: '' };
    const main = join(CHECKOUT, 'apps', 'cli', 'dist', 'main.js');
    return (await run(process.execPath, [main, ...args], { env, timeout: 60_000 })).stdout;
  };
  const apply = async (items: readonly object[]): Promise<void> => {
    const file = join(system.environment.dataDir, 'web.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await kubectl('apply', '-f', file);
  };
  const post = async <Body = UpgradeView>(path: string, body: object, wait = 0): Promise<Body> => {
    const answer: ApiResponse<Body> = await system.call('POST', `${PATH}${path}`, body, { prefer: `wait=${wait}` });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  /** The first such event of this upgrade. */
  const stated = (id: string, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until(
      'demo',
      (event) => 'upgradeId' in event.data && event.data.upgradeId === id && (desired(event) || ended(event)),
      ROLLOUT_TIMEOUT_MS,
    );
  const of = async (id: string): Promise<StoredEvent[]> => {
    const log = await system.events('demo');
    const from = log.findIndex(({ type, data }) => type === 'UpgradeRequested' && data.upgradeId === id);
    return log.slice(from);
  };
  const nodes = async (): Promise<readonly NodeItem[]> =>
    (JSON.parse(await kubectl('get', 'nodes', '-o', 'json')) as { items: NodeItem[] }).items;
  /** Requests a change, approves its plan by hash, and waits for its end. */
  const changed = async (request: object): Promise<{ readonly view: UpgradeView; readonly end: StoredEvent }> => {
    const view = await post('/upgrades', request, 60);
    await post(`/upgrades/${view.id}/approve`, { planHash: view.planHash });
    return { view, end: await stated(view.id, ended) };
  };

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    const asked = await system.call(
      'POST',
      '/ns/default/clusters',
      clusterBody('demo', { controlPlanes: 3, workers: 2, version: OLD }),
    );
    expect(asked.status).toBe(202);
    const made = await system.until(
      'demo',
      ({ type }) => type === 'ClusterReady' || type === 'ClusterFailed',
      CREATE_TIMEOUT_MS,
    );
    expect(made.type).toBe('ClusterReady');
    const kubeconfig = join(system.environment.dataDir, 'demo.kubeconfig');
    const read: ApiResponse<string> = await system.call('GET', `${PATH}/kubeconfig`);
    writeFileSync(kubeconfig, read.body, { mode: 0o600 });
    const program = await findKubectl();
    kubectl = async (...args) =>
      (await run(program, ['--kubeconfig', kubeconfig, ...args], { timeout: 60_000 })).stdout;
    workers = (await nodes()).map(({ metadata }) => metadata.name).filter((name) => name.includes('-w-'));
    await apply(web(PODS));
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
  }, CREATE_TIMEOUT_MS + 120_000);

  afterAll(() => system?.stop(), 60_000);

  it('answers a what-if with the plan, names the blocking budget, and changes nothing', async () => {
    whatIf = await post('/upgrades?dryRun=true', { version: NEW });
    expect(whatIf.findings.filter(({ severity }) => severity === 'refuse')).toEqual([]);
    expect(JSON.stringify(whatIf.findings.filter(({ rule }) => rule === 'B7'))).toContain('default/web');
    expect(whatIf.plan?.operations.filter(({ kind }) => kind === 'worker').map(({ canary }) => canary)).toEqual([
      true,
      false,
    ]);
    const log = await of(whatIf.id);
    expect(log.filter(({ type }) => type === 'UpgradeAllowed' || type === 'NodeCordoned')).toEqual([]);
    expect(await fairlead('upgrade', 'plan', 'demo', '--to', NEW)).toContain(workers[0]);
  }, 60_000);

  it('runs the plan of the what-if once its hash is approved', async () => {
    upgrade = await post('/upgrades', { version: NEW }, 60);
    expect(upgrade.phase).toBe('Planned');
    expect(withoutId(upgrade.plan)).toEqual(withoutId(whatIf.plan));
    const wrong = await system.call('POST', `${PATH}/upgrades/${upgrade.id}/approve`, { planHash: '0'.repeat(64) });
    expect(wrong.status).toBe(409);
    await post(`/upgrades/${upgrade.id}/approve`, { planHash: upgrade.planHash });
    expect((await stated(upgrade.id, ({ type }) => type === 'RolloutStarted')).type).toBe('RolloutStarted');
  }, 60_000);

  it(
    'names the refusing budget and its pods, despite a kill -9 of upgrade-svc, and continues when they may be evicted',
    async () => {
      await stated(upgrade.id, ({ type }) => type === 'UpgradeAllowed');
      system.kill('upgrade-svc');
      const refused = await stated(upgrade.id, ({ type }) => type === 'EvictionRefused');
      if (refused.type !== 'EvictionRefused') throw new Error(JSON.stringify(refused.data));
      expect(refused.data.budget).toBe('default/web');
      expect(refused.data.pods.every((pod) => pod.startsWith('default/web-'))).toBe(true);
      expect(await fairlead('upgrade', 'status', 'demo')).toContain('default/web');
      await apply(web(PODS - 1));
      const end = await stated(upgrade.id, ended);
      expect({ type: end.type, data: end.data }).toMatchObject({ type: 'RolloutCompleted', data: { skipped: [] } });
    },
    ROLLOUT_TIMEOUT_MS,
  );

  it('upgraded control planes one by one, then the canary, then the other worker, and never two at once', async () => {
    const log = await of(upgrade.id);
    const allowed = log.flatMap((event) => (event.type === 'UpgradeAllowed' ? [event.data.node] : []));
    expect(allowed.slice(0, 3).every((node) => node.includes('-cp-'))).toBe(true);
    const canary = upgrade.plan?.operations.find((operation) => operation.canary)?.node;
    expect(allowed.slice(3)).toEqual([canary, ...workers.filter((node) => node !== canary)]);
    const away = new Set<string>();
    for (const event of log) {
      if (event.type === 'UpgradeAllowed') away.add(event.data.node);
      if (event.type === 'UpgradeWithdrawn') away.delete(event.data.node);
      expect(away.size).toBeLessThanOrEqual(1);
    }
  });

  it('leaves every node uncordoned and Ready at the new version, and shows it', async () => {
    const found = await nodes();
    expect(found.map(({ status, spec }) => [status.nodeInfo.kubeletVersion, spec.unschedulable ?? false])).toEqual(
      Array.from({ length: 5 }, () => [NEW, false]),
    );
    expect(found.flatMap(({ spec }) => spec.taints ?? []).filter(({ key }) => key.startsWith('fairlead.dev/'))).toEqual(
      [],
    );
    const status = await fairlead('upgrade', 'status', 'demo', '--all');
    expect(status).toContain(`Kubernetes ${OLD} -> ${NEW}, Completed`);
    expect(status).toMatch(/Control planes {2}3 of 3 done/);
    for (const worker of workers) expect(status).toContain(worker);
    const described = await fairlead('cluster', 'describe', 'demo', '--all');
    expect(described).toContain(`Ready, ${NEW}, took`);
    for (const { metadata } of found) expect(described).toMatch(new RegExp(`${metadata.name} .*Ready ${NEW}`));
    expect(described).toContain(`${upgrade.id}, Kubernetes to ${NEW}`);
    expect((await system.call<{ k8sVersion: string }>('GET', PATH)).body.k8sVersion).toBe(NEW);
  }, 60_000);

  it(
    'renews the certificates of the control planes, and kubectl still has access',
    async () => {
      const { end, view } = await changed({ renewCertificates: true, pools: [] });
      expect({ type: end.type, data: end.data }).toMatchObject({
        type: 'RolloutCompleted',
        data: { upgraded: expect.arrayContaining([expect.stringContaining('-cp-1')]) },
      });
      const log = await of(view.id);
      const reported = log.filter(({ type }) => type === 'CertificatesReported');
      expect(new Set(reported.map((event) => 'node' in event.data && event.data.node)).size).toBe(3);
      expect(await nodes()).toHaveLength(5);
    },
    ROLLOUT_TIMEOUT_MS,
  );

  it(
    'reboots the workers, except the held one',
    async () => {
      const [held = '', other = ''] = workers;
      const hold = await system.call('PUT', `${PATH}/nodes/${held}/updates`, { disabled: true, reason: 'a long test' });
      expect(hold.status).toBeLessThan(300);
      const { end, view } = await changed({ reboot: true, controlPlane: false });
      expect(view.plan?.held).toEqual([held]);
      expect({ type: end.type, data: end.data }).toMatchObject({
        type: 'RolloutCompleted',
        data: { upgraded: [other] },
      });
      const log = await of(view.id);
      expect(log.flatMap((event) => (event.type === 'NodeRebooted' ? [event.data.node] : []))).toEqual([other]);
      const found = await nodes();
      expect(found.every(({ spec }) => spec.unschedulable !== true)).toBe(true);
    },
    ROLLOUT_TIMEOUT_MS,
  );
});
