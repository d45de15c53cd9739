import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PodView, UpgradeCluster } from '../../kubernetes/kubernetes.ports.js';
import {
  budget,
  controlPlane,
  deployment,
  eventually,
  VERSION,
  worker,
  type LabCluster,
} from '../../../test/lab.cluster.js';

/** What every way to a cluster's API promises (kubernetes.ports.ts). The cases build on each other. */
export const kubernetesFeatures = (name: string, start: () => Promise<LabCluster>): void => {
  describe(`the API of a cluster, for upgrades: ${name}`, () => {
    let lab: LabCluster;
    let cluster: UpgradeCluster;
    const podsOf = async (app: string): Promise<readonly PodView[]> =>
      (await cluster.pods()).filter(({ labels }) => labels['app'] === app);

    beforeAll(async () => {
      lab = await start();
      ({ cluster } = lab);
    }, 30_000);
    afterAll(() => lab.stop());

    it('tells nodes with role, versions, what they can hold, and that nobody cordoned them', async () => {
      const nodes = await cluster.nodes();
      expect(nodes).toHaveLength(5);
      expect(nodes.filter((node) => node.controlPlane).map((node) => node.name)).toEqual([1, 2, 3].map(controlPlane));
      expect(await cluster.node(worker(1))).toEqual({
        name: worker(1),
        controlPlane: false,
        ready: true,
        message: 'kubelet is posting ready status',
        kubeletVersion: VERSION,
        containerRuntime: 'containerd://1.7.24',
        unschedulable: false,
        cordonedBy: null,
        allocatable: { cpuMillis: 4_000, memoryBytes: 8 * 2 ** 30 },
        images: [],
      });
      expect(await cluster.node('nobody')).toBeUndefined();
    });

    it("asks a control plane's own API server, also through another one", async () => {
      expect(await cluster.failingChecks()).toEqual([]);
      expect(await cluster.failingChecksOn(controlPlane(3))).toEqual([]);
      await lab.listeners.get(controlPlane(3))?.close();
      expect(await cluster.failingChecksOn(controlPlane(3))).toEqual([expect.stringMatching(/HTTP 503.*refused/s)]);
    });

    it('tells static pods, with image and node', async () => {
      expect(await cluster.staticPods()).toHaveLength(12);
      const pods = await cluster.podsOn(controlPlane(1));
      expect(pods.filter(({ mirror }) => mirror).map(({ labels, image }) => [labels['component'], image])).toEqual(
        expect.arrayContaining([['kube-apiserver', `registry.k8s.io/kube-apiserver:${VERSION}`]]),
      );
    });

    it('tells which components renew their leases', async () => {
      const lease = await cluster.lease('kube-scheduler');
      expect(lease?.holder).toMatch(/^demo-cp-/);
      expect(Date.now() - Date.parse(lease?.renewedAt ?? '')).toBeLessThan(60_000);
      expect(await cluster.lease('nothing')).toBeUndefined();
    });

    it('tells the workloads of kube-system, and when all of their pods are new and ready', async () => {
      const workloads = await cluster.workloads('kube-system');
      const proxy = workloads.find((workload) => workload.name === 'kube-proxy');
      expect(proxy).toEqual({
        kind: 'DaemonSet',
        namespace: 'kube-system',
        name: 'kube-proxy',
        wanted: 5,
        ready: 5,
        updated: 5,
        former: 0,
        observed: true,
        version: VERSION,
      });
    });

    it('tells budgets and the pods that they cover', async () => {
      await lab.apply(deployment('web', 3), budget('web', 3));
      await eventually(
        () => podsOf('web'),
        (pods) => pods.length === 3 && pods.every(({ ready }) => ready),
      );
      const [found] = await eventually(
        () => cluster.budgets(),
        ([only]) => only?.disruptionsAllowed === 0,
      );
      const pods = await cluster.pods();
      expect(pods.filter((pod) => found?.covers(pod)).map(({ labels }) => labels['app'])).toEqual([
        'web',
        'web',
        'web',
      ]);
      expect(pods.find(({ labels }) => labels['app'] === 'web')).toMatchObject({
        controller: { kind: 'ReplicaSet' },
        requests: { cpuMillis: 250, memoryBytes: 64 * 2 ** 20 },
      });
    });

    it('is told which budget refuses an eviction, and why; a pod that is gone is gone', async () => {
      const [pod] = await podsOf('web');
      expect(await cluster.evict(pod!)).toEqual({
        answer: 'refused',
        budget: 'default/web',
        message: expect.stringMatching(/disruption budget.*needs 3 healthy pods and has 3 currently/s),
      });
      await lab.apply(budget('web', 2));
      await eventually(
        () => cluster.budgets(),
        ([only]) => only?.disruptionsAllowed === 1,
      );
      expect(await cluster.evict(pod!)).toEqual({ answer: 'evicted' });
      await eventually(
        () => podsOf('web'),
        (pods) => pods.every(({ uid }) => uid !== pod!.uid),
      );
      expect(await cluster.evict(pod!)).toEqual({ answer: 'gone' });
      await cluster.deletePod(pod!);
    });

    it('cordons once under a mark, and undoes only what that mark did', async () => {
      expect(await cluster.cordon(worker(1), 'u-first1')).toBe(true);
      expect(await cluster.cordon(worker(1), 'u-first1')).toBe(true);
      expect(await cluster.cordon(worker(1), 'u-other1')).toBe(false);
      expect(await cluster.node(worker(1))).toMatchObject({ unschedulable: true, cordonedBy: 'u-first1' });
      await cluster.uncordon(worker(1), 'u-other1');
      expect(await cluster.node(worker(1))).toMatchObject({ unschedulable: true });
      await cluster.uncordon(worker(1), 'u-first1');
      expect(await cluster.node(worker(1))).toMatchObject({ unschedulable: false, cordonedBy: null });
      expect(await cluster.cordon('nobody', 'u-first1')).toBeUndefined();
    });

    it('taints softly, once, and takes the taint away again', async () => {
      const taintsOf = async (node: string): Promise<readonly string[]> =>
        (await lab.client.core.readNode({ name: node })).spec?.taints?.map(({ key, effect }) => `${key}:${effect}`) ??
        [];
      expect(await cluster.taint([worker(1), worker(2), 'nobody'], 'fairlead.dev/x')).toEqual([worker(1), worker(2)]);
      await cluster.taint([worker(1)], 'fairlead.dev/x');
      expect(await taintsOf(worker(1))).toEqual(['fairlead.dev/x:PreferNoSchedule']);
      await cluster.untaint([worker(1), worker(2), 'nobody'], 'fairlead.dev/x');
      expect(await taintsOf(worker(1))).toEqual([]);
    });

    it('tells which deprecated APIs were asked for', async () => {
      expect(await cluster.deprecatedApis()).toEqual([]);
      await lab.client.get('/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets');
      expect(await cluster.deprecatedApis()).toEqual([
        { group: 'policy', version: 'v1beta1', resource: 'poddisruptionbudgets', removedIn: '1.25' },
      ]);
    });

    it('tells which webhooks are asked about the control plane itself', async () => {
      const webhook = (of: string, resources: readonly string[], selector?: object) => ({
        name: of,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 20,
        clientConfig: { url: 'https://example.org/hook' },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources }],
        ...(selector === undefined ? {} : { namespaceSelector: selector }),
      });
      const elsewhere = {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
      };
      await lab.apply({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'policy' },
        webhooks: [
          webhook('all.example.org', ['pods']),
          webhook('elsewhere.example.org', ['pods'], elsewhere),
          webhook('secrets.example.org', ['secrets']),
        ],
      });
      expect((await cluster.webhooks()).map((found) => [found.name, found.matchesKubeSystem])).toEqual([
        ['policy/all.example.org', true],
        ['policy/elsewhere.example.org', false],
        ['policy/secrets.example.org', false],
      ]);
    });

    it('tells what is free on the disk of a node', async () => {
      expect(await cluster.freeDisk(worker(1))).toBeGreaterThan(2 ** 30);
      await expect(cluster.freeDisk('nobody')).rejects.toMatchObject({ operation: 'read the figures of nobody' });
    });

    it('runs a Job and tells how it ended', async () => {
      expect(await cluster.job('default', 'check')).toBe('absent');
      const manifest = {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'check', namespace: 'default' },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'check', image: 'x' }] } } },
      };
      await cluster.createJob(manifest);
      await cluster.createJob(manifest);
      await eventually(
        () => cluster.job('default', 'check'),
        (state) => state === 'succeeded',
      );
      await cluster.deleteJob('default', 'check');
      await cluster.deleteJob('default', 'check');
    });

    it('is a WorldFailure that names the cluster when the API does not answer', async () => {
      await Promise.all([...lab.listeners.values()].map((listener) => listener.close()));
      await expect(cluster.nodes()).rejects.toMatchObject({
        name: 'WorldFailure',
        operation: 'list nodes',
        target: 'demo',
      });
    });
  });
};
