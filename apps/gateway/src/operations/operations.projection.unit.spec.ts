import type { Fact, NodeSet, OperationView } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  accepted,
  balanced,
  clusterReady,
  CREATE,
  created,
  inLog,
  nodeFact,
  NODES,
  planned,
  prepared,
  ready,
  requested,
  uid,
  WORKERS,
  world,
} from '../story.fixtures.js';
import { upgradeId, upgradeRequested } from '../upgrades/upgrades.fixtures.js';
import { operationsProjection } from './operations.projection.js';

const outline = ({ steps }: OperationView): readonly string[] =>
  steps.map(({ name, state, done, total }) => `${state} ${name}${total === null ? '' : ` ${done}/${total}`}`);

const upTo = (type: Fact['type'], times = 1): readonly Fact[] => {
  const index = CREATE.map((fact) => fact.type).reduce(
    (found, one, at) => (one === type && found.count < times ? { count: found.count + 1, at } : found),
    { count: 0, at: 0 },
  ).at;
  return CREATE.slice(0, index + 1);
};

const cause = { operation: 'kubeadm init', target: 'demo-cp-1', message: 'the port is taken' };
const stepFailed: Fact = {
  type: 'BootstrapStepFailed',
  data: {
    uid,
    step: 'kubeadm-init',
    node: 'demo-cp-1' as never,
    cause,
    attempt: 1,
    attemptsMax: 5,
    nextAttemptAt: '2026-01-01T00:01:00.000Z',
  },
};
const failed: Fact = {
  type: 'ClusterFailed',
  data: { uid, step: 'kubeadm-init', reason: 'InitControlPlaneFailedReason', cause },
};

describe('the operation of a create', () => {
  it('reserves machines first, until the reservations of all its connections have begun', () => {
    const connections = ['lab', 'rack'] as never[];
    const waits: Fact = { type: 'ClusterAccepted', data: { uid, waits: { reserves: connections, startsAt: null } } };
    const begun = (at: number): Fact => ({
      type: 'ReservationActivated',
      data: { uid, connection: connections[at]!, sizes: {} },
    });
    const stepsAfter = (...facts: readonly Fact[]): readonly string[] =>
      outline(world([requested, waits, ...facts]).views[0]!).slice(0, 3);
    const reserving = ['done validate', 'running reserve-machines', 'waiting shared-resources'];
    expect(stepsAfter()).toEqual(reserving);
    expect(stepsAfter(begun(0))).toEqual(reserving);
    expect(stepsAfter(begun(0), begun(1))).toEqual([
      'done validate',
      'done reserve-machines',
      'running shared-resources',
    ]);
  });

  it('is done, step by step, when the cluster is ready', () => {
    const [create] = world(CREATE).views;
    expect([create?.id, create?.kind, create?.phase, create?.currentStep]).toEqual([
      'event-1',
      'create',
      'Succeeded',
      null,
    ]);
    expect(outline(create!)).toEqual([
      'done validate',
      'done shared-resources',
      'done create-machines 5/5',
      'done load-balancer',
      'done reach-hosts 5/5',
      'done start-agents 5/5',
      'done install-software 5/5',
      'done verify-hosts 5/5',
      'done init-control-plane',
      'done install-network',
      'done join-control-planes 2/2',
      'done verify-control-plane',
      'done join-workers 2/2',
      'done nodes-ready 5/5',
      'done install-addons',
    ]);
    // One event a second.
    expect(create?.durationMs).toBe((CREATE.length - 1) * 1000);
  });

  it('shows how many nodes are through the step that runs', () => {
    const [create] = world(upTo('NodeBootstrapped', 3)).views;
    expect(create?.currentStep).toBe('verify-hosts');
    expect(outline(create!).slice(6, 10)).toEqual([
      'done install-software 5/5',
      'running verify-hosts 3/5',
      'waiting init-control-plane',
      'waiting install-network',
    ]);
  });

  it('goes on to the next step when the last node is through, before any fact of that step', () => {
    expect(world(upTo('NodeBootstrapped', 5)).views[0]?.currentStep).toBe('init-control-plane');
    expect(world(upTo('WorkerJoined', 2)).views[0]?.currentStep).toBe('nodes-ready');
  });

  it('does not count a node twice when it passes twice', () => {
    const twice = [...upTo('NodeBootstrapped', 2), nodeFact('NodeBootstrapped', 'demo-cp-1')];
    expect(outline(world(twice).views[0]!)[7]).toBe('running verify-hosts 2/5');
  });

  it('keeps the failed attempts with their next one, in a sentence', () => {
    const [create] = world([...upTo('NodeBootstrapped', 5), stepFailed]).views;
    expect(create?.failures.map(({ sentence, attempt, nextAttemptAt }) => [sentence, attempt, nextAttemptAt])).toEqual([
      ['kubeadm init on demo-cp-1 failed: the port is taken', 1, '2026-01-01T00:01:00.000Z'],
    ]);
  });

  it('shows a failed attempt at its step and its node until one succeeds', () => {
    const attempt: Fact = { ...stepFailed, data: { ...stepFailed.data, step: 'InitControlPlane' } } as Fact;
    const failing = [...upTo('NodeBootstrapped', 5), attempt];
    const [create] = world(failing).views;
    expect(create?.steps.filter(({ failure }) => failure !== null).map(({ name }) => name)).toEqual([
      'init-control-plane',
    ]);
    expect(create?.nodes.filter(({ reason }) => reason !== '').map(({ name, state }) => [name, state])).toEqual([
      ['demo-cp-1', 'running'],
    ]);
    const over = world([...failing, ...CREATE.slice(upTo('NodeBootstrapped', 5).length)]).views[0];
    expect(over?.steps.every(({ failure, state }) => failure === null && state === 'done')).toBe(true);
    expect(over?.nodes.every(({ state, reason }) => state === 'ready' && reason === '')).toBe(true);
  });

  it('does not take joined workers for joined control planes, which join beside them', () => {
    const early = [...upTo('NetworkReady'), ...WORKERS.map((name) => nodeFact('WorkerJoined', name))];
    expect(outline(world(early).views[0]!).slice(10, 14)).toEqual([
      'running join-control-planes 0/2',
      'waiting verify-control-plane',
      'done join-workers 2/2',
      'running nodes-ready 0/5',
    ]);
  });

  it('fails where it stood, and its retry goes on from there', () => {
    const until = [...upTo('NodeBootstrapped', 5), stepFailed, failed];
    const [create] = world(until).views;
    expect([create?.phase, create?.currentStep, create?.message]).toEqual([
      'Failed',
      'init-control-plane',
      'kubeadm init on demo-cp-1 failed: the port is taken',
    ]);
    const retried = world([...until, { type: 'ClusterRetryRequested', data: { uid } }]).views;
    expect(retried.map(({ kind, phase, currentStep }) => [kind, phase, currentStep])).toEqual([
      ['create', 'Failed', 'init-control-plane'],
      ['retry', 'Running', 'init-control-plane'],
    ]);
    const done = world([
      ...until,
      { type: 'ClusterRetryRequested', data: { uid } },
      ...CREATE.slice(upTo('NodeBootstrapped', 5).length),
    ]);
    expect(done.views.map(({ phase }) => phase)).toEqual(['Failed', 'Succeeded']);
  });

  it('fails at the check when the provider refuses', () => {
    const rejected: Fact = {
      type: 'ClusterRejected',
      data: { uid, code: 'cluster.spec-cpu', message: 'too few CPUs' },
    };
    const [create] = world([requested, rejected]).views;
    expect([create?.phase, create?.currentStep, create?.message]).toEqual(['Rejected', 'validate', 'too few CPUs']);
    expect(create?.reason).toBe('cluster.spec-cpu');
  });
});

describe('the operation of more workers', () => {
  const request: Fact = { type: 'NodesRequested', data: { uid, requestId: 'r1', workers: [] as NodeSet[] } };
  const fresh = ['demo-w-3', 'demo-w-4'];

  it('is about the new nodes alone', () => {
    const { views } = world([...CREATE, request, planned(fresh), ...created(fresh), ...prepared(['demo-w-3'])]);
    expect(views[1]?.nodes.map(({ name, stage }) => [name, stage])).toEqual([
      ['demo-w-3', 'bootstrapped'],
      ['demo-w-4', 'created'],
    ]);
    expect(outline(views[1]!)).toEqual([
      'done plan-machines',
      'done create-machines 2/2',
      'running reach-hosts 1/2',
      'running start-agents 1/2',
      'running install-software 1/2',
      'running verify-hosts 1/2',
      'waiting join-workers 0/2',
      'waiting nodes-ready 0/2',
    ]);
    expect(views[0]?.phase).toBe('Succeeded');
  });

  it('ends when the cluster is ready again, or when the provider refuses', () => {
    const done = world([
      ...CREATE,
      request,
      planned(fresh),
      ...created(fresh),
      ...prepared(fresh),
      ...fresh.map((name) => nodeFact('WorkerJoined', name)),
      ...ready(fresh),
      clusterReady,
    ]);
    expect([done.views[1]?.phase, outline(done.views[1]!).every((line) => line.startsWith('done'))]).toEqual([
      'Succeeded',
      true,
    ]);
    const no: Fact = { type: 'NodesRejected', data: { uid, requestId: 'r1', code: 'x', message: 'no such spec' } };
    const refused = world([...CREATE, request, no]);
    expect([refused.views[1]?.phase, refused.views[1]?.message, refused.cluster?.phase]).toEqual([
      'Rejected',
      'no such spec',
      'Provisioned',
    ]);
  });
});

describe('an operation about nodes that fails', () => {
  const join = { operation: 'kubeadm join', target: 'demo-w-3', message: 'no such host' };
  const request: Fact = { type: 'NodesRequested', data: { uid, requestId: 'r1', workers: [] as NodeSet[] } };
  const notJoined = (onFailure: 'rollback' | 'keep'): Fact => ({
    type: 'NodesFailed',
    data: { uid, requestId: 'r1', nodes: [], onFailure, step: 'JoinWorker', reason: 'R', cause: join },
  });
  const retryRequest: Fact = { type: 'ClusterRetryRequested', data: { uid } };
  const outcomes = (...facts: readonly Fact[]) =>
    world([...CREATE, ...facts])
      .views.slice(1)
      .map(({ kind, phase, message }) => [kind, phase, message]);

  it('says why, and the cluster stays Provisioned', () => {
    const { views, cluster, nodes } = world([...CREATE, request, planned(['demo-w-3']), notJoined('rollback')]);
    expect(views[1]).toMatchObject({ phase: 'Failed', message: 'kubeadm join on demo-w-3 failed: no such host' });
    expect(cluster).toMatchObject({ phase: 'Provisioned', reason: 'R' });
    expect(nodes).toHaveLength(NODES.length + 1);
  });

  it('is taken up by a retry when its nodes are kept', () =>
    expect(outcomes(request, planned(['demo-w-3']), notJoined('keep'), retryRequest, clusterReady)).toEqual([
      ['add-nodes', 'Failed', 'kubeadm join on demo-w-3 failed: no such host'],
      ['retry', 'Succeeded', ''],
    ]));

  it('is not taken up when it was rolled back or given up', () => {
    const over = ['retry', 'Succeeded', 'what has failed, or is missing, is tried again'];
    expect(outcomes(request, notJoined('rollback'), retryRequest).at(-1)).toEqual(over);
    const givenUp: Fact = { type: 'NodesAbandoned', data: { uid, requestId: 'r1', nodes: [] } };
    expect(outcomes(request, notJoined('keep'), givenUp, retryRequest).at(-1)).toEqual(over);
    expect(outcomes(request, givenUp)).toEqual([['add-nodes', 'Failed', 'The request for nodes was given up']]);
    const superseded = { ...givenUp, data: { ...givenUp.data, superseded: true } } as Fact;
    expect(outcomes(request, superseded)).toEqual([
      ['add-nodes', 'Superseded', expect.stringMatching(/^a newer request of .+ asks for other nodes$/)],
    ]);
  });

  it('is a removal that cannot end, until a retry', () => {
    const stuck: Fact = {
      type: 'BootstrapStepFailed',
      data: {
        uid,
        step: 'RemoveNode',
        node: 'demo-w-1' as never,
        cause: join,
        attempt: 5,
        attemptsMax: 5,
        nextAttemptAt: null,
      },
    };
    const gone: Fact = { type: 'VmDeleted', data: { uid, name: 'demo-w-1' as never } };
    const facts = [nodeFact('NodeRemovalRequested', 'demo-w-1'), stuck];
    expect(outcomes(...facts).map(([, phase]) => phase)).toEqual(['Failed']);
    expect(outcomes(...facts, retryRequest, gone).map(([kind, phase]) => [kind, phase])).toEqual([
      ['remove-node', 'Failed'],
      ['retry', 'Succeeded'],
    ]);
  });

  it('goes on while the provider does not delete the machine, and says so', () => {
    const notDeleted: Fact = {
      type: 'VmDeletionFailed',
      data: {
        uid,
        machines: ['demo-w-1' as never],
        reason: 'DeleteMCISFailedReason',
        cause: { operation: 'delete machine', target: 'lab', message: 'termination protection' },
        attempt: 2,
        nextAttemptAt: '2026-01-01T00:10:00.000Z',
      },
    };
    const { views, cluster, nodes } = world([...CREATE, nodeFact('NodeRemovalRequested', 'demo-w-1'), notDeleted]);
    expect(views[1]).toMatchObject({ phase: 'Running', failures: [{ attempt: 2 }] });
    expect(cluster?.message).toContain('termination protection');
    expect(nodes.find(({ name }) => name === 'demo-w-1')?.reason).toContain('termination protection');
  });
});

describe('the operation of a removal', () => {
  it('follows its own node', () => {
    const facts = [
      ...CREATE,
      nodeFact('NodeRemovalRequested', 'demo-w-1'),
      nodeFact('NodeRemovalRequested', 'demo-w-2'),
      nodeFact('NodeDrained', 'demo-w-2', { evictedPods: 1, dead: false }),
      nodeFact('NodeRemoved', 'demo-w-2'),
      { type: 'VmDeleted', data: { uid, name: 'demo-w-2' } } as Fact,
    ];
    const { views, nodes } = world(facts);
    expect(
      views.slice(1).map(({ nodes: about, phase, currentStep }) => [about.map(({ name }) => name), phase, currentStep]),
    ).toEqual([
      [['demo-w-1'], 'Running', 'drain'],
      [[], 'Succeeded', null],
    ]);
    expect(nodes.map(({ name }) => name)).toEqual(NODES.filter((name) => name !== 'demo-w-2'));
  });
});

describe('the operation of a replacement', () => {
  const data = { requestId: 'r1', order: 'create-first' as const, reason: '' };
  const request = nodeFact('NodeReplacementRequested', 'demo-w-1', data);
  const fresh = ['demo-w-3'];
  const plan = { ...planned(fresh), data: { ...planned(fresh).data, requestId: 'r1' } } as Fact;

  it('counts the new node alone: the old one was made long ago, and is only drained and removed', () => {
    const [, replacement] = world([...CREATE, request, plan]).views;
    expect(outline(replacement!)).toEqual([
      'done plan-machines',
      'running create-machines 0/1',
      'waiting reach-hosts 0/1',
      'waiting start-agents 0/1',
      'waiting install-software 0/1',
      'waiting verify-hosts 0/1',
      'waiting join-workers 0/1',
      'waiting nodes-ready 0/1',
      'waiting drain',
      'waiting remove-node',
      'waiting delete-machine',
    ]);
    expect(replacement?.nodes.map(({ name }) => name)).toEqual(['demo-w-1', 'demo-w-3']);
    const begun = world([...CREATE, request, plan, ...created(fresh)]).views[1]!;
    const [, made] = begun.steps;
    expect([made?.state, made!.startedAt! >= begun.startedAt]).toEqual(['done', true]);
  });
});

describe('the operation of a drain that is requested', () => {
  it('says which hook a node waits for, and not those that are asked afterwards [Cluster API 29]', () => {
    const request = {
      ...{ uid, requestId: 'r1', action: 'drain', nodes: ['demo-w-1'], reason: '', drain: true },
      ...{ drainTimeoutSeconds: 900, maxUnavailable: 1, expiresAt: '2026-01-02T00:00:00.000Z' },
    };
    const about = { requestId: 'r1', hook: 'traffic', point: 'BeforeNodeDrain', attempt: 1 };
    const again = { nextAttemptAt: '2026-01-01T01:00:00.000Z' };
    const blocked = nodeFact('NodeActionHookBlocked', 'demo-w-1', { ...about, message: 'traffic moves', ...again });
    const facts: readonly Fact[] = [
      ...CREATE,
      { type: 'NodeActionRequested', data: request } as unknown as Fact,
      nodeFact('NodeActionStarted', 'demo-w-1', { requestId: 'r1', action: 'drain' }),
      blocked,
    ];
    const reasonAfter = (...more: readonly Fact[]): unknown => {
      const drain = world([...facts, ...more]).views.find(({ kind }) => kind === 'drain-nodes');
      const node = drain?.nodes.find(({ name }) => name === 'demo-w-1');
      return `${node?.state}: ${node?.reason}`;
    };
    const held =
      'waiting: the hook traffic (BeforeNodeDrain of demo-w-1) asked for more time: traffic moves (attempt 1, next at 2026-01-01T01:00:00.000Z)';
    expect(reasonAfter()).toBe(held);
    expect(reasonAfter(nodeFact('NodeActionHookBlocked', 'demo-w-1', { ...about, point: 'AfterNodeDrain' }))).toBe(
      held,
    );
    const letGo = nodeFact('NodeActionHookSucceeded', 'demo-w-1', { ...about, attempt: 2, message: '' });
    expect(reasonAfter(letGo)).toBe('running: the hook traffic (BeforeNodeDrain of demo-w-1) succeeded');
  });

  it('reports no problem of a node on which it has succeeded', () => {
    const request = {
      ...{ uid, requestId: 'r1', action: 'reboot', nodes: ['demo-w-1'], reason: '', drain: true },
      ...{ drainTimeoutSeconds: 900, maxUnavailable: 1, expiresAt: '2026-01-02T00:00:00.000Z' },
    };
    const done = { requestId: 'r1', action: 'reboot', tookMs: 5_000 };
    const { views } = world([
      ...CREATE,
      { type: 'NodeActionRequested', data: request } as unknown as Fact,
      nodeFact('NodeActionSucceeded', 'demo-w-1', done),
    ]);
    const reboot = views.find(({ kind }) => kind === 'reboot-nodes');
    expect(reboot?.nodes.map(({ name, state, reason }) => [name, state, reason])).toEqual([['demo-w-1', 'ready', '']]);
  });
});

describe('an operation that is over', () => {
  it('still counts the nodes that have gone since', () => {
    const facts = [
      ...CREATE,
      nodeFact('NodeRemovalRequested', 'demo-w-1'),
      { type: 'VmDeleted', data: { uid, name: 'demo-w-1' } } as Fact,
    ];
    expect(outline(world(facts).views[0]!).filter((line) => line.includes('/'))).toEqual([
      'done create-machines 5/5',
      'done reach-hosts 5/5',
      'done start-agents 5/5',
      'done install-software 5/5',
      'done verify-hosts 5/5',
      'done join-control-planes 2/2',
      'done join-workers 2/2',
      'done nodes-ready 5/5',
    ]);
  });
});

describe('the operation of a deletion', () => {
  const request: Fact = { type: 'ClusterDeletionRequested', data: { uid } };

  it('overtakes what was under way, and is all that is left when the cluster is gone', () => {
    const facts: readonly Fact[] = [
      ...upTo('VmsCreated'),
      request,
      { type: 'ClusterDismantled', data: { uid } },
      ...NODES.map((name) => ({ type: 'VmDeleted', data: { uid, name } }) as Fact),
      { type: 'ClusterDeleted', data: { uid } },
    ];
    const { views, cluster, nodes } = world(facts);
    expect(views.map(({ kind, phase }) => [kind, phase])).toEqual([
      ['create', 'Superseded'],
      ['delete', 'Succeeded'],
    ]);
    // No load balancer was made, so none was deleted: the step is over all the same.
    expect(outline(views[1]!)).toEqual(['done dismantle', 'done delete-load-balancer', 'done delete-machines 5/5']);
    expect([cluster, nodes]).toEqual([undefined, []]);
  });

  it('shows hooks that hold its end as a step of their own', () => {
    const gone = NODES.map((name) => ({ type: 'VmDeleted', data: { uid, name } }) as Fact);
    const held: readonly Fact[] = [
      ...upTo('VmsCreated'),
      request,
      { type: 'ClusterDismantled', data: { uid } },
      ...gone,
      { type: 'InfrastructureDeleted', data: { uid } },
    ];
    const steps = ['done dismantle', 'done delete-load-balancer', 'done delete-machines 5/5'];
    expect(outline(world(held).views[1]!)).toEqual([...steps, 'running hooks-after-deletion']);
    const ended = world([...held, { type: 'ClusterDeleted', data: { uid } }]).views[1]!;
    expect([ended.phase, outline(ended)]).toEqual(['Succeeded', [...steps, 'done hooks-after-deletion']]);
  });

  it('is forgotten when another cluster takes the name', () => {
    const again = { ...requested, data: { ...requested.data, uid: '00000000-0000-4000-8000-000000000002' } } as Fact;
    const { operations } = world([...CREATE, request, { type: 'ClusterDeleted', data: { uid } }, again]);
    expect(operations?.operations.map(({ kind }) => kind)).toEqual(['create']);
  });
});

describe('the row of the operations', () => {
  it('does not change with what single nodes do', () => {
    const keys = inLog([...prepared(NODES), ...ready(NODES)]).flatMap((event) => operationsProjection.keys(event));
    expect(keys).toEqual([]);
  });

  it('keeps the latest thirty that are over', () => {
    const removal = (index: number): readonly Fact[] => [
      nodeFact('NodeRemovalRequested', `demo-w-${index}`),
      { type: 'VmDeleted', data: { uid, name: `demo-w-${index}` } } as Fact,
    ];
    const many = Array.from({ length: 40 }, (_, index) => removal(index + 10)).flat();
    const { views, operations } = world([requested, accepted, ...many]);
    expect(views).toHaveLength(30);
    expect([views[0]?.kind, views[0]?.phase, operations?.operations.at(-1)?.node]).toEqual([
      'create',
      'Running',
      'demo-w-49',
    ]);
  });
});

describe('a deletion that waits for a hook', () => {
  const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid } };
  const ofHook = (type: string, point: string, data: object): Fact =>
    ({ type, data: { uid, hook: 'backup', point, ...data } }) as unknown as Fact;
  const next = '2026-01-01T01:00:00.000Z';
  const cause = { operation: 'call the hook', target: 'backup', message: 'it answered with HTTP 500' };
  const failedOnce = (attempt: number, point = 'BeforeClusterDelete'): Fact =>
    ofHook('HookFailed', point, { cause, attempt, nextAttemptAt: next });
  const deleteAfter = (...facts: readonly Fact[]): OperationView =>
    world([...CREATE, deletion, ...facts]).views.find(({ kind }) => kind === 'delete')!;
  const failureIn = ({ steps }: OperationView): unknown => steps.find(({ failure }) => failure !== null)?.failure;

  it('shows the hook, its answer, the attempt and the next one at the step that it holds', () => {
    const view = deleteAfter(failedOnce(1), failedOnce(2));
    expect(view.steps.find(({ failure }) => failure !== null)?.name).toBe('dismantle');
    expect(failureIn(view)).toMatchObject({
      sentence: 'the hook backup (BeforeClusterDelete) failed: it answered with HTTP 500',
      attempt: 2,
      nextAttemptAt: next,
    });
    expect(view.nextActions).toEqual([
      'Continue without the hook: fairlead hook skip demo backup --point BeforeClusterDelete --reason "<reason>"',
    ]);
  });

  it('shows one that asks for more time as well, and the hooks at its end', () => {
    const busy = ofHook('HookBlocked', 'BeforeClusterDelete', {
      message: 'a backup runs',
      attempt: 1,
      nextAttemptAt: next,
    });
    expect(failureIn(deleteAfter(busy))).toMatchObject({
      sentence: 'the hook backup (BeforeClusterDelete) asked for more time: a backup runs',
    });
    const gone: readonly Fact[] = [
      { type: 'ClusterDismantled', data: { uid } },
      { type: 'LoadBalancerDeleted', data: { uid } },
      { type: 'InfrastructureDeleted', data: { uid } },
    ];
    const last = deleteAfter(...gone, failedOnce(1, 'AfterClusterDelete'));
    expect(last.steps.find(({ failure }) => failure !== null)?.name).toBe('hooks-after-deletion');
  });

  it.each([
    ['succeeds', ofHook('HookSucceeded', 'BeforeClusterDelete', { attempt: 2, message: '' })],
    ['is skipped', ofHook('HookSkipped', 'BeforeClusterDelete', { reason: 'no data' })],
  ])('no longer shows it when it %s', (_how, over) => {
    const view = deleteAfter(failedOnce(1), over);
    expect([failureIn(view), view.nextActions]).toEqual([undefined, []]);
  });
});

describe('a removal that waits for a hook', () => {
  it('shows it at the drain of that node, and at no other operation', () => {
    const held = nodeFact('HookBlocked', 'demo-w-1', {
      ...{ hook: 'traffic', point: 'BeforeNodeDrain', message: 'busy', attempt: 1 },
      nextAttemptAt: '2026-01-01T01:00:00.000Z',
    });
    const removals = ['demo-w-1', 'demo-w-2'].map((node) => nodeFact('NodeRemovalRequested', node));
    const { views } = world([...CREATE, ...removals, held]);
    const troubles = views.map(({ steps }) => steps.flatMap(({ name, failure }) => (failure === null ? [] : [name])));
    expect(troubles).toEqual([[], ['drain'], []]);
  });
});

describe('a removal that waits for pods', () => {
  it('names them at its node, until it is drained', () => {
    const blocked = nodeFact('NodeDrainBlocked', 'demo-w-1', {
      ...{ since: '2026-01-01T00:00:00.000Z', left: 1 },
      pods: [{ pod: 'default/web-1', reason: 'the budget default/web allows no disruption' }],
    });
    const reasonAfter = (...facts: readonly Fact[]): unknown =>
      world([...CREATE, nodeFact('NodeRemovalRequested', 'demo-w-1'), ...facts]).views.at(-1)?.nodes[0]?.reason;
    expect(reasonAfter(blocked)).toBe(
      'demo-w-1 cannot be drained yet: 1 pod left, such as default/web-1 (the budget default/web allows no disruption)',
    );
    const drained = nodeFact('NodeDrained', 'demo-w-1', { evictedPods: 1, dead: false });
    expect(reasonAfter(blocked, drained)).toBe('');
  });
});

describe('a host that does not answer', () => {
  it('shows each try at the step that reaches it, until it is reached', () => {
    const facts = [...upTo('VmsCreated'), balanced];
    const tried = nodeFact('BootstrapStepFailed', 'demo-w-1', {
      ...{ step: 'ReachHost', attempt: 2, attemptsMax: 2, nextAttemptAt: '2026-01-01T00:01:00.000Z' },
      cause: { operation: 'open SSH', target: 'demo-w-1', message: 'root@host:22 does not answer: ECONNREFUSED' },
    });
    const troubles = (...more: readonly Fact[]) =>
      world([...facts, ...more]).views[0]!.steps.flatMap(({ name, failure }) =>
        failure === null ? [] : [`${name} ${failure.attempt}: ${failure.sentence}`],
      );
    expect(troubles(tried)).toEqual([
      'reach-hosts 2: open SSH on demo-w-1 failed: root@host:22 does not answer: ECONNREFUSED',
    ]);
    expect(troubles(tried, nodeFact('HostReached', 'demo-w-1', { hostKey: 'x', attempts: 3 }))).toEqual([]);
  });
});

describe('what can be done', () => {
  it('is said of a creation that has failed, and of one that goes on nothing', () => {
    const [create] = world([...upTo('VmsCreated'), failed]).views;
    expect(create?.nextActions).toEqual([
      'Continue from the failed step: fairlead cluster retry demo',
      'Delete the cluster: fairlead cluster delete demo',
    ]);
    expect(world(upTo('VmsCreated')).views[0]?.nextActions).toEqual([]);
    const [again] = world([...upTo('VmsCreated'), failed, { type: 'ClusterRetryRequested', data: { uid } }]).views;
    expect(again?.nextActions).toEqual([]);
  });
});

describe('an upgrade that an operator aborts', () => {
  const about = { uid, upgradeId };
  const fact = (type: string, data: object = {}): Fact => ({ type, data: { ...about, ...data } }) as unknown as Fact;
  const latest = (...facts: readonly Fact[]): OperationView =>
    world([...CREATE, upgradeRequested(), ...facts]).views.at(-1)!;
  const aborted = fact('RolloutAborted', { leftFailed: [] });

  it('says who aborted it, and why', () => {
    const { phase, message } = latest(fact('UpgradeAbortRequested', { reason: 'wrong version' }), aborted);
    expect([phase, message]).toEqual(['Failed', expect.stringMatching(/^aborted by \S+: wrong version$/)]);
  });

  it('says what superseded it', () => {
    const { phase, message } = latest(fact('RolloutAborted', { leftFailed: [], supersededBy: 'u-2' }));
    expect([phase, message]).toEqual(['Superseded', 'another version was declared']);
  });
});

describe('a request about etcd', () => {
  const about = { uid, requestId: 'r1' };
  const fact = (type: string, data: object = {}): Fact => ({ type, data: { ...about, ...data } }) as unknown as Fact;
  const SNAPSHOT = { snapshot: 'demo-1' };
  const latest = (...facts: readonly Fact[]): OperationView => world([...CREATE, ...facts]).views.at(-1)!;
  const why = { operation: 'restore etcd', target: 'demo', message: 'no quorum' };

  it('is an operation on the cluster: a restore shows what happens now', () => {
    const requested = fact('EtcdRestoreRequested', SNAPSHOT);
    const started = fact('EtcdRestoreStarted', { ...SNAPSHOT, members: [] });
    const advanced = fact('EtcdRestoreAdvanced', { step: 'stop', cause: null });
    const running = latest(requested, started, advanced);
    expect([running.kind, running.phase, outline(running)]).toEqual([
      'restore-etcd',
      'Running',
      ['done prepare-restore', 'running restore-etcd'],
    ]);
    expect(running.steps.at(-1)?.note).toBe('stops every API server and every member');
    expect(latest(requested, started, advanced, fact('EtcdRestored', SNAPSHOT)).phase).toBe('Succeeded');
    const failed = latest(requested, started, fact('EtcdRestoreFailed', { ...SNAPSHOT, cause: why }));
    expect([failed.phase, failed.message, failed.nextActions]).toEqual([
      'Failed',
      'restore etcd on demo failed: no quorum',
      ['List the snapshots: fairlead etcd list demo'],
    ]);
  });

  it('ends with its snapshot, and not with one that an upgrade takes', () => {
    const asked = fact('EtcdSnapshotRequested');
    const ofUpgrade = fact('EtcdSnapshotTaken', { ...SNAPSHOT, requestId: null, upgradeId: 'u1' });
    expect(latest(asked, ofUpgrade).phase).toBe('Running');
    expect(latest(asked, fact('EtcdSnapshotTaken', { ...SNAPSHOT, upgradeId: null })).phase).toBe('Succeeded');
    expect(latest(asked, fact('EtcdSnapshotFailed', { cause: why })).phase).toBe('Failed');
  });

  it('ends with the verification of its snapshot, whoever asked for that', () => {
    const asked = fact('EtcdSnapshotVerificationRequested', SNAPSHOT);
    const verified = (snapshot: string): Fact => fact('EtcdSnapshotVerified', { requestId: undefined, snapshot });
    expect(latest(asked, verified('demo-2')).phase).toBe('Running');
    expect(latest(asked, verified('demo-1')).phase).toBe('Succeeded');
    expect(latest(asked, fact('EtcdSnapshotVerificationFailed', { ...SNAPSHOT, cause: why })).phase).toBe('Failed');
  });
});
