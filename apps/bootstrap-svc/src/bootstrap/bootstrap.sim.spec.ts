import { describe, expect, it } from '@jest/globals';
import {
  declaredOf,
  reasonCodeOf,
  type DrainPolicy,
  type EventData,
  type Fact,
  type Namespace,
  type NodeName,
  type StoredEvent,
  type UpgradeId,
} from '@fairlead/contracts';
import { forSeeds } from '../../test/seeds.js';
import { Simulation, type Troubles, CALM, ROUGH } from '../../test/simulation.js';
import {
  balanced,
  balancedByNodes,
  cp,
  created,
  machine,
  machinesOf,
  plannedFor,
  requested,
  UID,
  w,
} from './bootstrap.fixtures.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 200);
const FIVE = [cp(1), cp(2), cp(3), w(1), w(2)];
/** Few attempts and many disturbances: a run may end as Failed, and is then retried. */
const RETRIES_MAX = 60;
/** Takes seconds on a dedicated machine; longer on a shared one. */
const LIMIT_MS = 600_000;
const STEPS_MAX = 1_000;

const surge = { uid: UID, upgradeId: 'u-8f3k2m9q' as UpgradeId, operation: 'op-07', pool: 'workers' };

const begin = async (simulation: Simulation): Promise<void> => {
  await simulation.say('request', requested(3, 2));
  await simulation.say('machines', created(machinesOf(3, 2)), balanced);
};

const beginOnOwnHosts = async (simulation: Simulation): Promise<void> => {
  await simulation.say('request', requested(3, 2));
  await simulation.say('machines', created(machinesOf(3, 2)), balancedByNodes);
};

const beginWithEtcdBeside = async (simulation: Simulation): Promise<void> => {
  await simulation.say('request', requested(3, 2, { etcd: 'external' }));
  await simulation.say('machines', created(machinesOf(3, 2)), balanced);
};

const isFailed = (simulation: Simulation): boolean => {
  const ends = simulation.types.filter((type) =>
    ['ClusterFailed', 'ClusterRetryRequested', 'ClusterReady'].includes(type),
  );
  return ends.at(-1) === 'ClusterFailed';
};

/** Runs step by step until a step of this name has started; the simulation may end earlier. */
const untilBegun = async (simulation: Simulation, step: string): Promise<void> => {
  for (let steps = 0; steps < STEPS_MAX && !simulation.trace.some((line) => line.startsWith(step)); steps += 1)
    await simulation.run(1);
};

const untilReady = async (simulation: Simulation): Promise<void> => {
  await simulation.run();
  for (let retry = 0; isFailed(simulation); retry += 1) {
    if (retry > RETRIES_MAX) throw new Error('it fails again and again');
    await simulation.say('request', { type: 'ClusterRetryRequested', data: { uid: UID } });
    await simulation.run();
  }
};

const before = (simulation: Simulation, first: StoredEvent['type'], second: StoredEvent['type']): void =>
  expect([first, simulation.types.lastIndexOf(first) < simulation.types.indexOf(second), second]).toEqual([
    first,
    true,
    second,
  ]);

/** Every fact once, in the expected order. */
const expectBuilt = (simulation: Simulation): void => {
  expect(simulation.world.violations).toEqual([]);
  expect(simulation.world.inits).toEqual([cp(1)]);
  expect(simulation.world.joins.filter((node) => node !== w(1) && node !== w(2))).toEqual([cp(2), cp(3)]);
  expect([...simulation.world.joins].sort()).toEqual([cp(2), cp(3), w(1), w(2)].sort());
  for (const node of FIVE)
    for (const type of ['HostReached', 'AgentStarted', 'NodeBootstrapped'] as const)
      expect([type, node, simulation.count(type, node)]).toEqual([type, node, 1]);
  for (const type of ['ControlPlaneInitialized', 'NetworkReady', 'ControlPlaneReady', 'ClusterReady'] as const)
    expect([type, simulation.count(type)]).toEqual([type, 1]);
  before(simulation, 'NodeBootstrapped', 'ControlPlaneInitialized');
  before(simulation, 'ControlPlaneInitialized', 'NetworkReady');
  before(simulation, 'NetworkReady', 'ControlPlaneJoined');
  before(simulation, 'ControlPlaneJoined', 'ControlPlaneReady');
  before(simulation, 'NetworkReady', 'WorkerJoined');
  before(simulation, 'WorkerJoined', 'ClusterReady');
  before(simulation, 'NodeReady', 'AddonInstalled');
  before(simulation, 'AddonInstalled', 'ClusterReady');
  for (const node of FIVE)
    expect([node, [...(simulation.world.labels.get(node) ?? [])]]).toEqual([node, [['kubernetes.io/cluster', 'demo']]]);
};

const forAllSeeds = (story: (simulation: Simulation) => Promise<void>, troubles?: Troubles): Promise<void> =>
  forSeeds(SEEDS, story, troubles);

describe(`over ${SEEDS} seeds of lost calls, duplicate deliveries, reordering and crashes`, () => {
  it(
    'requested nodes either become part of the cluster or leave it again, and the cluster never fails because of them',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await untilReady(simulation);
        const failures = simulation.count('ClusterFailed');
        const nodes = [w(3), w(4)];
        const workers = [
          { connection: 'lab', spec: 'lab.medium', rootDisk: { type: 'd', size: 'd' }, count: 2 },
        ] as never;
        await simulation.say('request', { type: 'NodesRequested', data: { uid: UID, requestId: 'r1', workers } });
        await simulation.say('machines', plannedFor('r1', nodes), created(nodes.map((name) => machine(name))));
        await simulation.run();
        const isRolledBack = simulation.count('NodesFailed') > 0;
        expect(simulation.count('ClusterFailed')).toBe(failures);
        expect(isRolledBack || simulation.count('ClusterReady') === 2).toBe(true);
        for (let tries = 0; isRolledBack && tries < RETRIES_MAX; tries += 1) {
          if (nodes.every((node) => simulation.count('NodeRemoved', node) === 1)) return;
          await simulation.say('request', { type: 'ClusterRetryRequested', data: { uid: UID } });
          await simulation.run();
        }
        if (isRolledBack) throw new Error('a node that could not join never left');
      }),
    LIMIT_MS,
  );

  it(
    'control planes that balance their own API do so before they join, and continue with those that are left',
    () =>
      forAllSeeds(async (simulation) => {
        const balances = (node: NodeName): readonly string[] => [...simulation.world.host(node).balances].sort();
        await beginOnOwnHosts(simulation);
        await untilReady(simulation);
        expectBuilt(simulation);
        const all = [cp(1), cp(2), cp(3)];
        for (const node of all) expect([node, balances(node)]).toEqual([node, all]);
        const { types } = simulation;
        expect(types.indexOf('ApiBalanced')).toBeLessThan(types.indexOf('ControlPlaneInitialized'));
        await simulation.say('request', { type: 'NodeRemovalRequested', data: { uid: UID, node: cp(3) } });
        await simulation.run();
        if (simulation.count('NodeRemoved', cp(3)) === 0) return; // Too many disturbances: it is reported as stuck.
        for (const node of [cp(1), cp(2)]) {
          const stuck = simulation.count('BootstrapStepFailed', node) > 0;
          if (!stuck) expect([node, balances(node)]).toEqual([node, [cp(1), cp(2)]]);
        }
      }),
    LIMIT_MS,
  );

  it(
    'a cluster is initialised once, control planes join one after the other, and no step runs early [ORBITER 7, CB-Ladybug 18, CB-Ladybug 21, azimuth 19]',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await untilReady(simulation);
        expectBuilt(simulation);
      }),
    LIMIT_MS,
  );

  it(
    'an external etcd is created before kubeadm init, its members share one CA, whose key is deleted with the cluster',
    () =>
      forAllSeeds(async (simulation) => {
        await beginWithEtcdBeside(simulation);
        await untilReady(simulation);
        expectBuilt(simulation);
        expect(simulation.count('EtcdReady')).toBe(1);
        before(simulation, 'NodeBootstrapped', 'EtcdReady');
        before(simulation, 'EtcdReady', 'ControlPlaneInitialized');
        const ref = `bootstrap-svc.etcd-ca.${UID}`;
        const sealed = simulation.secrets.values.get(ref)?.value ?? '';
        expect([cp(1), cp(2), cp(3)].map((node) => simulation.world.host(node).etcd)).toEqual([sealed, sealed, sealed]);
        expect(JSON.stringify(simulation.store.events)).not.toContain(sealed);
        await simulation.say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
        await simulation.run();
        await simulation.say('machines', { type: 'ClusterDeleted', data: { uid: UID } });
        await simulation.run();
        expect([...simulation.secrets.values.keys()]).toEqual(['infra-svc.ssh-key.lab']);
      }),
    LIMIT_MS,
  );

  it(
    'a deletion, requested at any time, ends all other work on the cluster',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await simulation.run(simulation.below(700));
        await simulation.say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
        await simulation.run();
        expect(simulation.count('ClusterDismantled')).toBe(1);
        expect(await simulation.program.leases.of('any').held('default/demo')).toEqual([]);
        const own = simulation.store.events.filter(({ meta }) => meta.context === 'bootstrap').map(({ type }) => type);
        expect(own.at(-1)).toBe('ClusterDismantled');
        await simulation.say('machines', { type: 'ClusterDeleted', data: { uid: UID } });
        await simulation.run();
        expect([...simulation.secrets.values.keys()]).toEqual(['infra-svc.ssh-key.lab']);
      }),
    LIMIT_MS,
  );

  it(
    'a step that fails permanently is reported once with its cause; a retry continues with it, and completed steps are not repeated [CB-Ladybug 27]',
    () =>
      forAllSeeds(
        async (simulation) => {
          const broken = [
            ['verify', 'BootstrapFailed'],
            ['kubeadm-init', 'ControlPlaneInitFailed'],
            ['apply', 'NetworkAddonFailed'],
            [`kubeadm-join-control-plane/${cp(2)}`, 'ControlPlaneJoinFailed'],
            [`kubeadm-join-worker/${w(2)}`, 'WorkerJoinFailed'],
          ] as const;
          const [step, reason] = broken[simulation.below(broken.length)] ?? broken[0];
          simulation.world.failing.set(step, 'it is broken');
          await begin(simulation);
          await simulation.run();
          const failed = simulation.store.events.filter((event) => event.type === 'ClusterFailed');
          expect(
            failed.map((event) => event.type === 'ClusterFailed' && [event.data.reason, event.data.cause.message]),
          ).toEqual([[reason, 'it is broken']]);
          simulation.world.failing.clear();
          await untilReady(simulation);
          expectBuilt(simulation);
        },
        { ...CALM, twin: ROUGH.twin, crash: ROUGH.crash },
      ),
    LIMIT_MS,
  );

  it(
    'more workers join a ready cluster, and one is removed again [CB-Ladybug 31]',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await untilReady(simulation);
        await simulation.say('machines', created([machine(w(3)), machine(w(4))]));
        await untilReady(simulation);
        expect(simulation.count('ClusterReady')).toBe(2);
        const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } };
        const stuck = (): boolean => simulation.count('NodeRemoved', w(1)) === 0;
        for (let tries = 0; tries === 0 || (stuck() && tries < RETRIES_MAX); tries += 1) {
          await simulation.say('request', removal);
          await simulation.run();
        }
        expect(simulation.count('NodeRemoved', w(1))).toBe(1);
        expect(simulation.count('NodeDrained', w(1))).toBeGreaterThanOrEqual(1);
        expect([...simulation.world.nodes].sort()).toEqual([cp(1), cp(2), cp(3), w(2), w(3), w(4)].sort());
        expect(simulation.world.inits).toEqual([cp(1)]);
        expect(simulation.world.violations).toEqual([]);
      }),
    LIMIT_MS,
  );

  it(
    'surge machines returned at any time leave, and never fail the cluster',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await untilReady(simulation);
        const isBroken = simulation.chance(0.2);
        if (isBroken) simulation.world.failing.set(`kubeadm-join-worker/${w(3)}`, 'it is broken');
        const isLate = simulation.chance(0.2);
        await simulation.say('rollout', { type: 'SurgeRequested', data: { ...surge, count: 1 } });
        const came = created([{ ...machine(w(3)), pool: surge.pool, surge: surge.upgradeId }]);
        if (!isLate) await simulation.say('machines', came);
        if (simulation.chance(0.5)) await untilBegun(simulation, `start JoinWorker ${w(3)}`);
        else await simulation.run(simulation.below(500));
        const returned: Fact = { type: 'SurgeReleased', data: { ...surge, nodes: [] } };
        await simulation.say('rollout', returned);
        if (isLate) await simulation.say('machines', came);
        await untilReady(simulation);
        // It is removed without another request, unless the attempt is reported as failed.
        const tried = (): number =>
          simulation.count('NodeRemoved', w(3)) + simulation.count('BootstrapStepFailed', w(3));
        expect(tried()).toBeGreaterThan(0);
        for (let tries = 0; simulation.count('NodeRemoved', w(3)) === 0 && tries < RETRIES_MAX; tries += 1) {
          await simulation.say('rollout', returned);
          await untilReady(simulation);
        }
        expect(simulation.count('NodeRemoved', w(3))).toBe(1);
        expect([...simulation.world.nodes].sort()).toEqual(FIVE.toSorted());
        expect(simulation.count('ClusterFailed', w(3))).toBe(0);
        expect(simulation.types.filter((type) => type.startsWith('Cluster')).at(-1)).toBe('ClusterReady');
        expect(simulation.world.violations).toEqual([]);
      }),
    LIMIT_MS,
  );
});

describe('optional components of a cluster', () => {
  const NFS = { server: 'nfs.example', path: '/export' };

  it.each([
    ['installed where server and path of an export are given', { nfs: NFS }, 1],
    ['not installed without the server', { nfs: { ...NFS, server: '' } }, 0],
    ['not installed without the path', { nfs: { ...NFS, path: '' } }, 0],
    ['not installed without an export', undefined, 0],
  ])('the NFS storage class is %s [CB-Ladybug 23]', async (_when, storageclass, times) => {
    const simulation = new Simulation(1, CALM);
    await simulation.say('request', requested(1, 1, storageclass === undefined ? {} : { storageclass }));
    await simulation.say('machines', created(machinesOf(1, 1)), balanced);
    await simulation.run();
    expect(simulation.count('ClusterReady')).toBe(1);
    const installed = simulation.store.events.filter(
      (event) => event.type === 'AddonInstalled' && event.data.addon === 'nfs-storage',
    );
    expect(installed).toHaveLength(times);
  });

  it.each([3, 5, 7])(
    'an external etcd with %d members has one on each control plane [CB-Ladybug 22]',
    async (members) => {
      const simulation = new Simulation(1, CALM);
      await simulation.say('request', requested(members, 1, { etcd: 'external' }));
      await simulation.say('machines', created(machinesOf(members, 1)), balanced);
      await simulation.run();
      expect(simulation.count('ClusterReady')).toBe(1);
      const beside = Array.from({ length: members }, (_, index) => simulation.world.host(cp(index + 1)).etcd);
      expect(beside).not.toContain(null);
      expect(simulation.world.host(w(1)).etcd).toBeNull();
    },
  );
});

describe('the reason of a failed creation', () => {
  it.each([
    ['BootstrapFailed', 'prepare', begin],
    ['BootstrapFailed', 'verify', begin],
    ['ExternalEtcdFailed', 'etcd-member', beginWithEtcdBeside],
    ['ApiBalancingFailed', 'balance-api', beginOnOwnHosts],
    ['ControlPlaneInitFailed', 'kubeadm-init', begin],
    ['NetworkAddonFailed', 'apply', begin],
    ['ControlPlaneJoinFailed', 'kubeadm-join-control-plane', begin],
    ['WorkerJoinFailed', 'kubeadm-join-worker', begin],
  ])(
    'is %s with its cause when "%s" fails, and a retry continues from there [CB-Ladybug 25]',
    async (reason, what, start) => {
      const simulation = new Simulation(1, CALM);
      simulation.world.failing.set(what, 'it is broken');
      await start(simulation);
      await simulation.run();
      const failed = simulation.store.events.filter((event) => event.type === 'ClusterFailed');
      expect(failed.map(({ data }) => data)).toMatchObject([{ reason, cause: { message: 'it is broken' } }]);
      simulation.world.failing.clear();
      await untilReady(simulation);
      expect([simulation.count('ClusterReady'), simulation.world.violations]).toEqual([1, []]);
    },
  );
});

describe('a firewall between nodes', () => {
  it.each([
    [
      'the API for a worker',
      undefined,
      /^demo-w-\d-\w+ does not reach the API \(198\.18\.7\.1\) on port 6443: /,
      'JoinWorker',
    ],
    [
      'a new control plane for etcd',
      cp(2),
      /^demo-cp-1-\w+ does not reach demo-cp-2-\w+ \(.*\) on port 2380: /,
      'JoinControlPlane',
    ],
  ] as const)('that drops a port of %s is a finding with source, target and port', async (_, target, words, step) => {
    const simulation = new Simulation(1, CALM);
    const { world } = simulation;
    const dropping = machinesOf(3, 2).find(({ name }) => name === target);
    world.dropped.add(dropping === undefined ? '198.18.7.1:6443' : `${dropping.privateIp}:2380`);
    await begin(simulation);
    await simulation.run();
    const failed = simulation.store.events.flatMap(({ type, data }) => (type === 'ClusterFailed' ? [data] : []));
    expect(failed).toMatchObject([
      { reason: reasonCodeOf(`${step}FailedReason`), cause: { message: expect.stringMatching(words) } },
    ]);
    world.dropped.clear();
    await untilReady(simulation);
    expect([simulation.count('ClusterReady'), world.violations]).toEqual([1, []]);
  });
});

describe('a storage class that cannot be installed', () => {
  const beginWithStorage = async (simulation: Simulation): Promise<void> => {
    const storageclass = { nfs: { server: 'nfs.example', path: '/export' } };
    await simulation.say('request', requested(1, 1, { storageclass }));
    await simulation.say('machines', created(machinesOf(1, 1)), balanced);
  };

  const failedOf = (simulation: Simulation) =>
    simulation.store.events.flatMap((event) => (event.type === 'BootstrapStepFailed' ? [event] : []));

  it('does not prevent a cluster from being Ready: it is retried, and after the last attempt on request [azimuth 20]', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.failing.set('apply StorageClass', 'the export is refused');
    await beginWithStorage(simulation);
    await simulation.run();
    const failed = failedOf(simulation);
    expect(failed.map(({ data: { step, attempt } }) => [step, attempt])).toEqual(
      failed.map((_event, at) => ['InstallStorage', at + 1]),
    );
    expect(failed.map(({ data }) => data.nextAttemptAt === null)).toEqual(
      failed.map((_event, at) => at === failed.length - 1),
    );
    const cause = { operation: 'install the storage class', message: 'the export is refused' };
    expect([failed.length > 1, failed[0]?.data.cause]).toEqual([true, expect.objectContaining(cause)]);
    expect([simulation.count('ClusterReady'), simulation.count('ClusterFailed')]).toEqual([1, 0]);
    simulation.world.failing.clear();
    await simulation.say('request', { type: 'ClusterRetryRequested', data: { uid: UID } });
    await simulation.run();
    const installed = simulation.store.events.filter(
      (event) => event.type === 'AddonInstalled' && event.data.addon === 'nfs-storage',
    );
    expect([installed.length, simulation.count('ClusterReady'), simulation.world.violations]).toEqual([1, 1, []]);
  });

  it('fails a creation that is cleaned up then, with the reason of CB-Ladybug, after its last attempt [CB-Ladybug 26]', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.failing.set('apply StorageClass', 'the export is refused');
    const begun = requested(1, 1, { storageclass: { nfs: { server: 'nfs.example', path: '/export' } } });
    const spec = { ...(begun.data as EventData<'ClusterRequested'>).spec, onFailure: 'cleanup' };
    await simulation.say('request', { ...begun, data: { ...begun.data, spec } } as Fact);
    await simulation.say('machines', created(machinesOf(1, 1)), balanced);
    await simulation.run();
    expect([simulation.count('ClusterReady'), simulation.count('ClusterFailed')]).toEqual([0, 1]);
    const [failed] = simulation.store.events.filter((event) => event.type === 'ClusterFailed');
    expect(failed?.data).toMatchObject({ step: 'InstallStorage', reason: 'StorageClassFailed' });
  });
});

describe('a cluster that is deleted', () => {
  it('releases its load balancers and volumes before its machines are deleted, and reports those not released in time [CB-Ladybug 32]', async () => {
    const simulation = new Simulation(1, CALM);
    await begin(simulation);
    await simulation.run();
    const { outside, unreleased } = simulation.world;
    outside.add('Service default/web').add('PersistentVolume pv-1').add('PersistentVolume pv-2');
    unreleased.add('PersistentVolume pv-2');
    await simulation.say('request', { type: 'ClusterDeletionRequested', data: { uid: UID } });
    await simulation.run();
    const dismantled = simulation.store.events.filter((event) => event.type === 'ClusterDismantled');
    expect(dismantled.map(({ data }) => data)).toEqual([{ uid: UID, left: ['PersistentVolume pv-2'] }]);
    expect([...outside]).toEqual(['PersistentVolume pv-2']);
  });
});

describe('a drain blocked by a disruption budget', () => {
  const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } };
  const held = async (drain?: DrainPolicy): Promise<Simulation> => {
    const simulation = new Simulation(1, CALM);
    await begin(simulation);
    await simulation.run();
    const begun = requested(3, 2);
    if (begun.type !== 'ClusterRequested') throw new Error(begun.type);
    const declared = { ...declaredOf(begun.data.spec), ...(drain === undefined ? {} : { drain }) };
    await simulation.say('request', { type: 'ClusterSpecChanged', data: { uid: UID, revision: 1, spec: declared } });
    simulation.world.protected.add('web-2');
    await simulation.say('request', removal);
    return simulation;
  };
  const until = async (simulation: Simulation, type: StoredEvent['type']): Promise<void> => {
    for (let steps = 0; steps < 100 * STEPS_MAX && simulation.count(type, w(1)) === 0; steps += 1)
      await simulation.run(1);
    expect(simulation.count(type, w(1))).toBe(1);
  };
  const recorded = (simulation: Simulation, type: StoredEvent['type']) =>
    simulation.store.events.find((event) => event.type === type)?.data;

  it('is waited for: the remaining pods and the reason are recorded once, and it continues once they may be evicted [Cluster API 27]', async () => {
    const simulation = await held();
    await until(simulation, 'NodeDrainBlocked');
    await simulation.run(50);
    expect(recorded(simulation, 'NodeDrainBlocked')).toMatchObject({
      left: 1,
      pods: [{ pod: 'default/web-2', reason: 'the disruption budget web says no' }],
    });
    expect([simulation.count('NodeDrained'), simulation.count('BootstrapStepFailed')]).toEqual([0, 0]);
    simulation.world.protected.clear();
    await simulation.run();
    expect(simulation.count('NodeDrainBlocked')).toBe(1);
    expect(recorded(simulation, 'NodeDrained')).not.toHaveProperty('leftPods');
    expect(simulation.count('NodeRemoved', w(1))).toBe(1);
  });

  it('ends after its timeout, if it has one, and the node is removed with the remaining pods [Cluster API 27]', async () => {
    const simulation = await held({ timeout: '0s' });
    await simulation.run();
    expect(recorded(simulation, 'NodeDrained')).toMatchObject({ evictedPods: 2, leftPods: 3, dead: false });
    expect([simulation.count('NodeDrainBlocked'), simulation.count('NodeRemoved', w(1))]).toEqual([0, 1]);
  });

  it('does not block the removal of other nodes', async () => {
    const simulation = await held();
    await until(simulation, 'NodeDrainBlocked');
    simulation.world.protected.clear();
    await simulation.say('request', { type: 'NodeRemovalRequested', data: { uid: UID, node: w(2) } });
    await simulation.run();
    expect(simulation.count('NodeRemoved', w(2))).toBe(1);
  });

  it('is skipped if a rule keeps the pods [Cluster API 27]', async () => {
    const simulation = await held({ rules: [{ name: 'web', behavior: 'Skip', namespaces: ['default' as Namespace] }] });
    await simulation.run();
    expect(recorded(simulation, 'NodeDrained')).toEqual({ uid: UID, node: w(1), evictedPods: 0, dead: false });
  });
});

describe('a removal that is cancelled', () => {
  const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } };
  const cancel: Fact = { type: 'NodeRemovalCancellationRequested', data: { uid: UID, node: w(1), reason: '' } };
  /** A host that was reset is no longer joined. */
  const isNode = (simulation: Simulation): boolean => simulation.world.host(w(1)).joinedAs !== null;

  it('ends a drain blocked by a budget: the node is uncordoned, its host is not reset, and it can be removed later', async () => {
    const simulation = new Simulation(1, CALM);
    await begin(simulation);
    await simulation.run();
    simulation.world.protected.add('web-2');
    await simulation.say('request', removal);
    for (let steps = 0; steps < 100 * STEPS_MAX && simulation.count('NodeDrainBlocked', w(1)) === 0; steps += 1)
      await simulation.run(1);
    expect(simulation.world.cordoned.has(w(1))).toBe(true);
    await simulation.say('request', cancel);
    await simulation.run();
    expect(simulation.count('NodeRemovalCancelled', w(1))).toBe(1);
    expect([simulation.world.cordoned.has(w(1)), simulation.world.nodes.has(w(1)), isNode(simulation)]).toEqual([
      false,
      true,
      true,
    ]);
    simulation.world.protected.clear();
    await simulation.run();
    expect(simulation.count('NodeDrained', w(1))).toBe(0);
    await simulation.say('request', removal);
    await simulation.run();
    expect([simulation.count('NodeRemoved', w(1)), isNode(simulation)]).toEqual([1, false]);
  });

  it(
    'at any time either keeps the node, uncordoned, or is too late after its drain, and the node leaves',
    () =>
      forAllSeeds(async (simulation) => {
        await begin(simulation);
        await untilReady(simulation);
        await simulation.say('request', removal);
        await simulation.run(simulation.below(120));
        await simulation.say('request', cancel);
        await untilReady(simulation);
        const isKept = simulation.count('NodeRemovalCancelled', w(1)) === 1;
        for (let tries = 0; !isKept && simulation.count('NodeRemoved', w(1)) === 0 && tries < RETRIES_MAX; tries += 1) {
          await simulation.say('request', { type: 'ClusterRetryRequested', data: { uid: UID } });
          await untilReady(simulation);
        }
        expect([isKept, simulation.count('NodeRemoved', w(1)), simulation.world.nodes.has(w(1))]).toEqual(
          isKept ? [true, 0, true] : [false, 1, false],
        );
        if (isKept)
          expect([simulation.count('NodeDrained', w(1)), simulation.world.cordoned.has(w(1))]).toEqual([0, false]);
        expect(simulation.world.violations).toEqual([]);
      }),
    LIMIT_MS,
  );
});

describe('a host that fails verification', () => {
  it.each([w(2), cp(1)] as NodeName[])(
    'keeps kubeadm from running on any host, and is reported with its port: %s [ORBITER 6]',
    async (node) => {
      const simulation = new Simulation(1, CALM);
      simulation.world.unfit.set(node, 'port 10250 is in use');
      await begin(simulation);
      await simulation.run();
      expect([simulation.count('NodeBootstrapped'), simulation.world.inits]).toEqual([4, []]);
      expect(simulation.store.events.find((event) => event.type === 'ClusterFailed')?.data).toMatchObject({
        step: 'VerifyNode',
        node,
        reason: 'BootstrapFailed',
        cause: { operation: 'verify the host', target: node, message: 'port 10250 is in use' },
      });
      simulation.world.unfit.clear();
      await untilReady(simulation);
      expectBuilt(simulation);
    },
  );
});

describe(`another control plane with an external etcd, over ${SEEDS} seeds`, () => {
  it(
    'has a voting member before it joins, one after the other, despite lost calls and interruptions',
    () =>
      forAllSeeds(async (simulation) => {
        await simulation.say('request', requested(3, 1, { etcd: 'external' }));
        await simulation.say('machines', created(machinesOf(3, 1)), balanced);
        await untilReady(simulation);
        const nodes = [cp(4), cp(5)];
        const set = { connection: 'lab', spec: 'lab.medium', rootDisk: { type: 'd', size: 'd' }, count: 2 };
        const data = { uid: UID, requestId: 'r1', workers: [], controlPlane: set };
        await simulation.say('request', { type: 'NodesRequested', data } as never);
        await simulation.say('machines', plannedFor('r1', nodes), created(nodes.map((name) => machine(name))));
        await simulation.run();
        for (const node of nodes) {
          if (simulation.count('ControlPlaneJoined', node) === 0) continue;
          expect(simulation.count('EtcdMemberAdded', node)).toBe(1);
          expect(simulation.world.host(node).etcdctl).toBe(true);
        }
        const { voters, learners } = simulation.world;
        const stay = [cp(1), cp(2), cp(3), ...nodes].filter((node) => simulation.count('NodeRemoved', node) === 0);
        expect([...voters].filter((node) => !stay.includes(node as NodeName))).toEqual([]);
        expect(learners.size).toBeLessThanOrEqual(1);
        expect(simulation.count('ControlPlaneJoined', cp(4)) + simulation.count('NodesFailed')).toBeGreaterThan(0);
      }),
    LIMIT_MS,
  );
});

describe('dead machines', () => {
  const ready = async (): Promise<Simulation> => {
    const simulation = new Simulation(1, CALM);
    await begin(simulation);
    await simulation.run();
    expect(simulation.count('ClusterReady')).toBe(1);
    return simulation;
  };

  it.each([w(1), cp(2)] as NodeName[])('a node with a dead host is removed without it: %s', async (node) => {
    const simulation = await ready();
    simulation.world.unreachable.add(node);
    await simulation.say('request', { type: 'NodeRemovalRequested', data: { uid: UID, node } });
    await simulation.run();
    const drained = simulation.store.events.find((event) => event.type === 'NodeDrained');
    expect(drained?.data).toEqual({ uid: UID, node, evictedPods: 0, dead: true });
    expect(simulation.count('NodeRemoved', node)).toBe(1);
    expect(simulation.world.nodes.has(node)).toBe(false);
  });

  it('a node that Kubernetes does not delete leaves its host first, and its removal continues after nodeDeletionTimeout [Cluster API 18]', async () => {
    const simulation = await ready();
    simulation.world.failing.set(`delete node/${w(1)}`, 'admission webhook "keep" denied the request');
    await simulation.say('request', { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } });
    await simulation.run();
    expect([simulation.world.host(w(1)).joinedAs, simulation.world.host(w(1)).agentStarted]).toEqual([null, false]);
    const removed = simulation.store.events.filter((event) => event.type === 'NodeRemoved');
    expect(removed.map(({ data }) => data)).toMatchObject([
      { node: w(1), undeleted: { operation: 'delete node', message: 'admission webhook "keep" denied the request' } },
    ]);
    expect(simulation.types).not.toContain('BootstrapStepFailed');
  });

  it('a joining node is removed after its join has ended, because it would return otherwise', async () => {
    const simulation = await ready();
    const joining = `JoinWorker/${w(1)}`;
    const lease = await simulation.program.leases.of('another replica').acquire('default/demo', joining);
    await simulation.say('request', { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } });
    await simulation.run(500);
    expect(simulation.count('NodeRemoved', w(1))).toBe(0);
    expect(simulation.world.nodes.has(w(1))).toBe(true);
    await lease?.release();
    await simulation.run();
    expect(simulation.count('NodeRemoved', w(1))).toBe(1);
  });

  it('a node that is down does not prevent others from joining', async () => {
    const simulation = await ready();
    simulation.world.unreachable.add(w(1));
    const workers = [{ connection: 'lab', spec: 'lab.medium', rootDisk: { type: 'd', size: 'd' }, count: 1 }] as never;
    await simulation.say('request', { type: 'NodesRequested', data: { uid: UID, requestId: 'r1', workers } });
    await simulation.say('machines', plannedFor('r1', [w(3)]), created([machine(w(3))]));
    await simulation.run();
    expect([simulation.count('WorkerJoined', w(3)), simulation.count('ClusterReady')]).toEqual([1, 2]);
    expect(simulation.types).not.toContain('BootstrapStepFailed');
  });

  it('a host that never answers fails the cluster, with its name, without waiting for the others [CB-Ladybug 14]', async () => {
    const simulation = new Simulation(1, CALM);
    simulation.world.unreachable.add(w(2));
    await begin(simulation);
    await simulation.run();
    const failed = simulation.store.events.find((event) => event.type === 'ClusterFailed');
    expect(failed?.data).toMatchObject({
      step: 'BootstrapHost',
      node: w(2),
      reason: 'BootstrapFailed',
      cause: { operation: 'open SSH', target: w(2), message: 'no route to host' },
    });
  });
});
