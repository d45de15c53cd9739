import * as grpc from '@grpc/grpc-js';
import type { AutoscalerCredentialList, ClusterUid, ErrorView, StoredEvent } from '@fairlead/contracts';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { useGateway } from '../gateway.fixtures.js';
import {
  added,
  clientOf,
  connect,
  credentialFor,
  provisioned,
  SERVED,
  type AutoscalerClient,
} from './autoscaler.fixtures.js';
import { SERVICE } from './externalgrpc.messages.js';

let uid: ClusterUid;
let client: AutoscalerClient;
const clients: AutoscalerClient[] = [];
const gateway = useGateway(
  async () => {
    uid = await provisioned(gateway, 'demo');
    await provisioned(gateway, 'other');
    const offer = { provider: 'lab', region: 'lab-1', zones: ['lab-1a'], capabilities: { nlb: true, simulated: true } };
    const spec = { name: 'lab.medium', cpuCount: 4, memoryGiB: 8, cpuClockGHz: null };
    await gateway.state(
      {
        type: 'ConnectionVerified',
        data: { connection: 'lab', offer: { ...offer, specs: [spec, { ...spec, name: 'lab.small' }] } },
      } as never,
      { namespace: '_', cluster: '_' },
    );
    client = await opened('demo');
  },
  { variables: SERVED },
);
afterAll(() => clients.forEach((one) => one.close()));

const opened = async (cluster: string): Promise<AutoscalerClient> => {
  const one = await connect(gateway, cluster);
  clients.push(one);
  return one;
};

const refusalOf = async (asked: Promise<unknown>): Promise<[string, string]> => {
  const error = await asked.then(
    () => undefined,
    (failure: unknown) => failure as grpc.ServiceError,
  );
  return [grpc.status[error?.code ?? 0] ?? '', /\(([\w.-]+)\)$/.exec(error?.details ?? '')?.[1] ?? ''];
};

const PROTO = new URL('../../upstream/cluster-autoscaler/1.36.1/externalgrpc.proto', import.meta.url);

/** A client whose stubs are generated from the published .proto. */
const generated = (): ((method: string, request: object) => Promise<Record<string, unknown>>) => {
  const Service = loadSync(fileURLToPath(PROTO), { keepCase: true, defaults: true, enums: String })[
    SERVICE
  ] as grpc.ServiceDefinition;
  const { address, caCertificate, certificate } = client.credential;
  const tls = grpc.credentials.createSsl(...[caCertificate, client.key, certificate].map((pem) => Buffer.from(pem)));
  const stub = new (grpc.makeClientConstructor(Service, 'CloudProvider'))(address, tls);
  clients.push({ ...client, close: () => stub.close() });
  return (method, request) =>
    new Promise((resolve, reject) => {
      const call = stub[method] as (asked: object, done: grpc.requestCallback<Record<string, unknown>>) => unknown;
      call.call(stub, request, (error, answer) => (error === null ? resolve(answer ?? {}) : reject(error)));
    });
};

const target = async (id: string): Promise<number> => (await client.call('NodeGroupTargetSize', { id })).targetSize;
const events = async (cluster = 'demo'): Promise<readonly StoredEvent[]> =>
  gateway.log(`evt.*.default.${cluster}.request.>`);
const lastRequest = async (): Promise<string> => {
  const found = (await events()).findLast(({ type }) => type === 'NodesRequested');
  return found?.type === 'NodesRequested' ? found.data.requestId : '';
};
const play = async (pool: string, names: readonly string[], until: 'planned' | 'ready'): Promise<void> => {
  for (const fact of added(uid, await lastRequest(), { pool, names, until })) await gateway.state(fact);
};

describe('an autoscaler of a cluster', () => {
  it('gets a sentence on its unknown pool, however long the id that it sends', async () => {
    const error = await client.call('NodeGroupTargetSize', { id: 'x'.repeat(100_000) }).then(
      () => undefined,
      (failure: unknown) => failure as grpc.ServiceError,
    );
    expect(grpc.status[error?.code ?? 0]).toBe('NOT_FOUND');
    expect(error?.details.length).toBeLessThan(1_500);
  });

  it('sees the pools that have bounds as node groups, and no others', async () => {
    const { nodeGroups } = await client.call('NodeGroups', {});
    expect(nodeGroups.map(({ id, minSize, maxSize }) => [id, minSize, maxSize])).toEqual([
      ['worker-1', 1, 4],
      ['batch', 0, 3],
    ]);
    expect(await refusalOf(client.call('NodeGroupTargetSize', { id: 'fixed' }))).toEqual(['NOT_FOUND', 'pool.unknown']);
  });

  it('finds the group of a node by its provider ID, and none of a node that is not of a pool with bounds', async () => {
    const groupOf = async (providerID: string, name = 'x') =>
      (await client.call('NodeGroupForNode', { node: { providerID, name } })).nodeGroup.id;
    expect(await groupOf('lab://demo-w-1')).toBe('worker-1');
    expect(await groupOf('', 'demo-w-1')).toBe('worker-1');
    for (const foreign of ['lab://demo-cp-1', 'lab://other-w-1', 'aws:///i-1', ''])
      expect(await groupOf(foreign)).toBe('');
  });

  it('gets a node of an empty pool as it would be: capacity of its machine type, labels and taints of the pool', async () => {
    const { nodeBytes, nodeInfo } = await client.call('NodeGroupTemplateNodeInfo', { id: 'batch' });
    expect(Buffer.from(nodeInfo).equals(Buffer.from(nodeBytes))).toBe(true);
    const text = Buffer.from(nodeBytes).toString('latin1');
    for (const part of ['tier', 'batch', 'dedicated', 'NoSchedule', '7618Mi', '7518Mi']) expect(text).toContain(part);
  });

  it('is answered with what it sent where the protocol asks for options, and does without prices', async () => {
    const defaults = Buffer.from('09000000000000e03f', 'hex');
    const { nodeGroupAutoscalingOptions } = await client.call('NodeGroupGetOptions', { id: 'batch', defaults });
    expect(Buffer.from(nodeGroupAutoscalingOptions).equals(defaults)).toBe(true);
    expect((await refusalOf(client.call('PricingNodePrice', {})))[0]).toBe('UNIMPLEMENTED');
    expect((await refusalOf(client.call('PricingPodPrice', {})))[0]).toBe('UNIMPLEMENTED');
    for (const method of ['Refresh', 'GetAvailableGPUTypes', 'Cleanup'] as const) await client.call(method, {});
    expect(await client.call('GPULabel', {})).toEqual({ label: '' });
  });
});

/** They set no deadline. */
describe('stubs that are generated from the published .proto', () => {
  it('are answered with groups, the node of an empty pool and options in their own fields', async () => {
    const call = generated();
    const { nodeGroups } = await call('NodeGroups', {});
    expect(nodeGroups).toMatchObject([
      { id: 'worker-1', minSize: 1, maxSize: 4 },
      { id: 'batch', minSize: 0, maxSize: 3 },
    ]);
    const { nodeBytes } = await call('NodeGroupTemplateNodeInfo', { id: 'batch' });
    expect((nodeBytes as Buffer).toString('latin1')).toContain('template-of-batch');
    const defaults = { scaleDownUtilizationThreshold: 0.5, scaleDownUnneededDuration: { seconds: 600 } };
    const { nodeGroupAutoscalingOptions } = await call('NodeGroupGetOptions', { id: 'batch', defaults });
    expect(nodeGroupAutoscalingOptions).toMatchObject({ scaleDownUtilizationThreshold: 0.5 });
    const { instances } = await call('NodeGroupNodes', { id: 'worker-1' });
    expect(instances).toMatchObject([{ status: { instanceState: 'instanceRunning' } }, {}]);
  });

  it('get the code and the message of a refusal', async () => {
    const failure = await generated()('NodeGroupIncreaseSize', { id: 'worker-1', delta: 100 }).catch((error) => error);
    expect(failure).toMatchObject({ code: grpc.status.OUT_OF_RANGE, details: expect.stringContaining('worker-1') });
  });
});

describe('what an autoscaler changes', () => {
  it('is read back at once, and recorded as done by system/autoscaler, machines and size for one cause [Cluster API 19, Cluster API 35, azimuth 30]', async () => {
    await client.call('NodeGroupIncreaseSize', { id: 'batch', delta: 2 });
    expect(await target('batch')).toBe(2);
    const [requested, changed] = (await events()).slice(-2);
    expect(requested).toMatchObject({ type: 'NodesRequested', data: { workers: [{ pool: 'batch', count: 2 }] } });
    expect(changed).toMatchObject({ type: 'ClusterSpecChanged', meta: { actor: 'system/autoscaler' } });
    expect(changed?.meta.correlationId).toMatch(new RegExp(`^request/autoscaler-${client.credential.id}-`));
    const { actor, causationId, correlationId } = changed!.meta;
    expect(requested?.meta).toMatchObject({ actor, causationId, correlationId });
  });

  it('shows its nodes as they are: planned, running, leaving', async () => {
    await play('batch', ['demo-w-3', 'demo-w-4'], 'planned');
    const states = async () =>
      Object.fromEntries(
        (await client.call('NodeGroupNodes', { id: 'batch' })).instances.map(({ id, status }) => [
          id,
          status.instanceState,
        ]),
      );
    await expectSoon(states, { 'fairlead://default/demo/demo-w-3': 2, 'fairlead://default/demo/demo-w-4': 2 });
    await play('batch', ['demo-w-3', 'demo-w-4'], 'ready');
    await expectSoon(states, { 'lab://demo-w-3': 1, 'lab://demo-w-4': 1 });
    const node = { providerID: 'lab://demo-w-3', name: 'demo-w-3' };
    await client.call('NodeGroupDeleteNodes', { id: 'batch', nodes: [node] });
    expect(await states()).toEqual({ 'lab://demo-w-3': 3, 'lab://demo-w-4': 1 });
    expect(await target('batch')).toBe(1);
  });

  it('removes exactly the nodes that are named, once', async () => {
    const node = { providerID: 'lab://demo-w-3', name: 'demo-w-3' };
    await client.call('NodeGroupDeleteNodes', { id: 'batch', nodes: [node, node] });
    expect(await target('batch')).toBe(1);
    const removed = (await events()).flatMap((event) =>
      event.type === 'NodeRemovalRequested' ? [event.data.node] : [],
    );
    expect(removed).toEqual(['demo-w-3']);
    const foreign = { providerID: 'lab://demo-w-1', name: 'demo-w-1' };
    expect(await refusalOf(client.call('NodeGroupDeleteNodes', { id: 'batch', nodes: [foreign] }))).toEqual([
      'NOT_FOUND',
      'autoscaler.node-foreign',
    ]);
  });

  it('stays within the bounds, and says so [azimuth 30]', async () => {
    const outOfRange = ['OUT_OF_RANGE', 'pool.scale-out-of-bounds'];
    expect(await refusalOf(client.call('NodeGroupIncreaseSize', { id: 'batch', delta: 3 }))).toEqual(outOfRange);
    const nodes = ['demo-w-1', 'demo-w-2'].map((name) => ({ providerID: `lab://${name}`, name }));
    expect(await refusalOf(client.call('NodeGroupDeleteNodes', { id: 'worker-1', nodes }))).toEqual(outOfRange);
    for (const delta of [0, -1])
      expect(await refusalOf(client.call('NodeGroupIncreaseSize', { id: 'batch', delta }))).toEqual([
        'INVALID_ARGUMENT',
        'autoscaler.delta-invalid',
      ]);
    expect(await target('worker-1')).toBe(2);
  });

  it('lowers the size by machines that do not exist yet, and by no others', async () => {
    await client.call('NodeGroupIncreaseSize', { id: 'worker-1', delta: 1 });
    const lower = (delta: number) => client.call('NodeGroupDecreaseTargetSize', { id: 'worker-1', delta });
    expect(await refusalOf(lower(-2))).toEqual(['OUT_OF_RANGE', 'autoscaler.nodes-exist']);
    await lower(-1);
    expect(await target('worker-1')).toBe(2);
    expect(await refusalOf(lower(-1))).toEqual(['OUT_OF_RANGE', 'autoscaler.nodes-exist']);
  });
});

describe('the certificate of an autoscaler', () => {
  it('opens one cluster only', async () => {
    const other = await opened('other');
    await other.call('NodeGroupIncreaseSize', { id: 'worker-1', delta: 1 });
    expect((await other.call('NodeGroupTargetSize', { id: 'worker-1' })).targetSize).toBe(3);
    expect(await target('worker-1')).toBe(2);
  });

  it('is asked for before anything else: a client without one, or with one of its own, gets no connection', async () => {
    const ca = Buffer.from(client.credential.caCertificate);
    for (const tls of [grpc.credentials.createSsl(ca), grpc.credentials.createInsecure()]) {
      const stranger = clientOf(client, tls);
      clients.push(stranger);
      expect((await refusalOf(stranger.call('NodeGroups', {}, { deadlineMs: 3_000 })))[0]).not.toBe('OK');
    }
  });

  it('opens nothing once it is revoked, and others go on', async () => {
    const path = '/ns/default/clusters/demo/autoscaler/credentials';
    const leaving = await opened('demo');
    await leaving.call('NodeGroups', {});
    const { status } = await gateway.ask('DELETE', `${path}/${leaving.credential.id}`);
    expect(status).toBe(200);
    expect(await refusalOf(leaving.call('NodeGroups', {}))).toEqual([
      'UNAUTHENTICATED',
      'autoscaler.credential-refused',
    ]);
    await client.call('NodeGroups', {});
    const { body } = await gateway.ask<AutoscalerCredentialList>('GET', path);
    expect(body.items.map(({ id }) => id)).toEqual([client.credential.id]);
    const again = await gateway.ask<ErrorView>('DELETE', `${path}/${leaving.credential.id}`);
    expect([again.status, again.body.reason]).toEqual([404, 'autoscaler.credential-unknown']);
  });

  it('has the limits of a token: too many calls are refused until some time has passed', async () => {
    const { index: replica } = await gateway.startReplica({ ...SERVED, TOKEN_READS_LIMIT: '0.1/3' });
    const busy = clientOf(await credentialFor(gateway, 'demo', { replica }));
    clients.push(busy);
    for (let count = 0; count < 3; count += 1) await busy.call('Refresh', {});
    expect(await refusalOf(busy.call('Refresh', {}))).toEqual(['RESOURCE_EXHAUSTED', 'token.too-many-requests']);
    await client.call('Refresh', {});
    await gateway.ask('DELETE', `/ns/default/clusters/demo/autoscaler/credentials/${busy.credential.id}`);
  });

  it('is signed for a key that is proven and strong enough, of which there are at most ten', async () => {
    const path = '/ns/default/clusters/other/autoscaler/credentials';
    for (const csr of ['', 'x', '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----']) {
      const { status, body } = await gateway.ask<ErrorView>('POST', path, { body: { csr } });
      expect([status, body.reason]).toEqual([400, 'autoscaler.csr-invalid']);
    }
    for (let count = 1; count < 10; count += 1) await credentialFor(gateway, 'other');
    await expect(credentialFor(gateway, 'other')).rejects.toThrow('autoscaler.too-many-credentials');
  });
});

const expectSoon = async <Value>(read: () => Promise<Value>, expected: Value): Promise<void> => {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (JSON.stringify(await read()) === JSON.stringify(expected)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  expect(await read()).toEqual(expected);
};
