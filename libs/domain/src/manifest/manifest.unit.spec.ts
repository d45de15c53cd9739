import { describe, expect, it } from '@jest/globals';
import {
  type Fact,
  type ClusterName,
  type MachinePlan,
  ClusterManifest,
  manifestJsonSchema,
  specOfManifest,
  clusterSpecOf,
  completeSpec,
  controlPlaneSetOf,
  declaredOf,
  type DeclaredPool,
  type DeclaredSpec,
  type Hook,
  DEFAULT_KUBERNETES_VERSION,
  controlPlaneSurge,
  rolloutLimits,
} from '@fairlead/contracts';
import { changedFields } from './manifest.diff.js';
import { declaredAfter, desiredVersion, missingIn, type Declared } from './manifest.fold.js';
import { declared, logged, pool, UID } from './manifest.fixtures.js';
import {
  addedControlPlanes,
  additionsOf,
  changeFaults,
  controlPlaneRolloutFaults,
  controlPlaneSurgeOf,
  planOf,
  removalsOf,
  rolloutsOf,
} from './manifest.plan.js';
import { mergePatch } from './merge.patch.js';
import type { PoolMember } from './victims.js';

const NAME = 'demo' as ClusterName;

const fact = (type: string, data: object): Fact => ({ type, data: { uid: UID, ...data } }) as unknown as Fact;
const requested = (spec: DeclaredSpec): Fact =>
  fact('ClusterRequested', { spec: clusterSpecOf(NAME, spec), requestHash: 'hash' });
const plan = (name: string, ofPool: string, change: Partial<MachinePlan> = {}): object => ({
  name,
  role: ofPool === 'control-plane' ? 'control-plane' : 'worker',
  pool: ofPool,
  leader: false,
  connection: 'lab',
  spec: 'lab.medium',
  rootDisk: { type: 'default', size: 'default' },
  ...change,
});
const planned = (machines: readonly object[], requestId?: string): Fact =>
  fact('VmsPlanned', { machines, ...(requestId === undefined ? {} : { requestId }) });
const set = { connection: 'lab', count: 1, spec: 'lab.large', rootDisk: { type: 'default', size: 'default' } };
const asked = (requestId: string, workers: readonly object[]): Fact => fact('NodesRequested', { requestId, workers });

const fold = (facts: readonly Fact[]): Declared | undefined =>
  facts.reduce<Declared | undefined>((before, one, index) => declaredAfter(before, logged(one, index + 1)), undefined);
const sizes = (facts: readonly Fact[]): Readonly<Record<string, number>> =>
  Object.fromEntries(fold(facts)?.spec.pools.map(({ name, replicas }) => [name, replicas]) ?? []);

const minimal = {
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'demo' },
  spec: {
    controlPlane: { replicas: 3, connection: 'lab', machineType: 'lab.medium' },
    pools: [{ name: 'web', replicas: 2, connection: 'lab', machineType: 'lab.medium' }],
  },
};

describe('a manifest', () => {
  it('gets every default, and the CNI that fits its service type', () => {
    const spec = specOfManifest(ClusterManifest.parse(minimal).spec);
    expect(spec).toEqual({
      ...completeSpec(declared([pool('web', 2)])),
      serviceType: 'single',
      network: { ...declared([]).network, cni: 'flannel' },
      firewall: { enabled: true, scope: 'api' },
    });
    const multi = ClusterManifest.parse({ ...minimal, spec: { ...minimal.spec, serviceType: 'multi' } });
    expect(specOfManifest(multi.spec).network.cni).toBe('kilo');
  });

  it.each([
    ['flannel', undefined, 'single'],
    ['kilo', undefined, 'multi'],
    ['calico', 'multi', 'multi'],
  ] as const)('with the CNI %s and the service type %s is of %s', (cni, serviceType, expected) => {
    const { spec } = ClusterManifest.parse({ ...minimal, spec: { ...minimal.spec, network: { cni }, serviceType } });
    expect(specOfManifest(spec).serviceType).toBe(expected);
  });

  it('keeps the service type of its cluster if it declares none', () => {
    const { spec } = ClusterManifest.parse(minimal);
    expect(specOfManifest(spec, declared([]))).toMatchObject({ serviceType: 'single', network: { cni: 'flannel' } });
  });

  it('limits control planes to zones, at creation and later', () => {
    const { controlPlane, ...others } = declared([pool('web', 0)]);
    const spec = { ...others, controlPlane: { ...controlPlane, zones: ['lab-1a'] } };
    expect(clusterSpecOf(NAME, spec).controlPlane.zones).toEqual(['lab-1a']);
    expect(declaredOf(clusterSpecOf(NAME, spec)).controlPlane).toEqual(spec.controlPlane);
    expect(controlPlaneSetOf(spec.controlPlane, 2)).toMatchObject({ count: 2, zones: ['lab-1a'] });
    const elsewhere = { ...spec, controlPlane: { ...spec.controlPlane, zones: ['lab-1c', 'lab-1b'] } };
    expect(changedFields(spec, elsewhere)).toEqual([
      { field: 'controlPlane.zones', before: 'lab-1a', after: 'lab-1b, lab-1c' },
    ]);
    expect([changeFaults(spec, elsewhere), planOf(spec, elsewhere, { members: [] })]).toEqual([[], []]);
  });

  it('identifies hooks by name, and compares their order', () => {
    const others = specOfManifest(ClusterManifest.parse(minimal).spec);
    const hook = (name: string, url: string): Hook => ({ name, url, points: ['BeforeNodeDrain', 'BeforeCreate'] });
    const [backup, audit] = [hook('backup', 'https://a.example/'), hook('audit', 'https://b.example/')];
    const fields = (before: readonly Hook[], after: readonly Hook[]) =>
      changedFields({ ...others, hooks: [...before] }, { ...others, hooks: [...after] });
    expect(fields([], [backup])).toEqual([
      { field: 'hooks[backup].points', before: null, after: 'BeforeCreate, BeforeNodeDrain' },
      { field: 'hooks[backup].url', before: null, after: backup.url },
    ]);
    expect(fields([backup, audit], [{ ...backup, url: 'https://c.example/' }, audit])).toEqual([
      { field: 'hooks[backup].url', before: backup.url, after: 'https://c.example/' },
    ]);
    expect(fields([backup, audit], [audit, backup])).toEqual([
      { field: 'hooks', before: 'backup, audit', after: 'audit, backup' },
    ]);
  });

  it.each([
    { drain: {} },
    { drain: { rules: [] } },
    { hooks: [] },
    { virtualAddresses: [] },
    { controlPlane: { zones: [] } },
    { pools: [{ zones: [], labels: {}, taints: [] }] },
  ])('with empty lists or objects equals one without them: %j', (more) => {
    const [first] = minimal.spec.pools;
    const [change = {}] = more.pools ?? [];
    const controlPlane = { ...minimal.spec.controlPlane, ...more.controlPlane };
    const spec = { ...minimal.spec, ...more, controlPlane, pools: [{ ...first, ...change }] };
    const [one, other] = [minimal.spec, spec].map((of) =>
      specOfManifest(ClusterManifest.parse({ ...minimal, spec: of }).spec),
    );
    expect(changedFields(one, other!)).toEqual([]);
  });

  it.each([
    { firewall: { egress: [] } },
    { firewall: { nodes: [] } },
    { drain: { rules: [{ name: 'jobs', behavior: 'Skip', namespaces: [] }] } },
    { drain: { rules: [{ name: 'jobs', behavior: 'Skip', pools: [] }] } },
  ])('rejects empty values that would match nothing while their absence matches everything: %j', (more) =>
    expect(ClusterManifest.safeParse({ ...minimal, spec: { ...minimal.spec, ...more } }).success).toBe(false),
  );

  it('converts to the request of services and back', () => {
    const spec = declared([pool('web', 2), pool('batch', 1, { machineType: 'lab.large' })], {
      storage: { nfs: { server: 'nfs.example', path: '/export' } },
    });
    expect(declaredOf(clusterSpecOf(NAME, spec))).toEqual(spec);
  });

  it('names unnamed worker sets like their machines: worker-1, worker-2', () => {
    const spec = clusterSpecOf(NAME, declared([pool('a', 1), pool('b', 2)]));
    const unnamed = { ...spec, workers: spec.workers.map(({ pool: _name, ...one }) => one) };
    expect(declaredOf(unnamed).pools.map(({ name, replicas }) => [name, replicas])).toEqual([
      ['worker-1', 1],
      ['worker-2', 2],
    ]);
  });

  it.each([
    ['an unknown field', { ...minimal, spec: { ...minimal.spec, pool: [] } }],
    [
      'a pool that is no DNS label',
      { ...minimal, spec: { ...minimal.spec, pools: [{ ...minimal.spec.pools[0], name: 'Web_1' }] } },
    ],
    [
      'fewer replicas than none',
      { ...minimal, spec: { ...minimal.spec, pools: [{ ...minimal.spec.pools[0], replicas: -1 }] } },
    ],
    ['another kind', { ...minimal, kind: 'Machine' }],
  ])('is refused with %s', (_what, manifest) => expect(ClusterManifest.safeParse(manifest).success).toBe(false));

  it('can be sent back as returned', () => {
    const answered = { ...minimal, status: { phase: 'Provisioned' }, plan: [], operations: [] };
    expect(ClusterManifest.safeParse(answered).success).toBe(true);
  });

  it('has a JSON Schema with its fields that rejects others', () => {
    const { $defs } = manifestJsonSchema() as {
      $defs: { ManifestSpec: { properties: object; additionalProperties: boolean } };
    };
    expect(Object.keys($defs.ManifestSpec.properties)).toEqual(
      expect.arrayContaining(['version', 'network', 'controlPlane', 'pools']),
    );
    expect($defs.ManifestSpec.additionalProperties).toBe(false);
  });
});

describe('a JSON merge patch', () => {
  /** The examples of RFC 7386, appendix A. */
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('turns %j with %j into %j', (target, patch, result) => expect(mergePatch(target, patch)).toEqual(result));
});

describe('the declared state of a cluster', () => {
  const spec = declared([pool('worker-1', 2)]);
  const begun = [
    requested(spec),
    planned([plan('cp-1', 'control-plane'), plan('w-1', 'worker-1'), plan('w-2', 'worker-1')]),
  ];

  it('results from requests through any route', () => expect(fold(begun)?.spec).toEqual(spec));

  it('gains a pool by a request for nodes, once its machines are planned', () => {
    const facts = [...begun, asked('r1', [set])];
    expect(sizes(facts)).toEqual({ 'worker-1': 2 });
    const after = [...facts, planned([plan('w-3', 'worker-2', { spec: 'lab.large' })], 'r1')];
    expect(sizes(after)).toEqual({ 'worker-1': 2, 'worker-2': 1 });
    expect(fold(after)?.spec.pools[1]?.machineType).toBe('lab.large');
  });

  it.each([
    ['VmsFailed', { requestId: 'r1', machines: ['w-3'], onFailure: 'rollback', cause: {} }],
    ['NodesFailed', { requestId: 'r1', nodes: ['w-3'], onFailure: 'rollback', cause: {} }],
    ['NodesAbandoned', { requestId: 'r1', nodes: ['w-3'] }],
  ])('loses that pool when the request fails (%s)', (type, data) => {
    const facts = [...begun, asked('r1', [set]), planned([plan('w-3', 'worker-2')], 'r1'), fact(type, data)];
    expect(sizes(facts)).toEqual({ 'worker-1': 2 });
    expect(sizes([...facts, fact('VmDeleted', { name: 'w-3' })])).toEqual({ 'worker-1': 2 });
  });

  it('keeps machines that wait for a retry', () => {
    const kept = fact('VmsFailed', { requestId: 'r1', machines: ['w-3'], onFailure: 'keep' });
    const facts = [...begun, asked('r1', [set]), planned([plan('w-3', 'worker-2')], 'r1'), kept];
    expect(sizes(facts)).toEqual({ 'worker-1': 2, 'worker-2': 1 });
  });

  it('counts a leaving node once, and keeps its pool at 0', () => {
    const facts = ['w-1', 'w-2'].flatMap((node) => [
      fact('NodeRemovalRequested', { node }),
      fact('NodeRemovalRequested', { node }),
      fact('VmDeleted', { name: node }),
    ]);
    expect(sizes([...begun, ...facts])).toEqual({ 'worker-1': 0 });
  });

  describe('keeps the size of a pool while one of its nodes is replaced', () => {
    const replaced = (order: string): Fact =>
      fact('NodeReplacementRequested', { requestId: 'r1', node: 'w-1', order, reason: '' });
    const next = planned([plan('w-3', 'worker-1')], 'r1');
    const joined = fact('NodeReplacementReady', { requestId: 'r1', node: 'w-1', newNode: 'w-3' });
    const gone = fact('VmDeleted', { name: 'w-1' });
    const nodes = (facts: readonly Fact[]): readonly string[] => Object.keys(fold(facts)?.nodes ?? {});

    it.each([
      ['create-first', [replaced('create-first'), next, joined, gone]],
      ['remove-first', [replaced('remove-first'), gone, next, joined]],
    ])('%s', (_order, facts) => {
      const seqs = facts.map((_fact, at) => fold([...begun, ...facts.slice(0, at + 1)])?.seq);
      facts.forEach((_fact, at) => expect(sizes([...begun, ...facts.slice(0, at + 1)])).toEqual({ 'worker-1': 2 }));
      expect(new Set(seqs)).toEqual(new Set([1]));
      expect(nodes([...begun, ...facts])).toEqual(['cp-1', 'w-2', 'w-3']);
      expect(fold([...begun, ...facts])?.replaced).toBeUndefined();
    });

    it('also when the new node comes to nothing, and the old one stays', () => {
      const failed = fact('NodesFailed', { requestId: 'r1', nodes: ['w-3'], onFailure: 'rollback', cause: {} });
      const facts = [...begun, replaced('create-first'), next, failed, fact('VmDeleted', { name: 'w-3' })];
      expect([sizes(facts), nodes(facts)]).toEqual([{ 'worker-1': 2 }, ['cp-1', 'w-1', 'w-2']]);
    });

    it('also when the old node is gone and the new one comes to nothing: it is missing then', () => {
      const failed = fact('NodesFailed', { requestId: 'r1', nodes: ['w-3'], onFailure: 'rollback', cause: {} });
      for (const facts of [
        [replaced('remove-first'), gone, fact('NodesRejected', { requestId: 'r1', message: 'no' })],
        [replaced('remove-first'), gone, next, failed, fact('VmDeleted', { name: 'w-3' })],
      ]) {
        const declared = fold([...begun, ...facts])!;
        expect([sizes([...begun, ...facts]), missingIn(declared)]).toEqual([{ 'worker-1': 2 }, { 'worker-1': 1 }]);
        expect(Object.keys(declared.nodes)).toEqual(['cp-1', 'w-2']);
      }
    });

    it('unless it is abandoned when the old node is gone', () => {
      const abandoned = fact('NodesAbandoned', { requestId: 'r1', nodes: [] });
      expect(sizes([...begun, replaced('remove-first'), gone, abandoned])).toEqual({ 'worker-1': 1 });
      expect(sizes([...begun, replaced('remove-first'), gone, next, abandoned])).toEqual({ 'worker-1': 1 });
      expect(sizes([...begun, replaced('create-first'), next, abandoned])).toEqual({ 'worker-1': 2 });
    });
  });

  it('does not count surge nodes', () => {
    const surge = planned([plan('w-9', 'worker-1', { surge: 'u-000000' as never })]);
    expect(sizes([...begun, surge, fact('VmDeleted', { name: 'w-9' })])).toEqual({ 'worker-1': 2 });
  });

  it('has the target version of a completed upgrade', () => {
    const upgrade = fact('UpgradeRequested', { upgradeId: 'u-000000', mode: 'run', target: { kubernetes: 'v1.35.4' } });
    expect(fold([...begun, upgrade])?.spec.version).toBe('v1.34.4');
    const completed = fact('RolloutCompleted', { upgradeId: 'u-000000', upgraded: [], tookMs: 1 });
    expect(fold([...begun, upgrade, completed])?.spec.version).toBe('v1.35.4');
  });

  describe('with a later version', () => {
    const to = 'v1.35.4';
    const upgrade = fact('UpgradeRequested', { upgradeId: 'u-000001', mode: 'go', target: { kubernetes: to } });
    const spec = { ...fold(begun)!.spec, version: to };
    const facts = [...begun, upgrade, fact('ClusterSpecChanged', { revision: 1, spec })];
    const about = (type: string): Fact => fact(type, { upgradeId: 'u-000001', upgraded: [], tookMs: 1 });
    const versions = (...more: readonly Fact[]) => {
      const declared = fold([...facts, ...more])!;
      return [declared.spec.version, desiredVersion(declared)];
    };

    it('has it at once; nodes are expected to have it once they are changed', () => {
      expect(versions()).toEqual([to, 'v1.34.4']);
      expect(versions(about('RolloutStarted'))).toEqual([to, to]);
      expect(versions(about('RolloutStarted'), about('RolloutCompleted'))).toEqual([to, to]);
    });

    it('has the previous version again if the upgrade is rejected or aborted', () => {
      expect(versions(about('UpgradeRejected'))).toEqual(['v1.34.4', 'v1.34.4']);
      expect(versions(about('RolloutStarted'), about('RolloutAborted'))).toEqual(['v1.34.4', 'v1.34.4']);
      const dryRun = fact('UpgradeRejected', { upgradeId: 'u-000002' });
      expect(versions(dryRun)).toEqual([to, 'v1.34.4']);
    });

    it('has its declared template once the upgrade is complete, and the previous one otherwise', () => {
      const chosen = (template: string): Fact => fact('ClusterTemplateChosen', { template, revision: 1 });
      const declares = (revision: number, template: string, version: string): Fact =>
        fact('ClusterSpecChanged', { revision, spec: { ...spec, template, version } });
      const had = [...begun, chosen('old'), declares(1, 'old', 'v1.34.4')];
      const upgrading = [...had, upgrade, chosen('new'), declares(2, 'new', to)];
      const template = (...more: readonly Fact[]) => {
        const declared = fold([...upgrading, ...more])!;
        return [declared.template?.name, declared.spec.template];
      };
      expect(template()).toEqual(['new', 'new']);
      expect(template(about('RolloutStarted'), about('RolloutCompleted'))).toEqual(['new', 'new']);
      expect(template(about('UpgradeRejected'))).toEqual(['old', 'old']);
      expect(template(about('RolloutStarted'), about('RolloutAborted'))).toEqual(['old', 'old']);
    });

    it('keeps both if something else is declared meanwhile', () => {
      const same = fact('ClusterSpecChanged', { revision: 2, spec });
      expect(versions(same)).toEqual([to, 'v1.34.4']);
      expect(versions(same, about('UpgradeRejected'))).toEqual(['v1.34.4', 'v1.34.4']);
    });
  });

  it('has a resourceVersion that changes only with it', () => {
    const seqs = [
      begun,
      [...begun, fact('NodeReady', { node: 'w-1' })],
      [...begun, fact('NodeRemovalRequested', { node: 'w-1' })],
    ].map((facts) => fold(facts)?.seq);
    expect(seqs).toEqual([1, 1, 3]);
  });

  it('ends with the cluster, and ignores another one of the same name', () => {
    const foreign = { type: 'VmDeleted', data: { uid: 'other', name: 'w-1' } } as unknown as Fact;
    expect(sizes([...begun, foreign])).toEqual({ 'worker-1': 2 });
    expect(fold([...begun, fact('ClusterDeleted', {})])).toBeUndefined();
  });
});

describe('the plan of a change', () => {
  const member = (name: string, of: string, ready = true): PoolMember => ({
    name,
    pool: of,
    ready,
    machine: pool(of, 1),
    joined: true,
    zone: '',
  });
  const members = [member('w-1', 'web'), member('w-2', 'web', false), member('w-3', 'web'), member('w-4', 'old')];

  it('states the steps for each pool, with reasons', () => {
    const before = declared([pool('web', 3), pool('old', 1), pool('idle', 1)]);
    const after = declared([pool('web', 1), pool('batch', 2), pool('idle', 1)]);
    const steps = planOf(before, after, { members: [...members, member('w-5', 'idle')] });
    expect(steps.map(({ action, pool: of, count, reason }) => [action, of, count, reason])).toEqual([
      ['delete-pool', 'old', 1, 'not in the manifest'],
      ['remove-nodes', 'web', 2, 'remove 2 machines (3 → 1)'],
      ['create-pool', 'batch', 2, 'create 2 machines'],
    ]);
    expect(removalsOf(steps)).toEqual(['w-4', 'w-2', 'w-3']);
    expect(additionsOf(steps, after).map(({ pool: of, count }) => [of, count])).toEqual([['batch', 2]]);
  });

  describe('of control planes', () => {
    const withReplicas = (replicas: number, more: Partial<DeclaredSpec['controlPlane']> = {}): DeclaredSpec =>
      declared([], { controlPlane: { ...declared([]).controlPlane, replicas, ...more } });
    const controlPlanes = [1, 2, 3, 4, 5].map((index) => member(`cp-${index}`, 'control-plane', index !== 2));

    it('adds them like others, and removes NotReady ones first, then the newest', () => {
      const grown = planOf(withReplicas(1), withReplicas(3), { members: controlPlanes.slice(0, 1) });
      expect(grown).toMatchObject([{ action: 'add-nodes', pool: 'control-plane', count: 2, nodes: [] }]);
      const { connection, machineType: spec, rootDisk } = withReplicas(3).controlPlane;
      expect(addedControlPlanes(grown, withReplicas(3))).toEqual({
        ...{ connection, spec, rootDisk, count: 2, pool: 'control-plane' },
      });
      const shrunk = planOf(withReplicas(5), withReplicas(3), { members: controlPlanes });
      expect(shrunk).toMatchObject([{ action: 'remove-nodes', pool: 'control-plane', count: 2 }]);
      expect(removalsOf(shrunk)).toEqual(['cp-2', 'cp-5']);
    });

    it('changes direction while they are added: machines without names are abandoned, and count until then', () => {
      const three = [1, 3, 4].map((index) => member(`cp-${index}`, 'control-plane'));
      const requests = { r1: { awaited: { 'control-plane': 2 }, newPools: [], unplanned: true as const } };
      const back = planOf(withReplicas(5), withReplicas(3), { members: three, requests });
      expect(back).toMatchObject([{ action: 'abandon-nodes', pool: 'control-plane', count: 2, request: 'r1' }]);
      const more = planOf(withReplicas(5), withReplicas(7), { members: three, requests });
      expect(more).toMatchObject([{ action: 'add-nodes', pool: 'control-plane', count: 2 }]);
    });

    it('requests them again if their request is abandoned because of a pool', () => {
      const three = [1, 3, 4].map((index) => member(`cp-${index}`, 'control-plane'));
      const [before, after] = [2, 1].map((replicas) => ({ ...withReplicas(5), pools: [pool('web', replicas)] }));
      const requests = { r1: { awaited: { 'control-plane': 2, web: 2 }, newPools: [], unplanned: true as const } };
      const steps = planOf(before, after!, { members: three, requests });
      expect(steps.map(({ action, pool: of, count }) => [action, of, count])).toEqual([
        ['abandon-nodes', 'control-plane', 2],
        ['abandon-nodes', 'web', 2],
        ['add-nodes', 'control-plane', 2],
        ['add-nodes', 'web', 1],
      ]);
    });

    it('removes the named ones first', () => {
      const shrunk = planOf(withReplicas(5), withReplicas(3), { members: controlPlanes, named: ['cp-1'] });
      expect(removalsOf(shrunk)).toEqual(['cp-1', 'cp-2']);
    });

    it('is refused if the only one is schedulable, and with an external etcd for numbers other than 3, 5 or 7', () => {
      const faults = (more: Partial<DeclaredSpec['controlPlane']>) =>
        changeFaults(withReplicas(1, more), withReplicas(3, more)).map(({ code }) => code);
      const outside = (replicas: number): DeclaredSpec => withReplicas(replicas, { etcd: 'external' });
      const codes = (from: number, to: number) => changeFaults(outside(from), outside(to)).map(({ code }) => code);
      expect([codes(3, 5), codes(7, 3)]).toEqual([[], []]);
      expect([codes(3, 1), codes(3, 4)]).toEqual([['cluster.etcd-external-count'], ['cluster.etcd-external-count']]);
      expect(faults({ schedulable: true })).toEqual(['cluster.single-node']);
      expect(faults({})).toEqual([]);
    });

    describe('whose machine template changes', () => {
      const large = { machineType: 'lab.large' };
      const three = [1, 2, 3].map((index) => ({
        ...member(`cp-${index}`, 'control-plane', index !== 3),
        leader: index === 1,
      }));
      const stepsTo = (more: Partial<DeclaredSpec['controlPlane']>, replicas = 3) =>
        planOf(withReplicas(3), withReplicas(replicas, more), { members: three });
      const rollout = (maxSurge: 0 | 1) => ({ strategy: 'RollingUpdate', maxSurge }) as const;

      it('replaces them one at a time: NotReady ones first, the initial one last [Cluster API 21]', () => {
        expect(stepsTo(large)).toEqual([
          {
            action: 'replace-nodes',
            pool: 'control-plane',
            count: 3,
            nodes: ['cp-3', 'cp-2', 'cp-1'].map((name) => ({ name, reason: 'machineType lab.medium' })),
            reason: 'machineType lab.medium → lab.large: 3 nodes replaced, one at a time, the new one first',
          },
        ]);
        expect(rolloutsOf(stepsTo(large))).toEqual(['control-plane']);
        expect(changeFaults(withReplicas(3), withReplicas(3, large))).toEqual([]);
      });

      it('needs capacity for one more machine, or for none with maxSurge 0', () => {
        const surges = ([1, 0] as const).map((maxSurge) => {
          const after = { ...large, rollout: rollout(maxSurge) };
          const steps = stepsTo(after);
          return [steps[0]?.reason.split(', ').at(-1), controlPlaneSurgeOf(steps, withReplicas(3, after))];
        });
        const set = { connection: 'lab', spec: 'lab.large', pool: 'control-plane' };
        expect(surges).toMatchObject([
          ['the new one first', { ...set, count: 1 }],
          ['the old one first', { ...set, count: 0 }],
        ]);
        expect(controlPlaneSurgeOf([], withReplicas(3))).toBeUndefined();
      });

      it('replaces none that is removed anyway, and none automatically with OnDelete', () => {
        expect(stepsTo(large, 1).map(({ action, count }) => [action, count])).toEqual([
          ['remove-nodes', 2],
          ['replace-nodes', 1],
        ]);
        const waiting = stepsTo({ ...large, rollout: { strategy: 'OnDelete', maxSurge: 1 } });
        expect([waiting.map(({ count }) => count), rolloutsOf(waiting)]).toEqual([[0], []]);
      });

      it('has no difference if only defaults are written out', () =>
        expect(changedFields(withReplicas(3), withReplicas(3, { rollout: rollout(1) }))).toEqual([]));

      it.each([
        ['cluster.field-immutable', { schedulable: true }, large, 'spec.controlPlane.machineType'],
        ['cluster.field-immutable', {}, { connection: 'other' as never }, 'spec.controlPlane.connection'],
      ] as const)('is refused with %s: %j to %j', (code, before, change, field) =>
        expect(changeFaults(withReplicas(3, before), withReplicas(3, { ...before, ...change }))).toMatchObject([
          { code, field },
        ]),
      );

      it('is refused for a version, and for an image, if the only control plane takes workloads', () => {
        const single = (more: Partial<DeclaredSpec['controlPlane']> = {}): DeclaredSpec =>
          withReplicas(1, { schedulable: true, ...more });
        const replaced = single({ rollout: { strategy: 'Replace', maxSurge: 1 } });
        expect(changeFaults(single(), replaced)).toMatchObject([
          { code: 'cluster.replace-schedulable', field: 'spec.controlPlane.rollout.strategy' },
        ]);
        expect(controlPlaneRolloutFaults(replaced)).toMatchObject([{ code: 'cluster.replace-schedulable' }]);
        expect(controlPlaneRolloutFaults(withReplicas(1, { rollout: { strategy: 'Replace', maxSurge: 1 } }))).toEqual(
          [],
        );
        expect(changeFaults(single(), single({ image: 'debian-13' }))).toMatchObject([
          { code: 'cluster.field-immutable', field: 'spec.controlPlane.image' },
        ]);
      });

      it('is refused with maxSurge 0 if fewer than 3 are declared, unless that was so before [Cluster API 21]', () => {
        const first = (replicas: number): DeclaredSpec => withReplicas(replicas, { rollout: rollout(0) });
        const [fault] = changeFaults(first(3), first(1));
        expect(fault).toMatchObject({
          code: 'cluster.control-plane-surge',
          field: 'spec.controlPlane.rollout.maxSurge',
          message: 'maxSurge of the control plane can be 0 with 3 control planes or more, not with 1',
        });
        expect(controlPlaneRolloutFaults(first(1))).toEqual([fault]);
        expect(controlPlaneRolloutFaults(first(3))).toEqual([]);
        expect(changeFaults(first(1), { ...first(1), pools: [pool('web', 1)] })).toEqual([]);
        expect(controlPlaneSurge(first(1).controlPlane)).toBe(1);
      });
    });
  });

  it('is empty when only the order of pools differs [azimuth 35]', () => {
    const [one, other] = [pool('a', 1), pool('b', 1)];
    expect(changedFields(declared([one, other]), declared([other, one]))).toEqual([]);
    const basis = { members: [member('w-1', 'a'), member('w-2', 'b')] };
    expect(planOf(declared([one, other]), declared([other, one]), basis)).toEqual([]);
  });

  it.each([
    ['cluster.field-immutable', declared([pool('web', 3)], { serviceType: 'multi' }), 'spec.serviceType'],
    ['cluster.version-lower', declared([pool('web', 3)], { version: 'v1.33.13' as never }), 'spec.version'],
    ['cluster.version-path', declared([pool('web', 3)], { version: 'v1.38.0' as never }), 'spec.version'],
    [
      'cluster.control-plane-even',
      declared([pool('web', 3)], { controlPlane: { ...declared([]).controlPlane, replicas: 4 } }),
      'spec.controlPlane.replicas',
    ],
    [
      'cluster.control-plane-too-many',
      declared([pool('web', 3)], { controlPlane: { ...declared([]).controlPlane, replicas: 7 } }),
      'spec.controlPlane.replicas',
    ],
    [
      'cluster.control-plane-count',
      declared([pool('web', 3)], { controlPlane: { ...declared([]).controlPlane, replicas: 0 } }),
      'spec.controlPlane.replicas',
    ],
  ])('is refused with %s', (code, after, field) =>
    expect(changeFaults(declared([pool('web', 3)]), after)).toMatchObject([{ code, field }]),
  );

  it('of the version is one upgrade, through every minor on the way [ORBITER 14, Cluster API 24]', () => {
    const [old, late] = [declared([], { version: 'v1.33.13' as never }), declared([], { version: 'v1.35.4' as never })];
    const members = [member('cp-1', 'control-plane'), member('w-1', 'web')];
    expect(changeFaults(old, late)).toEqual([]);
    expect(planOf(old, late, { members })).toEqual([
      {
        action: 'upgrade',
        pool: null,
        count: 2,
        nodes: [],
        reason: 'v1.33.13 → v1.34.4 → v1.35.4: 2 nodes, control planes before workers',
      },
    ]);
  });

  it('of the version is empty if the manifest omits it, whatever the current default', () => {
    const { version: _version, ...spec } = ClusterManifest.parse(minimal).spec;
    const current = declared([pool('web', 3)], { version: 'v1.35.4' as never });
    expect(specOfManifest(spec, current).version).toBe('v1.35.4');
    expect(specOfManifest(spec).version).toBe(DEFAULT_KUBERNETES_VERSION);
  });

  describe('of the machine template of a pool', () => {
    const before = declared([pool('web', 3), pool('idle', 0)]);
    const large = { machineType: 'lab.large' };
    const stepsTo = (change: Partial<DeclaredPool>, replicas = 3) =>
      planOf(before, declared([pool('web', replicas, change), pool('idle', 0)]), { members: members.slice(0, 3) });

    it('replaces its nodes, with a reason for each [Cluster API 28]', () => {
      const rollout = { strategy: 'RollingUpdate', maxSurge: '50%', maxUnavailable: '50%', canary: true } as const;
      const steps = stepsTo({ ...large, rollout });
      expect(steps).toEqual([
        {
          action: 'replace-nodes',
          pool: 'web',
          count: 3,
          nodes: ['w-1', 'w-2', 'w-3'].map((name) => ({ name, reason: 'machineType lab.medium' })),
          reason:
            'machineType lab.medium → lab.large: 3 nodes replaced, one first, alone, then at most 2 extra and 1 unavailable',
        },
      ]);
      expect([removalsOf(steps), rolloutsOf(steps)]).toEqual([[], ['web']]);
      expect(changeFaults(before, declared([pool('web', 3, large), pool('idle', 0)]))).toEqual([]);
    });

    it('replaces each node that has another image than the declared one, or that of the connection', () => {
      const [step] = stepsTo({ image: 'debian-13' });
      expect([step?.action, step?.count, step?.reason]).toEqual([
        'replace-nodes',
        3,
        'image of the connection → debian-13: 3 nodes replaced, at most 1 extra and 0 unavailable',
      ]);
      const declaring = declared([pool('web', 3, { image: 'debian-13' }), pool('idle', 0)]);
      const rolled = members.map((member) => ({ ...member, machine: { ...member.machine, image: 'debian-13' } }));
      expect(planOf(before, declaring, { members: rolled })).toEqual([]);
      expect(planOf(declaring, before, { members: rolled.slice(0, 3) })).toMatchObject([
        { action: 'replace-nodes', nodes: [{ reason: 'image debian-13' }, {}, {}] },
      ]);
    });

    it('says of another version which nodes are replaced for it', () => {
      const rollout = { strategy: 'Replace', maxSurge: 1, maxUnavailable: 0, canary: true } as const;
      const now = declared([pool('web', 3, { rollout }), pool('idle', 0)]);
      const later = { ...now, version: 'v1.35.4' as DeclaredSpec['version'] };
      const [step] = planOf(now, later, { members: members.slice(0, 3) });
      expect([step?.action, step?.reason]).toEqual([
        'upgrade',
        expect.stringMatching(/control planes before workers; replaced by new nodes: pool web$/),
      ]);
    });

    it('replaces none that is removed anyway, and none in an empty pool', () => {
      const [remove, replace] = stepsTo(large, 1);
      expect(remove?.nodes.map(({ name }) => name)).toEqual(['w-2', 'w-3']);
      expect(replace?.nodes.map(({ name }) => name)).toEqual(['w-1']);
      expect(
        planOf(before, declared([pool('web', 3), pool('idle', 0, large)]), { members: members.slice(0, 3) }),
      ).toEqual([]);
    });

    it('replaces none automatically with OnDelete, and the rest after a change to RollingUpdate [Cluster API 25]', () => {
      const onDelete = { strategy: 'OnDelete', maxSurge: 1, maxUnavailable: 0, canary: true } as const;
      const steps = stepsTo({ ...large, rollout: onDelete });
      expect([steps.map(({ count, nodes }) => [count, nodes]), rolloutsOf(steps)]).toEqual([[[0, []]], []]);
      const waiting = declared([pool('web', 3, { ...large, rollout: onDelete })]);
      const rolling = planOf(waiting, declared([pool('web', 3, large)]), { members: members.slice(0, 3) });
      expect(rolloutsOf(rolling)).toEqual(['web']);
    });

    it('has no difference if only defaults are written out', () => {
      const written = { strategy: 'RollingUpdate', maxSurge: 1, maxUnavailable: 0, canary: true } as const;
      const { canary: _later, ...earlier } = written;
      const old = declared([pool('web', 3, { rollout: earlier as typeof written }), pool('idle', 0)]);
      expect(changedFields(old, declared([pool('web', 3, { rollout: written }), pool('idle', 0)]))).toEqual([]);
      expect(changedFields(before, declared([pool('web', 3, { rollout: written }), pool('idle', 0)]))).toEqual([]);
    });

    it.each([
      [10, { maxSurge: 1, maxUnavailable: 0 }, { surge: 1, unavailable: 0 }],
      [10, { maxSurge: '25%', maxUnavailable: '25%' }, { surge: 3, unavailable: 2 }],
      [3, { maxSurge: 0, maxUnavailable: '10%' }, { surge: 0, unavailable: 1 }],
      [1, { maxSurge: '1%', maxUnavailable: '99%' }, { surge: 1, unavailable: 0 }],
    ] as const)(
      'has limits rounded like those of a Deployment: of %i, %j [Cluster API 25]',
      (replicas, shares, limits) => expect(rolloutLimits(shares, replicas)).toEqual(limits),
    );
  });

  it('shows differences, with pools by name', () =>
    expect(changedFields(declared([pool('a', 1)]), declared([pool('a', 2)], { version: 'v1.35.4' as never }))).toEqual([
      { field: 'version', before: 'v1.34.4', after: 'v1.35.4' },
      { field: 'pools[a].replicas', before: '1', after: '2' },
    ]));
});
