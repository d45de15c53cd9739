import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NodeSSH } from 'node-ssh';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { must, PREPARE_HOST, TestLab, type TestMachine } from '../testing/test.lab.js';

// Runs real shells and processes, on a machine that may be busy with other tests.
jest.setTimeout(120_000);

const MANIFESTS = '$FAIRLEAD_ROOT/etc/kubernetes/manifests';
const ASIDE = '$FAIRLEAD_ROOT/etc/kubernetes/aside';
const DATA = '$FAIRLEAD_ROOT/var/lib/etcd';
const RUNNING = `ctr --namespace k8s.io containers list --quiet 'labels."io.kubernetes.container.name"==etcd'`;

/** The manual restore procedure: a shell, kubeadm's manifests and etcdutl. */
describe('etcd of a simulated control plane', () => {
  let lab: TestLab;
  let machines: readonly TestMachine[];
  let sessions: NodeSSH[];
  let kubernetes: KubernetesClient;

  const onAll = async (command: (machine: TestMachine) => string): Promise<void> => {
    for (const [index, session] of sessions.entries()) await must(session, command(machines[index] as TestMachine));
  };
  const namespaces = async (): Promise<readonly string[]> =>
    (await kubernetes.core.listNamespace()).items.map(({ metadata }) => metadata?.name ?? '');
  const containersOnAll = async (): Promise<number> => {
    const lists = await Promise.all(sessions.map((session) => must(session, RUNNING)));
    return lists.filter((list) => list.trim() !== '').length;
  };
  const peers = (): string => machines.map(({ name, publicIp }) => `${name}=https://${publicIp}:2380`).join(',');

  beforeAll(async () => {
    lab = await TestLab.start();
    ({ machines } = await lab.group('demo', ['cp-1', 'cp-2', 'cp-3']));
    const targets = machines.map(({ id }) => id);
    const request = { group: 'demo', port: 6443, healthPath: '/readyz', targets };
    const balancer = (await lab.call<{ host: string; port: number }>('PUT', 'load-balancers/demo', request)).body;
    sessions = await Promise.all(machines.map((each) => lab.ssh(each)));
    for (const session of sessions) await must(session, PREPARE_HOST);
    const [first, ...others] = sessions as [NodeSSH, ...NodeSSH[]];
    const init = `kubeadm init --control-plane-endpoint ${balancer.host}:${balancer.port} --upload-certs`;
    const said = (await must(first, init)).replaceAll('\\\n', ' ');
    const command = said.split('\n').find((line) => line.includes('--control-plane --certificate-key')) ?? '';
    for (const session of others) await must(session, command.trim());
    const kubeconfig = await must(first, 'cat $FAIRLEAD_ROOT/etc/kubernetes/admin.conf');
    kubernetes = new KubernetesClient('demo', kubeconfig, () => undefined);
  });

  afterAll(async () => {
    kubernetes?.close();
    await lab?.stop();
  });

  const inEtcd = async (...command: readonly string[]): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    const onOutput = (chunk: Buffer): void => void chunks.push(chunk);
    const signal = AbortSignal.timeout(20_000);
    const at = { namespace: 'kube-system', pod: 'etcd-cp-1', container: 'etcd' };
    const { exitCode, stderr } = await kubernetes.exec({ ...at, command, signal, onOutput });
    if (exitCode !== 0) throw new Error(stderr);
    return Buffer.concat(chunks);
  };

  it('runs exactly the static pods that have a manifest', async () => {
    expect(await containersOnAll()).toBe(3);
    await must(sessions[2] as NodeSSH, `mkdir -p ${ASIDE} && mv ${MANIFESTS}/* ${ASIDE}`);
    await eventually(async () => (await containersOnAll()) === 2);
    expect((await namespaces()).length).toBeGreaterThan(0);
    await must(sessions[2] as NodeSSH, `mv ${ASIDE}/* ${MANIFESTS}`);
    await eventually(async () => (await containersOnAll()) === 3);
  });

  it('serves the contents of a snapshot once a majority of its members are restored from it', async () => {
    await kubernetes.core.createNamespace({ body: { metadata: { name: 'before' } } });
    const [first] = sessions as [NodeSSH];
    await inEtcd('etcdctl', 'snapshot', 'save', '/s.db');
    const saved = join(lab.folder, 's.db');
    await writeFile(saved, await inEtcd('cp', '/s.db', '/dev/stdout'));
    await kubernetes.core.createNamespace({ body: { metadata: { name: 'after' } } });
    for (const session of sessions) await session.putFile(saved, '/var/s.db');
    await onAll(() => `mkdir -p ${ASIDE} && mv ${MANIFESTS}/* ${ASIDE}`);
    await eventually(async () => (await containersOnAll()) === 0);
    await expect(namespaces()).rejects.toThrow();
    await onAll(
      ({ name, publicIp }) =>
        `etcdutl snapshot restore /var/s.db --name=${name} ` +
        `--initial-cluster=${peers()} --initial-cluster-token=t2 --initial-advertise-peer-urls=https://${publicIp}:2380 ` +
        `--data-dir=/var/lib/etcd/new --bump-revision=1000000000 --mark-compacted && ` +
        `mv ${DATA}/member ${DATA}/old && mv ${DATA}/new/member ${DATA}/member`,
    );
    await must(first, `mv ${ASIDE}/* ${MANIFESTS} && systemctl restart kubelet`);
    await expect(namespaces()).rejects.toThrow();
    for (const session of sessions.slice(1))
      await must(session, `mv ${ASIDE}/* ${MANIFESTS} && systemctl restart kubelet`);
    await eventually(async () => (await containersOnAll()) === 3);
    const found = await namespaces();
    expect(found).toContain('before');
    expect(found).not.toContain('after');
    expect(Number((await kubernetes.core.listNamespace()).metadata?.resourceVersion)).toBeGreaterThan(1_000_000_000);
  });

  it('rejects an incomplete snapshot', async () => {
    const [first] = sessions as [NodeSSH];
    await must(first, 'printf x >>$FAIRLEAD_ROOT/var/s.db');
    const { code, stderr } = await first.execCommand(
      `etcdutl snapshot restore /var/s.db --name=cp-1 --initial-cluster=cp-1=https://a:2380 --initial-cluster-token=t3 ` +
        '--initial-advertise-peer-urls=https://a:2380 --data-dir=/var/lib/etcd/other',
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('expected sha256')]);
  });
});
