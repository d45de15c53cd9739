import { nodeLogs } from '@fairlead/api-client';
import {
  logAskSubject,
  logLinesSubject,
  type ClusterUid,
  type ClusterView,
  type ErrorView,
  type Fact,
  type LogAsk,
  type LogLines,
  type MachineList,
  type NodeList,
  type NodeName,
  type NodeReplacementsView,
  type NodeView,
  type OperationView,
  type SecretRef,
  type StatusView,
} from '@fairlead/contracts';
import { kubeconfigOf, sealedAdministrator } from '@fairlead/kubernetes/kubeconfig';
import { NatsSecrets } from '@fairlead/service-kit';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { playIssuer } from './issuer.fixtures.js';
import { localActor, request, useGateway } from '../gateway.fixtures.js';
import { makeKubeconfigs } from '../../../../libs/kubernetes/src/kubeconfig.fixtures.js';
import { CREATE, nodeFact, uid as storyUid } from '../story.fixtures.js';

const gateway = useGateway(async () => {
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', {
    body: request('demo', { serviceType: 'multi' }),
  });
  uid = body.uid;
  expect((await gateway.ask('GET', `${path}?minSeq=${body.lastSeq}`)).status).toBe(200);
});
let uid: string;

const path = '/ns/default/clusters/demo';

/** The story's facts, about the cluster that the gateway made. */
const about = (fact: Fact): Fact => JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact;
const state = (fact: Fact) => gateway.state(about(fact));

const worker = [{ connection: 'lab', count: 1, spec: 'lab.small' }];

describe('a cluster that is being built', () => {
  it('has no kubeconfig yet, and takes no nodes', async () => {
    const kubeconfig = await gateway.ask<ErrorView>('GET', `${path}/kubeconfig`);
    expect([kubeconfig.status, kubeconfig.body.reason]).toEqual([409, 'cluster.kubeconfig-not-ready']);
    const more = await gateway.ask<ErrorView>('POST', `${path}/nodes`, { body: { worker } });
    expect([more.status, more.body.message]).toEqual([409, 'Unable to add a node: the cluster is Pending']);
  });

  it('shows every event of its story, to the end', async () => {
    let seq = 0;
    for (const fact of CREATE.slice(1)) seq = (await state(fact)).meta.seq;
    const { body } = await gateway.ask<ClusterView>('GET', `${path}?minSeq=${seq}`);
    expect([body.status.phase, body.cpLeader, body.nodes.length]).toEqual(['Provisioned', 'demo-cp-1', 5]);
    expect(body.progress?.steps.map(({ state: at }) => at)).toEqual(body.progress?.steps.map(() => 'done'));
    expect(body.conditions.slice(0, 5).map(({ status }) => status)).toEqual(['True', 'True', 'True', 'True', 'True']);
    expect([body.status.state, body.status.reasons]).toEqual(['Running', []]);
  });
});

describe('the nodes of a cluster', () => {
  it('and its machines are listed, and each is read by its name; a name without a node is 404 [CB-Ladybug 3]', async () => {
    const nodes = (await gateway.ask<NodeList>('GET', `${path}/nodes`)).body;
    const some = async (query: string) => {
      const { status, body } = await gateway.ask<NodeList>('GET', `${path}/nodes?${query}`);
      return status === 200 ? body.items.map(({ name }) => name) : status;
    };
    const [workers, controlPlanes] = (['worker', 'control-plane'] as const).map((role) =>
      nodes.items.flatMap((node) => (node.role === role ? [node.name] : [])),
    );
    expect(await some('pool=control-plane')).toEqual(controlPlanes);
    expect(await some(`pool=control-plane,${nodes.items.find(({ role }) => role === 'worker')?.pool}`)).toHaveLength(5);
    expect(await some(`labelSelector=kubernetes.io/hostname=${workers![0]}`)).toEqual([workers![0]]);
    expect([await some('labelSelector=tier=web'), await some('labelSelector=tier')]).toEqual([[], 400]);
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
    expect([none.status, none.body.message]).toEqual([404, "The node 'demo-w-9' does not exist"]);
  });

  it('are added once for all repetitions of one key', async () => {
    const headers = { 'idempotency-key': 'more-1' };
    const first = await gateway.ask<NodeList>('POST', `${path}/nodes`, { body: { worker }, headers });
    const second = await gateway.ask<NodeList>('POST', `${path}/nodes`, { body: { worker }, headers });
    expect([first.status, second.status, second.headers.get('location')]).toEqual([
      202,
      202,
      first.headers.get('location'),
    ]);
    expect((await gateway.log('evt.*.default.demo.request.NodesRequested')).length).toBe(1);
    const abandoned = await gateway.ask<NodeList>('POST', `${path}/nodes/abandon`);
    expect([abandoned.status, abandoned.body.items.length]).toEqual([202, 5]);
    const again = await gateway.ask<ErrorView>('POST', `${path}/nodes/abandon`);
    expect([again.status, again.body.reason]).toEqual([409, 'nodes.nothing-to-abandon']);
    const operation = await gateway.ask<OperationView>('GET', `${first.headers.get('location')}`);
    expect([operation.status, operation.body.kind, operation.body.phase, operation.body.message]).toEqual([
      200,
      'add-nodes',
      'Failed',
      'The request for nodes was given up',
    ]);
  });

  it.each([
    {
      body: { controlPlane: worker, worker },
      refused: [400, 'node.control-plane-unsupported', 'Control planes cannot be added by this route', 'controlPlane'],
    },
    {
      body: { worker: [] },
      refused: [400, 'cluster.worker-missing', 'At least one set of workers is needed', 'worker'],
    },
    {
      body: { worker: [{ ...worker[0], connection: 'moon' }] },
      refused: [422, 'connection.unknown', "The connection 'moon' does not exist", 'worker[0].connection'],
    },
    { body: { workers: [] }, refused: [400, 'request.unknown-field', 'Unknown field workers', 'workers'] },
  ])('cannot be added by $body [CB-Ladybug 3, CB-Ladybug 30]', async ({ body, refused }) => {
    const before = (await gateway.log()).length;
    const { status, body: error } = await gateway.ask<ErrorView>('POST', `${path}/nodes`, { body });
    expect([status, error.reason, error.message, error.field]).toEqual(refused);
    expect((await gateway.log()).length).toBe(before);
  });

  it('are replaced as a pool: once for one key, shown as an operation, and by no other request meanwhile', async () => {
    const replacements = `${path}/nodes/replacements`;
    const headers = { 'idempotency-key': 'replace-1' };
    const body = { select: { pools: ['worker-1'] }, reason: 'bad disks' };
    const first = await gateway.ask<NodeReplacementsView>('POST', replacements, { body, headers });
    const second = await gateway.ask<NodeReplacementsView>('POST', replacements, { body, headers });
    expect([first.status, first.body.nodes, second.body]).toEqual([202, ['demo-w-1', 'demo-w-2'], first.body]);
    const stated = await gateway.log('evt.*.default.demo.request.PoolRolloutRequested');
    expect(stated.map(({ meta, data }) => [meta.id, data])).toEqual([
      [
        first.body.operations[0],
        expect.objectContaining({ pool: 'worker-1', nodes: first.body.nodes, reason: 'bad disks' }),
      ],
    ]);
    const operation = await gateway.ask<OperationView>('GET', `${first.headers.get('location')}`);
    expect([operation.status, operation.body.kind, operation.body.phase]).toEqual([200, 'replace-nodes', 'Running']);
    const busy = await gateway.ask<ErrorView>('POST', replacements, { body: { select: { all: true } } });
    expect([busy.status, busy.body.reason]).toEqual([409, 'cluster.busy']);
    expect((await gateway.ask('POST', `${path}/nodes/abandon`)).status).toBe(202);
  });

  it('can be removed below the base of CB-Ladybug, except the leader [CB-Ladybug 3]', async () => {
    const leader = await gateway.ask<ErrorView>('DELETE', `/ladybug${path}/nodes/demo-cp-1`);
    expect([leader.status, leader.body.message]).toEqual([409, 'Could not be delete a control-plane leader node.']);
    const answer = gateway.ask<StatusView>('DELETE', `${path}/nodes/demo-w-2`, { headers: { prefer: 'wait=30' } });
    const deadline = Date.now() + 5_000;
    while ((await gateway.log('evt.*.default.demo.request.NodeRemovalRequested')).length === 0)
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

describe('the name of a node with its provider and pool', () => {
  it('is listed, and names it where it is read, rebooted, replaced or runs a command; with another provider or pool it is unknown [ORBITER 31]', async () => {
    const { items } = (await gateway.ask<NodeList>('GET', `${path}/nodes`)).body;
    const { pool } = items.find(({ name }) => name === 'demo-w-1')!;
    const qualified = `lab.${pool}.demo-w-1`;
    expect(items.map(({ qualifiedName }) => qualifiedName)).toEqual([
      ...[1, 2, 3].map((at) => `lab.control-plane.demo-cp-${at}`),
      qualified,
    ]);
    const read = await gateway.ask<NodeView>('GET', `${path}/nodes/${qualified}`);
    expect([read.status, read.body.name]).toEqual([200, 'demo-w-1']);
    const ran = await gateway.ask('POST', `${path}/nodes/${qualified}/exec`, { body: { command: ['uptime'] } });
    expect(ran.status).toBe(202);
    const [asked] = await gateway.log('evt.*.default.demo.audit.NodeExecRequested');
    expect(asked?.data).toMatchObject({ node: 'demo-w-1', command: ['uptime'] });
    const replaced = await gateway.ask('POST', `${path}/nodes/${qualified}/replace`, { body: { reason: 'its disk' } });
    expect(replaced.status).toBe(202);
    const replacement = (await gateway.log('evt.*.default.demo.request.NodeReplacementRequested')).at(-1);
    expect(replacement?.data).toMatchObject({ node: 'demo-w-1' });
    expect((await gateway.ask('POST', `${path}/nodes/abandon`)).status).toBe(202);
    const select = { nodes: [qualified, 'lab.control-plane.demo-cp-2'] };
    const rebooted = await gateway.ask('POST', `${path}/nodes/actions`, { body: { action: 'reboot', select } });
    expect(rebooted.status).toBe(202);
    const [action] = await gateway.log('evt.*.default.demo.request.NodeActionRequested');
    expect(action?.data).toMatchObject({ action: 'reboot', nodes: ['demo-cp-2', 'demo-w-1'] });
    for (const stranger of [`aws.${pool}.demo-w-1`, 'lab.other.demo-w-1', `lab.${pool}.demo-w-9`, 'lab.demo-w-1']) {
      const none = await gateway.ask<ErrorView>('GET', `${path}/nodes/${stranger}`);
      expect([stranger, none.status, none.body.reason]).toEqual([stranger, 404, 'node.unknown']);
      const body = { action: 'reboot', select: { nodes: [stranger] } };
      const refused = await gateway.ask<ErrorView>('POST', `${path}/nodes/actions`, { body });
      expect([stranger, refused.status, refused.body.reason]).toEqual([stranger, 404, 'node.unknown']);
    }
  });
});

describe('the administrator kubeconfig', () => {
  const administrator = `${path}/kubeconfig/administrator`;

  it('is never given out with a trick of a hostile host in it; what is safe is, and each reading is on record with its reader [ORBITER 31, azimuth 29, CB-Ladybug 34]', async () => {
    const master = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
    const bootstrap = new NatsSecrets(await gateway.environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
    const ref = `bootstrap-svc.kubeconfig.${uid}` as SecretRef;
    const { genuine, tricks } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
    for (const { text, says } of tricks.filter((trick) => trick.text.length < 100_000)) {
      await bootstrap.put(ref, text, uid);
      const refused = await gateway.ask<ErrorView>('GET', administrator);
      expect([refused.status, refused.body.reason]).toEqual([409, 'cluster.kubeconfig-refused']);
      expect(refused.body.message).toContain(says);
    }
    const secret = kubeconfigOf('demo', sealedAdministrator(genuine, 'demo'));
    await bootstrap.put(ref, genuine, uid);
    const { status, headers, body } = await gateway.ask<string>('GET', administrator);
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

describe("an operator's kubeconfig", () => {
  const kubeconfig = `${path}/kubeconfig`;
  const operator = async (name: string): Promise<{ readonly id: string; readonly token: string }> => {
    const roles = [{ namespace: 'default', role: 'operator' }];
    return (await gateway.ask<{ id: string; token: string }>('POST', '/tokens', { body: { name, roles } })).body;
  };

  it('is a new one for each request, of the token that asks, and administrators alone get the other [azimuth 29]', async () => {
    const issuer = await playIssuer(gateway);
    try {
      const [alice, bob] = [await operator('alice'), await operator('bob')];
      for (const { id, token } of [alice, bob, alice]) {
        const { status, headers, body } = await gateway.ask<string>('GET', kubeconfig, { token });
        expect([status, body]).toEqual([200, issuer.issued.at(-1)?.text]);
        expect([body, headers.get('cache-control')]).toEqual([
          expect.stringContaining(`fairlead:token:${id} `),
          'no-store',
        ]);
      }
      const asked = await gateway.log('evt.*.default.demo.audit.KubeconfigRequested');
      expect(asked.map(({ meta, data }) => [meta.actor, data])).toEqual(
        [alice, bob, alice].map(({ id }, index) => [
          `user/${index === 1 ? 'bob' : 'alice'}#${id}`,
          expect.objectContaining({ uid, user: `fairlead:token:${id}`, ttlSeconds: 28_800 }),
        ]),
      );
      const refused = await gateway.ask<ErrorView>('GET', `${kubeconfig}/administrator`, { token: alice.token });
      expect([refused.status, refused.body.reason]).toEqual([403, 'auth.role-missing']);
    } finally {
      await issuer.stop();
    }
  });

  it('is refused with the error of a cluster that does not sign, and for a time that is not allowed', async () => {
    const issuer = await playIssuer(gateway);
    try {
      issuer.words = 'connect ECONNREFUSED 198.18.7.1:6443';
      const failed = await gateway.ask<ErrorView>('GET', kubeconfig);
      expect([failed.status, failed.body.reason]).toEqual([503, 'cluster.kubeconfig-failed']);
      expect(failed.body.message).toContain(issuer.words);
      for (const ttl of ['599', '86401', '1e3', '-1', ''])
        expect([ttl, (await gateway.ask('GET', `${kubeconfig}?ttlSeconds=${ttl}`)).status]).toEqual([ttl, 400]);
    } finally {
      await issuer.stop();
    }
  });
});

describe('what is quarantined', () => {
  const quarantined = { service: 'infra-svc', consumer: 'process:create', namespace: 'default', cluster: 'demo' };

  it('is listed until someone lets it go on, which is on record', async () => {
    const fact: Fact = {
      type: 'ClusterQuarantined',
      data: { service: 'infra-svc', consumer: 'process:create', eventSeq: 3, eventId: 'e3', error: 'a fault' },
    };
    const { meta } = await gateway.state(fact, { context: 'quarantine-infra-svc' });
    const { body } = await gateway.ask<{ items: unknown[] }>('GET', `/quarantine?minSeq=${meta.seq}`);
    expect(body.items).toEqual([expect.objectContaining({ ...quarantined, seq: 3, error: 'a fault' })]);
    const unknown = await gateway.ask<ErrorView>('POST', '/quarantine/release', {
      body: { ...quarantined, consumer: 'x', mode: 'skip' },
    });
    expect([unknown.status, unknown.body.reason]).toEqual([404, 'quarantine.unknown']);
    const released = await gateway.ask('POST', '/quarantine/release', { body: { ...quarantined, mode: 'skip' } });
    expect(released.status).toBe(202);
    const after = await gateway.ask<{ items: unknown[] }>(
      'GET',
      `/quarantine?minSeq=${released.headers.get('x-fairlead-seq')}`,
    );
    expect(after.body.items).toEqual([]);
    const [record] = await gateway.log('evt.*.default.demo.audit.ClusterQuarantineReleased');
    expect([record?.meta.actor, record?.data]).toEqual([
      localActor(gateway),
      { service: 'infra-svc', consumer: 'process:create', mode: 'skip' },
    ]);
  });
});

describe('the log of a unit on a node', () => {
  const node = 'demo-w-1';
  const requests = () => gateway.log(`evt.*.default.demo.audit.NodeLogsFollowRequested`);
  const following = (signal: AbortSignal) =>
    nodeLogs({
      baseUrl: gateway.baseUrl(),
      token: gateway.token,
      of: { namespace: 'default', cluster: 'demo', node },
      query: { unit: 'containerd', lines: 5 },
      signal,
    });
  const line = (number: number, text: string, skipped = 0): LogLines => ({
    number,
    text: Buffer.from(text).toString('base64'),
    skipped,
    position: { cursor: `i=${number}`, time: 1 },
  });
  const lastId = async (count: number): Promise<string> => {
    await eventually(async () => (await requests()).length === count);
    const requested = (await requests()).at(-1);
    return requested?.type === 'NodeLogsFollowRequested' ? requested.data.requestId : '';
  };

  /** bootstrap-svc, with its own credential: it answers each question twice. */
  const reader = async (
    requestId: string,
    answers: (asked: LogAsk & { readonly type: 'read' }) => LogLines | undefined,
  ) => {
    const asked: string[] = [];
    const nc = await gateway.environment.connect('bootstrap-svc');
    nc.subscribe(logAskSubject(requestId), {
      callback: (_error, message) => {
        const ask = message.json<LogAsk>();
        asked.push(ask.type === 'read' ? `read ${ask.number} after ${ask.after?.cursor}` : ask.type);
        const answer = ask.type === 'read' ? answers(ask) : undefined;
        if (answer === undefined) return;
        for (const _twice of [1, 2]) nc.publish(logLinesSubject(requestId), JSON.stringify(answer));
      },
    });
    await nc.flush();
    return asked;
  };

  it('is followed: each line comes once, is in no event, and the end is said with its reason', async () => {
    const stream = following(new AbortController().signal);
    const first = stream.next();
    const requestId = await lastId(1);
    const asked = await reader(requestId, ({ number }) =>
      number < 3 ? line(number, `line ${number}\n`, number - 1) : undefined,
    );
    expect(await first).toEqual({ done: false, value: { text: 'line 1\n', skipped: 0 } });
    expect(await stream.next()).toEqual({ done: false, value: { text: 'line 2\n', skipped: 1 } });
    await eventually(() => asked.includes('read 3 after i=2'));
    const cause = { operation: 'follow the log', target: node, message: 'the connection was lost' };
    const ended = { reason: 'failed', cause, bytes: 14, skippedLines: 1, tookMs: 5 } as const;
    await gateway.state({
      type: 'NodeLogsFollowEnded',
      data: { uid: uid as ClusterUid, requestId, node: node as NodeName, ...ended },
    });
    const message = expect.stringContaining('the connection was lost');
    expect(await stream.next()).toEqual({ done: true, value: { reason: 'failed', message } });
    await eventually(() => asked.at(-1) === 'end');
    expect(JSON.stringify(await gateway.log('evt.*.default.demo.>'))).not.toContain('line 2');
  });

  it('is no longer asked for when its reader goes', async () => {
    const gone = new AbortController();
    const leaving = following(gone.signal);
    const first = leaving.next();
    const asked = await reader(await lastId(2), ({ number }) => (number === 1 ? line(1, 'a line\n') : undefined));
    await first;
    gone.abort();
    expect(await leaving.next()).toEqual({ done: true, value: undefined });
    await eventually(() => asked.at(-1) === 'end');
  });

  it('is followed by a limited number of readers at a time', async () => {
    const gone = new AbortController();
    // The end of one was not stated yet.
    const open = [1, 2, 3, 4].map(() => following(gone.signal).next());
    await lastId(6);
    const busy = await gateway.ask<ErrorView>('GET', `${path}/nodes/${node}/logs/stream`);
    expect([busy.status, busy.body.reason]).toEqual([409, 'node.follow-busy']);
    gone.abort();
    await Promise.all(open);
    const unknown = await gateway.ask<ErrorView>('GET', `${path}/nodes/demo-w-9/logs/stream`);
    expect([unknown.status, unknown.body.reason]).toEqual([404, 'node.unknown']);
  });
});
