import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
  PolicyV1Api,
  setHeaderOptions,
  Watch,
  type V1Deployment,
  type V1Pod,
} from '@kubernetes/client-node';
import { request as httpsRequest } from 'node:https';
import { ManualClock } from './clock/manual.clock.js';
import { snapshotFrom, type ClusterSnapshot } from './cluster/cluster.snapshot.js';
import { SimulatedCluster } from './cluster/simulated.cluster.js';
import { machine, startBench, type Bench } from './kubectl.fixtures.js';

const deployment = (name: string, replicas: number): V1Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'nginx:1.27' }] } },
  },
});

const clientOf = async (bench: Bench): Promise<KubeConfig> => {
  const config = new KubeConfig();
  config.loadFromString(await bench.cluster.kubeconfig({ server: bench.server, user: 'admin' }));
  return config;
};

describe('The simulated API, through @kubernetes/client-node', () => {
  let bench: Bench;
  let config: KubeConfig;
  let core: CoreV1Api;
  let apps: AppsV1Api;

  beforeAll(async () => {
    bench = await startBench();
    config = await clientOf(bench);
    core = config.makeApiClient(CoreV1Api);
    apps = config.makeApiClient(AppsV1Api);
  });

  afterAll(() => bench.close());

  const readyPods = async (app: string): Promise<readonly V1Pod[]> => {
    const { items } = await core.listNamespacedPod({ namespace: 'default', labelSelector: `app=${app}` });
    return items.filter(({ status }) =>
      status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
    );
  };

  it('lists, pages, patches and cordons', async () => {
    const { items } = await core.listNode();
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(['cp1', 'w1', 'w2']);
    const page = await core.listNode({ limit: 2 });
    const rest = await core.listNode({ limit: 2, _continue: page.metadata?._continue ?? '' });
    expect([...page.items, ...rest.items].map(({ metadata }) => metadata?.name)).toEqual(['cp1', 'w1', 'w2']);

    await core.patchNode(
      { name: 'w1', body: { spec: { unschedulable: true } } },
      setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
    );
    await eventually(
      async () => (await core.readNode({ name: 'w1' })).spec?.taints?.[0]?.key === 'node.kubernetes.io/unschedulable',
      { what: 'the taint of the cordon' },
    );
    await core.patchNode(
      { name: 'w1', body: { spec: { unschedulable: null } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    await eventually(async () => ((await core.readNode({ name: 'w1' })).spec?.taints ?? []).length === 0, {
      what: 'no taint',
    });
  });

  it('evicts within a disruption budget, and answers 429 beyond it', async () => {
    await apps.createNamespacedDeployment({ namespace: 'default', body: deployment('guarded', 3) });
    await eventually(async () => (await readyPods('guarded')).length === 3, { what: 'three pods' });
    const policy = config.makeApiClient(PolicyV1Api);
    await policy.createNamespacedPodDisruptionBudget({
      namespace: 'default',
      body: { metadata: { name: 'guarded' }, spec: { minAvailable: 3, selector: { matchLabels: { app: 'guarded' } } } },
    });
    const [victim] = await readyPods('guarded');
    const name = victim?.metadata?.name ?? '';
    const evict = () =>
      core.createNamespacedPodEviction({
        name,
        namespace: 'default',
        body: { metadata: { name, namespace: 'default' } },
      });
    await eventually(
      async () =>
        (await policy.readNamespacedPodDisruptionBudget({ name: 'guarded', namespace: 'default' })).status
          ?.currentHealthy === 3,
      { what: 'the budget' },
    );

    await expect(evict()).rejects.toMatchObject({
      code: 429,
      body: expect.stringContaining("Cannot evict pod as it would violate the pod's disruption budget."),
    });
    await policy.patchNamespacedPodDisruptionBudget(
      { name: 'guarded', namespace: 'default', body: [{ op: 'replace', path: '/spec/minAvailable', value: 2 }] },
      setHeaderOptions('Content-Type', PatchStrategy.JsonPatch),
    );
    await eventually(
      async () =>
        (await policy.readNamespacedPodDisruptionBudget({ name: 'guarded', namespace: 'default' })).status
          ?.disruptionsAllowed === 1,
      { what: 'room' },
    );
    await evict();
    await eventually(
      async () =>
        (await readyPods('guarded')).every(({ metadata }) => metadata?.name !== name) &&
        (await readyPods('guarded')).length === 3,
      { what: 'a replacement' },
    );
  });

  it('watches from a resource version, with bookmarks if requested, until the client stops', async () => {
    const seen: string[] = [];
    const { metadata } = await core.listNamespacedConfigMap({ namespace: 'default' });
    const watch = await new Watch(config).watch(
      '/api/v1/namespaces/default/configmaps',
      { resourceVersion: metadata?.resourceVersion, allowWatchBookmarks: true },
      (phase, object: { metadata: { name: string } }) => seen.push(`${phase} ${object.metadata.name}`),
      () => undefined,
    );
    await core.createNamespacedConfigMap({
      namespace: 'default',
      body: { metadata: { name: 'seen' }, data: { a: '1' } },
    });
    await core.patchNamespacedConfigMap(
      { name: 'seen', namespace: 'default', body: { data: { a: '2' } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    await core.deleteNamespacedConfigMap({ name: 'seen', namespace: 'default' });
    await eventually(() => seen.length === 3, { what: 'three events' });
    watch.abort();

    expect(seen).toEqual(['ADDED seen', 'MODIFIED seen', 'DELETED seen']);
  });

  it('applies server-side with a field manager, idempotently, and reports a conflict for a second manager', async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const desired = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'addon', namespace: 'default' },
      data: { a: '1' },
    };
    const apply = (manager: string, data: Record<string, string>, force = false) =>
      objects.patch(
        { ...desired, data } as KubernetesObject,
        undefined,
        undefined,
        manager,
        force,
        PatchStrategy.ServerSideApply,
      );

    const first = await apply('fairlead', { a: '1', b: '2' });
    const again = await apply('fairlead', { a: '1', b: '2' });
    expect(again.metadata?.resourceVersion).toBe(first.metadata?.resourceVersion);
    expect(first.metadata?.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual([
      ['fairlead', 'Apply'],
    ]);
    await expect(apply('other', { a: '9' })).rejects.toMatchObject({ code: 409 });
    await apply('other', { a: '9' }, true);
    await apply('fairlead', {});
    expect((await core.readNamespacedConfigMap({ name: 'addon', namespace: 'default' })).data).toEqual({ a: '9' });
  });

  it('makes the network of a node ready once a network plugin runs there', async () => {
    bench.cluster.setNetworkReady(false);
    await eventually(
      async () =>
        (await core.readNode({ name: 'w1' })).status?.conditions?.find(({ type }) => type === 'Ready')?.status ===
        'False',
      { what: 'NotReady' },
    );
    await apps.createNamespacedDaemonSet({
      namespace: 'kube-system',
      body: {
        metadata: { name: 'kube-flannel' },
        spec: {
          selector: { matchLabels: { app: 'flannel' } },
          template: {
            metadata: { labels: { app: 'flannel' } },
            spec: {
              hostNetwork: true,
              tolerations: [{ operator: 'Exists' }],
              containers: [{ name: 'flannel', image: 'flannel' }],
              volumes: [{ name: 'cni', hostPath: { path: '/etc/cni/net.d' } }],
            },
          },
        },
      },
    });
    await eventually(
      async () =>
        (await core.listNode()).items.every(
          ({ status }) => status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
        ),
      { what: 'all nodes Ready' },
    );
  });
});

interface Answer {
  readonly code: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('The simulated API, with raw requests', () => {
  let bench: Bench;
  let config: KubeConfig;

  beforeAll(async () => {
    bench = await startBench({ watchHistoryMax: 50 });
    config = await clientOf(bench);
  });

  afterAll(() => bench.close());

  /**
   * Sends a request with the admin's certificate or, if `token` is given, with that token; an empty token means
   * anonymous.
   */
  const call = ({ method = 'GET', path, token, body, headers = {} }: Call): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const user = config.getCurrentUser();
      const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
      const credentials = token === undefined ? { cert: decode(user?.certData), key: decode(user?.keyData) } : {};
      const authorization = token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` };
      const request = httpsRequest(
        `${bench.server}${path}`,
        { method, ca: bench.cluster.caPem, ...credentials, headers: { ...authorization, ...headers }, agent: false },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({
              code: response.statusCode ?? 0,
              body: Buffer.concat(chunks).toString(),
              headers: response.headers,
            }),
          );
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end(body);
    });

  const json = (value: object): Pick<Call, 'body' | 'headers'> => ({
    body: JSON.stringify(value),
    headers: { 'content-type': 'application/json' },
  });
  const maps = '/api/v1/namespaces/default/configmaps';

  it.each([
    ['nothing of that name', { path: `${maps}/nothing` }, 404, 'NotFound'],
    ['no such resource', { path: '/apis/nothing/v1/things' }, 404, 'NotFound'],
    [
      'an object that exists',
      { method: 'POST', path: maps, ...json({ metadata: { name: 'kube-root-ca.crt' } }) },
      409,
      'AlreadyExists',
    ],
    [
      'a stale version',
      {
        method: 'PUT',
        path: `${maps}/kube-root-ca.crt`,
        ...json({ metadata: { name: 'kube-root-ca.crt', resourceVersion: '1' } }),
      },
      409,
      'Conflict',
    ],
    ['a name that is none', { method: 'POST', path: maps, ...json({ metadata: { name: 'No Name' } }) }, 422, 'Invalid'],
    [
      'a namespace that is none',
      { method: 'POST', path: '/api/v1/namespaces/nothing/configmaps', ...json({ metadata: { name: 'a' } }) },
      404,
      'NotFound',
    ],
    [
      'a verb that the resource does not have',
      { method: 'DELETE', path: '/api/v1/namespaces' },
      405,
      'MethodNotAllowed',
    ],
    [
      'a body of unknown form',
      { method: 'POST', path: maps, body: '<a/>', headers: { 'content-type': 'text/xml' } },
      415,
      'UnsupportedMediaType',
    ],
    [
      'a body that is not JSON',
      { method: 'POST', path: maps, body: '{', headers: { 'content-type': 'application/json' } },
      400,
      'BadRequest',
    ],
    [
      'an answer form that it does not speak',
      { path: maps, headers: { accept: 'application/vnd.kubernetes.protobuf' } },
      406,
      'NotAcceptable',
    ],
    ['no credentials', { path: maps, token: '' }, 401, 'Unauthorized'],
    ['a token that is none', { path: maps, token: 'abcdef.0123456789abcdef' }, 401, 'Unauthorized'],
  ])('answers %s with a Status', async (_, asked, code, reason) => {
    const answer = await call(asked);

    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', status: 'Failure', code, reason });
    expect(answer.code).toBe(code);
  });

  it('identifies itself as a simulation in every response', async () => {
    expect((await call({ path: '/version', token: '' })).headers['server']).toBe(
      'fairlead-lab-simulated-kube-apiserver',
    );
  });

  it('lets a bootstrap token read only what a join needs, until the token expires', async () => {
    const { token } = bench.cluster.createBootstrapToken(Date.now(), 60_000);
    const { token: expired } = bench.cluster.createBootstrapToken(Date.now() - 60_000, 1_000);

    expect((await call({ path: '/api/v1/namespaces/kube-system/configmaps/kubeadm-config', token })).code).toBe(200);
    expect((await call({ path: '/api/v1/namespaces/kube-public/configmaps/cluster-info', token: '' })).code).toBe(200);
    expect((await call({ path: '/api/v1/namespaces/kube-system/secrets', token })).code).toBe(403);
    expect(
      (await call({ path: '/api/v1/namespaces/kube-system/configmaps/kubeadm-config', token: expired })).code,
    ).toBe(401);
    expect([bench.cluster.checkToken(token), bench.cluster.checkToken(expired)]).toEqual([true, false]);
  });

  it('answers 410 to a watch or a list page whose resource version is too old', async () => {
    const page = JSON.parse((await call({ path: '/api/v1/namespaces?limit=1' })).body) as {
      metadata: { continue: string };
    };
    for (let index = 0; index < 40; index += 1) bench.cluster.setVersion(`v1.34.${index}`);
    const answer = await call({ path: `${maps}?watch=true&resourceVersion=5` });
    const event = JSON.parse(answer.body) as { type: string; object: { code: number } };

    expect([event.type, event.object.code]).toEqual(['ERROR', 410]);
    expect((await call({ path: `/api/v1/namespaces?limit=1&continue=${page.metadata.continue}` })).code).toBe(410);
  });

  it('warns about requests of a removed API version, and counts them', async () => {
    expect((await call({ path: '/metrics' })).body).not.toContain('v1beta1');
    const answer = await call({ path: '/apis/policy/v1beta1/poddisruptionbudgets' });

    expect([answer.code, answer.headers['warning']]).toEqual([
      200,
      '299 - "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+"',
    ]);
    expect((await call({ path: '/metrics' })).body).toContain(
      'apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",version="v1beta1"} 1',
    );
  });

  it('warns about unknown fields or rejects them, as requested', async () => {
    const pod = json({ metadata: { name: 'odd' }, spec: { containers: [{ name: 'a', image: 'b', imag: 'c' }] } });
    const path = '/api/v1/namespaces/default/pods';

    const strict = await call({ method: 'POST', path: `${path}?fieldValidation=Strict`, ...pod });
    const warned = await call({ method: 'POST', path, ...pod });

    expect([strict.code, strict.body]).toEqual([
      400,
      expect.stringContaining('unknown field \\"spec.containers[0].imag\\"'),
    ]);
    expect([warned.code, warned.headers['warning']]).toEqual([
      201,
      '299 - "unknown field \\"spec.containers[0].imag\\""',
    ]);
    expect(warned.body).not.toContain('imag"');
  });

  it('answers 503 and fails its readiness check while etcd has no quorum, and recovers afterwards', async () => {
    bench.cluster.etcd.add('cp1', 'https://10.1.0.1:2380');
    bench.cluster.etcd.add('cp2', 'https://10.1.0.2:2380');
    bench.cluster.etcd.set('cp2', { running: false });

    expect(bench.cluster.etcd.list().map(({ name, leader }) => [name, leader])).toEqual([
      ['cp1', false],
      ['cp2', false],
    ]);
    expect(await call({ path: maps })).toMatchObject({
      code: 503,
      body: expect.stringContaining('etcdserver: no leader'),
    });
    expect(await call({ path: '/readyz', token: '' })).toMatchObject({
      code: 500,
      body: expect.stringContaining('[-]etcd failed'),
    });

    bench.cluster.etcd.remove('cp2');
    expect(bench.cluster.etcd.list()).toMatchObject([
      { name: 'cp1', leader: true, clientUrl: 'https://10.1.0.1:2379' },
    ]);
    expect((await call({ path: '/readyz', token: '' })).body).toBe('ok');
  });

  it('closes open watches with their listener, while another listener keeps serving', async () => {
    const second = await bench.cluster.listen({ host: '127.0.0.1', port: 0, sans: [] });
    const server = `https://127.0.0.1:${second.port}`;
    const ended = new Promise<void>((resolve, reject) => {
      const user = config.getCurrentUser();
      const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
      const options = {
        ca: bench.cluster.caPem,
        cert: decode(user?.certData),
        key: decode(user?.keyData),
        agent: false,
      };
      const request = httpsRequest(`${server}${maps}?watch=true`, options, (response) => {
        response.once('data', () => void second.close());
        response.on('end', resolve);
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end();
    });

    await ended;
    expect((await call({ path: maps })).code).toBe(200);
  });
});

describe('A simulated cluster over time', () => {
  const create = async (clock: ManualClock): Promise<SimulatedCluster> => {
    const cluster = await SimulatedCluster.create({
      name: 'slow',
      version: 'v1.34.4',
      podCidr: '10.244.0.0/16',
      serviceCidr: '10.96.0.0/12',
      clock,
    });
    cluster.registerNode(machine('cp1', 'control-plane', 1));
    cluster.registerNode(machine('w1', 'worker', 11));
    cluster.registerNode(machine('w2', 'worker', 12));
    cluster.setNetworkReady(true);
    pass(cluster, clock, 2_000);
    return cluster;
  };

  /** Advances time in small steps, and runs everything that falls due. */
  const pass = (cluster: SimulatedCluster, clock: ManualClock, ms: number): void => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      cluster.settle();
    }
  };

  const readiness = (cluster: SimulatedCluster, name: string): string | undefined =>
    cluster
      .nodes()
      .find(({ metadata }) => metadata.name === name)
      ?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;

  it('marks a node lost when its kubelet stops, evicts its pods after five minutes, and accepts the node again', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);
    const dns = (): readonly (string | undefined)[] =>
      cluster
        .pods('kube-system')
        .filter(({ metadata }) => metadata.labels?.['k8s-app'] === 'kube-dns')
        .map(({ spec, metadata }) => (metadata.deletionTimestamp === undefined ? spec.nodeName : 'going'))
        .sort();
    expect(dns()).toEqual(['w1', 'w2']);

    cluster.setKubelet('w1', { running: false });
    pass(cluster, clock, 39_000);
    expect(readiness(cluster, 'w1')).toBe('True');
    pass(cluster, clock, 2_000);
    expect(readiness(cluster, 'w1')).toBe('Unknown');
    expect(
      cluster
        .nodes()
        .find(({ metadata }) => metadata.name === 'w1')
        ?.spec.taints?.map(({ key, effect }) => `${key}:${effect}`),
    ).toEqual(['node.kubernetes.io/unreachable:NoSchedule', 'node.kubernetes.io/unreachable:NoExecute']);
    pass(cluster, clock, 290_000);
    expect(dns()).toEqual(['w1', 'w2']);
    pass(cluster, clock, 20_000);
    // CoreDNS tolerates control planes, and no replica runs on cp1 yet.
    expect(dns()).toEqual(['cp1', 'going', 'w2']);

    cluster.setKubelet('w1', { running: true, version: 'v1.34.5' });
    pass(cluster, clock, 2_000);
    expect(readiness(cluster, 'w1')).toBe('True');
    expect(dns()).toEqual(['cp1', 'w2']);
    expect(cluster.nodes().find(({ metadata }) => metadata.name === 'w1')?.status?.nodeInfo?.['kubeletVersion']).toBe(
      'v1.34.5',
    );
    await cluster.close();
  });

  it('sets no timer and writes nothing while idle', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);
    pass(cluster, clock, 1_000);
    const { resourceVersion } = cluster.snapshot();

    expect(clock.nextDueMs()).toBeUndefined();
    pass(cluster, clock, 600_000);
    expect(cluster.snapshot().resourceVersion).toBe(resourceVersion);
    await cluster.close();
  });

  it('recreates a deleted static pod, and elects another control plane when the leader is gone', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);
    cluster.registerNode(machine('cp2', 'control-plane', 2));
    pass(cluster, clock, 2_000);
    const leader = (): unknown =>
      cluster.snapshot().objects.find(({ kind, metadata }) => kind === 'Lease' && metadata.name === 'kube-scheduler');
    expect(leader()).toMatchObject({ spec: { holderIdentity: 'cp1_simulated', leaseTransitions: 0 } });

    cluster.setKubelet('cp1', { running: false });
    pass(cluster, clock, 1_000);
    expect(leader()).toMatchObject({ spec: { holderIdentity: 'cp2_simulated', leaseTransitions: 1 } });

    cluster.setControlPlaneVersion('cp1', 'v1.35.0');
    pass(cluster, clock, 1_000);
    expect(
      cluster
        .pods('kube-system')
        .filter(({ spec }) => spec.nodeName === 'cp1')
        .some(({ spec }) => spec.containers[0]?.image?.includes('v1.35.0')),
    ).toBe(false);
    cluster.setKubelet('cp1', { running: true });
    pass(cluster, clock, 1_000);
    expect(
      cluster
        .pods('kube-system')
        .filter(({ spec }) => spec.nodeName === 'cp1' && spec.containers[0]?.image?.endsWith('v1.35.0')),
    ).toHaveLength(3);
    await cluster.close();
  });

  it('removes the pods of a removed node and reschedules them', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);

    cluster.removeNode('w1');
    pass(cluster, clock, 2_000);

    expect(cluster.pods().filter(({ spec }) => spec.nodeName === 'w1')).toEqual([]);
    expect(
      cluster
        .pods('kube-system')
        .filter(({ metadata }) => metadata.labels?.['k8s-app'] === 'kube-dns')
        .map(({ spec }) => spec.nodeName)
        .sort(),
    ).toEqual(['cp1', 'w2']);
    await cluster.close();
  });

  it('recreates the deleted Node of a worker only when its kubelet starts on a host that has not left', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);
    const registration = { ...machine('w1', 'worker', 11), kubeletVersion: 'v1.34.5', labels: { tier: 'web' } };
    const found = () => cluster.nodes().find(({ metadata }) => metadata.name === 'w1');
    const uid = found()?.metadata.uid;

    cluster.removeNode('w1');
    cluster.setKubelet('w1', { running: true, registration });
    pass(cluster, clock, 2_000);
    expect(found()).toBeUndefined();

    cluster.setKubelet('w1', { running: false, registration });
    cluster.setKubelet('w1', { running: true, registration });
    pass(cluster, clock, 2_000);
    expect(found()).toMatchObject({ metadata: { labels: { tier: 'web' } }, spec: { taints: [] } });
    expect(found()?.status?.nodeInfo?.['kubeletVersion']).toBe('v1.34.5');
    expect([readiness(cluster, 'w1'), found()?.metadata.uid === uid]).toEqual(['True', false]);

    cluster.removeNode('w1');
    cluster.setKubelet('w1', { running: false });
    cluster.setKubelet('w1', { running: true });
    pass(cluster, clock, 2_000);
    expect(found()).toBeUndefined();
    await cluster.close();
  });

  it('upgrades static pods one control plane at a time, and the addons with the cluster', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);
    const image = (name: string): string | undefined =>
      cluster.pods('kube-system').find(({ metadata }) => metadata.name === name)?.spec.containers[0]?.image;

    cluster.setControlPlaneVersion('cp1', 'v1.35.0');
    pass(cluster, clock, 2_000);
    expect(image('kube-apiserver-cp1')).toBe('registry.k8s.io/kube-apiserver:v1.35.0');
    cluster.setVersion('v1.35.0');
    pass(cluster, clock, 5_000);
    const proxies = cluster.pods('kube-system').filter(({ metadata }) => metadata.labels?.['k8s-app'] === 'kube-proxy');
    expect(proxies.map(({ spec }) => spec.containers[0]?.image)).toEqual(
      Array(3).fill('registry.k8s.io/kube-proxy:v1.35.0'),
    );
    await cluster.close();
  });

  it('resumes from its JSON snapshot with the same certificate authority', async () => {
    const clock = new ManualClock();
    const cluster = await create(clock);
    const changes: number[] = [];
    cluster.onChange(() => changes.push(clock.now()));
    const { token } = cluster.createBootstrapToken(clock.now(), 60_000);
    await eventually(() => changes.length > 0, { what: 'word of the change' });
    cluster.setKubelet('w2', { running: false });
    const first = cluster.changesSince(undefined);
    cluster.registerNode(machine('w3', 'worker', 13));
    pass(cluster, clock, 1_000);
    const second = cluster.changesSince(first.snapshot.resourceVersion);
    cluster.removeNode('w3');
    pass(cluster, clock, 1_000);
    const third = cluster.changesSince(second.snapshot.resourceVersion);
    expect([first.isWhole, second.isWhole, third.isWhole]).toEqual([true, false, false]);
    expect(third.entries.some(({ object }) => object === null)).toBe(true);
    expect(third.entries.length).toBeLessThan(first.entries.length / 2);
    const whole = snapshotFrom(third.snapshot, [...first.entries, ...second.entries, ...third.entries]);
    const byUid = ({ objects }: ClusterSnapshot) =>
      objects.toSorted(({ metadata: one }, { metadata: other }) => ((one.uid ?? '') < (other.uid ?? '') ? -1 : 1));
    expect([{ ...whole, objects: byUid(whole) }]).toEqual([
      { ...cluster.snapshot(), objects: byUid(cluster.snapshot()) },
    ]);
    const state = JSON.parse(JSON.stringify(whole)) as ReturnType<SimulatedCluster['snapshot']>;
    await cluster.close();

    const restored = await SimulatedCluster.create({
      name: 'ignored',
      version: 'v1.0.0',
      podCidr: '',
      serviceCidr: '',
      clock,
      state,
    });
    pass(restored, clock, 45_000);

    expect([restored.name, restored.caHash, restored.checkToken(token)]).toEqual([cluster.name, cluster.caHash, true]);
    expect(restored.pods().length).toBe(cluster.pods().length);
    expect([readiness(restored, 'w1'), readiness(restored, 'w2')]).toEqual(['True', 'Unknown']);
    await restored.close();
  });
});
