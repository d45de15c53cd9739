import { clusterSpecOf, type ClusterName, type DeclaredSpec, type Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { declaredAfter, missingIn, type Declared } from './manifest.fold.js';
import { declared, logged, pool, timeOf, UID } from './manifest.fixtures.js';
import { planOf } from './manifest.plan.js';
import { askedAgainAt, dueAtOnce, setBack } from './unmet.js';

const fact = (type: string, data: object): Fact => ({ type, data: { uid: UID, ...data } }) as unknown as Fact;
const machine = (name: string, of: string): object => ({
  ...{ name, pool: of, role: of === 'control-plane' ? 'control-plane' : 'worker', leader: false },
  ...{ connection: 'lab', spec: 'lab.medium', rootDisk: { type: 'default', size: 'default' } },
});
const planned = (names: readonly string[], requestId?: string, of = 'web'): Fact =>
  fact('VmsPlanned', { machines: names.map((name) => machine(name, of)), ...(requestId && { requestId }) });
const set = (count: number, more: object = { pool: 'web' }): object => ({
  ...{ connection: 'lab', spec: 'lab.medium', count, rootDisk: { type: 'default', size: 'default' } },
  ...more,
});
const asked = (requestId: string, count: number, more: object = {}): Fact =>
  fact('NodesRequested', { requestId, workers: [set(count)], ...more });
const rejected = (requestId: string): Fact => fact('NodesRejected', { requestId, code: 'quota', message: 'no room' });
const declares = (replicas: number, more: Partial<DeclaredSpec> = {}): Fact =>
  fact('ClusterSpecChanged', { revision: 1, spec: declared([pool('web', replicas)], more) });
const fold = (facts: readonly Fact[]): Declared =>
  facts.reduce<Declared | undefined>((before, one, at) => declaredAfter(before, logged(one, at + 1)), undefined)!;
const replicasOf = (facts: readonly Fact[]): number | undefined => fold(facts).spec.pools[0]?.replicas;

const BEGUN = [
  fact('ClusterRequested', {
    spec: clusterSpecOf('demo' as ClusterName, declared([pool('web', 2)])),
    requestHash: 'h',
  }),
  planned(['cp-1'], undefined, 'control-plane'),
  planned(['w-1', 'w-2']),
];
const GROWN = [...BEGUN, asked('r1', 3), declares(5)];

describe('a size that is declared', () => {
  const failed = (type: string, names: object): Fact =>
    fact(type, { requestId: 'r1', ...names, onFailure: 'rollback', cause: { message: 'no room' } });

  it.each([
    ['NodesRejected', [rejected('r1')], 3],
    ['VmsFailed before a plan', [failed('VmsFailed', { machines: [] })], 3],
    ['VmsFailed', [planned(['w-3', 'w-4', 'w-5'], 'r1'), failed('VmsFailed', { machines: ['w-3', 'w-4', 'w-5'] })], 3],
    ['NodesFailed of one', [planned(['w-3', 'w-4', 'w-5'], 'r1'), failed('NodesFailed', { nodes: ['w-4'] })], 1],
  ] as const)('stays declared after %s, and says what is missing and why', (_type, facts, missing) => {
    const after = fold([...GROWN, ...facts]);
    const time = timeOf(GROWN.length + facts.length);
    expect(replicasOf([...GROWN, ...facts])).toBe(5);
    expect(missingIn(after)).toEqual({ web: missing });
    expect(after.unmet).toMatchObject({ web: { since: time, failedAt: time, attempt: 1 } });
    expect(after.unmet?.['web']?.cause).toContain('no room');
    expect(after.requests).toEqual({});
    expect(Object.keys(after.nodes)).toHaveLength(6 - missing);
  });

  it('has the same resourceVersion when a request for it fails', () =>
    expect(fold([...GROWN, rejected('r1')]).seq).toBe(fold(GROWN).seq));

  it('counts its failures until it is met, and since the first of them', () => {
    const twice = [...GROWN, rejected('r1'), asked('r2', 3), rejected('r2')];
    const [first, second] = [timeOf(GROWN.length + 1), timeOf(GROWN.length + 3)];
    expect(fold(twice.slice(0, -1))).toMatchObject({ unmet: { web: { attempt: 1 } } });
    expect(missingIn(fold(twice.slice(0, -1)))).toEqual({});
    expect(fold(twice).unmet).toMatchObject({ web: { since: first, failedAt: second, attempt: 2 } });
    const met = [...twice, asked('r3', 3), planned(['w-3', 'w-4', 'w-5'], 'r3'), fact('ClusterReady', {})];
    expect(fold(met).unmet).toBeUndefined();
    expect(replicasOf(met)).toBe(5);
  });

  it('of control planes stays declared, too', () => {
    const five = { controlPlane: { ...declared([]).controlPlane, replicas: 5 } };
    const facts = [
      ...BEGUN,
      fact('NodesRequested', { requestId: 'r1', workers: [], controlPlane: set(2, { pool: 'control-plane' }) }),
      declares(2, five),
      planned(['cp-2', 'cp-3'], 'r1', 'control-plane'),
      failed('VmsFailed', { machines: ['cp-2', 'cp-3'] }),
    ];
    // The fixture's request declares three, of which one is planned.
    expect([fold(facts).spec.controlPlane.replicas, missingIn(fold(facts))]).toEqual([5, { 'control-plane': 4 }]);
  });

  it('is given up with what someone abandons', () => {
    const abandoned = fact('NodesAbandoned', { requestId: 'r1', nodes: [] });
    expect([replicasOf([...GROWN, abandoned]), fold([...GROWN, abandoned]).unmet]).toEqual([2, undefined]);
  });

  it('grows by a machine that is adopted only if that fits', () => {
    const facts = [...BEGUN, asked('r1', 1, { adopts: 'i-1' }), declares(3), rejected('r1')];
    expect([replicasOf(facts), fold(facts).unmet]).toEqual([2, undefined]);
  });

  it('is that of nodes beside it only until a manifest declares them', () => {
    const beside = [
      ...BEGUN,
      fact('NodesRequested', { requestId: 'r1', workers: [set(1, {})] }),
      planned(['w-3'], 'r1'),
    ];
    const ends = fact('VmsFailed', { requestId: 'r1', machines: ['w-3'], onFailure: 'rollback', cause: {} });
    expect([replicasOf(beside), replicasOf([...beside, ends]), fold([...beside, ends]).unmet]).toEqual([
      3,
      2,
      undefined,
    ]);
    const taken = fold([...beside, declares(3), ends]);
    expect([taken.spec.pools[0]?.replicas, missingIn(taken)]).toEqual([3, { web: 1 }]);
  });

  it('is due at once when the manifest changes or someone retries, and is forgotten when so much is declared no longer', () => {
    const unmet = [...GROWN, rejected('r1')];
    for (const change of [declares(5, { drift: 'report' } as never), fact('ClusterRetryRequested', {})]) {
      const time = timeOf(unmet.length + 1);
      expect(fold([...unmet, change]).unmet).toMatchObject({ web: { attempt: 0, failedAt: time } });
    }
    expect(missingIn(fold([...unmet, declares(3)]))).toEqual({ web: 1 });
    expect(fold([...unmet, declares(2)]).unmet).toBeUndefined();
    expect(fold([...unmet, fact('ClusterSpecChanged', { revision: 2, spec: declared([]) })]).unmet).toBeUndefined();
  });
});

describe('the plan of a change while machines are missing', () => {
  const members = ['w-1', 'w-2'].map((name) => ({
    ...{ name, pool: 'web', ready: true, joined: true, zone: '' },
    machine: pool('web', 1),
  }));
  const plan = (replicas: number, more: Partial<DeclaredSpec> = {}) =>
    planOf(declared([pool('web', 5)]), declared([pool('web', replicas)], more), { members, missing: { web: 3 } }).map(
      ({ action, count }) => [action, count],
    );

  it('asks for what is more than was declared, and removes nodes only after what is missing is given up', () => {
    expect([plan(6), plan(5), plan(4), plan(2)]).toEqual([[['add-nodes', 1]], [], [], []]);
    expect(plan(1)).toEqual([['remove-nodes', 1]]);
  });

  it('of the version is that upgrade alone', () =>
    expect(plan(5, { version: 'v1.35.4' as DeclaredSpec['version'] })).toEqual([['upgrade', 2]]));
});

describe('what was refused is asked for again', () => {
  const again = (times: number): readonly number[] => {
    const pauses: number[] = [];
    let setback = setBack(undefined, 'no', timeOf(0));
    for (let at = 0; at < times; at += 1) {
      pauses.push((Date.parse(askedAgainAt(setback)) - Date.parse(setback.failedAt)) / 60_000);
      setback = setBack(setback, 'no', timeOf(at));
    }
    return pauses;
  };

  it('after 1, 2, 4, 8 and 16 minutes, and then every 30 minutes', () =>
    expect(again(8)).toEqual([1, 2, 4, 8, 16, 30, 30, 30]));

  it('at once when what it depends on has changed', () => {
    const due = dueAtOnce(setBack(undefined, 'no', timeOf(0)), timeOf(9));
    expect(askedAgainAt(due)).toBe(timeOf(9));
  });
});

describe('an end of the lease that is denied', () => {
  const lease = (endsAt: string) => ({
    lease: { endsAt, gracePeriod: '10m', warnings: [], reservation: 'IfSupported' },
  });
  const [END, LATER] = ['2099-01-08T00:00:00.000Z', '2099-01-15T00:00:00.000Z'];
  const denied = fact('ReservationDenied', {
    ...{ connection: 'lab', endsAt: LATER, until: END },
    cause: { operation: 'reserve machines', target: 'lab', message: 'no room' },
  });
  const facts = [...BEGUN, declares(2, lease(END) as never), declares(2, lease(LATER) as never)];
  const stands = (...more: readonly Fact[]) => {
    const { spec, denied: denials } = fold([...facts, ...more]);
    return [spec.lease?.endsAt, denials?.['lab']?.attempt];
  };

  it('stays declared, and is noted until the provider confirms it or another one is declared', () => {
    const confirmed = fact('ReservationConfirmed', { connection: 'lab', endsAt: LATER, startsAt: null, machines: [] });
    expect(stands(denied)).toEqual([LATER, 1]);
    expect(stands(denied, denied)).toEqual([LATER, 2]);
    expect(stands(denied, confirmed)).toEqual([LATER, undefined]);
    expect(stands(denied, declares(2, lease(END) as never))).toEqual([END, undefined]);
    expect(stands(denied, fact('ClusterRetryRequested', {}))).toEqual([LATER, 0]);
  });
});

describe('a rollout of a pool that has stopped', () => {
  const cause = { operation: 'create machines', target: 'lab', message: 'no room' };
  const stops = (of = 'web', requestId = 'r1'): Fact => fact('PoolRolloutFailed', { requestId, pool: of, cause });
  const again = (why?: string): Fact => fact('ClusterRetryRequested', why === undefined ? {} : { again: why });
  const begun = [...BEGUN, stops()];
  const stoppedIn = (...facts: readonly Fact[]) => fold([...begun, ...facts]).stopped;

  it('is due later each time it fails, from the first failure on', () => {
    const [first, second] = [timeOf(begun.length), timeOf(begun.length + 2)];
    expect(stoppedIn()).toMatchObject({ web: { requestId: 'r1', since: first, failedAt: first, attempt: 1 } });
    expect(stoppedIn(again('due'))).toMatchObject({ web: { attempt: 1, open: true } });
    expect(stoppedIn(again('due'), stops())).toEqual({
      web: { requestId: 'r1', cause: expect.stringContaining('no room'), since: first, failedAt: second, attempt: 2 },
    });
  });

  it.each([
    ['a retry that someone requested', undefined],
    ['room at a connection', 'room'],
  ])('begins with the first pause again after %s', (_what, why) => {
    const after = stoppedIn(again('due'), stops(), again(why), stops());
    expect(after).toMatchObject({ web: { attempt: 1, since: timeOf(begun.length) } });
  });

  it('is due at once when the manifest changes, and over with its pool', () => {
    const time = timeOf(begun.length + 1);
    expect(stoppedIn(declares(2))).toMatchObject({ web: { attempt: 0, failedAt: time } });
    expect(stoppedIn(fact('ClusterSpecChanged', { revision: 2, spec: declared([]) }))).toBeUndefined();
    const ofControlPlane = fold([...BEGUN, stops('control-plane'), declares(2)]).stopped;
    expect(ofControlPlane).toMatchObject({ 'control-plane': { attempt: 0 } });
  });

  it.each([
    ['complete', fact('PoolRolloutCompleted', { requestId: 'r1', pool: 'web', heldBack: [] })],
    ['superseded', fact('PoolRolloutRequested', { requestId: 'r2', pool: 'web' })],
    ['abandoned', fact('NodesAbandoned', { requestId: 'r1', nodes: [] })],
  ])('is over when it is %s', (_how, end) => expect(stoppedIn(end)).toBeUndefined());

  it('makes nothing else due, unless there may be room', () => {
    const denied = fact('ReservationDenied', { connection: 'lab', endsAt: timeOf(90), until: timeOf(80), cause });
    const [due, room] = ['due', 'room'].map((why) => fold([...GROWN, rejected('r1'), denied, stops(), again(why)]));
    expect([due?.unmet, due?.denied]).toMatchObject([{ web: { attempt: 1 } }, { lab: { attempt: 1 } }]);
    expect([room?.unmet, room?.denied]).toMatchObject([{ web: { attempt: 1 } }, { lab: { attempt: 0 } }]);
  });
});
