import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { WebSocketServer } from 'ws';
import { ClientNodeKubernetes } from './client-node.js';
import type { ClusterApi } from './cluster.ports.js';
import { makeKubeconfigs, writeKubeconfig } from './kubeconfig.fixtures.js';

const MEBIBYTE = 1024 * 1024;

type Handle = (query: URLSearchParams, response: ServerResponse, request: IncomingMessage) => void;

const send = (response: ServerResponse, body: string | Buffer, headers: Record<string, string> = {}): void =>
  void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);

const node = (name: string, more: object = {}) => ({
  metadata: { name, uid: `uid-${name}`, creationTimestamp: '2026-11-28T10:00:00Z', labels: { zone: 'a' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1.34.4' } },
  ...more,
});

const pod = (name: string, more: object = {}) => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, labels: { app: 'web' } },
  spec: { nodeName: 'w-1', containers: [{ name: 'main', image: 'web:1' }] },
  status: { phase: 'Running' },
  ...more,
});

/** Lists like a real API server, with `limit` and `continue`. */
const pagesOf =
  (objects: readonly object[]): Handle =>
  (query, response) => {
    const from = Number(query.get('continue') ?? 0);
    const to = Math.min(objects.length, from + Number(query.get('limit')));
    const metadata = to < objects.length ? { continue: String(to) } : {};
    send(response, JSON.stringify({ kind: 'List', metadata, items: objects.slice(from, to) }));
  };

const list = (items: string, metadata = '{}'): Handle => {
  const body = `{"kind":"List","metadata":${metadata},"items":${items}}`;
  return (_query, response) => send(response, body);
};

describe('the responses of an API server that root on a control plane has replaced', () => {
  let server: Server;
  let handle: Handle;
  let limits: string[];
  let asked: number;
  let kubeconfig: string;
  let apis: ClientNodeKubernetes;
  let cluster: ClusterApi;

  beforeAll(async () => {
    const { authority } = await makeKubeconfigs({ marker: '/nowhere', elsewhere: 'http://127.0.0.1' });
    const subject = { commonName: 'kube-apiserver', usage: 'server', sans: ['127.0.0.1'] } as const;
    const { certPem, keyPem } = await authority.issue(subject, Date.now());
    server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
      asked += 1;
      const { searchParams } = new URL(request.url ?? '', 'https://api');
      limits.push(searchParams.get('limit') ?? '');
      handle(searchParams, response, request);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    kubeconfig = await writeKubeconfig(authority, undefined, `https://127.0.0.1:${port}`);
  });
  beforeEach(async () => {
    [limits, asked] = [[], 0];
    apis = new ClientNodeKubernetes();
    cluster = await apis.of({ uid: 'uid', cluster: 'default/demo', kubeconfig });
  });
  afterEach(() => {
    apis.close();
    jest.restoreAllMocks();
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const failure = (operation: string, message: string) => ({
    name: 'ExternalFailure',
    operation,
    target: 'default/demo',
    message: expect.stringContaining(message),
  });

  it('are lists of 5,000 nodes and 5,000 pods in pages, if the cluster is honest', async () => {
    handle = pagesOf(Array.from({ length: 5_000 }, (_, at) => node(`w-${at}`)));
    const nodes = await cluster.nodes();
    expect([nodes.length, asked]).toEqual([5_000, 10]);
    expect(nodes[4_999]).toMatchObject({ name: 'w-4999', ready: true, kubeletVersion: 'v1.34.4' });
    expect(nodes[0]?.registered.atMs).toBe(Date.parse('2026-11-28T10:00:00Z'));
    handle = pagesOf(Array.from({ length: 5_000 }, (_, at) => pod(`p-${at}`)));
    expect(await cluster.pods()).toHaveLength(5_000);
  });

  it('are read in smaller pages if objects are large, and in larger ones again afterwards', async () => {
    const annotations = { note: 'x'.repeat(100 * 1024) };
    const large = Array.from({ length: 96 }, (_, at) => pod(`l-${at}`, { metadata: { name: `l-${at}`, annotations } }));
    const small = Array.from({ length: 600 }, (_, at) => pod(`s-${at}`));
    handle = pagesOf([...large, ...small]);
    expect(await cluster.pods()).toHaveLength(696);
    expect(limits).toEqual(['500', '125', '32', '32', '32', '32', '64', '128', '256', '500']);
  });

  it('are limited to 8 MiB each, whatever was requested and whether or not their length is announced', async () => {
    const body = `{"items":[${JSON.stringify(pod('p', { spec: { x: 'x'.repeat(8 * MEBIBYTE) } }))}]}`;
    for (const headers of [{ 'content-length': String(body.length) }, { 'transfer-encoding': 'chunked' }]) {
      limits = [];
      handle = (_query, response) => send(response, body, headers);
      await expect(cluster.pods()).rejects.toMatchObject(
        failure('list pods', 'it answered with more than 8 MiB, even for one object at a time'),
      );
      expect(limits).toEqual(['500', '125', '32', '8', '2', '1']);
    }
  });

  it('are abandoned if a list does not end', async () => {
    const attachments = (count: number): string =>
      JSON.stringify(Array.from({ length: count }, () => ({ metadata: { name: 'a' }, spec: { source: {} } })));
    handle = list(attachments(500), '{"continue":"more"}');
    await expect(cluster.attachedVolumes('w-1')).rejects.toMatchObject(
      failure('list volume attachments', 'there are more than 200000 of them'),
    );
    expect(asked).toBe(401);
    handle = list(attachments(501));
    await expect(cluster.attachedVolumes('w-1')).rejects.toMatchObject(
      failure('list volume attachments', 'it answered with 501 objects where 500 were requested'),
    );
    handle = list('[]', '{"continue":"more"}');
    await expect(cluster.pods()).rejects.toMatchObject(failure('list pods', 'it answered with more than 1000 pages'));
  });

  it('are kept up to 64 MiB of a list', async () => {
    const labels = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`${at}${'k'.repeat(250)}`, 'v'.repeat(250)]),
    );
    const items = JSON.stringify(Array.from({ length: 150 }, () => pod('p', { metadata: { name: 'p', labels } })));
    handle = list(items, '{"continue":"more"}');
    await expect(cluster.pods()).rejects.toMatchObject(
      failure('list pods', 'what is used of them is more than 64 MiB'),
    );
  });

  it('are not decompressed', async () => {
    handle = (_query, response) =>
      send(response, gzipSync(Buffer.alloc(64 * MEBIBYTE)), { 'content-encoding': 'gzip' });
    const words = 'its answer is compressed, which was not requested';
    await expect(cluster.nodes()).rejects.toMatchObject(failure('list nodes', words));
    await expect(cluster.job('default', 'check')).rejects.toMatchObject({ message: words });
  });

  it('are abandoned if they do not end', async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout(200));
    const drips: NodeJS.Timeout[] = [];
    handle = (_query, response) => {
      response.writeHead(200).write('{"items":[');
      drips.push(setInterval(() => response.write(' '), 20));
    };
    await expect(cluster.nodes()).rejects.toMatchObject(failure('list nodes', 'no answer after 15 s'));
    await expect(cluster.failingChecks()).rejects.toMatchObject(failure('read /readyz', 'no answer after 15 s'));
    drips.forEach((drip) => clearInterval(drip));
  });

  it('are rejected as JSON that takes many times its length in memory', async () => {
    handle = list(`[${'{},'.repeat(2_000_000)}{}]`);
    await expect(cluster.nodes()).rejects.toMatchObject(failure('list nodes', 'JSON of more than 1000000 values'));
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    handle = list(nested);
    await expect(cluster.nodes()).rejects.toMatchObject(failure('list nodes', 'nested more than 100 deep'));
    handle = (_query, response) => send(response, nested);
    await expect(cluster.job('default', 'check')).rejects.toThrow('nested more than 100 deep');
    await expect(cluster.freeDisk('w-1')).rejects.toThrow('nested more than 100 deep');
  });

  it('are a ExternalFailure with a message if they are not what Kubernetes writes', async () => {
    const cases: readonly (readonly [string, string])[] = [
      ['[[]]', 'an object that has no valid metadata'],
      ['[{"metadata":{"name":7}}]', 'an object that has no valid metadata'],
      ['[{"metadata":{"name":"a","labels":{"a":{}}}}]', 'an object that has no valid metadata'],
      [
        '[{"metadata":{"name":"a","creationTimestamp":"0000-01-01T00:00:00Z"}}]',
        'an object that has no valid metadata',
      ],
      ['[{"metadata":{"name":"a"},"status":{"conditions":7}}]', 'not as Kubernetes writes it'],
      ['{"length":1e9}', 'something that is no list'],
      ['"', 'something that is no JSON'],
    ];
    for (const [items, words] of cases) {
      handle = list(items);
      await expect(cluster.nodes()).rejects.toMatchObject(failure('list nodes', words));
    }
    handle = list('[]', `{"continue":"${'x'.repeat(10_000)}"}`);
    await expect(cluster.nodes()).rejects.toMatchObject(failure('list nodes', 'a continue token of more than 8192'));
    handle = list(
      JSON.stringify([node('w-1', { spec: { providerID: {} }, status: { nodeInfo: { kubeletVersion: [] } } })]),
    );
    expect(await cluster.nodes()).toMatchObject([{ providerId: '', kubeletVersion: '' }]);
  });

  it('contain no time outside 1970 to 2200', async () => {
    const lease = (renewTime: unknown) => JSON.stringify({ metadata: { name: 'a' }, spec: { renewTime } });
    for (const [time, renewedAt] of [
      ['2026-11-28T10:00:00.123456Z', '2026-11-28T10:00:00.123Z'],
      ['0000-01-01T00:00:00Z', undefined],
      ['9999-12-31T23:59:59Z', undefined],
      ['soon', undefined],
      [{}, undefined],
    ]) {
      handle = (_query, response) => send(response, lease(time));
      expect((await cluster.lease('kube-scheduler'))?.renewedAt).toBe(renewedAt);
    }
  });

  it('are reduced to the gauge of deprecated APIs if they are metrics', async () => {
    const gauge =
      'apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",version="v1"} 1';
    handle = (_query, response) => {
      response.writeHead(200);
      response.write(`${'apiserver_requested_deprecated_apis{'.repeat(100_000)}\n`);
      response.end(`${'apiserver_requested_deprecated_apis{\n'.repeat(900)}${gauge}\n${'other 1\n'.repeat(1_000_000)}`);
    };
    expect(await cluster.deprecatedApis()).toEqual([
      { group: '', version: 'v1', resource: 'endpoints', removedIn: null },
    ]);
  });

  it('contain error messages of at most a thousand characters', async () => {
    handle = (_query, response) => void response.writeHead(500).end(JSON.stringify({ message: 'x'.repeat(30_000) }));
    const error: Error = await cluster.nodes().then(
      () => new Error('none'),
      (reason: Error) => reason,
    );
    expect(error.message).toBe('x'.repeat(1_000));
  });

  it('are limited to messages of one megabyte if a program runs in a container', async () => {
    const streams = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });
    server.on('upgrade', (request, socket, head) =>
      streams.handleUpgrade(request, socket, head, (stream) => stream.send(Buffer.alloc(16 * MEBIBYTE, 1))),
    );
    let taken = 0;
    const program = { pod: 'etcd', namespace: 'kube-system', container: 'etcd', command: ['etcdctl'] };
    const onOutput = (chunk: Buffer): void => void (taken += chunk.length);
    const { signal } = new AbortController();
    await expect(cluster.run({ ...program, signal, onOutput })).rejects.toMatchObject({ name: 'ExternalFailure' });
    expect(taken).toBe(0);
    server.removeAllListeners('upgrade');
    streams.close();
  });

  it('cost at most their budget per minute, and only the cluster itself waits', async () => {
    const other = await apis.of({ uid: 'other', cluster: 'default/other', kubeconfig });
    handle = list('[]');
    // Each poll of it takes 3 s, and so does reading a response.
    let user = 0;
    jest.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: (user += 3e6), system: 0 }));
    const slow = await apis.of({ uid: 'slow', cluster: 'default/demo', kubeconfig });
    await expect(
      Promise.resolve().then(async () => {
        for (let looks = 0; looks < 10; looks += 1) await slow.nodes();
      }),
    ).rejects.toMatchObject(failure('list nodes', 'reading its answers took 10 s within a minute'));
    jest.restoreAllMocks();
    expect(await other.nodes()).toEqual([]);
  });
});
