import { eventually } from '@fairlead/testing';
import { KubeConfig, CoreV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NodeSSH } from 'node-ssh';
import { PREPARE_HOST, TestLab, must, type TestMachine } from '../testing/test.lab.js';

interface Balancer {
  readonly host: string;
  readonly port: number;
}

// Runs real shells and processes, on a machine that may be busy with other tests.
describe('kubeadm on simulated hosts', () => {
  let lab: TestLab;
  let machines: readonly TestMachine[];
  let sessions: NodeSSH[];
  let balancer: Balancer;
  let api: CoreV1Api;

  const host = (index: number): NodeSSH => sessions[index] as NodeSSH;
  const machine = (index: number): TestMachine => machines[index] as TestMachine;
  const power = (index: number, action: string): Promise<unknown> =>
    lab.call('POST', `machines/${machine(index).id}/power`, { action });

  beforeAll(async () => {
    lab = await TestLab.start();
    ({ machines } = await lab.group('demo', ['cp-1', 'cp-2', 'cp-3', 'w-1']));
    const targets = machines.slice(0, 3).map(({ id }) => id);
    const request = { group: 'demo', port: 6443, healthPath: '/readyz', targets };
    balancer = (await lab.call<Balancer>('PUT', 'load-balancers/demo', request)).body;
    sessions = await Promise.all(machines.map((each) => lab.ssh(each)));
    for (const session of sessions) await must(session, PREPARE_HOST);
  }, 120_000);

  afterAll(async () => {
    await lab.stop();
  });

  it('reports all failed preflight checks at once, and changes nothing', async () => {
    await must(host(0), 'swapon -a; sysctl -w net.ipv4.ip_forward=0; systemctl stop containerd');
    const { code, stderr } = await host(0).execCommand('kubeadm init');
    expect(code).toBe(1);
    for (const check of ['Swap', 'FileContent--proc-sys-net-ipv4-ip_forward', 'CRI'])
      expect(stderr).toContain(`[ERROR ${check}]`);
    expect(await must(host(0), 'ls $FAIRLEAD_ROOT/etc/kubernetes 2>/dev/null | wc -l')).toBe('0');
    await must(host(0), 'swapoff -a; sysctl -w net.ipv4.ip_forward=1; systemctl start containerd');
  });

  it('fails an init if the endpoint does not lead to the host', async () => {
    const { code, stderr } = await host(0).execCommand('kubeadm init --control-plane-endpoint 127.0.0.1:1');
    expect(code).toBe(1);
    expect(stderr).toContain('controlPlaneEndpoint does not lead to this host');
    await must(host(0), 'kubeadm reset --force');
  });

  it('creates a cluster whose API is available through the load balancer', async () => {
    const said = await must(
      host(0),
      `kubeadm init --control-plane-endpoint ${balancer.host}:${balancer.port} --upload-certs`,
    );
    expect(said).toContain('[init] Using Kubernetes version: v1.34.4');
    expect(said).toContain('simulated by Fairlead lab');
    const config = new KubeConfig();
    config.loadFromString(await must(host(0), 'cat $FAIRLEAD_ROOT/etc/kubernetes/admin.conf'));
    expect(config.getCurrentCluster()?.server).toBe(`https://${balancer.host}:${balancer.port}`);
    api = config.makeApiClient(CoreV1Api);
    const { items } = await api.listNode();
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(['cp-1']);
  });

  it('cannot initialize a host twice', async () => {
    const { code, stderr } = await host(0).execCommand('kubeadm init');
    expect(code).toBe(1);
    expect(stderr).toContain('/etc/kubernetes/admin.conf already exists');
    expect(stderr).toContain('Port 6443 is in use');
  });

  it('lets nodes join only with a valid token, CA hash and certificate key', async () => {
    const join = (await must(host(0), 'kubeadm token create --print-join-command')).trim();
    const [token = ''] = /[a-z0-9]{6}\.[a-z0-9]{16}/.exec(join) ?? [];
    expect((await host(3).execCommand(join.replace(token, 'aaaaaa.bbbbbbbbbbbbbbbb'))).stderr).toContain(
      'could not find a JWS signature',
    );
    expect((await host(3).execCommand(join.replace(/sha256:\w+/, `sha256:${'0'.repeat(64)}`))).stderr).toContain(
      'are pinned',
    );
    expect((await host(1).execCommand(`${join} --control-plane --certificate-key ${'0'.repeat(64)}`)).stderr).toContain(
      'kubeadm-certs',
    );
    await must(host(3), join);
    for (const index of [1, 2]) {
      const uploaded = await must(host(0), 'kubeadm init phase upload-certs --upload-certs');
      const key = /^[0-9a-f]{64}$/m.exec(uploaded)?.[0] ?? '';
      await must(host(index), `${join} --control-plane --certificate-key ${key}`);
    }
    const { items } = await api.listNode();
    expect(items.map(({ metadata }) => metadata?.name).sort()).toEqual(['cp-1', 'cp-2', 'cp-3', 'w-1']);
    expect(items[0]?.status?.nodeInfo?.osImage).toContain('simulated by Fairlead lab');
  });

  it('writes super-admin.conf only on the initial control plane, as kubeadm does', async () => {
    const lists = [0, 1].map((index) => must(host(index), 'ls $FAIRLEAD_ROOT/etc/kubernetes | grep admin'));
    expect(await Promise.all(lists)).toEqual(['admin.conf\nsuper-admin.conf', 'admin.conf']);
  });

  it('makes nodes Ready once a network plugin runs on them', async () => {
    const ready = async (): Promise<number> =>
      (await api.listNode()).items.filter(({ status }) =>
        status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      ).length;
    expect(await ready()).toBe(0);
    const config = new KubeConfig();
    config.loadFromString(await must(host(0), 'cat $FAIRLEAD_ROOT/etc/kubernetes/admin.conf'));
    const { AppsV1Api } = await import('@kubernetes/client-node');
    await config.makeApiClient(AppsV1Api).createNamespacedDaemonSet({ namespace: 'kube-system', body: NETWORK_PLUGIN });
    await eventually(async () => (await ready()) === 4);
  });

  it('renews the certificates of one control plane, after which admin.conf contains a new, accepted certificate', async () => {
    const adminOf = (index: number): Promise<string> =>
      must(host(index), 'cat $FAIRLEAD_ROOT/etc/kubernetes/admin.conf');
    const [before, others] = [await adminOf(0), await adminOf(1)];
    expect(await must(host(0), 'kubeadm certs renew all')).toContain('Done renewing certificates');
    const after = await adminOf(0);
    expect(/client-certificate-data: \S+/.exec(after)?.[0]).not.toBe(/client-certificate-data: \S+/.exec(before)?.[0]);
    expect(await adminOf(1)).toBe(others);
    for (const text of [before, after]) {
      const config = new KubeConfig();
      config.loadFromString(text);
      expect((await config.makeApiClient(CoreV1Api).listNode()).items).toHaveLength(4);
    }
  });

  it('registers a deleted Node again when its kubelet starts, without the role and taints that kubeadm sets', async () => {
    const names = async (): Promise<readonly (string | undefined)[]> =>
      (await api.listNode()).items.map(({ metadata }) => metadata?.name).toSorted();
    for (const name of ['cp-2', 'w-1']) await api.deleteNode({ name });
    await must(host(1), 'systemctl start kubelet');
    expect(await names()).toEqual(['cp-1', 'cp-3']);
    await must(host(1), 'systemctl restart kubelet');
    await power(3, 'reboot');
    await eventually(async () => (await names()).join() === 'cp-1,cp-2,cp-3,w-1');
    sessions[3] = await lab.ssh(machine(3));
    await must(host(3), PREPARE_HOST);
    const { metadata, spec } = await api.readNode({ name: 'cp-2' });
    expect([Object.keys(metadata?.labels ?? {}).filter((key) => key.includes('control-plane')), spec?.taints]).toEqual([
      [],
      [],
    ]);
    const staticPods = async (): Promise<number> =>
      (await api.listNamespacedPod({ namespace: 'kube-system', fieldSelector: 'spec.nodeName=cp-2' })).items.filter(
        ({ metadata: { name = '' } = {} }) => name.endsWith('-cp-2'),
      ).length;
    await eventually(async () => (await staticPods()) === 4);
  });

  it('serves the API with one of three control planes off, but not with two', async () => {
    await power(0, 'power-cut');
    expect((await api.listNode()).items).toHaveLength(4);
    await power(1, 'stop');
    await expect(api.listNode()).rejects.toMatchObject({ code: 503 });
    await power(1, 'start');
    await eventually(() =>
      api.listNode().then(
        ({ items }) => items.length === 4,
        () => false,
      ),
    );
    await power(0, 'start');
    sessions[0] = await lab.ssh(machine(0));
  });

  it('renews certificates for another year', async () => {
    expect(await must(host(0), 'kubeadm certs renew all')).toContain('certificate for serving etcd renewed');
    const printed = await must(host(0), 'kubeadm certs check-expiration');
    expect(printed).toMatch(/^apiserver +\w{3} \d\d, \d{4} \d\d:\d\d UTC +364d +ca +no/m);
  });

  it('ends only its own API server by name, which the kubelet then restarts', async () => {
    expect((await host(0).execCommand('pkill -TERM -x nothing-of-this-host')).code).toBe(1);
    await must(host(0), 'pkill -TERM -x kube-apiserver');
    await eventually(async () => (await host(0).execCommand('pgrep -x kube-apiserver')).code === 0);
  });

  it('lists etcd members with etcdctl in the etcd pod, and removes one', async () => {
    const etcd = 'kubectl --namespace kube-system exec etcd-cp-1 -- etcdctl --endpoints=https://127.0.0.1:2379';
    const members = (await must(host(0), `${etcd} member list`)).split('\n').map((line) => line.split(', '));
    expect(members.map(([, , name]) => name)).toEqual(['cp-1', 'cp-2', 'cp-3']);
    expect(await must(host(0), `${etcd} endpoint health --cluster`)).toContain(
      `https://${machine(0).publicIp}:2379 is healthy`,
    );
    await must(host(0), `${etcd} member remove ${members[2]?.[0] ?? ''}`);
    expect((await must(host(0), `${etcd} member list`)).split('\n')).toHaveLength(2);
  });

  it('shows the version of an upgraded kubelet after its restart', async () => {
    await must(host(3), "apt-get install -y 'kubelet=1.34.3*' --allow-downgrades; systemctl restart kubelet");
    await eventually(async () => (await api.readNode({ name: 'w-1' })).status?.nodeInfo?.kubeletVersion === 'v1.34.3');
  });

  it('leaves nothing behind on a reset host, so that it can join again', async () => {
    await must(host(3), 'kubeadm reset --force');
    expect(await must(host(3), 'ls $FAIRLEAD_ROOT/etc/kubernetes 2>/dev/null | wc -l')).toBe('0');
    await must(host(3), (await must(host(0), 'kubeadm token create --print-join-command')).trim());
  });
});

const NETWORK_PLUGIN = {
  metadata: { name: 'network', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'network' } },
    template: {
      metadata: { labels: { app: 'network' } },
      spec: {
        hostNetwork: true,
        tolerations: [{ operator: 'Exists' }],
        containers: [
          { name: 'network', image: 'network', volumeMounts: [{ name: 'cni', mountPath: '/etc/cni/net.d' }] },
        ],
        volumes: [{ name: 'cni', hostPath: { path: '/etc/cni/net.d' } }],
      },
    },
  },
};
