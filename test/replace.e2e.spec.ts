import type { ClusterManifestView, EventType, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const [OLD, NEW] = ['v1.33.13', 'v1.34.4'];
const TIMEOUT_MS = 420_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const PATH = '/ns/default/clusters/shop';

const manifest = (version: string, ofPool: object = {}) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'shop' },
  spec: {
    version,
    serviceType: 'single',
    controlPlane: { replicas: 3, ...machines, rollout: { strategy: 'Replace' } },
    pools: [{ name: 'web', replicas: 2, ...machines, rollout: { strategy: 'Replace' }, ...ofPool }],
  },
});

interface Nodes {
  readonly items: readonly { readonly name: string; readonly ready: boolean; readonly role: string }[];
}

/** The whole product in the lab: machines, kubeadm and the API are simulated. */
describe('a version of control planes and a pool with the strategy Replace', () => {
  let system: System;
  let before: readonly string[];
  const put = (body: object, query = '') => system.call<ClusterManifestView>('PUT', `${PATH}/manifest${query}`, body);
  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const nodes = async (): Promise<Nodes['items']> => {
    const minSeq = (await log()).at(-1)?.meta.seq ?? 0;
    return (await system.call<Nodes>('GET', `${PATH}/nodes?minSeq=${minSeq}`)).body.items;
  };
  const kubernetes = async (): Promise<KubernetesClient> => {
    const { body: kubeconfig } = await system.call<string>('GET', `${PATH}/kubeconfig/administrator`);
    return new KubernetesClient('shop', kubeconfig, () => undefined);
  };
  /** Asked for by the manifest, and not by an upgrade. */
  const isOfImage = ({ data }: StoredEvent<'PoolRolloutCompleted'>): boolean => !data.requestId.startsWith('u-');
  const isOver = ({ type }: StoredEvent): boolean =>
    ['UpgradeRejected', 'RolloutCompleted', 'RolloutHalted', 'RolloutAborted'].includes(type);

  beforeAll(async () => {
    system = await startSystem({
      light: false,
      env: { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100' },
    });
    expect((await put(manifest(OLD))).status).toBe(202);
    await system.until('shop', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    before = (await nodes()).map(({ name }) => name);
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it('is planned as replacements, of which the dry run says so', async () => {
    const planned = await put(manifest(NEW), '?dryRun=All');
    expect(planned.body.plan).toMatchObject([{ action: 'upgrade', count: 5 }]);
    expect(planned.body.plan?.[0]?.reason).toContain('replaced by new nodes: control planes, pool web');
  });

  it(
    'comes by new nodes: control planes go 3 → 4 → 3, each after a snapshot of etcd, then the workers (lab) [Cluster API 21]',
    async () => {
      expect((await put(manifest(NEW))).status).toBe(202);
      const end = await system.until('shop', isOver, TIMEOUT_MS);
      expect([end.type, end.data]).toMatchObject(['RolloutCompleted', { skipped: [], quarantined: [] }]);
      const events = await log();
      const rolled = events.slice(events.findIndex(({ type }) => type === 'RolloutStarted'));
      const plan = rolled.length === 0 ? undefined : events.findLast((event) => event.type === 'UpgradePlanned');
      expect(plan?.data.plan.operations.map(({ kind, pool }) => [kind, pool])).toEqual(
        expect.arrayContaining([
          ['replace', 'control-plane'],
          ['replace', 'web'],
        ]),
      );
      // Nothing was changed in place.
      expect(rolled.filter(({ type }) => type === 'UpgradeAllowed')).toEqual([]);
      const steps: ReadonlySet<EventType> = new Set<EventType>(['ControlPlaneJoined', 'NodeRemoved']);
      const controlPlanes = rolled.slice(
        0,
        rolled.findIndex((event) => event.type === 'PoolReplacementRequested' && event.data.pool === 'web'),
      );
      expect(controlPlanes.flatMap(({ type }) => (steps.has(type) ? [type] : []))).toEqual(
        [1, 2, 3].flatMap(() => ['ControlPlaneJoined', 'NodeRemoved']),
      );
      const now = await nodes();
      expect(now.filter(({ name }) => before.includes(name))).toEqual([]);
      expect(now.map(({ ready }) => ready)).toEqual(before.map(() => true));
      const joined = rolled.flatMap((event) =>
        event.type === 'NodeReady' && now.some(({ name }) => name === event.data.node)
          ? [event.data.software['kubelet']]
          : [],
      );
      expect(new Set(joined)).toEqual(new Set([NEW?.slice(1)]));
      const { body } = await system.call<ClusterManifestView>('GET', `${PATH}/manifest`);
      expect([body.spec.version, body.status?.pools[0]?.updatedReplicas]).toEqual([NEW, 2]);
    },
    TIMEOUT_MS,
  );

  it('is what the API servers and the addons of kubeadm run', async () => {
    const { core } = await kubernetes();
    const { items } = await core.listNamespacedPod({ namespace: 'kube-system' });
    const images = items.flatMap(({ spec }) => (spec?.containers ?? []).map(({ image }) => image ?? ''));
    const of = (component: string): readonly string[] => [
      ...new Set(images.filter((image) => image.includes(component))),
    ];
    for (const component of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'])
      expect(of(component)).toEqual([expect.stringMatching(new RegExp(`:${NEW}$`))]);
  });

  it(
    'stays while the pool gets another image, which is rolled by replacement, too (lab)',
    async () => {
      const workers = async (): Promise<readonly string[]> =>
        (await nodes()).filter(({ role }) => role === 'worker').map(({ name }) => name);
      const old = await workers();
      const other = manifest(NEW ?? '', { image: 'debian-13' });
      expect((await put(other, '?dryRun=All')).body.plan).toMatchObject([
        { action: 'replace-nodes', pool: 'web', count: 2, nodes: [{ reason: 'image of the connection' }, {}] },
      ]);
      expect((await put(other)).status).toBe(202);
      await system.until('shop', (event) => event.type === 'PoolRolloutCompleted' && isOfImage(event), TIMEOUT_MS);
      expect((await workers()).filter((name) => old.includes(name))).toEqual([]);
      const { items } = await (await kubernetes()).core.listNode();
      const facts = items.map(({ metadata, status }) => [
        metadata?.name?.includes('-w-'),
        /Linux 1[23]/.exec(status?.nodeInfo?.osImage ?? '')?.[0],
        status?.nodeInfo?.kubeletVersion,
      ]);
      expect(facts.toSorted()).toEqual([
        ...Array.from({ length: 3 }, () => [false, 'Linux 12', NEW]),
        ...Array.from({ length: 2 }, () => [true, 'Linux 13', NEW]),
      ]);
    },
    TIMEOUT_MS,
  );
});
