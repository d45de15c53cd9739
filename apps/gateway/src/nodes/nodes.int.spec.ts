import type {
  ClusterView,
  ErrorView,
  Fact,
  MachineList,
  NodeList,
  NodeView,
  OperationView,
  SecretRef,
  StatusView,
} from '@fairlead/contracts';
import { kubeconfigOf, sealedAdministrator } from '@fairlead/kubernetes/kubeconfig';
import { NatsSecrets } from '@fairlead/service-kit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { localActor, prepareWorld, request, startTestGateway, type TestGateway } from '../gateway.fixtures.js';
import { makeKubeconfigs } from '../../../../libs/kubernetes/src/kubeconfig.fixtures.js';
import { CREATE, nodeFact, uid as storyUid } from '../story.fixtures.js';

let gateway: TestGateway;
let uid: string;

const path = '/ns/default/clusters/demo';

/** The story's facts, about the cluster that the gateway made. */
const about = (fact: Fact): Fact => JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact;
const state = (fact: Fact) => gateway.state(about(fact));

beforeAll(async () => {
  gateway = await startTestGateway();
  await prepareWorld(gateway);
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('demo') });
  uid = body.uid;
  expect((await gateway.ask('GET', `${path}?minSeq=${body.lastSeq}`)).status).toBe(200);
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
}, 30_000);

const worker = [{ connection: 'lab', count: 1, spec: 'lab.small' }];

describe('a cluster that is being built', () => {
  it('has no kubeconfig yet, and takes no nodes', async () => {
    const kubeconfig = await gateway.ask<ErrorView>('GET', `${path}/kubeconfig`);
    expect([kubeconfig.status, kubeconfig.body.reason]).toEqual([409, 'cluster.kubeconfig-not-yet']);
    const more = await gateway.ask<ErrorView>('POST', `${path}/nodes`, { body: { worker } });
    expect([more.status, more.body.message]).toEqual([409, "Unable to add a node. status is 'Pending'."]);
  });

  it('shows every event of its story, to the end', async () => {
    let seq = 0;
    for (const fact of CREATE.slice(1)) seq = (await state(fact)).meta.seq;
    const { body } = await gateway.ask<ClusterView>('GET', `${path}?minSeq=${seq}`);
    expect([body.status.phase, body.cpLeader, body.nodes.length]).toEqual(['Provisioned', 'demo-cp-1', 5]);
    expect(body.progress?.steps.map(({ state: at }) => at)).toEqual(body.progress?.steps.map(() => 'done'));
    expect(body.conditions.map(({ status }) => status)).toEqual(['True', 'True', 'True', 'True', 'True']);
  });
});

describe('the nodes of a cluster', () => {
  it('and its machines can be listed, and each be had by name', async () => {
    const nodes = (await gateway.ask<NodeList>('GET', `${path}/nodes`)).body;
    expect([nodes.kind, nodes.items.map(({ name, role, phase }) => `${name} ${role} ${phase}`)]).toEqual([
      'NodeList',
      [
        'demo-cp-1 control-plane Ready',
        'demo-cp-2 control-plane Ready',
        'demo-cp-3 control-plane Ready',
        'demo-w-1 worker Ready',
        'demo-w-2 worker Ready',
      ],
    ]);
    const one = (await gateway.ask<NodeView>('GET', `${path}/nodes/demo-w-1`)).body;
    expect(one).toMatchObject({
      kind: 'Node',
      zoneLabel: 'topology.kubernetes.io/zone=lab-1a',
      software: { kubelet: '1.34.4' },
    });
    const machines = (await gateway.ask<MachineList>('GET', `${path}/machines`)).body;
    expect(machines.items.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'running'));
    const none = await gateway.ask<ErrorView>('GET', `${path}/nodes/demo-w-9`);
    expect([none.status, none.body.message]).toEqual([404, "Could not be found a node-entity 'demo-w-9'"]);
  });

  it('can be asked to be more, once for all repetitions of one key', async () => {
    const headers = { 'idempotency-key': 'more-1' };
    const first = await gateway.ask<NodeList>('POST', `${path}/nodes`, { body: { worker }, headers });
    const second = await gateway.ask<NodeList>('POST', `${path}/nodes`, { body: { worker }, headers });
    expect([first.status, second.status, second.headers.get('location')]).toEqual([
      202,
      202,
      first.headers.get('location'),
    ]);
    expect((await gateway.log('evt.*.default.demo.wish.NodesRequested')).length).toBe(1);
    const busy = await gateway.ask<ErrorView>('POST', `${path}/nodes`, { body: { worker } });
    expect([busy.status, busy.body.reason]).toEqual([409, 'cluster.busy']);
    const abandoned = await gateway.ask<NodeList>('POST', `${path}/nodes/abandon`);
    expect([abandoned.status, abandoned.body.items.length]).toEqual([202, 5]);
    const again = await gateway.ask<ErrorView>('POST', `${path}/nodes/abandon`);
    expect([again.status, again.body.reason]).toEqual([409, 'nodes.nothing-to-abandon']);
    const operation = await gateway.ask<OperationView>('GET', `${first.headers.get('location')}`);
    expect([operation.status, operation.body.kind, operation.body.phase, operation.body.message]).toEqual([
      200,
      'add-nodes',
      'Failed',
      'it was given up',
    ]);
  });

  it.each([
    [{ controlPlane: worker, worker }, 400, 'node.control-plane-unsupported', 'controlPlane'],
    [{ worker: [] }, 400, 'cluster.worker-missing', 'worker'],
    [{ worker: [{ ...worker[0], connection: 'moon' }] }, 422, 'connection.unknown', 'worker[0].connection'],
    [{ workers: [] }, 400, 'request.unknown-field', 'workers'],
  ])('cannot be asked to be more by %j', async (body, status, reason, field) => {
    const before = (await gateway.log()).length;
    const answer = await gateway.ask<ErrorView>('POST', `${path}/nodes`, { body });
    expect([answer.status, answer.body.reason, answer.body.field]).toEqual([status, reason, field]);
    expect((await gateway.log()).length).toBe(before);
  });

  it('can be asked to go, but not the leader', async () => {
    const leader = await gateway.ask<ErrorView>('DELETE', `${path}/nodes/demo-cp-1`);
    expect([leader.status, leader.body.message]).toEqual([409, 'Could not be delete a control-plane leader node.']);
    const answer = gateway.ask<StatusView>('DELETE', `${path}/nodes/demo-w-2`, { headers: { prefer: 'wait=30' } });
    const deadline = Date.now() + 5_000;
    while ((await gateway.log('evt.*.default.demo.wish.NodeRemovalRequested')).length === 0)
      if (Date.now() > deadline) throw new Error('nobody asked for the removal');
    await state(nodeFact('NodeDrained', 'demo-w-2', { evictedPods: 0, dead: false }));
    await state(nodeFact('NodeRemoved', 'demo-w-2'));
    await state({ type: 'VmDeleted', data: { uid: storyUid, name: 'demo-w-2' as never } });
    const { status, body } = await answer;
    expect([status, body.message]).toEqual([200, "Node 'demo-w-2' is removed."]);
    const left = (await gateway.ask<NodeList>('GET', `${path}/nodes`)).body.items.map(({ name }) => name);
    expect(left).toEqual(['demo-cp-1', 'demo-cp-2', 'demo-cp-3', 'demo-w-1']);
  });
});

describe('the kubeconfig', () => {
  it('is never given out with a trick of a hostile host in it; what is safe is, and each reading is on record with its reader', async () => {
    const master = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
    const bootstrap = new NatsSecrets(await gateway.environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
    const ref = `bootstrap-svc.kubeconfig.${uid}` as SecretRef;
    const { genuine, tricks } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
    for (const { text, says } of tricks.filter((trick) => trick.text.length < 100_000)) {
      await bootstrap.put(ref, text, uid);
      const refused = await gateway.ask<ErrorView>('GET', `${path}/kubeconfig`);
      expect([refused.status, refused.body.reason]).toEqual([409, 'cluster.kubeconfig-refused']);
      expect(refused.body.message).toContain(says);
    }
    const secret = kubeconfigOf('demo', sealedAdministrator(genuine, 'demo'));
    await bootstrap.put(ref, genuine, uid);
    const { status, headers, body } = await gateway.ask<string>('GET', `${path}/kubeconfig`);
    expect([status, body]).toEqual([200, secret]);
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
      expect.stringContaining('application/yaml'),
      'no-store',
    ]);
    const reads = await gateway.log('evt.*.default.demo.audit.KubeconfigRead');
    expect(reads.map(({ meta, data }) => [meta.actor, data])).toEqual([[localActor(gateway), { uid }]]);
    const key = /client-key-data: (\S+)/.exec(secret)?.[1] ?? '';
    expect(key).not.toBe('');
    expect(JSON.stringify(await gateway.log())).not.toContain(key);
  });
});

describe('what is parked', () => {
  const parked = { service: 'infra-svc', consumer: 'process:create', namespace: 'default', cluster: 'demo' };

  it('is listed until somebody lets it go on, which is on record', async () => {
    const fact: Fact = {
      type: 'ClusterParked',
      data: { service: 'infra-svc', consumer: 'process:create', eventSeq: 3, eventId: 'e3', error: 'a fault' },
    };
    const { meta } = await gateway.state(fact, { context: 'parked-infra-svc' });
    const { body } = await gateway.ask<{ items: unknown[] }>('GET', `/parked?minSeq=${meta.seq}`);
    expect(body.items).toEqual([expect.objectContaining({ ...parked, seq: 3, error: 'a fault' })]);
    const unknown = await gateway.ask<ErrorView>('POST', '/parked/release', {
      body: { ...parked, consumer: 'x', mode: 'skip' },
    });
    expect([unknown.status, unknown.body.reason]).toEqual([404, 'parked.unknown']);
    const released = await gateway.ask('POST', '/parked/release', { body: { ...parked, mode: 'skip' } });
    expect(released.status).toBe(202);
    const after = await gateway.ask<{ items: unknown[] }>(
      'GET',
      `/parked?minSeq=${released.headers.get('x-fairlead-seq')}`,
    );
    expect(after.body.items).toEqual([]);
    const [record] = await gateway.log('evt.*.default.demo.audit.ParkedClusterReleased');
    expect([record?.meta.actor, record?.data]).toEqual([
      localActor(gateway),
      { service: 'infra-svc', consumer: 'process:create', mode: 'skip' },
    ]);
  });
});
