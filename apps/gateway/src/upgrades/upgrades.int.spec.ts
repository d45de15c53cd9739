import type {
  CertificateList,
  ClusterView,
  ErrorView,
  EtcdRequestView,
  EtcdSnapshotList,
  Fact,
  NodeView,
  OperationList,
  UpgradeList,
  UpgradeView,
} from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { localActor, request, useGateway } from '../gateway.fixtures.js';
import { CREATE, nodeFact, uid as storyUid } from '../story.fixtures.js';
import { PLAN_HASH, upgradeFact, upgradeId as storyId, upgradePlanned } from './upgrades.fixtures.js';

const gateway = useGateway(async () => {
  uid = (await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('demo') })).body.uid;
  for (const fact of CREATE.slice(1)) await state(fact);
});
let uid: string;
let id = '';

const cluster = '/ns/default/clusters/demo';
const path = `${cluster}/upgrades`;
const one = (): string => `${path}/${id}`;

/** The story's facts, about the cluster and the upgrade that the gateway made. */
const state = (fact: Fact) =>
  gateway.state(JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid).replaceAll(storyId, id)) as Fact);

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + 10_000;
  while (!(await holds())) if (Date.now() > deadline) throw new Error('it never came true');
};

const requests = async (type: string) => gateway.log(`evt.*.default.demo.request.${type}`);

/** Takes the id of the upgrade that was asked for, once it is in the log. */
const latestRequest = async (count: number): Promise<void> => {
  await until(async () => (await requests('UpgradeRequested')).length >= count);
  const request = (await requests('UpgradeRequested')).at(-1);
  id = request !== undefined && 'upgradeId' in request.data ? String(request.data.upgradeId) : '';
};

describe('a request for an upgrade', () => {
  it.each([
    [{}, 400, 'upgrade.no-changes', undefined],
    [{ version: 'newest' }, 400, 'upgrade.version-invalid', 'version'],
    [{ version: 'v1.35.4', pool: 'x' }, 400, 'request.unknown-field', 'pool'],
    [{ version: 'v1.35.4', pools: ['gpu'] }, 422, 'upgrade.pool-unknown', 'pools[0]'],
    [
      { version: 'v1.35.4', overrides: [{ rule: 'B3', reason: 'x' }] },
      422,
      'upgrade.rule-not-overridable',
      'overrides[0].rule',
    ],
    [
      { version: 'v1.35.4', strategy: { workers: { maxUnavailable: '200%' } } },
      400,
      'request.malformed',
      'strategy.workers.maxUnavailable',
    ],
  ])('of %j is refused and leaves nothing', async (body, status, reason, field) => {
    const answer = await gateway.ask<ErrorView>('POST', path, { body });
    expect([answer.status, answer.body.reason, answer.body.field]).toEqual([status, reason, field]);
    expect(await requests('UpgradeRequested')).toEqual([]);
  });

  it('is for operators; viewers see what became of it', async () => {
    const roles = [{ namespace: 'default', role: 'viewer' }];
    const { body } = await gateway.ask<{ token: string }>('POST', '/tokens', { body: { name: 'eye', roles } });
    const options = { token: body.token };
    const no = await gateway.ask<ErrorView>('POST', path, { ...options, body: { version: 'v1.35.4' } });
    expect([no.status, no.body.reason]).toEqual([403, 'auth.role-missing']);
    expect((await gateway.ask<UpgradeList>('GET', path, options)).body).toEqual({ kind: 'UpgradeList', items: [] });
  });

  it('as a dry run is answered with its plan, and cannot be approved', async () => {
    const answer = gateway.ask<UpgradeView>('POST', `${path}?dryRun=true`, { body: { version: '1.35.4' } });
    await latestRequest(1);
    await state(upgradePlanned('dry-run'));
    const { status, headers, body } = await answer;
    expect([status, headers.get('preference-applied'), headers.get('location')]).toEqual([200, null, one()]);
    expect([body.mode, body.phase, body.planHash, body.plan?.operations.length]).toEqual([
      'dry-run',
      'Planned',
      PLAN_HASH,
      6,
    ]);
    const no = await gateway.ask<ErrorView>('POST', `${one()}/approve`, { body: { planHash: PLAN_HASH } });
    expect([no.status, no.body.reason]).toEqual([409, 'upgrade.not-approvable']);
  });

  it('with a key is one, however often it is sent', async () => {
    const options = { body: { version: 'v1.35.4' }, headers: { 'idempotency-key': 'up-1' } };
    const first = await gateway.ask<UpgradeView>('POST', path, options);
    const second = await gateway.ask<UpgradeView>('POST', path, options);
    expect([first.status, second.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
    expect(second.body.id).toBe(first.body.id);
    await latestRequest(2);
    expect(id).toBe(first.body.id);
    const other = await gateway.ask<ErrorView>('POST', path, { body: { reboot: true } });
    expect([other.status, other.body.reason, other.body.message]).toEqual([
      409,
      'upgrade.open',
      `Unable to upgrade. The upgrade ${id} is not finished (Planning).`,
    ]);
  });
});

describe('a plan', () => {
  it('is approved by its hash, and nothing else', async () => {
    const early = await gateway.ask<ErrorView>('POST', `${one()}/approve`, { body: { planHash: PLAN_HASH } });
    expect([early.status, early.body.reason]).toEqual([409, 'upgrade.not-planned']);
    await state(upgradePlanned());
    const wrong = await gateway.ask<ErrorView>('POST', `${one()}/approve`, { body: { planHash: 'x' } });
    expect([wrong.status, wrong.body.reason, wrong.body.field]).toEqual([409, 'upgrade.hash-mismatch', 'planHash']);
    const right = await gateway.ask<UpgradeView>('POST', `${one()}/approve`, { body: { planHash: PLAN_HASH } });
    expect([right.status, right.body.phase, right.body.approvedBy]).toEqual([202, 'Approved', localActor(gateway)]);
  });
});

describe('a rollout', () => {
  it('shows every node with what it waits for', async () => {
    await state(upgradeFact('RolloutStarted', { planHash: PLAN_HASH }));
    const at = { operation: 'op-2', node: 'demo-cp-1' };
    await state(upgradeFact('OperationStarted', at));
    await state(upgradeFact('UpgradeAllowed', at));
    await state(upgradeFact('NodeCordoned', { ...at, byPlan: true }));
    const { meta } = await state(upgradeFact('NodeEmptied', { ...at, evictedPods: 1, forcedPods: 0, tookMs: 5 }));
    const { body } = await gateway.ask<UpgradeView>('GET', `${one()}?minSeq=${meta.seq}`);
    expect(body.nodes.slice(0, 2).map(({ name, phase, waitsFor }) => [name, phase, waitsFor])).toEqual([
      ['demo-cp-1', 'Changing', 'its agent to begin'],
      ['demo-cp-2', 'Waiting', 'its turn: demo-cp-1 is under way'],
    ]);
    expect(body.lastSeq).toBe(meta.seq);
  });

  it('stalls the adding and removing of nodes (B1)', async () => {
    const body = { worker: [{ connection: 'lab', count: 1, spec: 'lab.small' }] };
    const add = await gateway.ask<ErrorView>('POST', `${cluster}/nodes`, { body });
    const remove = await gateway.ask<ErrorView>('DELETE', `${cluster}/nodes/demo-w-2`);
    expect([add.status, add.body.reason, remove.body.reason]).toEqual([409, 'upgrade.open', 'upgrade.open']);
  });

  it('pauses when it has paused, for who waits', async () => {
    const answer = gateway.ask<UpgradeView>('POST', `${one()}/pause`, {
      body: { reason: 'lunch' },
      headers: { prefer: 'wait=30' },
    });
    await until(async () => (await requests('UpgradePauseRequested')).length === 1);
    await state(upgradeFact('RolloutPaused', { by: 'user', reason: 'lunch' }));
    expect([(await answer).status, (await answer).body.phase]).toEqual([200, 'Paused']);
    expect((await gateway.ask('POST', `${one()}/resume`)).status).toBe(202);
    await state(upgradeFact('RolloutResumed'));
  });

  it('is steered by whoever may', async () => {
    const ask = async (command: string, body?: unknown): Promise<readonly unknown[]> => {
      const answer = await gateway.ask<ErrorView>('POST', `${one()}/${command}`, body === undefined ? {} : { body });
      return [answer.status, answer.body.reason];
    };
    expect(await ask('retry')).toEqual([409, 'upgrade.nothing-failed']);
    expect(await ask('rollback', { node: 'demo-cp-1' })).toEqual([422, 'upgrade.rollback-worker-only']);
    expect(await ask('skip', { node: 'demo-w-7' })).toEqual([422, 'upgrade.node-not-planned']);
    expect(await ask('skip', { node: 'demo-w-2', reason: 'busy' })).toEqual([202, undefined]);
    expect(await ask('override', { rule: 'C1', reason: 'x' })).toEqual([422, 'upgrade.rule-not-overridable']);
    expect(await ask('override', { rule: 'D7', reason: 'it is urgent' })).toEqual([202, undefined]);
  });

  it('ends, and is listed with those before it and among the operations', async () => {
    const { meta } = await state(
      upgradeFact('RolloutCompleted', { upgraded: [], skipped: [], quarantined: [], tookMs: 1 }),
    );
    const list = (await gateway.ask<UpgradeList>('GET', `${path}?minSeq=${meta.seq}`)).body;
    expect(list.items.map(({ mode, phase }) => `${mode} ${phase}`)).toEqual(['ask Completed', 'dry-run Planned']);
    const operations = (await gateway.ask<OperationList>('GET', `${cluster}/operations`)).body;
    expect(operations.items.map(({ kind, phase }) => `${kind} ${phase}`)).toEqual([
      'create Succeeded',
      'upgrade Succeeded',
      'upgrade Succeeded',
    ]);
    const late = await gateway.ask<ErrorView>('POST', `${one()}/abort`, { body: {} });
    expect([late.status, late.body.message]).toEqual([409, `Unable to abort. The upgrade ${id} is 'Completed'.`]);
  });

  it('that there never was is not found', async () => {
    for (const name of ['u-0000000000', 'nonsense']) {
      const { status, body } = await gateway.ask<ErrorView>('GET', `${path}/${name}`);
      expect([status, body.reason]).toEqual([404, 'upgrade.unknown']);
    }
  });
});

describe('a hold', () => {
  it('is shown at every node that it holds, and ends', async () => {
    const put = await gateway.ask('PUT', `${cluster}/pools/worker-1/updates`, {
      body: { disabled: true, reason: 'sale' },
    });
    const seq = put.headers.get('x-fairlead-seq');
    const held = (await gateway.ask<ClusterView>('GET', `${cluster}?minSeq=${seq}`)).body;
    expect(held.nodes.map(({ updatesDisabled }) => updatesDisabled)).toEqual([null, null, null, 'sale', 'sale']);
    const released = await gateway.ask('PUT', `${cluster}/pools/worker-1/updates`, { body: { disabled: false } });
    const after = await gateway.ask<NodeView>(
      'GET',
      `${cluster}/nodes/demo-w-1?minSeq=${released.headers.get('x-fairlead-seq')}`,
    );
    expect(after.body.updatesDisabled).toBeNull();
    const unknown = await gateway.ask<ErrorView>('PUT', `${cluster}/pools/gpu/updates`, { body: { disabled: false } });
    expect([unknown.status, unknown.body.reason]).toEqual([404, 'pool.unknown']);
  });
});

describe('etcd', () => {
  it('is saved, and set back only by who confirms it', async () => {
    const answer = gateway.ask<EtcdRequestView>('POST', `${cluster}/etcd/snapshots`, {
      headers: { prefer: 'wait=30' },
    });
    await until(async () => (await requests('EtcdSnapshotRequested')).length === 1);
    const [request] = await requests('EtcdSnapshotRequested');
    const requestId = request !== undefined && 'requestId' in request.data ? request.data.requestId : null;
    const saved = { snapshot: 's1', node: 'demo-cp-1', sha256: 'x', bytes: 1, revision: 2, keys: 3, dataRef: null };
    await state({
      type: 'EtcdSnapshotTaken',
      data: { uid, upgradeId: null, operation: null, requestId, ...saved },
    } as unknown as Fact);
    expect([(await answer).status, (await answer).body.phase, (await answer).body.snapshot]).toEqual([
      200,
      'Succeeded',
      's1',
    ]);
    const { items } = (await gateway.ask<EtcdSnapshotList>('GET', `${cluster}/etcd/snapshots`)).body;
    expect(items.map(({ name, keys, restorable }) => [name, keys, restorable])).toEqual([['s1', 3, false]]);
    const no = await gateway.ask<ErrorView>('POST', `${cluster}/etcd/restore`, { body: { snapshot: 's1' } });
    expect([no.status, no.body.reason, no.body.field]).toEqual([422, 'etcd.restore-unconfirmed', 'confirm']);
    const yes = await gateway.ask<EtcdRequestView>('POST', `${cluster}/etcd/restore`, {
      body: { snapshot: 's1', confirm: 'demo' },
    });
    expect([yes.status, yes.body.what, yes.body.phase]).toEqual([202, 'restore', 'Running']);
    expect((await gateway.ask('GET', yes.headers.get('location') ?? '')).status).toBe(200);
  });
});

it('lists the certificates, those that end first before the others', async () => {
  const certificates = [
    { name: 'etcd-server', expiresAt: '2031-01-01T00:00:00.000Z' },
    { name: 'apiserver', expiresAt: '2030-01-01T00:00:00.000Z' },
  ];
  const { meta } = await state(nodeFact('CertificatesReported', 'demo-cp-1', { certificates }));
  const { body } = await gateway.ask<CertificateList>('GET', `${cluster}/certificates?minSeq=${meta.seq}`);
  expect(body.items.map(({ node, name, daysLeft }) => [node, name, daysLeft > 1])).toEqual([
    ['demo-cp-1', 'apiserver', true],
    ['demo-cp-1', 'etcd-server', true],
  ]);
});
