import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  debianKubectl,
  installedKubectl,
  kubectlWith,
  startBench,
  type Bench,
  type Kubectl,
} from './kubectl.fixtures.js';

const WEB = (image: string, replicas = 10): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "${image}", ports: [{containerPort: 80, name: http}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
`;

const binaries = newFolder('kubectl');
const debian = await debianKubectl(binaries);
const installed = await installedKubectl();
const kubectls = [installed, debian].filter((kubectl): kubectl is Kubectl => kubectl !== undefined);

if (kubectls.length === 0)
  process.stderr.write(
    'SKIPPED: there is no kubectl here: the simulated Kubernetes is NOT checked with the real client\n',
  );

afterAll(() => removeFolder(binaries));

const cases = kubectls.length === 0 ? [] : kubectls.map((kubectl) => [kubectl.version, kubectl] as const);

(cases.length === 0 ? describe.skip : describe).each(
  cases.length === 0 ? [['none', { path: '', version: '' }] as const] : cases,
)('kubectl %s', (_, client) => {
  let bench: Bench;
  let kubectl: (...args: readonly string[]) => Promise<string>;
  let asNode: (...args: readonly string[]) => Promise<string>;

  const file = async (name: string, text: string): Promise<string> => {
    const path = join(bench.folder, name);
    await writeFile(path, text);
    return path;
  };

  beforeAll(async () => {
    bench = await startBench();
    kubectl = kubectlWith(client, await bench.kubeconfig('admin'), bench.folder);
    asNode = kubectlWith(client, await bench.kubeconfig({ node: 'w1' }), bench.folder);
    await eventually(() => bench.cluster.pods().every(({ status }) => status?.phase === 'Running'), {
      what: 'a running cluster',
    });
  });

  afterAll(() => bench.close());

  it('rejects unsupported requests with the message that this cluster is a simulation', async () => {
    const pod = bench.cluster.pods().find(({ metadata }) => metadata.namespace === 'kube-system')?.metadata.name ?? '';
    const inSystem = ['-n', 'kube-system'];
    const minor = Number(client.version.split('.')[1]);
    for (const args of [
      [...inSystem, 'port-forward', `pod/${pod}`, '18080:80'],
      [...inSystem, 'attach', pod],
      [...inSystem, 'debug', pod, '--image=busybox'],
      ...(minor < 24 ? [] : [[...inSystem, 'create', 'token', 'default']]),
      [...inSystem, 'autoscale', 'deployment', 'coredns', '--max=3'],
      ['auth', 'can-i', 'delete', 'nodes', '--as=mallory'],
      ['get', 'pods', '--as=mallory'],
    ]) {
      const said = await kubectl(...args).catch((error: unknown) => String(error));
      expect([args, said]).toEqual([args, expect.stringContaining('this cluster is a simulation')]);
    }
    expect((await kubectl('auth', 'can-i', 'delete', 'nodes')).trim()).toMatch(/^yes/);
    const review = await file(
      'review.yaml',
      'apiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nspec: {user: mallory, resourceAttributes: {verb: delete, resource: nodes}}\n',
    );
    const answered = await kubectl('create', '-f', review, '-o', 'yaml');
    expect(answered).toContain('allowed: false');
    expect(answered).toContain('stores RBAC objects and does not evaluate them');
  });

  it('lists nodes with the usual columns', async () => {
    const lines = (await kubectl('get', 'nodes', '-o', 'wide')).trim().split('\n');

    expect(lines[0]?.split(/\s{2,}/).map((title) => title.trim())).toEqual([
      'NAME',
      'STATUS',
      'ROLES',
      'AGE',
      'VERSION',
      'INTERNAL-IP',
      'EXTERNAL-IP',
      'OS-IMAGE',
      'KERNEL-VERSION',
      'CONTAINER-RUNTIME',
    ]);
    expect(lines[1]).toMatch(/^cp1 +Ready +control-plane +\d+s +v1\.34\.4 +10\.1\.0\.1 /);
    expect(lines[2]).toMatch(/^w1 +Ready +<none> /);
  });

  it('shows the objects that kubeadm creates: static pods, CoreDNS, kube-proxy, its ConfigMaps', async () => {
    expect(await kubectl('-n', 'kube-system', 'get', 'deploy,ds')).toMatch(
      /coredns +2\/2[\s\S]*kube-proxy +3 +3 +3 +3 +3 +kubernetes.io\/os=linux/,
    );
    expect(
      (await kubectl('-n', 'kube-system', 'get', 'pods', '-l', 'tier=control-plane', '-o', 'name')).trim().split('\n'),
    ).toEqual(['pod/etcd-cp1', 'pod/kube-apiserver-cp1', 'pod/kube-controller-manager-cp1', 'pod/kube-scheduler-cp1']);
    expect(await kubectl('-n', 'kube-system', 'get', 'cm', 'kubeadm-config', '-o', 'yaml')).toContain(
      'kubernetesVersion: v1.34.4',
    );
    expect(await kubectl('-n', 'kube-system', 'get', 'cm', 'kubelet-config', '-o', 'name')).toContain('kubelet-config');
  });

  it('identifies the cluster as a simulation wherever possible', async () => {
    expect(await kubectl('get', '--raw', '/version')).toContain('simulated by the Fairlead lab');
    expect(
      await kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.annotations.lab\\.fairlead\\.dev/simulated}'),
    ).toBe('true true true');
    expect(await kubectl('get', 'ns', 'kube-system', '-o', 'yaml')).toContain('lab.fairlead.dev/simulated: "true"');
    expect(await kubectl('-n', 'kube-system', 'logs', 'etcd-cp1')).toContain('simulation');
  });

  it('applies a Deployment, spreads its pods over the workers, and reports no change the second time', async () => {
    const manifest = await file('web.yaml', WEB('nginx:1.27'));
    expect(await kubectl('apply', '-f', manifest)).toContain('deployment.apps/web created');
    await kubectl('rollout', 'status', 'deploy/web', '--timeout=30s');

    const nodes = (await kubectl('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.nodeName}'))
      .split(' ')
      .sort();
    expect(nodes).toEqual([...Array<string>(5).fill('w1'), ...Array<string>(5).fill('w2')]);
    expect(await kubectl('apply', '-f', manifest)).toContain('deployment.apps/web unchanged');
    expect(await kubectl('get', 'endpoints', 'web')).toMatch(/:80,10\.244.* \+ 7 more\.\.\./);
  });

  it('rolls out another image, rolls back, restarts and scales', async () => {
    expect(await kubectl('apply', '-f', await file('web2.yaml', WEB('nginx:1.28')))).toContain(
      'deployment.apps/web configured',
    );
    expect(await kubectl('rollout', 'status', 'deploy/web', '--timeout=30s')).toContain('successfully rolled out');
    expect(await kubectl('rollout', 'undo', 'deploy/web')).toContain('rolled back');
    await kubectl('rollout', 'status', 'deploy/web', '--timeout=30s');
    expect(await kubectl('get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')).toBe(
      'nginx:1.27',
    );
    expect(await kubectl('rollout', 'history', 'deploy/web')).toMatch(/2 +<none>\n3 +<none>/);
    await kubectl('rollout', 'restart', 'deploy/web');
    await kubectl('rollout', 'status', 'deploy/web', '--timeout=30s');
    expect(await kubectl('scale', 'deploy/web', '--replicas=4')).toContain('scaled');
    await eventually(async () => (await kubectl('get', 'deploy', 'web')).includes('4/4'), { what: 'four replicas' });
  });

  it('describes nodes, pods and deployments', async () => {
    expect(await kubectl('describe', 'node', 'w1')).toMatch(
      /RenewTime: +\w[\s\S]*KubeletReady[\s\S]*Non-terminated Pods:/,
    );
    expect(await kubectl('describe', 'deploy', 'web')).toMatch(
      /4 desired \| 4 updated \| 4 total \| 4 available[\s\S]*ScalingReplicaSet/,
    );
    expect(await kubectl('describe', 'pod', '-l', 'app=web')).toMatch(/Controlled By: +ReplicaSet\/web-/);
  });

  it('supports every patch type, labels, annotates and taints', async () => {
    await kubectl(
      'patch',
      'deploy',
      'web',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"web","tty":true}]}}}}',
    );
    await kubectl('patch', 'deploy', 'web', '--type=merge', '-p', '{"spec":{"revisionHistoryLimit":3}}');
    await kubectl(
      'patch',
      'deploy',
      'web',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/metadata/annotations/a","value":"b"}]',
    );
    expect(
      await kubectl(
        'get',
        'deploy',
        'web',
        '-o',
        'jsonpath={.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].tty} {.spec.revisionHistoryLimit} {.metadata.annotations.a}',
      ),
    ).toBe('nginx:1.27 true 3 b');
    await kubectl('label', 'node', 'w1', 'disk=ssd');
    expect(await kubectl('get', 'nodes', '-l', 'disk=ssd', '-o', 'name')).toBe('node/w1\n');
    await kubectl('annotate', 'node', 'w1', 'note=x');
    await kubectl('taint', 'nodes', 'w1', 'a=b:NoSchedule', 'c=d:PreferNoSchedule');
    await kubectl('taint', 'nodes', 'w1', 'a-');
    expect(await kubectl('get', 'node', 'w1', '-o', 'jsonpath={.spec.taints[*].key}')).toBe('c');
    await kubectl('taint', 'nodes', 'w1', 'c-');
  });

  it('drains a node as far as the budget allows, and names the pod that cannot be evicted', async () => {
    await kubectl('rollout', 'status', 'deploy/web', '--timeout=30s');
    await kubectl('create', 'pdb', 'web', '--selector=app=web', '--min-available=4');
    const refused = kubectl('drain', 'w1', '--ignore-daemonsets', '--timeout=2s');
    await expect(refused).rejects.toThrow("Cannot evict pod as it would violate the pod's disruption budget.");
    expect(await kubectl('get', 'nodes')).toMatch(/w1 +Ready,SchedulingDisabled/);
    await kubectl('delete', 'pdb', 'web');
    await kubectl('create', 'pdb', 'web', '--selector=app=web', '--min-available=2');
    expect(await kubectl('drain', 'w1', '--ignore-daemonsets', '--timeout=30s')).toMatch(/node\/w1 (drained|evicted)/);
    expect(await kubectl('get', 'pods', '-A', '--field-selector=spec.nodeName=w1', '-o', 'name')).toMatch(
      /^pod\/kube-proxy-\w+\n$/,
    );
    expect(await kubectl('uncordon', 'w1')).toContain('uncordoned');
  }, 60_000);

  it('selects by labels and fields, pages through lists, sorts and formats', async () => {
    const all = await kubectl('get', 'pods', '-A', '-o', 'name');
    expect(await kubectl('get', 'pods', '-A', '-o', 'name', '--chunk-size=2')).toBe(all);
    expect(
      await kubectl(
        'get',
        'pods',
        '-A',
        '-l',
        'app in (web),!nothing',
        '--field-selector=status.phase=Running',
        '-o',
        'name',
      ),
    ).toMatch(/^(pod\/web-\S+\n){4}$/);
    expect(await kubectl('get', 'deploy', 'web', '-o', 'json')).toContain('"kind": "Deployment"');
    await expect(kubectl('get', 'pods', '--field-selector=spec.nothing=x')).rejects.toThrow(
      'field label not supported',
    );
    await expect(kubectl('get', 'pods', 'nothing')).rejects.toThrow('pods "nothing" not found');
  });

  it('watches', async () => {
    await kubectl('create', 'configmap', 'watched', '--from-literal=step=1');
    const env = { ...process.env, KUBECONFIG: await bench.kubeconfig('admin'), HOME: bench.folder };
    const args = ['get', 'configmaps', '--watch', '-o', 'jsonpath={.metadata.name}={.data.step} '];
    const follower = spawn(client.path, args, { env });
    let seen = '';
    follower.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    try {
      await eventually(() => seen.includes('watched=1'), { what: 'the present state' });
      await kubectl('patch', 'configmap', 'watched', '-p', '{"data":{"step":"2"}}');
      await eventually(() => seen.includes('watched=2'), { what: 'the change' });
    } finally {
      follower.kill();
    }
  });

  it('orphans the pods of a deployment, which a deployment with the same template adopts', async () => {
    await kubectl('create', 'deployment', 'kept', '--image=nginx', '--replicas=2');
    await kubectl('rollout', 'status', 'deploy/kept', '--timeout=30s');
    const pods = await kubectl('get', 'pods', '-l', 'app=kept', '-o', 'name');
    await kubectl(
      'delete',
      'deploy',
      'kept',
      client.version.startsWith('v1.1') ? '--cascade=false' : '--cascade=orphan',
    );
    expect(await kubectl('get', 'rs,pods', '-l', 'app=kept', '-o', 'name')).toContain(pods);
    await kubectl('create', 'deployment', 'kept', '--image=nginx', '--replicas=2');
    await kubectl('rollout', 'status', 'deploy/kept', '--timeout=30s');
    expect(await kubectl('get', 'pods', '-l', 'app=kept', '-o', 'name')).toBe(pods);
    await kubectl('delete', 'deploy', 'kept');
  });

  it('deletes gracefully, in the foreground, and whole namespaces', async () => {
    expect(await kubectl('delete', 'deploy', 'web', '--cascade=foreground')).toContain('deleted');
    await eventually(async () => !(await kubectl('get', 'pods', '-o', 'name')).includes('web'), {
      what: 'no pods left',
    });
    await kubectl('create', 'namespace', 'team');
    await kubectl('-n', 'team', 'create', 'deployment', 'app', '--image=nginx');
    expect(await kubectl('delete', 'namespace', 'team')).toContain('deleted');
    await expect(kubectl('get', 'namespace', 'team')).rejects.toThrow('not found');
    await expect(kubectl('delete', 'namespace', 'kube-system')).rejects.toThrow('may not be deleted');
  });

  it('creates objects with its generators, runs Jobs and StatefulSets', async () => {
    await kubectl('create', 'secret', 'generic', 's', '--from-literal=p=q');
    await kubectl('run', 'bare', '--image=busybox', '--restart=Never');
    await kubectl('wait', '--for=condition=Ready', 'pod/bare', '--timeout=10s');
    await kubectl('create', 'job', 'once', '--image=busybox');
    await kubectl('wait', '--for=condition=complete', 'job/once', '--timeout=10s');
    const set =
      'apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  replicas: 3\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {containers: [{name: db, image: postgres}]}\n';
    await kubectl('apply', '-f', await file('db.yaml', set));
    expect(await kubectl('rollout', 'status', 'sts/db', '--timeout=30s')).toMatch(
      /rolling update complete|roll out complete/,
    );
    expect(await kubectl('get', 'pods', '-l', 'app=db', '-o', 'name')).toBe('pod/db-0\npod/db-1\npod/db-2\n');
  });

  it('answers reviews of the user and of permissions', async () => {
    expect(await kubectl('cluster-info')).toContain('Kubernetes control plane');
    expect(await kubectl('api-resources')).toMatch(/poddisruptionbudgets +pdb +policy\/v1 +true +PodDisruptionBudget/);
    expect(await kubectl('api-versions')).toContain('policy/v1beta1');
    expect(await kubectl('auth', 'can-i', 'delete', 'pods')).toContain('yes');
    expect(await kubectl('get', '--raw', '/readyz?verbose')).toContain('[+]etcd ok');
    expect(await kubectl('get', '--raw', '/livez')).toBe('ok');
    // Older clients read OpenAPI version 2, of which only an empty document is served.
    if (!client.version.startsWith('v1.20'))
      expect(await kubectl('explain', 'pods.spec.containers.ports')).toMatch(/containerPort\s+<integer>/);
  });

  it('lets a node change only itself', async () => {
    expect(await asNode('label', 'node', 'w1', 'own=yes')).toContain('labeled');
    await expect(asNode('label', 'node', 'w2', 'own=yes')).rejects.toThrow(
      'nodes "w2" is forbidden: User "system:node:w1" cannot patch',
    );
    await expect(asNode('auth', 'can-i', 'delete', 'nodes/w2')).rejects.toThrow('no');
    await expect(asNode('delete', 'deployment', 'coredns', '-n', 'kube-system')).rejects.toThrow('forbidden');
  });

  it('serves custom resources', async () => {
    const definition =
      'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.lab.example}\nspec:\n  group: lab.example\n  scope: Namespaced\n  names: {plural: boats, singular: boat, kind: Boat}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n';
    await kubectl('apply', '-f', await file('crd.yaml', definition));
    await kubectl('wait', '--for=condition=Established', 'crd/boats.lab.example', '--timeout=10s');
    await rm(join(bench.folder, 'cache'), { recursive: true, force: true });
    await rm(join(bench.folder, '.kube'), { recursive: true, force: true });
    await kubectl(
      'apply',
      '-f',
      await file('boat.yaml', 'apiVersion: lab.example/v1\nkind: Boat\nmetadata: {name: ferry}\nspec: {seats: 3}\n'),
    );
    expect(await kubectl('get', 'boats', 'ferry', '-o', 'jsonpath={.spec.seats}')).toBe('3');
    await kubectl('delete', 'crd', 'boats.lab.example');
  });
});
