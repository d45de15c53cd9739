import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubernetesClient, type ExecResult } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { createHash } from 'node:crypto';
import { startBench, type Bench } from '../kubectl.fixtures.js';

describe('Programs in the containers of the simulated etcd', () => {
  let bench: Bench;
  let client: KubernetesClient;
  const signal = AbortSignal.timeout(20_000);

  const run = (command: readonly string[], onOutput?: (chunk: Buffer) => void): Promise<ExecResult> =>
    client.exec({
      namespace: 'kube-system',
      pod: 'etcd-cp1',
      container: 'etcd',
      command,
      signal,
      ...(onOutput === undefined ? {} : { onOutput }),
    });

  beforeAll(async () => {
    bench = await startBench();
    bench.cluster.etcd.add('cp1', 'https://10.0.0.1:2380');
    client = new KubernetesClient(
      'demo',
      await bench.cluster.kubeconfig({ server: bench.server, user: 'admin' }),
      () => undefined,
    );
    await eventually(
      () =>
        bench.cluster
          .pods()
          .some(({ metadata, status }) => metadata.name === 'etcd-cp1' && status?.phase === 'Running'),
      { what: 'etcd-cp1 runs' },
    );
  });
  afterAll(async () => {
    client.close();
    await bench.close();
  });

  it('run over a WebSocket and return their exit code', async () => {
    const { exitCode, stdout } = await run(['etcdctl', 'member', 'list']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f]{16}, started, cp1, https:\/\/10.0.0.1:2380, https:\/\/10.0.0.1:2379, false\n$/);
    expect(await run(['etcdctl', 'move-leader', '1'])).toMatchObject({
      exitCode: 1,
      stderr: 'Error: etcdserver: bad leader transferee\n',
    });
  });

  it("are reported as missing if the image does not contain them, like kubeadm's image", async () => {
    expect(await run(['cat', '/etc/hostname'])).toMatchObject({
      exitCode: null,
      stderr: expect.stringContaining('exec: "cat": executable file not found in $PATH'),
    });
  });

  it('save a snapshot that ends with the SHA-256 of its body, like a real one', async () => {
    expect(await run(['etcdctl', 'snapshot', 'save', '/s.db'])).toMatchObject({ exitCode: 0 });
    const chunks: Buffer[] = [];
    expect(await run(['cp', '/s.db', '/dev/stdout'], (chunk) => chunks.push(chunk))).toMatchObject({ exitCode: 0 });
    const bytes = Buffer.concat(chunks);
    expect(createHash('sha256').update(bytes.subarray(0, -32)).digest()).toEqual(bytes.subarray(-32));
    expect(JSON.parse((await run(['etcdutl', 'snapshot', 'status', '/s.db', '-w', 'json'])).stdout)).toMatchObject({
      totalSize: bytes.length - 32,
      version: '3.6.0',
    });
    expect((await run(['sh', '-c', ': > /s.db'])).exitCode).toBe(0);
    expect(await run(['etcdutl', 'snapshot', 'status', '/s.db', '-w', 'json'])).toMatchObject({ exitCode: 1 });
  });

  it('exist only in etcd containers', async () => {
    const entering = client.exec({
      namespace: 'kube-system',
      pod: 'kube-apiserver-cp1',
      container: 'kube-apiserver',
      command: ['ls'],
      signal,
    });
    await expect(entering).rejects.toMatchObject({ operation: 'run ls in kube-apiserver-cp1', target: 'demo' });
  });

  it("reach a control plane's own API server and a kubelet's statistics through the API proxy", async () => {
    const readyz = await client.get(
      '/api/v1/namespaces/kube-system/pods/https:kube-apiserver-cp1:6443/proxy/readyz?verbose',
    );
    expect(readyz).toMatchObject({ status: 200, text: expect.stringContaining('[+]etcd ok') });
    const { text } = await client.get('/api/v1/nodes/w1/proxy/stats/summary');
    expect(JSON.parse(text)).toMatchObject({ node: { nodeName: 'w1', fs: { availableBytes: expect.any(Number) } } });
  });
});
