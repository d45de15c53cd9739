import { WorldFailure } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NETWORKS, NFS_STORAGE } from '../../addons/catalogue.js';
import { rolloutProblems, workloadsOf } from '../../addons/rollout.js';
import type { KubernetesApi, KubernetesCluster, Manifest } from '../../kubernetes/kubernetes.ports.js';

/** A cluster of one control plane and two workers, as kubeadm leaves it: no network yet. */
export interface ClusterUnderTest {
  readonly kubeconfig: string;
  readonly controlPlane: { readonly name: string; readonly address: string };
  readonly workers: readonly [string, string];
  readonly kubeletVersion: string;
  /** Of the node's object, as the API shows it. */
  labelsOf(node: string): Promise<Readonly<Record<string, string>>>;
  podsOn(node: string): Promise<readonly string[]>;
  /** Until Kubernetes calls it NotReady. */
  killNode(node: string): Promise<void>;
  stopAnswering(): Promise<void>;
  stop(): Promise<void>;
}

export interface KubernetesUnderTest {
  readonly startCluster: () => Promise<ClusterUnderTest>;
  readonly makeApi: () => KubernetesApi;
}

const ENDPOINT = { host: '198.18.7.1', port: 6443 };

const eventually = async <T>(look: () => Promise<T>, fits: (value: T) => boolean): Promise<T> => {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    if (Date.now() > deadline)
      throw new Error(`it did not come true within 10 s; the last look: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const web = (replicas: number): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'example.org/web:1.2.3' }] },
    },
  },
});

const budget = (minAvailable: number): Manifest => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default' },
  spec: { minAvailable, selector: { matchLabels: { app: 'web' } } },
});

/** What every way to a cluster's API promises (kubernetes.ports.ts). The cases build on each other, as a cluster's life does. */
export const kubernetesFeatures = (name: string, { startCluster, makeApi }: KubernetesUnderTest): void => {
  describe(`the API of a cluster: ${name}`, () => {
    let under: ClusterUnderTest;
    let api: KubernetesApi;
    let cluster: KubernetesCluster;
    const signal = new AbortController().signal;

    beforeAll(async () => {
      under = await startCluster();
      api = makeApi();
      cluster = await api.of({ uid: 'uid-1', cluster: 'demo', kubeconfig: under.kubeconfig });
    }, 30_000);

    afterAll(async () => {
      api.close();
      await under.stop();
    });

    it('says that it is ready', async () => {
      expect(await cluster.failingChecks()).toEqual([]);
    });

    it('lists nodes with what their kubelets report; without a network none is Ready', async () => {
      const nodes = await cluster.nodes();
      expect(nodes.map((node) => node.name).sort()).toEqual([under.controlPlane.name, ...under.workers].sort());
      expect(nodes.every((node) => !node.ready && node.kubeletVersion === under.kubeletVersion)).toBe(true);
    });

    it('shows the static pods of a control plane, and the address that its API server advertises', async () => {
      const pods = await eventually(
        () => cluster.staticPods(),
        (found) => found.filter(({ ready }) => ready).length === 4,
      );
      expect(pods.map(({ component }) => component).sort()).toEqual([
        'etcd',
        'kube-apiserver',
        'kube-controller-manager',
        'kube-scheduler',
      ]);
      expect(new Set(pods.map(({ node }) => node))).toEqual(new Set([under.controlPlane.name]));
      expect(await cluster.apiServerAddresses()).toEqual([under.controlPlane.address]);
    });

    it('applies a network, which makes the nodes Ready; applying it again changes nothing', async () => {
      const manifests = NETWORKS.flannel.manifests({
        podCidr: '10.244.0.0/16',
        oneSegment: true,
        nftables: false,
        endpoint: ENDPOINT,
      });
      await cluster.apply(manifests);
      await cluster.apply(manifests);
      const nodes = await eventually(
        () => cluster.nodes(),
        (found) => found.every(({ ready }) => ready),
      );
      expect(nodes).toHaveLength(3);
    });

    it.each(Object.entries(NETWORKS))(
      'takes every manifest of the network %s and rolls it out',
      async (_name, entry) => {
        const manifests = entry.manifests({
          podCidr: '10.244.0.0/16',
          oneSegment: false,
          nftables: false,
          endpoint: ENDPOINT,
        });
        await cluster.apply(manifests);
        const workloads = workloadsOf(manifests);
        expect(workloads.length).toBeGreaterThan(0);
        await eventually(
          () => rolloutProblems(cluster, workloads),
          (problems) => problems.length === 0,
        );
      },
    );

    it('takes the storage class', async () => {
      await cluster.apply(NFS_STORAGE.manifests({ server: '198.18.7.9', path: '/export' }));
    });

    it('labels a node and leaves its other labels alone', async () => {
      const before = await under.labelsOf(under.workers[0]);
      await cluster.label(under.workers[0], { 'kubernetes.io/cluster': 'demo' });
      expect(await under.labelsOf(under.workers[0])).toEqual({ ...before, 'kubernetes.io/cluster': 'demo' });
    });

    it("finds what kubeadm installed, with its image's version", async () => {
      expect(await cluster.workload('Deployment', 'kube-system', 'coredns')).toMatchObject({
        version: expect.stringMatching(/^v\d/),
        wantedPods: 2,
      });
      expect(await cluster.workload('DaemonSet', 'kube-system', 'kube-proxy')).toMatchObject({
        version: under.kubeletVersion,
      });
      expect(await cluster.workload('Deployment', 'kube-system', 'nothing')).toBeUndefined();
    });

    it('cordons a node; one that is not there is not cordoned', async () => {
      expect(await cluster.cordon(under.workers[0])).toBe(true);
      expect((await cluster.nodes()).find((node) => node.name === under.workers[0])?.unschedulable).toBe(true);
      expect(await cluster.cordon('nobody')).toBe(false);
    });

    it('drains a node: evicts what must leave, leaves daemons alone, waits until it is gone', async () => {
      await cluster.apply([web(4)]);
      const [first, second] = under.workers;
      await eventually(
        async () => (await under.podsOn(second)).filter((pod) => pod.startsWith('web-')).length,
        (count) => count === 4,
      );
      await cluster.apply([budget(3)]);
      await cluster.cordon(second);
      await cluster.apply([
        { apiVersion: 'v1', kind: 'Node', metadata: { name: first }, spec: { unschedulable: false } },
      ]);
      const drained = cluster.drain(second, { deadlineMs: 20_000, signal });
      // The controllers of Calico, Cilium and the storage class may have landed there, too.
      expect((await drained).evictedPods).toBeGreaterThanOrEqual(4);
      expect((await under.podsOn(second)).filter((pod) => pod.startsWith('web-'))).toEqual([]);
      expect((await under.podsOn(second)).some((pod) => pod.startsWith('kube-proxy'))).toBe(true);
    }, 30_000);

    it('does not force what a disruption budget protects: it says which pod is held, at the deadline', async () => {
      await cluster.apply([budget(4)]);
      const [first] = under.workers;
      await eventually(
        async () => (await under.podsOn(first)).filter((pod) => pod.startsWith('web-')).length,
        (count) => count === 4,
      );
      await cluster.cordon(first);
      const failure = await cluster.drain(first, { deadlineMs: 500, signal }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(WorldFailure);
      expect((failure as WorldFailure).message).toMatch(/default\/web-\S+: .*(budget|evict)/i);
      expect((await under.podsOn(first)).filter((pod) => pod.startsWith('web-'))).toHaveLength(4);
    }, 30_000);

    it('does not wait for the pods of a node that died while it was drained', async () => {
      const [first] = under.workers;
      await under.killNode(first);
      const drained = await cluster.drain(first, { deadlineMs: 20_000, signal });
      expect(drained.dead).toBe(true);
    }, 30_000);

    it('releases services that hold load balancers, and no others', async () => {
      const service = (serviceName: string, type: string): Manifest => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: serviceName, namespace: 'default' },
        spec: { type, selector: { app: 'web' }, ports: [{ port: 80 }] },
      });
      await cluster.apply([service('outside', 'LoadBalancer'), service('inside', 'ClusterIP')]);
      expect(await cluster.releaseLoadBalancers()).toBe(1);
      expect(await cluster.releaseLoadBalancers()).toBe(0);
    });

    it('deletes a node; one that is not there is as good', async () => {
      await cluster.deleteNode(under.workers[0]);
      await cluster.deleteNode(under.workers[0]);
      expect((await cluster.nodes()).map((node) => node.name)).not.toContain(under.workers[0]);
    });

    it('is a WorldFailure that names the cluster when the API does not answer', async () => {
      await under.stopAnswering();
      const failure = await cluster.nodes().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(WorldFailure);
      expect((failure as WorldFailure).toCause()).toMatchObject({ operation: 'list nodes', target: 'demo' });
    });
  });
};
