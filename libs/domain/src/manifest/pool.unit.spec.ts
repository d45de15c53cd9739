import { describe, expect, it } from '@jest/globals';
import {
  type Fact,
  type ConnectionName,
  ClusterManifest,
  completePool,
  type DeclaredPool,
  isKubeletLabel,
  metadataFaults,
  nodeMetadata,
  type Taint,
} from '@fairlead/contracts';
import { changedFields } from './manifest.diff.js';
import { declaredAfter, desiredVersion, type Declared } from './manifest.fold.js';
import { declared, logged, pool, UID } from './manifest.fixtures.js';
import { abandonedOf, additionsOf, planOf, removalsOf, type PlanBasis } from './manifest.plan.js';
import { countsOf, poolPhase, poolStatuses, type PoolNode } from './pool.status.js';
import { victimsOf, type PoolMember } from './victims.js';

const NOW = '2026-01-01T01:00:00.000Z';
const VERSION = 'v1.34.4';
const TAINT: Taint = { key: 'dedicated', value: 'web', effect: 'NoSchedule' };

const node = (name: string, change: Partial<PoolNode> = {}): PoolNode => ({
  name,
  pool: 'web',
  connection: 'lab' as ConnectionName,
  machineType: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
  providerId: `lab://${name}`,
  readySince: '2026-01-01T00:00:00.000Z',
  wasReady: true,
  version: VERSION,
  metadata: nodeMetadata({}),
  failed: false,
  ...change,
});
const planned = { providerId: null, readySince: null, wasReady: false, version: '' };
const joining = { readySince: null, wasReady: false };

describe('the counters of a pool', () => {
  const counts = (members: readonly PoolNode[], change: Partial<DeclaredPool> = {}, now = NOW) =>
    countsOf(members, { pool: pool('web', members.length, change), version: VERSION, now });

  it('count nodes, Ready nodes, and nodes that match the declaration', () =>
    expect(counts([node('a'), node('b', joining), node('c', planned)])).toEqual({
      replicas: 3,
      readyReplicas: 1,
      availableReplicas: 1,
      unavailableReplicas: 2,
      updatedReplicas: 2,
    }));

  it.each([
    ['2026-01-01T00:59:30.000Z', 30, 1],
    ['2026-01-01T00:59:30.001Z', 30, 0],
    [null, 0, 0],
    [NOW, 0, 1],
  ])(
    'count a node Ready since %s with minReadySeconds %i as available: %i [Cluster API 10]',
    (readySince, minReadySeconds, available) =>
      expect(counts([node('a', { readySince })], { minReadySeconds }).availableReplicas).toBe(available),
  );

  it.each([
    ['another version', { version: 'v1.33.1' }, {}],
    ['another machine type', {}, { machineType: 'lab.large' }],
    ['another root disk', {}, { rootDisk: { type: 'ssd', size: '50' } }],
    ['another label', {}, { labels: { tier: 'web' } }],
    ['another taint', {}, { taints: [TAINT] }],
  ])('do not count a node as updated that has %s than declared [Cluster API 13]', (_what, change, declaredChange) => {
    const { replicas, updatedReplicas } = counts([node('a', change), node('b', change)], declaredChange);
    expect([replicas, updatedReplicas]).toEqual([2, 0]);
  });

  it('count a node as updated again once it has the labels and taints', () => {
    const metadata = { labels: { tier: 'web' }, taints: [TAINT] };
    expect(counts([node('a', { metadata })], metadata).updatedReplicas).toBe(1);
  });
});

describe('the phase of a pool', () => {
  const phase = (
    desired: number,
    members: readonly PoolNode[],
    {
      leaving = [],
      cluster = 'Provisioned' as const,
    }: { leaving?: readonly PoolNode[]; cluster?: never | 'Provisioned' } = {},
  ) => {
    const available = members.filter(({ readySince }) => readySince !== null).length;
    return poolPhase({ desired, members, leaving, available, cluster });
  };
  const [a, b] = [node('a'), node('b')];

  it.each([
    ['Pending', 2, [], []],
    ['Provisioning', 2, [node('a', planned), node('b', planned)], []],
    ['Provisioning', 2, [node('a', joining)], []],
    ['Provisioned', 2, [node('a', joining), node('b', joining)], []],
    ['Running', 2, [a, b], []],
    ['Running', 0, [], []],
    ['ScalingUp', 3, [a, b], []],
    ['ScalingUp', 3, [a, b, node('c', planned)], []],
    ['ScalingUp', 2, [a, node('b', { readySince: null })], []],
    ['ScalingDown', 1, [a], [b]],
    ['ScalingDown', 0, [], [a, b]],
    ['Scaling', 2, [a, node('c', planned)], [b]],
    ['Failed', 2, [a, node('b', { ...joining, failed: true })], []],
  ] as const)(
    'is %s with %i declared, nodes %j and %j leaving [Cluster API 12]',
    (expected, desired, members, leaving) => expect(phase(desired, members, { leaving })).toBe(expected),
  );

  it('is Deleting with its cluster, and without a declaration until its nodes are gone [Cluster API 12]', () => {
    const failed = node('a', { ...joining, failed: true });
    expect(poolPhase({ desired: 2, members: [failed], leaving: [b], available: 0, cluster: 'Deleting' })).toBe(
      'Deleting',
    );
    const none = () => ({ members: [], leaving: [b] });
    const statuses = poolStatuses({ pools: [], version: VERSION as never }, none, ['web', 'web'], {
      cluster: 'Provisioned',
      now: NOW,
      bootstrapped: [],
    });
    expect(statuses.map(({ name, phase: is, replicas }) => [name, is, replicas])).toEqual([['web', 'Deleting', 0]]);
  });

  it.each([
    ['Scaling', 3, [a, b], []],
    ['Scaling', 1, [a], [b]],
    ['Running', 2, [a, b], []],
    ['Pending', 2, [], []],
  ] as const)(
    'is %s with %i declared, nodes %j and %j leaving, if an autoscaler chooses its size [Cluster API 12]',
    (expected, desired, members, leaving) => {
      const available = members.filter(({ readySince }) => readySince !== null).length;
      expect(poolPhase({ members, leaving, desired, available, cluster: 'Provisioned', autoscaled: true })).toBe(
        expected,
      );
    },
  );

  it('is Failed with its cluster [Cluster API 12]', () =>
    expect(poolPhase({ desired: 1, members: [], leaving: [], available: 0, cluster: 'Failed' })).toBe('Failed'));
});

describe('the nodes that are removed', () => {
  const member = (name: string, change: Partial<PoolMember> = {}): PoolMember => ({
    name,
    pool: 'web',
    ready: true,
    joined: true,
    zone: '',
    machine: pool('web', 1),
    ...change,
  });
  const members = [
    member('w-1', { zone: 'a' }),
    member('w-2', { zone: 'b', ready: false }),
    member('w-3', { zone: 'a' }),
    member('w-4', { zone: 'b' }),
    member('w-5', { zone: 'a' }),
    member('w-6', { zone: 'c', ready: false, joined: false }),
  ];

  it.each([
    ['those that have not joined first', {}, 1, ['w-6: it has not joined yet']],
    ['then those that are not Ready', {}, 2, ['w-6: it has not joined yet', 'w-2: not Ready']],
    [
      'then the newest of the fullest zone, one after the other',
      {},
      5,
      [
        'w-6: it has not joined yet',
        'w-2: not Ready',
        'w-5: the newest in a, the zone with the most nodes',
        'w-3: the newest in a, the zone with the most nodes',
        'w-4: the newest in b, the zone with the most nodes',
      ],
    ],
    [
      'or the oldest',
      { deletePolicy: 'Oldest' },
      3,
      ['w-6: it has not joined yet', 'w-2: not Ready', 'w-1: the oldest in a, the zone with the most nodes'],
    ],
    [
      'those that were named before all others',
      { named: ['w-4'] },
      2,
      ['w-4: named to be removed', 'w-6: it has not joined yet'],
    ],
  ] as const)('are %s [Cluster API 16, Cluster API 25]', (_what, choice, count, expected) =>
    expect(victimsOf(members, count, choice).map(({ name, reason }) => `${name}: ${reason}`)).toEqual(expected),
  );

  it('are the newest if zones do not decide, and never more than exist [Cluster API 25]', () => {
    const alike = [member('w-1'), member('w-2')];
    expect(victimsOf(alike, 1)).toEqual([{ name: 'w-2', reason: 'the newest' }]);
    expect(victimsOf(alike, 5)).toHaveLength(2);
  });

  it('leave zones that differ by at most one node [Cluster API 16]', () => {
    const spread = Array.from({ length: 9 }, (_, at) => member(`w-${at}`, { zone: 'abc'[at % 3]! }));
    for (let count = 0; count <= 9; count += 1) {
      const gone = victimsOf(spread, count).map(({ name }) => name);
      const left = spread.filter(({ name }) => !gone.includes(name));
      const sizes = ['a', 'b', 'c'].map((zone) => left.filter((one) => one.zone === zone).length);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
  });
});

describe('a change during a scale-up', () => {
  const member = (name: string, joined: boolean, of = 'web'): PoolMember => ({
    name,
    pool: of,
    ready: joined,
    joined,
    zone: '',
    machine: pool(of, 1),
  });
  const there = [member('w-1', true), member('w-2', true)];
  const awaits = (awaited: Readonly<Record<string, number>>): PlanBasis => ({
    members: there,
    requests: { r1: { awaited, newPools: [], unplanned: true } },
  });
  const steps = (from: number, to: number, basis: PlanBasis) =>
    planOf(declared([pool('web', from)]), declared([pool('web', to)]), basis);

  it('requests only what was not requested yet', () =>
    expect(steps(4, 7, awaits({ web: 2 })).map(({ action, count }) => [action, count])).toEqual([['add-nodes', 3]]));

  it('removes nodes that have not joined first', () => {
    const plan = steps(4, 2, { members: [...there, member('w-3', false), member('w-4', false)] });
    expect(removalsOf(plan)).toEqual(['w-4', 'w-3']);
  });

  it('abandons a request for too many nodes, and requests the remainder again', () => {
    const plan = steps(7, 3, awaits({ web: 5 }));
    expect(plan.map(({ action, count, request }) => [action, count, request])).toEqual([
      ['abandon-nodes', 5, 'r1'],
      ['add-nodes', 1, undefined],
    ]);
    expect(abandonedOf(plan)).toEqual(['r1']);
    expect(additionsOf(plan, declared([pool('web', 3)])).map(({ count }) => count)).toEqual([1]);
  });

  it('requests the machines of other pools of an abandoned request again', () => {
    const before = declared([pool('web', 4), pool('batch', 3)]);
    const after = declared([pool('web', 1), pool('batch', 3)]);
    const plan = planOf(before, after, awaits({ web: 2, batch: 3 }));
    expect(plan.map(({ action, pool: of, count }) => [action, of, count])).toEqual([
      ['abandon-nodes', 'web', 2],
      ['abandon-nodes', 'batch', 3],
      ['remove-nodes', 'web', 1],
      ['add-nodes', 'batch', 3],
    ]);
  });

  it('abandons requests for a deleted pool', () => {
    const plan = planOf(declared([pool('web', 4)]), declared([]), awaits({ web: 2 }));
    expect(plan.map(({ action, count }) => [action, count])).toEqual([
      ['abandon-nodes', 2],
      ['delete-pool', 2],
    ]);
  });
});

describe('labels and taints of a pool', () => {
  it.each([
    ['kubernetes.io/os', 'kubernetes.io'],
    ['beta.kubernetes.io/arch', 'kubernetes.io'],
    ['k8s.io/x', 'k8s.io'],
    ['fairlead.dev/pool', 'fairlead.dev'],
  ])('may not have the reserved key %s', (key, domain) => {
    const [fault] = metadataFaults({ name: 'web', labels: { [key]: 'x' } }, 'spec.pools[0]');
    expect([fault?.code, fault?.message]).toEqual(['pool.key-reserved', expect.stringContaining(domain)]);
    expect(metadataFaults({ name: 'web', taints: [{ key, effect: 'NoSchedule' }] }, 'p')[0]?.code).toBe(
      'pool.key-reserved',
    );
  });

  it.each(['tier', 'example.com/tier', 'node-role.kubernetes.io/web', 'node-restriction.kubernetes.io/zone'])(
    'may have the key %s',
    (key) => expect(metadataFaults({ name: 'web', labels: { [key]: 'x' } }, 'p')).toEqual([]),
  );

  it('are partly set by the administrator', () => {
    expect(isKubeletLabel('tier')).toBe(true);
    expect(isKubeletLabel('node-role.kubernetes.io/web')).toBe(false);
  });

  it('may have one taint per key and effect', () =>
    expect(
      metadataFaults({ name: 'web', taints: [TAINT, { ...TAINT, value: 'x' }] }, 'p').map(({ code }) => code),
    ).toEqual(['pool.taint-twice']));

  it.each([{ labels: { 'a b': 'x' } }, { labels: { a: 'x y' } }, { taints: [{ key: 'a', effect: 'Never' }] }])(
    'are refused if Kubernetes would refuse them: %j',
    (change) => {
      const spec = {
        controlPlane: { replicas: 1, connection: 'lab', machineType: 'm' },
        pools: [{ name: 'web', replicas: 1, connection: 'lab', machineType: 'm', ...change }],
      };
      const manifest = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'demo' }, spec };
      expect(ClusterManifest.safeParse(manifest).success).toBe(false);
    },
  );

  it('are changed in place if nothing else differs; with a new machine template the nodes are replaced [Cluster API 28]', () => {
    const member = { name: 'w-1', pool: 'web', ready: true, joined: true, zone: '', machine: pool('web', 1) };
    const actionsTo = (change: Partial<DeclaredPool>) =>
      planOf(declared([pool('web', 1)]), declared([pool('web', 1, change)]), { members: [member] }).map(
        ({ action }) => action,
      );
    expect(actionsTo({ labels: { a: 'b' } })).toEqual(['label-nodes']);
    expect(actionsTo({ machineType: 'lab.large' })).toEqual(['replace-nodes']);
    expect(actionsTo({ labels: { a: 'b' }, machineType: 'lab.large' })).toContain('replace-nodes');
  });

  it('change existing nodes, and nothing else', () => {
    const member = { name: 'w-1', pool: 'web', ready: true, joined: true, zone: '', machine: pool('web', 1) };
    const basis = { members: [member] };
    const plan = planOf(declared([pool('web', 1)]), declared([pool('web', 1, { labels: { a: 'b' } })]), basis);
    expect(plan.map(({ action, count }) => [action, count])).toEqual([['label-nodes', 1]]);
    expect([removalsOf(plan), additionsOf(plan, declared([]))]).toEqual([[], []]);
  });
});

describe('a pool declared by an earlier release', () => {
  it('equals one with every default, and one with taints and zones in another order [ORBITER 1]', () => {
    const complete = completePool(pool('web', 2));
    expect(changedFields(declared([pool('web', 2)]), declared([complete]))).toEqual([]);
    const [one, other] = [TAINT, { key: 'x', effect: 'NoExecute' as const }];
    const before = pool('web', 2, { zones: ['a', 'b'], taints: [one, other] });
    const after = pool('web', 2, { zones: ['b', 'a'], taints: [other, one] });
    expect(changedFields(declared([before]), declared([after]))).toEqual([]);
  });
});

describe('the declared state', () => {
  const fact = (type: string, data: object): Fact => ({ type, data: { uid: UID, ...data } }) as unknown as Fact;
  const begun: Declared = {
    uid: UID as never,
    spec: declared([pool('web', 2)]),
    revision: 1,
    seq: 1,
    nodes: { 'w-1': 'web', 'w-2': 'web' },
    requests: {},
    targets: {},
  };
  const fold = (...facts: readonly Fact[]): Declared =>
    facts.reduce<Declared>((before, one, index) => declaredAfter(before, logged(one, index + 2))!, begun);
  const asked = fact('NodesRequested', { requestId: 'r1', workers: [{ count: 3, pool: 'web' }] });
  const abandoned = fact('NodesAbandoned', { requestId: 'r1', nodes: [] });

  it('ignores machines planned for an already abandoned request', () => {
    const change = fact('ClusterSpecChanged', { revision: 2, spec: declared([pool('web', 5)]) });
    const late = fact('VmsPlanned', { requestId: 'r1', machines: [{ name: 'w-3', pool: 'web' }] });
    const after = fold(asked, change, abandoned, late);
    expect([after.spec.pools[0]?.replicas, Object.keys(after.nodes)]).toEqual([2, ['w-1', 'w-2']]);
  });

  it('ignores machines of a request abandoned by a decision that predates their plan', () => {
    const change = (replicas: number, revision: number) =>
      fact('ClusterSpecChanged', { revision, spec: declared([pool('web', replicas)]) });
    const plan = fact('VmsPlanned', { requestId: 'r1', machines: [{ name: 'w-3', pool: 'web' }] });
    const gone = fact('VmDeleted', { name: 'w-3' });
    const after = fold(asked, change(3, 2), plan, abandoned, change(1, 3), gone);
    expect([after.spec.pools[0]?.replicas, Object.keys(after.nodes)]).toEqual([1, ['w-1', 'w-2']]);
    const partly = fact('NodesAbandoned', { requestId: 'r1', nodes: ['w-9'] });
    expect(Object.keys(fold(asked, change(3, 2), plan, partly).nodes)).toEqual(['w-1', 'w-2', 'w-3']);
  });

  it('excludes a pool from upgrades, whichever route requested it [ORBITER 16]', () => {
    const held = fold(
      fact('UpdatesDisabledSet', { scope: { kind: 'pool', pool: 'web' }, disabled: true, reason: 'x' }),
    );
    expect([held.spec.pools[0]?.updatesDisabled, held.seq]).toEqual([true, 2]);
    const same = fold(
      fact('UpdatesDisabledSet', { scope: { kind: 'pool', pool: 'web' }, disabled: false, reason: '' }),
    );
    expect(same.seq).toBe(1);
  });

  it('desires the version of a rollout while it runs, and the previous one after an abort', () => {
    const upgrade = fact('UpgradeRequested', { upgradeId: 'u-000000', mode: 'run', target: { kubernetes: 'v1.35.4' } });
    const started = fact('RolloutStarted', { upgradeId: 'u-000000' });
    expect(desiredVersion(fold(upgrade))).toBe('v1.34.4');
    expect(desiredVersion(fold(upgrade, started))).toBe('v1.35.4');
    expect(desiredVersion(fold(upgrade, started, fact('RolloutAborted', { upgradeId: 'u-000000' })))).toBe('v1.34.4');
  });

  it('has its own labels', () => {
    const change = fact('ClusterSpecChanged', { revision: 2, spec: begun.spec, labels: { team: 'a' } });
    expect([fold(change).labels, fold(change).seq]).toEqual([{ team: 'a' }, 2]);
  });
});
