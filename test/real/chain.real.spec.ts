import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterManifestView, Machine, PlanOperation, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, type RealSystem } from './real.system.js';
import { askPageFrom, pagesAsked, type Traffic } from './traffic.js';
import { timelineOf } from './upgrade.timeline.js';
import { budgetedManifests, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'chained';
const PATH = `/ns/default/clusters/${CLUSTER}`;
const [FROM, BETWEEN, TO] = ['v1.33.13', 'v1.34.4', 'v1.35.4'] as const;
/** There is one worker: another one joins before it is drained, otherwise its pods would have nowhere to go. */
const STRATEGY = { workers: { maxUnavailable: 0, maxSurge: 1 } };
const ENDS: readonly StoredEvent['type'][] = ['RolloutCompleted', 'RolloutHalted', 'RolloutPaused', 'UpgradeRejected'];

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const hostOf = ({ providerId }: Machine): string => providerId.split('/').at(-1) ?? '';

/**
 * One control plane: while it changes, the API does not answer, and only the workloads are monitored. For three, see
 * `upgrade` and `keep`.
 */
describe('a real cluster of one control plane and one worker, upgraded over two minor versions by one request', () => {
  let system: RealSystem;
  let kubectl: Kubectl;
  let made: readonly Machine[];
  let events: readonly StoredEvent[];
  let page: Traffic;

  /** The plan, as kind and Kubernetes version. */
  const planned = (): readonly string[] => {
    const [plan] = events.flatMap((event) => (event.type === 'UpgradePlanned' ? [event.data.plan] : []));
    const versionOf = ({ to }: PlanOperation): string => to['kubelet'] ?? '';
    return (plan?.operations ?? []).map((operation) => `${operation.kind} ${versionOf(operation)}`.trim());
  };

  beforeAll(async () => {
    system = await startRealSystem();
    made = machinesOf(await system.create(CLUSTER, { controlPlanes: 1, workers: 1 }, FROM));
    kubectl = await system.kubectl(CLUSTER);
    const manifest = join(system.environment.dataDir, 'web.json');
    writeFileSync(manifest, JSON.stringify({ ...webManifests, items: budgetedManifests }));
    await kubectl('apply', '-f', manifest);
    await rolledOut(kubectl, 'deployment/web');
    for (const kind of ['daemonset/kube-proxy', 'deployment/coredns'])
      await rolledOut(kubectl, kind, '--namespace=kube-system');
    const service = (await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')).trim();
    const askers = made.filter(({ leader }) => leader).map(hostOf);
    await askPageFrom(system, askers, `http://${service}/`);

    const body = { version: TO, approved: true, strategy: STRATEGY };
    expect((await system.call('POST', `${PATH}/upgrades`, body)).status).toBe(202);
    const end = await system.until(CLUSTER, ({ type }) => ENDS.includes(type), 18 * MINUTE_MS);
    const all = await system.events(CLUSTER);
    events = all.slice(all.findIndex(({ type }) => type === 'UpgradeRequested'));
    [page] = (await pagesAsked(system, askers)) as [Traffic];
    say(timelineOf(events));
    say(`page: ${page.requests} requests, ${page.failures.length} failed, longest gap ${page.longestGap.toFixed(2)} s`);
    if (end.type !== 'RolloutCompleted') throw new Error(`${end.type}: ${JSON.stringify(end.data)}`);
  }, 28 * MINUTE_MS);

  afterAll(() => system?.stop(), 3 * MINUTE_MS);

  it('has a plan in which the control plane passes the minor version in between, and the worker does not', () => {
    expect(planned().filter((operation) => /^(snapshot-etcd|control-plane|worker)/u.test(operation))).toEqual([
      'snapshot-etcd',
      `control-plane ${BETWEEN.slice(1)}`,
      'snapshot-etcd',
      `control-plane ${TO.slice(1)}`,
      `worker ${TO.slice(1)}`,
    ]);
  });

  it(
    'ends with the same nodes, every component at the new version',
    async () => {
      const nodes = await eventually(
        'the nodes',
        () => nodesOf(kubectl),
        (seen) => seen.length === made.length && seen.every(({ ready }) => ready),
        MINUTE_MS,
      );
      expect(nodes.map(({ version }) => version)).toEqual(made.map(() => TO));
      expect(nodes.map(({ name }) => name).sort()).toEqual(made.map(({ name }) => name).sort());
      const images = (selector: string): Promise<string> =>
        kubectl('--namespace', 'kube-system', 'get', 'pods', '-l', selector, '-o', 'jsonpath={..image}');
      const running = `${await images('tier=control-plane')} ${await images('k8s-app=kube-proxy')}`.split(' ');
      expect(running.filter((image) => image.includes(FROM) || image.includes(BETWEEN))).toEqual([]);
      expect(running.filter((image) => image.endsWith(`:${TO}`)).length).toBeGreaterThanOrEqual(4);
    },
    2 * MINUTE_MS,
  );

  it('has the new version in its declaration, which it matches', async () => {
    const { body } = await system.call<ClusterManifestView>('GET', `${PATH}/manifest`);
    expect(body.spec.version).toBe(TO);
    const { metadata, spec, apiVersion, kind } = body;
    const again = { apiVersion, kind, metadata: { name: metadata.name }, spec };
    expect((await system.call('PUT', `${PATH}/manifest`, again)).status).toBe(200);
  });

  it('lost no request of the application', () => {
    expect(page.requests).toBeGreaterThan(500);
    expect(page.failures).toEqual([]);
  });
});
