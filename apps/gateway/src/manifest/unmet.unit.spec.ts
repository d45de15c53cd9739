import {
  clusterSpecOf,
  isRefusal,
  UpgradeStrategy,
  type ClusterName,
  type ClusterUid,
  type ConnectionName,
  type DeclaredSpec,
  type Fact,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Declared } from '@fairlead/domain';
import { desiredTasks } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { retries } from '../clusters/retries.decider.js';
import { unmetFacts } from '../conditions/unmet.facts.js';
import { manifests } from './manifests.decider.js';
import { UnmetEffects } from './unmet.effects.js';
import { unmetReconciler } from './unmet.reconciler.js';

const uid = '00000000-0000-4000-8000-000000000001' as ClusterUid;
const named = { namespace: 'default', cluster: 'demo' as ClusterName };
const machines = {
  ...{ connection: 'lab' as ConnectionName, machineType: 'lab.medium' },
  rootDisk: { type: 'default', size: 'default' },
};
const declares = (replicas: number): DeclaredSpec => ({
  ...{ version: 'v1.34.4' as DeclaredSpec['version'], serviceType: 'single', loadBalancer: 'haproxy' },
  network: { podCidr: '10.244.0.0/16', serviceCidr: '10.96.0.0/12', dnsDomain: 'cluster.local', cni: 'flannel' },
  controlPlane: { replicas: 1, ...machines, etcd: 'local', schedulable: false },
  pools: [{ name: 'web', replicas, ...machines }],
});
const minutes = (count: number): string => new Date(Date.UTC(2026, 0, 1, 0, count)).toISOString();
const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;
const plan = (name: string, pool: string): object => ({
  ...{ name, pool, role: pool === 'web' ? 'worker' : 'control-plane', leader: pool !== 'web' },
  ...{ connection: 'lab', spec: 'lab.medium', rootDisk: machines.rootDisk },
});
const set = { connection: 'lab', spec: 'lab.medium', count: 2, pool: 'web', rootDisk: machines.rootDisk };
const asked = (requestId: string): Fact => fact('NodesRequested', { requestId, workers: [set] });
const rejected = (requestId: string): Fact => fact('NodesRejected', { requestId, code: 'quota', message: 'no room' });

const BEGUN: readonly Fact[] = [
  fact('ClusterRequested', { spec: clusterSpecOf(named.cluster, declares(1)), requestHash: 'h' }),
  fact('ClusterAccepted', {}),
  fact('VmsPlanned', { machines: [plan('cp-1', 'control-plane'), plan('w-1', 'web')] }),
  fact('ClusterReady', {}),
];
const GROWN = [...BEGUN, asked('r1'), fact('ClusterSpecChanged', { revision: 1, spec: declares(3) })];

/** The last of them at minute 0. */
const logOf = (facts: readonly Fact[]): readonly StoredEvent[] =>
  facts.map((one, at) => stored(one, at + 1, { time: minutes(0) }));
const known = (facts: readonly Fact[]) =>
  logOf(facts).reduce(
    (before, event) => unmetReconciler.decider.evolve(before, event),
    unmetReconciler.decider.initial,
  );
const row = (cluster: string, doc: Declared) => ({ key: `default/${cluster}`, doc });
const keys = (facts: readonly Fact[], now: string) =>
  desiredTasks(unmetReconciler, { state: known(facts) }, now).map(({ key }) => key);

describe('machines that are declared and were refused', () => {
  const refused = [...GROWN, rejected('r1')];

  it('are asked for again after a minute, and not before', () => {
    expect(keys(refused, minutes(0))).toEqual([]);
    expect(unmetReconciler.wakeAt?.(known(refused), minutes(0))).toBe(minutes(1));
    expect(keys(refused, minutes(1))).toEqual([`AskAgain/web/${minutes(1)}`]);
  });

  it('are not asked for while their request is open, nor in a pause, nor once the cluster is deleted', () => {
    expect(keys([...refused, asked('r2')], minutes(9))).toEqual([]);
    expect(desiredTasks(unmetReconciler, { state: known(refused), isPaused: true }, minutes(9))).toEqual([]);
    const gone = known([...refused, fact('ClusterDeleted', {})]);
    expect(gone).toBe(unmetReconciler.decider.initial);
  });

  it('are asked for later each time, and at once when the manifest changes', () => {
    const again = [...refused, asked('r2'), rejected('r2')];
    expect(unmetReconciler.wakeAt?.(known(again), minutes(0))).toBe(minutes(2));
    const changed = [...again, fact('ClusterSpecChanged', { revision: 2, spec: declares(4) })];
    expect(keys(changed, minutes(0))).toEqual([`AskAgain/web/${minutes(0)}`]);
  });

  it('are asked for everywhere when a connection or a quota may have made room', () => {
    const followUps = (type: string) => {
      const event = { type, data: {}, meta: { time: minutes(0) } } as unknown as StoredEvent;
      return unmetReconciler.followUps?.({}, { event, now: minutes(0) })?.map((task) => task.type);
    };
    for (const type of ['ConnectionRegistered', 'ConnectionVerificationRequested', 'NamespaceQuotaSet'])
      expect([type, followUps(type)]).toEqual([type, ['AskEverywhere']]);
    expect(followUps('ConnectionVerified')).toEqual([]);
  });

  describe('are requested as the manifest declares them', () => {
    const ask = (facts: readonly Fact[], change: object = {}) => {
      const state = logOf(facts).reduce((before, event) => manifests.evolve(before, event), manifests.initial);
      const data = { ...named, uid, pool: 'web', requestId: 'a1', ...change };
      const decided = manifests.decide(state, { type: 'AskAgain', data });
      return isRefusal(decided) ? decided.code : decided.map((one) => one.data);
    };

    it('as many as are missing, once', () => {
      expect(ask(refused)).toEqual([
        { uid, requestId: 'a1', workers: [expect.objectContaining({ pool: 'web', count: 2, spec: 'lab.medium' })] },
      ]);
      expect(ask([...refused, asked('a1')])).toEqual([]);
    });

    it('not of another cluster of the name, nor of a pool that lacks nothing', () => {
      expect(ask(refused, { uid: '00000000-0000-4000-8000-000000000002' })).toEqual([]);
      expect([ask(GROWN), ask(refused, { pool: 'control-plane' })]).toEqual([[], []]);
    });

    it('not beside an upgrade: it is refused, and tried again later', () =>
      expect(
        ask([
          ...refused,
          fact('UpgradeRequested', {
            ...{ upgradeId: 'u-000001', mode: 'go', target: { kubernetes: 'v1.35.4' }, overrides: [] },
            ...{ pools: null, controlPlane: true, strategy: UpgradeStrategy.parse({}), requestHash: 'h' },
          }),
        ]),
      ).toBe('upgrade.open'));
  });

  it('are shown with the pool, what it lacks, why, and the next attempt', () => {
    const { declared } = known(refused);
    const cause = { cause: 'no room', since: minutes(0), attempt: 1, ofNodes: true };
    expect(unmetFacts(declared!, minutes(0))).toEqual([
      { what: 'pool web: 2 of 3 declared machines are missing', ...cause, nextAttemptAt: minutes(1) },
    ]);
    const open = known([...refused, asked('r2')]).declared!;
    expect(unmetFacts(open, minutes(1))).toEqual([
      { what: 'pool web: machines are being made again', ...cause, nextAttemptAt: null },
    ]);
  });
});

describe('a rollout of a pool that has stopped', () => {
  const cause = { operation: 'create machines', target: 'lab', message: 'no room' };
  const replaced = fact('PoolRolloutRequested', { requestId: 'r1', pool: 'web' });
  const stops = fact('PoolRolloutFailed', { requestId: 'r1', pool: 'web', cause });
  const stopped = [...BEGUN, replaced, stops];
  const again = (why: string): Fact => fact('ClusterRetryRequested', { again: why });
  const tryAgain = (facts: readonly Fact[], why: 'due' | 'room' = 'due') => {
    const state = logOf(facts).reduce((before, event) => manifests.evolve(before, event), manifests.initial);
    const decided = manifests.decide(state, { type: 'TryAgain', data: { ...named, uid, why } });
    return isRefusal(decided) ? decided.code : decided;
  };

  it('is tried again after a minute, two, and four, by itself', () => {
    expect(keys(stopped, minutes(0))).toEqual([]);
    expect(unmetReconciler.wakeAt?.(known(stopped), minutes(0))).toBe(minutes(1));
    expect(keys(stopped, minutes(1))).toEqual([`TryAgain/web/${minutes(1)}`]);
    expect(tryAgain(stopped)).toEqual([{ type: 'ClusterRetryRequested', data: { uid, again: 'due' } }]);
    const twice = [...stopped, again('due'), stops];
    expect(unmetReconciler.wakeAt?.(known(twice), minutes(0))).toBe(minutes(2));
    expect(unmetReconciler.wakeAt?.(known([...twice, again('due'), stops]), minutes(0))).toBe(minutes(4));
  });

  it('is not tried while it continues, nor when it is complete', () => {
    const open = [...stopped, again('due')];
    expect([keys(open, minutes(60)), tryAgain(open), tryAgain(open, 'room')]).toEqual([[], [], []]);
    const done = [...open, fact('PoolRolloutCompleted', { requestId: 'r1', pool: 'web', heldBack: [] })];
    expect([keys(done, minutes(60)), tryAgain(done)]).toEqual([[], []]);
  });

  it('is tried at once when there may be room, as is a denied end of a lease', () => {
    expect(tryAgain(stopped, 'room')).toMatchObject([{ data: { again: 'room' } }]);
    const denied = fact('ReservationDenied', { connection: 'lab', endsAt: minutes(90), until: minutes(80), cause });
    expect(tryAgain([...BEGUN, denied], 'room')).toMatchObject([{ data: { again: 'room' } }]);
    expect(tryAgain([...BEGUN, denied])).toEqual([]);
    expect(tryAgain(BEGUN, 'room')).toEqual([]);
  });

  it('waits for the end of an upgrade', () => {
    const upgrade = fact('UpgradeRequested', {
      ...{ upgradeId: 'u-000001', mode: 'go', target: { kubernetes: 'v1.35.4' }, overrides: [] },
      ...{ pools: null, controlPlane: true, strategy: UpgradeStrategy.parse({}), requestHash: 'h' },
    });
    expect(tryAgain([...stopped, upgrade])).toBe('upgrade.open');
  });

  it('is shown with its cause and the next attempt', () =>
    expect(unmetFacts(known(stopped).declared!, minutes(0))).toMatchObject([
      { what: 'pool web: its rollout has stopped', ofNodes: false, attempt: 1, nextAttemptAt: minutes(1) },
    ]));
});

describe('everything that is not as declared, when a connection or a quota has changed', () => {
  it('is asked for at once, each by what it needs', async () => {
    const refused = known([...GROWN, rejected('r1')]).declared!;
    const cause = { operation: 'create machines', target: 'lab', message: 'no room' };
    const stopped = known([...BEGUN, fact('PoolRolloutFailed', { requestId: 'r1', pool: 'web', cause })]).declared!;
    const rows = { all: () => Promise.resolve([row('missing', refused), row('stopped', stopped)]) };
    const commands: unknown[] = [];
    const handle = (_decider: unknown, stream: { cluster: string }, { type, data }: { type: string; data: object }) => {
      commands.push([stream.cluster, type, 'pool' in data ? data.pool : undefined]);
      return Promise.resolve({ events: [], seq: 0 });
    };
    await new UnmetEffects(handle as never, rows).askEverywhere({ cause: {} } as never);
    expect(commands).toEqual([
      ['missing', 'AskAgain', 'web'],
      ['stopped', 'TryAgain', undefined],
    ]);
  });
});

describe('a retry that someone requests', () => {
  const retry = (facts: readonly Fact[]) => {
    const state = logOf(facts).reduce((before, event) => retries.evolve(before, event), retries.initial);
    const decided = retries.decide(state, { type: 'RetryCluster', data: named });
    return isRefusal(decided) ? decided.code : decided;
  };

  it('is accepted while only machines are missing, which are then asked for at once', () => {
    const again = [...GROWN, rejected('r1'), asked('r2'), rejected('r2')];
    expect(retry(again)).toEqual([{ type: 'ClusterRetryRequested', data: { uid } }]);
    expect(keys([...again, fact('ClusterRetryRequested', {})], minutes(0))).toEqual([`AskAgain/web/${minutes(0)}`]);
  });

  it('is refused while nothing is missing, and nothing has failed', () =>
    expect([retry(GROWN), retry(BEGUN)]).toEqual(['cluster.not-failed', 'cluster.not-failed']));
});
