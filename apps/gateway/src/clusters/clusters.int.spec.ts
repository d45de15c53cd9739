import type { ClusterManifestView, ClusterView, ErrorView, Fact, OperationList, StatusView } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { localActor, request, useGateway } from '../gateway.fixtures.js';
import { WRONG_REQUESTS } from './clusters.fixtures.js';

const gateway = useGateway(async () => {
  await gateway.startReplica();
  const settings = { endpoint: 'http://127.0.0.1:1', token: 'not-used' };
  await gateway.ask('PUT', '/connections/other', {
    body: { provider: 'lab', region: 'lab-1', namespaces: ['*'], settings },
  });
});

const clusters = '/ns/default/clusters';
const create = (name: string, change = {}, options = {}) =>
  gateway.ask<ClusterView>('POST', clusters, { body: request(name, change), ...options });
const seqOf = (headers: Headers): number => Number(headers.get('x-fairlead-seq'));
const about = async (cluster: string): Promise<readonly string[]> =>
  (await gateway.log(`evt.*.default.${cluster}.>`)).map(({ type }) => type);

describe('a request for a cluster', () => {
  it('is recorded and answered at once with its operation, and can be read where Location says [CB-Ladybug 1]', async () => {
    const { status, headers, body } = await create('first');
    expect([status, body.status.phase, body.k8sVersion]).toEqual([202, 'Pending', 'v1.34.4']);
    expect(body.progress?.operation).toBe('create');
    const { body: operations } = await gateway.ask<OperationList>(
      'GET',
      `${headers.get('location')}/operations?minSeq=${seqOf(headers)}`,
    );
    expect(operations.items.map(({ seq, kind, phase }) => [seq, kind, phase])).toEqual([
      [seqOf(headers), 'create', 'Running'],
    ]);
    const read = await gateway.ask<ClusterView>('GET', `${headers.get('location')}?minSeq=${seqOf(headers)}`);
    expect([read.status, read.body]).toEqual([200, body]);
    const [event] = await gateway.log('evt.*.default.first.>');
    expect([event?.type, event?.meta.actor, event?.meta.correlationId]).toEqual([
      'ClusterRequested',
      localActor(gateway),
      `request/${headers.get('x-request-id')}`,
    ]);
  });

  it('is served under the base path of CB-Ladybug by the same handlers', async () => {
    const made = await gateway.ask<ClusterView>('POST', '/ladybug/ns/default/clusters', { body: request('ladybug') });
    expect(made.status).toBe(202);
    const read = await gateway.ask<ClusterView>(
      'GET',
      `/ladybug/ns/default/clusters/ladybug?minSeq=${seqOf(made.headers)}`,
    );
    expect([read.status, read.body.uid]).toEqual([200, made.body.uid]);
  });

  it('is answered as the first time when it comes again from the same person', async () => {
    const first = await create('again');
    const second = await create('again', { config: { kubernetes: { version: '1.34.4' } } });
    expect([second.status, second.body.uid]).toEqual([202, first.body.uid]);
    expect(await about('again')).toEqual(['ClusterRequested']);
  });

  it('wins alone when two ask for one name at once, at two replicas', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = `race-${round}`;
      const answers = await Promise.all([
        create(name, { description: 'one' }, { replica: 0 }),
        create(name, { description: 'other' }, { replica: 1 }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
      expect(await about(name)).toEqual(['ClusterRequested']);
    }
  });
});

describe('a wrong request', () => {
  it.each(WRONG_REQUESTS)(
    'with $rule is refused by code, sentence and field, and nothing is recorded [ORBITER 2, CB-Ladybug 3, CB-Ladybug 6]',
    async (wrong) => {
      const before = (await gateway.log()).length;
      const { status, body } = await gateway.ask<ErrorView>('POST', clusters, { body: wrong.body });
      expect([status, body.code, body.reason, body.message, body.field]).toEqual([
        wrong.status,
        wrong.status,
        wrong.code,
        wrong.message,
        wrong.field,
      ]);
      expect(body.help).not.toBe('');
      expect((await gateway.log()).length).toBe(before);
    },
  );

  it.each([
    ['no JSON', '{"name": ', 'request.malformed', undefined],
    ['no object', '"demo"', 'request.malformed', undefined],
    ['a number for a name', { ...request('x'), name: 7 }, 'request.malformed', 'name'],
    [
      'a fraction of a machine',
      { ...request('x'), worker: [{ connection: 'lab', count: 1.5, spec: 's' }] },
      'request.malformed',
      'worker[0].count',
    ],
    ['an unknown field', { ...request('x'), colour: 'red' }, 'request.unknown-field', 'colour'],
    [
      'an unknown field deep inside',
      { ...request('x'), config: { kubernetes: { podCIDR: 'x' } } },
      'request.unknown-field',
      'config.kubernetes.podCIDR',
    ],
    [
      'an unknown field in a set',
      { ...request('x'), worker: [{ connection: 'lab', count: 1, spec: 's', size: 1 }] },
      'request.unknown-field',
      'worker[0].size',
    ],
  ])('that is %s is refused', async (_what, body, reason, field) => {
    const before = (await gateway.log()).length;
    const answer = await gateway.ask<ErrorView>('POST', clusters, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect([answer.status, answer.body.reason, answer.body.field]).toEqual([400, reason, field]);
    expect((await gateway.log()).length).toBe(before);
  });

  it('is refused where an inventory gives the API of 3 control planes no address, and nothing is recorded [ORBITER 2]', async () => {
    const rack = { name: 'rack-1', address: '198.51.100.11' };
    await gateway.ask('PUT', '/connections/rack', {
      body: { provider: 'ssh', namespaces: ['*'], settings: { hosts: [rack], secret: 'key' } },
    });
    const machines = { connection: 'rack', spec: 'ssh.any' };
    const body = request('bare', {
      controlPlane: [{ ...machines, count: 3 }],
      worker: [{ ...machines, count: 1 }],
    });
    const refused = await gateway.ask<ErrorView>('POST', clusters, { body });
    expect([refused.status, refused.body.reason, refused.body.field]).toEqual([
      422,
      'stock.api-address-missing',
      'controlPlane[0].connection',
    ]);
    expect(refused.body.message).toBe('Connection rack has no address for the API of 3 control planes');
    expect(refused.body.help).toContain('apiAddress');
    const pool = { connection: 'rack', machineType: 'ssh.any', replicas: 1 };
    const declared = await gateway.ask<ErrorView>('PUT', `${clusters}/bare/manifest`, {
      body: {
        ...{ apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'bare' } },
        spec: { controlPlane: { ...pool, replicas: 3 }, pools: [{ ...pool, name: 'web' }] },
      },
    });
    expect([declared.status, declared.body.reason, declared.body.field]).toEqual([
      422,
      'stock.api-address-missing',
      'spec.controlPlane.connection',
    ]);
    expect(await about('bare')).toEqual([]);
  });

  it('gets everything that is wrong with it at once', async () => {
    const body = request('Wrong', { serviceType: 'both', worker: [] });
    const { body: error } = await gateway.ask<ErrorView>('POST', '/ns/nowhere/clusters', { body });
    expect(error.errors.map(({ reason }) => reason)).toEqual([
      'cluster.worker-missing',
      'cluster.service-type',
      'cluster.name-invalid',
      'namespace.unknown',
    ]);
    expect(error).toMatchObject(error.errors[0]!);
  });

  it('is refused when namespace or connection are not there, or the name is taken [CB-Ladybug 3]', async () => {
    const nowhere = await gateway.ask<ErrorView>('POST', '/ns/nowhere/clusters', { body: request('x') });
    expect([nowhere.status, nowhere.body.message]).toEqual([404, "The namespace 'nowhere' does not exist"]);
    const moon = await create('x', { serviceType: 'multi', worker: [{ connection: 'moon', count: 1, spec: 's' }] });
    expect([moon.status, moon.body]).toMatchObject([
      422,
      { reason: 'connection.unknown', message: "The connection 'moon' does not exist", field: 'worker[0].connection' },
    ]);
    const taken = await create('first', { description: 'another' });
    expect([taken.status, taken.body]).toMatchObject([
      409,
      { reason: 'cluster.name-taken', message: "The cluster 'first' already exists in the namespace 'default'" },
    ]);
  });
});

describe('a name in a path that can be no name', () => {
  it.each([
    ['GET', '/ns/*/clusters', 'namespace.unknown'],
    ['GET', '/ns/default/clusters/*', 'cluster.unknown'],
    ['GET', '/ns/default/clusters/%3E/events', 'cluster.unknown'],
    ['GET', '/ns/default/clusters/a.b/audit', 'cluster.unknown'],
    ['GET', '/ns/default/clusters/first/nodes/*', 'node.unknown'],
    ['DELETE', '/ns/default/clusters/*', 'cluster.unknown'],
    ['GET', '/connections/*', 'connection.not-found'],
    ['GET', '/nothing/here', 'route.unknown'],
  ])('%s %s is the name of nothing', async (method, path, reason) => {
    const { status, body } = await gateway.ask<ErrorView>(method, path);
    expect([status, body.reason]).toEqual([404, reason]);
  });
});

describe('an idempotency key', () => {
  it('gives the first answer again, also at another replica, and does nothing', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const first = await create('keyed', {}, { headers });
    const second = await create('keyed', {}, { headers, replica: 1 });
    expect([second.status, second.body]).toEqual([first.status, first.body]);
    for (const name of ['location', 'x-fairlead-seq']) expect(second.headers.get(name)).toBe(first.headers.get(name));
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await about('keyed')).toEqual(['ClusterRequested']);
  });

  it('is of its actor and of its request alone', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    await create('keyed-one', {}, { headers });
    const { status, body } = await create('keyed-two', {}, { headers });
    expect([status, body]).toMatchObject([422, { reason: 'idempotency.key-reused' }]);
    const other = await gateway.ask<{ token: string }>('POST', '/tokens', {
      body: { name: 'else', roles: [{ namespace: 'default', role: 'operator' }] },
    });
    expect((await create('keyed-two', {}, { headers, token: other.body.token })).status).toBe(202);
  });

  it('is free again after a refusal, which changed nothing', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    expect((await create('keyed-three', { serviceType: 'both' }, { headers })).status).toBe(400);
    const refused = await create('first', { description: 'x' }, { headers });
    expect(refused.status).toBe(409);
    expect((await create('keyed-three', {}, { headers })).status).toBe(202);
  });

  it('lets one of many at once through', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => create('keyed-many', {}, { headers, replica: index % 2 })),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 202 && status !== 409)).toEqual([]);
    expect(statuses.has(202)).toBe(true);
    expect(await about('keyed-many')).toEqual(['ClusterRequested']);
  });
});

const causeFact = { operation: 'kubeadm init', target: 'cp', message: 'no' };

describe('a caller that waits', () => {
  const uidOf = async (name: string) =>
    (await gateway.log(`evt.*.default.${name}.request.ClusterRequested`))[0]!.data as { uid: never };
  const until = async (name: string): Promise<{ uid: never }> => {
    const deadline = Date.now() + 5_000;
    while ((await about(name)).length === 0) if (Date.now() > deadline) throw new Error(`nobody asked for ${name}`);
    return uidOf(name);
  };

  it('gets the finished cluster, or the failed one [CB-Ladybug 1]', async () => {
    for (const [name, outcome, phase] of [
      ['wait-ready', 'ClusterReady', 'Provisioned'],
      ['wait-failed', 'ClusterFailed', 'Failed'],
    ] as const) {
      const answer = create(name, {}, { headers: { prefer: 'respond-async, wait=30' }, replica: 1 });
      const { uid } = await until(name);
      const fact: Fact =
        outcome === 'ClusterReady'
          ? { type: outcome, data: { uid } }
          : { type: outcome, data: { uid, step: 's', reason: 'InitControlPlaneFailedReason', cause: causeFact } };
      const stated = await gateway.state(fact, { cluster: name });
      const { status, headers, body } = await answer;
      expect([status, body.status.phase, headers.get('preference-applied')]).toEqual([201, phase, 'wait=30']);
      expect(seqOf(headers)).toBe(stated.meta.seq);
    }
  });

  it('gets 202 when the time is over', async () => {
    const { status, body } = await create('wait-long', {}, { headers: { prefer: 'wait=1' } });
    expect([status, body.status.phase]).toEqual([202, 'Pending']);
  });

  it('sees the end of a deletion, and then nothing under the name', async () => {
    await create('wait-gone');
    const answer = gateway.ask<StatusView>('DELETE', `${clusters}/wait-gone`, { headers: { prefer: 'wait=30' } });
    const { uid } = await until('wait-gone');
    const deadline = Date.now() + 5_000;
    while (!(await about('wait-gone')).includes('ClusterDeletionRequested'))
      if (Date.now() > deadline) throw new Error('nobody asked for the deletion');
    const gone = await gateway.state({ type: 'ClusterDeleted', data: { uid } }, { cluster: 'wait-gone' });
    const { status, body } = await answer;
    expect([status, body.code, body.message]).toEqual([
      200,
      200,
      "Cluster 'wait-gone' is deleted. (namespace=default)",
    ]);
    expect((await gateway.ask('GET', `${clusters}/wait-gone?minSeq=${gone.meta.seq}`)).status).toBe(404);
    const { body: history } = await gateway.ask<OperationList>('GET', `${clusters}/wait-gone/operations`);
    expect(history.items.map(({ kind, phase }) => [kind, phase])).toEqual([
      ['create', 'Superseded'],
      ['delete', 'Succeeded'],
    ]);
  });
});

describe('a deletion and a retry', () => {
  it('are requests of their own, with an operation at Location; a repeated deletion is one, and an unknown cluster is 404 [CB-Ladybug 32]', async () => {
    const { body: made } = await create('life');
    const uid = made.uid as never;
    const early = await gateway.ask<ErrorView>('POST', `${clusters}/life/retry`);
    expect([early.status, early.body.reason]).toEqual([409, 'cluster.not-failed']);
    await gateway.state(
      { type: 'ClusterFailed', data: { uid, step: 's', reason: 'R', cause: causeFact } },
      { cluster: 'life' },
    );
    const retried = await gateway.ask<ClusterView>('POST', `${clusters}/life/retry`);
    expect([retried.status, retried.body.status.phase]).toEqual([202, 'Provisioning']);
    const operation = await gateway.ask<{ kind: string; phase: string }>(
      'GET',
      `${retried.headers.get('location')}?minSeq=${seqOf(retried.headers)}`,
    );
    expect([operation.status, operation.body.kind, operation.body.phase]).toEqual([200, 'retry', 'Running']);

    const first = await gateway.ask<StatusView>('DELETE', `${clusters}/life`);
    const second = await gateway.ask<StatusView>('DELETE', `${clusters}/life`);
    expect([first.status, second.status]).toEqual([202, 202]);
    expect((await about('life')).filter((type) => type === 'ClusterDeletionRequested')).toHaveLength(1);
    const blocked = await create('life');
    expect([blocked.status, blocked.body]).toMatchObject([409, { reason: 'cluster.deleting' }]);
    const gone = await gateway.state({ type: 'ClusterDeleted', data: { uid } }, { cluster: 'life' });
    const third = await gateway.ask<ErrorView>('DELETE', `${clusters}/life?`);
    expect([third.status, third.body.reason]).toEqual([404, 'cluster.unknown']);
    const reborn = await create('life');
    expect([reborn.status, reborn.body.uid === made.uid]).toEqual([202, false]);
    expect(seqOf(reborn.headers)).toBeGreaterThan(gone.meta.seq);
  });
});

describe('a creation that fails with onFailure: cleanup', () => {
  it('is followed by a deletion, which leaves the record of the failure until someone deletes it, or creates it again', async () => {
    const { status, body: made } = await create('tidy', { onFailure: 'cleanup' });
    expect([status, made.onFailure]).toEqual([202, 'cleanup']);
    const uid = made.uid as never;
    const failed = await gateway.state(
      { type: 'ClusterFailed', data: { uid, step: 's', reason: 'R', cause: causeFact } },
      { cluster: 'tidy' },
    );
    await eventually(async () => (await about('tidy')).includes('ClusterDeletionRequested'));
    const [deletion] = await gateway.log('evt.*.default.tidy.request.ClusterDeletionRequested');
    expect([deletion?.meta.actor, deletion?.meta.causationId]).toEqual(['system/gateway', failed.meta.id]);
    const { body } = await gateway.ask<ClusterView>('GET', `${clusters}/tidy?minSeq=${deletion?.meta.seq}`);
    expect(body.status).toMatchObject({
      phase: 'Deleting',
      reason: 'R',
      message: expect.stringContaining(causeFact.message),
    });
    const gone = await gateway.state({ type: 'ClusterDeleted', data: { uid } }, { cluster: 'tidy' });
    const { body: history } = await gateway.ask<OperationList>(
      'GET',
      `${clusters}/tidy/operations?minSeq=${gone.meta.seq}`,
    );
    expect(history.items.map(({ kind, phase, reason }) => [kind, phase, reason])).toEqual([
      ['create', 'Failed', 'R'],
      ['delete', 'Succeeded', ''],
    ]);
    expect(history.items[1]?.message).toContain(causeFact.message);
    const seen = async (seq: number) => (await gateway.ask<ClusterView>('GET', `${clusters}/tidy?minSeq=${seq}`)).body;
    const left = { phase: 'Failed', state: 'Failed', reason: 'R', message: body.status.message };
    expect(await seen(gone.meta.seq)).toMatchObject({ uid, nodes: [], endpoint: '', status: left });
    const users = await gateway.ask<ErrorView>('DELETE', '/connections/lab');
    expect(users.body.message ?? '').not.toContain('tidy');
    const retried = await gateway.ask<ErrorView>('POST', `${clusters}/tidy/retry`);
    expect([retried.status, retried.body.reason]).toEqual([409, 'cluster.cleaned-up']);
    const forgotten = await gateway.ask('DELETE', `${clusters}/tidy`, { headers: { Prefer: 'wait=10' } });
    expect(forgotten.status).toBe(200);
    const after = await gateway.ask<ErrorView>('GET', `${clusters}/tidy?minSeq=${seqOf(forgotten.headers)}`);
    expect([after.status, after.body.reason]).toEqual([404, 'cluster.unknown']);
    expect((await create('tidy', { onFailure: 'tidy' })).status).toBe(400);
  });
});

describe('a hook that holds a cluster', () => {
  it('is skipped by a request with a reason, which the history and the audit have', async () => {
    const { body: made } = await create('skipping');
    const of = { uid: made.uid as never, hook: 'quota', point: 'BeforeCreate', attempt: 1 } as const;
    const held = { ...of, message: 'later', nextAttemptAt: '2099-01-01T00:00:00.000Z' };
    await gateway.state({ type: 'HookBlocked', data: held }, { cluster: 'skipping' });
    const skip = (body: object) =>
      gateway.ask<Omit<ClusterView, 'kind'> & Omit<ErrorView, 'kind'>>(
        'POST',
        `${clusters}/skipping/hooks/quota/skip`,
        { body },
      );
    expect((await skip({})).status).toBe(400);
    const done = await skip({ reason: 'the quota service is down' });
    expect([done.status, done.body.conditions.find(({ type }) => type === 'HookBlocked')?.status]).toEqual([
      200,
      'False',
    ]);
    expect((await about('skipping')).at(-1)).toBe('HookSkipped');
    const again = await skip({ reason: 'once more' });
    expect([again.status, again.body.reason]).toEqual([409, 'hook.holds-nothing']);
  });
});

describe('a read', () => {
  it('refuses a sequence that the log has not reached', async () => {
    const { status, body } = await gateway.ask<ErrorView>('GET', `${clusters}/first?minSeq=999999`);
    expect([status, body.reason, body.field]).toEqual([422, 'wait.seq-ahead', 'minSeq']);
    const wrong = await gateway.ask<ErrorView>('GET', `${clusters}/first?minSeq=soon`);
    expect([wrong.status, wrong.body.reason, wrong.body.field]).toEqual([400, 'request.malformed', 'minSeq']);
  });

  it('of an earlier moment shows what the log said by then, also of a cluster that is gone [Cluster API 31]', async () => {
    const made = await create('past');
    const uid = made.body.uid as never;
    const at = { namespace: 'default', cluster: 'past' };
    const accepted = await gateway.state({ type: 'ClusterAccepted', data: { uid } }, at);
    await gateway.ask('POST', `${clusters}/past/pause`, { body: { reason: 'a look' } });
    await gateway.ask('POST', `${clusters}/past/resume`);
    await gateway.ask('DELETE', `${clusters}/past`);
    const { meta } = await gateway.state({ type: 'ClusterDeleted', data: { uid } }, at);
    const asOf = (moment: number | string) =>
      gateway.ask<Partial<ClusterView> & Pick<ErrorView, 'reason' | 'field'>>(
        'GET',
        `${clusters}/past?at=${encodeURIComponent(moment)}`,
      );

    const states: unknown[] = [];
    for (const { type, meta: of } of await gateway.log('evt.*.default.past.>')) {
      const { status, body } = await asOf(of.seq);
      const accepting = body.conditions?.find(({ type: condition }) => condition === 'Accepted');
      states.push([type, status, body.status?.state ?? body.reason, accepting?.status]);
    }
    expect(states).toEqual([
      ['ClusterRequested', 200, 'Provisioning', 'Unknown'],
      ['ClusterAccepted', 200, 'Provisioning', 'True'],
      ['ClusterPaused', 200, 'Paused', 'True'],
      ['ClusterResumed', 200, 'Provisioning', 'True'],
      ['ClusterDeletionRequested', 200, 'Deleting', 'True'],
      ['ClusterDeleted', 404, 'cluster.unknown', undefined],
    ]);
    const operations = [];
    for (const { meta: of } of await gateway.log('evt.*.default.past.>')) {
      const { body } = await gateway.ask<OperationList>('GET', `${clusters}/past/operations?at=${of.seq}`);
      operations.push(body.items.map(({ kind, phase }) => `${kind} ${phase}`));
    }
    expect(operations.slice(0, 1)).toEqual([['create Running']]);
    expect(operations.at(-1)).toEqual(expect.arrayContaining(['delete Succeeded']));
    const declared = await gateway.ask<ClusterManifestView>('GET', `${clusters}/past/manifest?at=${accepted.meta.seq}`);
    expect([declared.status, declared.body.metadata.uid, declared.body.spec.paused]).toEqual([200, uid, undefined]);
    const then = await asOf(accepted.meta.time);
    expect([then.status, then.body.uid, then.body.lastSeq]).toEqual([200, uid, accepted.meta.seq]);
    expect((await asOf('2020-01-01T00:00:00Z')).body).toMatchObject({
      reason: 'cluster.unknown',
      help: 'Name a moment at which it existed: there was none of that name at 2020-01-01T00:00:00Z.',
    });
    expect((await asOf(meta.seq + 1_000)).body).toMatchObject({ reason: 'wait.seq-ahead', field: 'at' });
    expect((await asOf('yesterday')).body).toMatchObject({ reason: 'request.malformed', field: 'at' });
  });

  it('sees every write of its caller, at any replica', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { headers, body } = await create(`mine-${round}`, {}, { replica: round % 2 });
      const read = await gateway.ask<ClusterView>('GET', `${clusters}/mine-${round}?minSeq=${seqOf(headers)}`, {
        replica: (round + 1) % 2,
      });
      expect([read.status, read.body.uid]).toEqual([200, body.uid]);
    }
  });
});
