import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { budget, deployment, eventually } from '../test/workloads.js';
import { certificateFeatures } from './cluster/client.certificates.features.js';
import { cordonFeatures } from './cluster/node.cordon.features.js';
import type { ClusterApi, ClusterApis, Manifest, PodView } from './cluster.ports.js';
import { drainFeatures } from './drain/drain.features.js';
import { KubernetesClient } from './kubernetes.client.js';

/** A cluster as created by kubeadm, with a network: every node is Ready, kube-proxy and CoreDNS run. */
export interface ClusterUnderTest {
  readonly kubeconfig: string;
  /** `v1.34.4`, of the control plane and of kubelets. */
  readonly version: string;
  /** At least two; each has its own API server, and the address of the first one is in the kubeconfig. */
  readonly controlPlanes: readonly { readonly name: string; readonly address: string }[];
  readonly workers: readonly [string, string];
  /** Stops the API server of one control plane. */
  stopApiServer(controlPlane: string): Promise<void>;
  /** Stops a node's kubelet; the cluster notices later. */
  stopKubelet(node: string): Promise<void>;
  stop(): Promise<void>;
}

export interface KubernetesUnderTest {
  readonly startCluster: () => Promise<ClusterUnderTest>;
  readonly makeApi: () => ClusterApis;
}

/** A volume as created by its provisioner, its claim, and a pod on that node that uses it. */
const volumeOf = (name: string, persistentVolumeReclaimPolicy: string, nodeName: string): readonly Manifest[] => {
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const volumeName = `pv-${name}`;
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volumeName, annotations: { 'pv.kubernetes.io/provisioned-by': 'features.fairlead.dev' } },
      spec: {
        ...common,
        persistentVolumeReclaimPolicy,
        capacity: { storage: '1Gi' },
        claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name },
        csi: { driver: 'features.fairlead.dev', volumeHandle: name },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: 'default' },
      spec: { ...common, volumeName, resources: { requests: { storage: '1Gi' } } },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName,
        containers: [{ name: 'main', image: 'busybox:1' }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
      },
    },
  ];
};

const START_LIMIT_MS = 180_000;
const CASE_LIMIT_MS = 60_000;

/**
 * The contract of the adapter and the drain (cluster.ports.ts, drain/node.drain.ts). The cases build on each other,
 * like the life of a cluster.
 */
export const kubernetesFeatures = (name: string, { startCluster, makeApi }: KubernetesUnderTest): void => {
  describe(`the API of a cluster: ${name}`, () => {
    let under: ClusterUnderTest;
    let api: ClusterApis;
    let cluster: ClusterApi;
    /** For what only this suite does or checks. */
    let client: KubernetesClient;
    let first: string;
    let second: string;

    const podsOf = async (app: string): Promise<readonly PodView[]> =>
      (await cluster.pods()).filter(({ labels }) => labels['app'] === app);
    const readyPods = (app: string, count: number, node?: string): Promise<readonly PodView[]> =>
      eventually(
        () => podsOf(app),
        (pods) =>
          pods.length === count && pods.every((pod) => pod.ready && !pod.deleting && pod.node === (node ?? pod.node)),
      );
    /** A new budget allows none, and neither does one that is not counted yet. */
    const isCounted = async (budgetName: string): Promise<boolean> => {
      const read = { name: budgetName, namespace: 'default' };
      const { metadata, status } = await client.policy.readNamespacedPodDisruptionBudget(read);
      return status?.observedGeneration === metadata?.generation;
    };
    const disruptions = async (budgetName: string, allowed: number) => {
      await eventually(() => isCounted(budgetName), Boolean);
      return eventually(
        () => cluster.budgets(),
        (found) => found.find((one) => one.name === budgetName)?.disruptionsAllowed === allowed,
      );
    };

    beforeAll(async () => {
      under = await startCluster();
      [first, second] = under.workers;
      api = makeApi();
      cluster = await api.of({ uid: 'uid-1', cluster: 'demo', kubeconfig: under.kubeconfig });
      client = new KubernetesClient('demo', under.kubeconfig, () => undefined);
    }, START_LIMIT_MS);

    afterAll(async () => {
      client?.close();
      api?.close();
      await under?.stop();
    }, CASE_LIMIT_MS);

    it('lists nodes with role, versions and capacity, not cordoned', async () => {
      const nodes = await cluster.nodes();
      const names = under.controlPlanes.map((node) => node.name);
      expect(nodes.map((node) => node.name).toSorted()).toEqual([...names, ...under.workers].toSorted());
      expect(nodes.filter((node) => node.controlPlane).map((node) => node.name)).toEqual(names);
      expect(await cluster.node(first)).toEqual({
        name: first,
        registered: { uid: expect.stringMatching(/^[0-9a-f-]{36}$/), atMs: expect.any(Number) },
        providerId: null,
        controlPlane: false,
        internalIp: expect.stringMatching(/^[0-9.]+$/),
        ready: true,
        message: 'kubelet is posting ready status',
        pressures: [],
        kubeletVersion: under.version,
        containerRuntime: 'containerd://1.7.24',
        unschedulable: false,
        cordonedBy: null,
        allocatable: { cpuMillis: 4_000, memoryBytes: 8 * 2 ** 30 },
        images: [],
      });
      expect(await cluster.node('nobody')).toBeUndefined();
    });

    it("queries a control plane's own API server, also through another one", async () => {
      const last = under.controlPlanes.at(-1)!;
      expect(await cluster.failingChecks()).toEqual([]);
      expect(await cluster.failingChecksOn(last.name)).toEqual([]);
      expect([...(await cluster.apiServerAddresses())].toSorted()).toEqual(
        under.controlPlanes.map(({ address }) => address).toSorted(),
      );
      await under.stopApiServer(last.name);
      expect(await cluster.failingChecksOn(last.name)).toEqual([expect.stringMatching(/HTTP 503.*refused/s)]);
    });

    it('lists the static pods of control planes, with image and node', async () => {
      const pods = await cluster.staticPods();
      expect(pods).toHaveLength(4 * under.controlPlanes.length);
      const node = under.controlPlanes[0]!.name;
      const own = (await cluster.podsOn(node)).filter(({ mirror }) => mirror);
      expect(own.map(({ labels }) => labels['component']).toSorted()).toEqual([
        'etcd',
        'kube-apiserver',
        'kube-controller-manager',
        'kube-scheduler',
      ]);
      expect(own.every(({ ready }) => ready)).toBe(true);
      expect(own.map(({ image }) => image)).toContain(`registry.k8s.io/kube-apiserver:${under.version}`);
    });

    it('lists by pages of the requested size, and only metadata on request', async () => {
      const page = async (query: string) =>
        (await client.json(`/api/v1/pods?limit=2${query}`)) as {
          readonly metadata: { readonly continue?: string };
          readonly items: readonly { readonly metadata: { readonly uid: string } }[];
        };
      const first = await page('');
      const second = await page(`&continue=${encodeURIComponent(first.metadata.continue ?? '')}`);
      expect([first.items.length, second.items.length]).toEqual([2, 2]);
      expect(new Set([...first.items, ...second.items].map(({ metadata }) => metadata.uid)).size).toBe(4);
      const request = { operation: 'list pods', path: '/api/v1/pods', metadataOnly: true } as const;
      const listed = await client.listAll(request, (item) => ({
        fields: Object.keys(item).toSorted(),
        ...item.metadata,
      }));
      expect(listed.map(({ name }) => name).toSorted()).toEqual(
        (await cluster.pods()).map((pod) => pod.name).toSorted(),
      );
      expect(listed.filter(({ fields }) => fields.includes('spec') || fields.includes('status'))).toEqual([]);
    });

    it('lists which components renew their leases', async () => {
      const lease = await cluster.lease('kube-scheduler');
      expect(lease?.holder).toMatch(/^.+_.+$/);
      expect(Date.now() - Date.parse(lease?.renewedAt ?? '')).toBeLessThan(60_000);
      expect(await cluster.lease('nothing')).toBeUndefined();
    });

    it('lists the workloads of kube-system with desired, ready and updated pods', async () => {
      const desired = under.controlPlanes.length + 2;
      const expected = {
        kind: 'DaemonSet',
        namespace: 'kube-system',
        name: 'kube-proxy',
        desired,
        ready: desired,
        updated: desired,
        former: 0,
        observed: true,
        version: under.version,
      };
      expect(await cluster.workloads('kube-system')).toContainEqual(expected);
      expect(await cluster.workload('DaemonSet', 'kube-system', 'kube-proxy')).toEqual(expected);
      // Its pods are ready; the Deployment reports it slightly later.
      const coredns = await eventually(
        () => cluster.workload('Deployment', 'kube-system', 'coredns'),
        (found) => found?.ready === found?.desired,
      );
      expect(coredns).toMatchObject({ version: expect.stringMatching(/^v\d/), desired: 2, ready: 2 });
      expect(await cluster.workload('Deployment', 'kube-system', 'nothing')).toBeUndefined();
    });

    it('applies objects server-side, idempotently', async () => {
      const version = async () =>
        (await client.apps.readNamespacedDeployment({ namespace: 'default', name: 'web' })).metadata?.generation;
      await cluster.apply([deployment('web', 3)]);
      const before = await version();
      await cluster.apply([deployment('web', 3)]);
      expect(await version()).toBe(before);
      const [pod] = await readyPods('web', 3);
      expect(pod).toMatchObject({
        controller: { kind: 'ReplicaSet' },
        requests: { cpuMillis: 250, memoryBytes: 64 * 2 ** 20 },
      });
    });

    it('compares objects with what was applied, and names what others changed or deleted', async () => {
      const map = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
      const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'compared' } };
      const [kept, changed, deleted] = ['kept', 'changed', 'deleted'].map((name) => map(name, { text: 'a' }));
      const declared = [kept!, changed!, deleted!, { ...role, rules: [] }, deployment('compared', 1)];
      const objects = await cluster.placed(declared, 'default');
      expect(objects.map(({ metadata }) => metadata.namespace)).toEqual([
        ...['default', 'default', 'default', undefined, 'default'],
      ]);
      await cluster.apply(objects);
      expect(await cluster.differences(objects)).toEqual([]);
      await cluster.deleteObjects([objects[2]!]);
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'changed' }, data: { text: 'b' } };
      await client.core.replaceNamespacedConfigMap({ namespace: 'default', name: 'changed', body });
      expect(await cluster.differences(objects)).toEqual([
        'ConfigMap default/changed differs in data.text',
        'ConfigMap default/deleted does not exist',
      ]);
      await cluster.deleteObjects(objects);
      expect(await cluster.differences(objects)).toHaveLength(objects.length);
      await cluster.deleteObjects(objects);
    });

    it('uses a custom resource right after its definition', async () => {
      const [group, plural] = ['features.fairlead.dev', 'widgets'];
      const definition = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          scope: 'Cluster',
          names: { plural, singular: 'widget', kind: 'Widget' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          ],
        },
      };
      await cluster.apply([definition, { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'one' } }]);
      expect((await client.get(`/apis/${group}/v1/${plural}/one`)).status).toBe(200);
    });

    it('lists budgets and the pods that they cover', async () => {
      await cluster.apply([budget('web', 3)]);
      const [found] = await disruptions('web', 0);
      const pods = await cluster.pods();
      expect(pods.filter((pod) => found?.covers(pod)).map(({ labels }) => labels['app'])).toEqual([
        'web',
        'web',
        'web',
      ]);
    });

    it('reports which budget refuses an eviction, and why; a missing pod is reported as gone', async () => {
      const [pod] = await readyPods('web', 3);
      expect(await cluster.evict(pod!)).toEqual({
        answer: 'refused',
        budget: 'default/web',
        message: expect.stringMatching(/disruption budget.*needs 3 healthy pods and has 3 currently/s),
      });
      await cluster.apply([budget('web', 2)]);
      await disruptions('web', 1);
      expect(await cluster.evict(pod!)).toEqual({ answer: 'evicted' });
      await eventually(
        () => podsOf('web'),
        (pods) => pods.every(({ uid }) => uid !== pod!.uid),
      );
      expect(await cluster.evict(pod!)).toEqual({ answer: 'gone' });
      await cluster.deletePod(pod!);
    });

    it('evicts exactly the given pod: another one with its name stays', async () => {
      const [pod] = await readyPods('web', 3);
      const former = { ...pod!, uid: '00000000-0000-4000-8000-000000000000' };
      await cluster.apply([budget('web', 1)]);
      await disruptions('web', 2);
      expect(await cluster.evict(former)).toEqual({ answer: 'gone' });
      await cluster.deletePod(former);
      expect((await podsOf('web')).find(({ uid }) => uid === pod!.uid)).toMatchObject({ deleting: false });
    });

    it('reports that a pod with two budgets cannot be evicted', async () => {
      const other = budget('web', 1);
      await cluster.apply([{ ...other, metadata: { ...other.metadata, name: 'second' } }]);
      await disruptions('second', 2);
      const [pod] = await podsOf('web');
      expect(await cluster.evict(pod!)).toEqual({
        answer: 'refused',
        budget: null,
        message: expect.stringContaining('more than one PodDisruptionBudget'),
      });
      for (const budgetName of ['web', 'second'])
        await client.policy.deleteNamespacedPodDisruptionBudget({ namespace: 'default', name: budgetName });
    });

    cordonFeatures(() => ({ cluster, client, first, second }));

    it('reports which deprecated APIs were requested', async () => {
      await client.get('/api/v1/namespaces/default/endpoints');
      expect(await cluster.deprecatedApis()).toContainEqual({
        group: '',
        version: 'v1',
        resource: 'endpoints',
        removedIn: null,
      });
    });

    it('reports which webhooks intercept the control plane itself', async () => {
      const webhook = (of: string, resources: readonly string[], selector?: object) => ({
        name: of,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 20,
        failurePolicy: 'Ignore',
        clientConfig: { url: 'https://example.org/hook' },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources }],
        ...(selector === undefined ? {} : { namespaceSelector: selector }),
      });
      const elsewhere = {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] }],
      };
      await cluster.apply([
        {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingWebhookConfiguration',
          metadata: { name: 'policy' },
          webhooks: [
            webhook('all.example.org', ['pods']),
            webhook('elsewhere.example.org', ['pods'], elsewhere),
            webhook('secrets.example.org', ['secrets']),
          ],
        },
      ]);
      const found = await cluster.webhooks();
      expect(found.map((one) => [one.name, one.failurePolicy, one.timeoutSeconds, one.matchesKubeSystem])).toEqual([
        ['policy/all.example.org', 'Ignore', 20, true],
        ['policy/elsewhere.example.org', 'Ignore', 20, false],
        ['policy/secrets.example.org', 'Ignore', 20, false],
      ]);
      await client.admission.deleteValidatingWebhookConfiguration({ name: 'policy' });
    });

    it('reads the free disk space of a node', async () => {
      expect(await cluster.freeDisk(first)).toBeGreaterThan(2 ** 30);
      await expect(cluster.freeDisk('nobody')).rejects.toMatchObject({ operation: 'read the figures of nobody' });
    });

    it('runs a Job to completion', async () => {
      expect(await cluster.job('default', 'check')).toBe('absent');
      const manifest: Manifest = {
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
      await eventually(
        () => cluster.job('default', 'check'),
        (state) => state === 'absent',
      );
      await cluster.deleteJob('default', 'check');
    });

    it('finds the volume of a claim, and the volumes attached to a node', async () => {
      await cluster.apply([
        {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { name: 'pv-1' },
          spec: {
            capacity: { storage: '1Gi' },
            accessModes: ['ReadWriteOnce'],
            storageClassName: '',
            claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: 'data' },
            csi: { driver: 'features.fairlead.dev', volumeHandle: '1' },
          },
        },
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: { name: 'data', namespace: 'default' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: '',
            volumeName: 'pv-1',
            resources: { requests: { storage: '1Gi' } },
          },
        },
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'VolumeAttachment',
          metadata: { name: 'attachment-1' },
          spec: { attacher: 'features.fairlead.dev', nodeName: first, source: { persistentVolumeName: 'pv-1' } },
        },
      ]);
      expect(await cluster.volumeOf('default', 'data')).toBe('pv-1');
      expect(await cluster.volumeOf('default', 'nothing')).toBeUndefined();
      expect(await cluster.attachedVolumes(first)).toEqual(['pv-1']);
      expect(await cluster.attachedVolumes(second)).toEqual([]);
    });

    certificateFeatures(() => ({ cluster, kubeconfig: under.kubeconfig }));

    drainFeatures(() => ({
      ...{ cluster, client, first, second, readyPods, disruptions },
      stopKubelet: (node) => under.stopKubelet(node),
    }));

    it('releases load balancers of services, and volumes deleted with their claims, after their pods; nothing else [CB-Ladybug 32]', async () => {
      const service = (serviceName: string, type: string): Manifest => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: serviceName, namespace: 'default' },
        spec: { type, selector: { app: 'web' }, ports: [{ port: 80 }] },
      });
      const node = under.controlPlanes[0]!.name;
      await cluster.apply([
        ...[service('outside', 'LoadBalancer'), service('inside', 'ClusterIP')],
        ...volumeOf('scratch', 'Delete', node),
        ...volumeOf('archive', 'Retain', node),
      ]);
      const found = await cluster.releaseOutside();
      expect(found.toSorted()).toEqual(['PersistentVolume pv-scratch', 'Service default/outside']);
      const claims = async (): Promise<readonly (string | undefined)[]> =>
        (await client.core.listNamespacedPersistentVolumeClaim({ namespace: 'default' })).items.map(
          ({ metadata }) => metadata?.name,
        );
      await eventually(claims, (names) => !names.includes('scratch'));
      expect(await claims()).toContain('archive');
      // A claim in use exists until its pod is gone.
      const users = await cluster.pods();
      expect(users.filter(({ claims: used }) => used.includes('scratch'))).toEqual([]);
      expect(users.filter(({ claims: used }) => used.includes('archive'))).toHaveLength(1);
      // Done by the provisioner, which does not exist here.
      await client.find('delete volume', () => client.core.deletePersistentVolume({ name: 'pv-scratch' }));
      expect(
        await eventually(
          () => cluster.releaseOutside(),
          (left) => left.length === 0,
        ),
      ).toEqual([]);
      expect((await client.core.readPersistentVolume({ name: 'pv-archive' })).metadata?.name).toBe('pv-archive');
      expect((await client.core.readNamespacedService({ name: 'inside', namespace: 'default' })).spec?.type).toBe(
        'ClusterIP',
      );
    });

    it('deletes a node; a missing one is not an error', async () => {
      await cluster.deleteNode(first);
      await cluster.deleteNode(first);
      expect((await cluster.nodes()).map((node) => node.name)).not.toContain(first);
    });

    it('rejects with a ExternalFailure that names the cluster if the API does not answer', async () => {
      for (const { name: node } of under.controlPlanes) await under.stopApiServer(node);
      await expect(cluster.nodes()).rejects.toMatchObject({
        name: 'ExternalFailure',
        operation: 'list nodes',
        target: 'demo',
      });
    });
  });
};
