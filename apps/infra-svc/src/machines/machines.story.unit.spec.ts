import {
  CONNECTIONS_STREAM,
  declaredOf,
  type ClusterUid,
  type ConnectionName,
  type Fact,
  type Hook,
  type NodeName,
  type PoolName,
} from '@fairlead/contracts';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, registered, requested, UID } from '../../test/fixtures.js';
import { bootstrapStream, requestStream, typesOf } from '../../test/memory.service.js';
import { Story } from '../../test/story.js';
import { machineName } from './machines.planner.js';
import { PLAN_POLICY } from './machines.task.js';

const of = (type: 'ClusterRetryRequested' | 'ClusterDeletionRequested', uid: ClusterUid = UID) =>
  ({ type, data: { uid } }) as Fact;
const controlPlane = (index: number): NodeName => machineName('demo', UID, 'control-plane', index);
const worker = (index: number): NodeName => machineName('demo', UID, 'worker', index);
const CONTROL_PLANES = [controlPlane(1), controlPlane(2), controlPlane(3)];

describe('the machines of a cluster', () => {
  let story: Story;

  beforeEach(async () => {
    story = new Story();
    await story.begin();
  });

  const declare = (hooks: readonly Hook[], revision: number): Fact => ({
    type: 'ClusterSpecChanged',
    data: { uid: UID, revision, spec: { ...declaredOf(clusterSpec()), hooks: [...hooks] } },
  });
  const HOOK: Hook = { name: 'quota', points: ['BeforeCreate'], url: 'https://hooks.example.com/fairlead' };
  const about = { uid: UID, hook: 'quota', point: 'BeforeCreate', attempt: 1 } as const;

  it('are neither planned nor created before the BeforeCreate hooks have completed [Cluster API 29]', async () => {
    await story.log.say(requestStream, requested());
    await story.request(declare([HOOK], 1));
    expect(story.types().at(-1)).toBe('ClusterAccepted');
    const blocked = { ...about, message: 'approval is pending', nextAttemptAt: '2026-01-01T00:01:00.000Z' };
    await story.log.say(bootstrapStream, { type: 'HookBlocked', data: blocked });
    await story.settle();
    expect([story.types().at(-1), story.cloud.machines.size, story.cloud.networks.size]).toEqual(['HookBlocked', 0, 0]);
    await story.log.say(bootstrapStream, { type: 'HookSucceeded', data: { ...about, attempt: 2, message: '' } });
    await story.settle();
    expect(story.cloud.machines.size).toBe(5);
    expect(story.types()).toContain('LoadBalancerReady');
  });

  it('are created once the hook that blocks them is removed from the manifest', async () => {
    await story.log.say(requestStream, requested());
    await story.request(declare([HOOK], 1));
    expect(story.cloud.machines.size).toBe(0);
    await story.request(declare([], 2));
    expect(story.cloud.machines.size).toBe(5);
  });

  it('that hooks block need no deletion when the cluster is deleted', async () => {
    await story.log.say(requestStream, requested());
    await story.request(declare([HOOK], 1));
    await dismantle();
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });

  const GONE: Hook = { ...HOOK, points: ['AfterClusterDelete'] };
  const asked = { ...about, point: 'AfterClusterDelete' } as const;
  const AGAIN_AT = '2026-01-01T00:01:00.000Z';

  /** Everything is deleted, and a hook blocks the end. */
  const emptied = async (): Promise<void> => {
    await story.request(requested());
    await story.request(declare([GONE], 1));
    await dismantle();
    expect([story.types().at(-1), story.cloud.machines.size]).toEqual(['InfrastructureDeleted', 0]);
  };

  it('are gone before the AfterClusterDelete hooks run, which block the end of the deletion [Cluster API 29]', async () => {
    await emptied();
    await story.log.say(bootstrapStream, {
      type: 'HookBlocked',
      data: { ...asked, message: '', nextAttemptAt: AGAIN_AT },
    });
    await story.request(of('ClusterRetryRequested', UID));
    expect(story.types()).not.toContain('ClusterDeleted');
    await story.log.say(bootstrapStream, { type: 'HookSucceeded', data: { ...asked, attempt: 2, message: '' } });
    await story.settle();
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });

  it.each([
    ['is asked again with the policy Fail', AGAIN_AT, false],
    ['is not waited for with the policy Ignore', null, true],
  ])('of a cluster whose last hook has failed are deleted; it %s', async (_policy, nextAttemptAt, isOver) => {
    await emptied();
    const cause = { operation: 'call the hook', target: 'quota', message: 'no answer' };
    await story.log.say(bootstrapStream, { type: 'HookFailed', data: { ...asked, cause, nextAttemptAt } });
    await story.settle();
    expect(story.types().includes('ClusterDeleted')).toBe(isOver);
  });

  it('are forgotten if the last hook of their cluster is skipped', async () => {
    await emptied();
    const { attempt: _attempt, ...skipped } = asked;
    await story.log.say(bootstrapStream, {
      type: 'HookBlocked',
      data: { ...asked, message: '', nextAttemptAt: AGAIN_AT },
    });
    await story.request({ type: 'HookSkipped', data: { ...skipped, reason: 'it is down' } });
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });

  it('are forgotten if the last hook of their cluster is removed from the manifest', async () => {
    await emptied();
    await story.request(declare([], 2));
    expect(story.types().at(-1)).toBe('ClusterDeleted');
  });

  const dismantle = async (uid = UID): Promise<void> => {
    await story.request(of('ClusterDeletionRequested', uid));
    await story.log.say(bootstrapStream, { type: 'ClusterDismantled', data: { uid } });
    await story.settle();
  };

  it('are created in this order, and then balanced with the port and the health check of their API [CB-Ladybug 7, CB-Ladybug 15, ORBITER 6]', async () => {
    await story.request(requested());
    expect(story.types()).toEqual([
      'NamespaceCreated',
      'ConnectionRegistered',
      'ConnectionVerified',
      'ClusterRequested',
      'ClusterAccepted',
      'NetworkEnsured',
      'FirewallEnsured',
      'SshKeyEnsured',
      'ImageEnsured',
      'SpecEnsured',
      'VmsPlanned',
      ...Array<string>(5).fill('VmCreated'),
      'VmsCreated',
      'LoadBalancerReady',
    ]);
    expect(story.done).toEqual([
      'VerifyConnection',
      'ValidateCluster',
      'PlanMachines',
      'EnsureMachines',
      'EnsureLoadBalancer',
    ]);
    expect(story.last('VmsCreated').machines[0]).toMatchObject({
      name: controlPlane(1),
      leader: true,
      providerId: `lab://m-${controlPlane(1)}`,
      csp: 'lab',
      ssh: { keyRef: 'infra-svc.ssh-key.lab' },
    });
    const [balancer] = [...story.cloud.balancers.values()];
    expect(balancer).toMatchObject({
      ...{ name: 'default.demo', kind: 'haproxy', targetPort: 6443, healthPath: '/readyz' },
    });
    expect(balancer?.targets).toEqual(CONTROL_PLANES.map((name) => `m-${name}`));
  });

  it('are requested in one call per connection; the initial control plane is planned first, and does not change when others fail [CB-Ladybug 10]', async () => {
    const other = 'other' as ConnectionName;
    const elsewhere = machineName('demo', UID, 'worker', 3);
    await story.log.say(CONNECTIONS_STREAM, registered({ name: other }));
    story.cloud.bootFailures.set(controlPlane(2), 'no luck');
    await story.request(requested(clusterSpec({ workers: [nodeSet(2), nodeSet(1, { connection: other })] })));
    expect(story.cloud.requests).toEqual([
      { group: 'default.demo.lab', machines: [...CONTROL_PLANES, worker(1), worker(2)] },
      { group: 'default.demo.other', machines: [elsewhere] },
    ]);
    const initial = (machines: readonly { name: NodeName; leader: boolean }[]) =>
      machines.filter(({ leader }) => leader).map(({ name }) => name);
    expect(initial(story.last('VmsPlanned').machines)).toEqual([controlPlane(1)]);
    story.cloud.bootFailures.clear();
    await story.request(of('ClusterRetryRequested'));
    expect(initial(story.last('VmsCreated').machines)).toEqual([controlPlane(1)]);
  });

  it('belong to a pool from their plan on; nothing is created on a connection without a pool [Cluster API 1]', async () => {
    expect(story.types().at(-1)).toBe('ConnectionVerified');
    expect([story.cloud.creations.size, story.cloud.machines.size]).toEqual([0, 0]);
    const web = { ...nodeSet(2), pool: 'web' as PoolName };
    await story.request(requested(clusterSpec({ workers: [web] })));
    const pools = ['control-plane', 'control-plane', 'control-plane', 'web', 'web'];
    expect(story.last('VmsPlanned').machines.map(({ pool }) => pool)).toEqual(pools);
    expect(story.last('VmsCreated').machines.map(({ pool }) => pool)).toEqual(pools);
    expect(story.cloud.machines.size).toBe(5);
  });

  it('are not requested before their SSH key exists, whose creation is retried with a schedule and not polled [Cluster API 4]', async () => {
    Object.assign(story, { outage: 'the key store is full', outageOf: 'ensure SSH key' });
    await story.request(requested());
    expect([story.cloud.machines.size, story.types().includes('VmsPlanned')]).toEqual([0, false]);
    const attempts = story.log.events.filter(({ type }) => type === 'InfrastructureStepFailed');
    expect(attempts.map(({ data }) => data)).toMatchObject([
      { attempt: 1, nextAttemptAt: expect.any(String), cause: { operation: 'ensure SSH key' } },
      { attempt: 2, nextAttemptAt: expect.any(String) },
      { attempt: 3, nextAttemptAt: null },
    ]);
    expect(PLAN_POLICY.backoffMaxMs).toBe(30_000);
    const { calls } = story.cloud;
    await story.wait();
    expect(story.cloud.calls).toBe(calls);
    story.outage = undefined;
    await story.request(of('ClusterRetryRequested'));
    const types = story.types();
    expect(types.indexOf('SshKeyEnsured')).toBeLessThan(types.indexOf('VmsPlanned'));
    expect(story.last('VmsCreated').machines).toHaveLength(5);
  });

  it('use the shared resources of their connection, which a second cluster neither creates nor states again [CB-Ladybug 8]', async () => {
    await story.request(requested());
    const before = story.types().filter((type) => type.endsWith('Ensured')).length;
    const creations = [...story.cloud.creations].filter(([thing]) => !thing.startsWith('machine')).length;
    const second = { namespace: 'default', cluster: 'second', context: 'request' };
    const spec = clusterSpec({ name: 'second' as never });
    await story.log.say(second, requested(spec, LATER_UID));
    await story.settle();
    expect(typesOf(story.log, LATER_UID)).toContain('VmsCreated');
    expect(story.types().filter((type) => type.endsWith('Ensured'))).toHaveLength(before);
    const things = [...story.cloud.creations].filter(([thing]) => !/^(machine|balancer)/.test(thing));
    expect(things.every(([, count]) => count === 1)).toBe(true);
    expect(creations).toBe(4); // network, firewall, SSH key, and the first cluster's load balancer
  });

  it("fail with the provider's message if one of them fails, and the others are kept for a retry [CB-Ladybug 11]", async () => {
    story.cloud.bootFailures.set(worker(2), 'Quota exceeded for resource INSTANCES');
    await story.request(requested());
    expect(story.last('InfrastructureFailed')).toEqual({
      uid: UID,
      step: 'create machines',
      reason: 'MachineCreationFailed',
      cause: { operation: 'create machines', target: worker(2), message: 'Quota exceeded for resource INSTANCES' },
    });
    expect(story.types().filter((type) => type === 'VmCreated')).toHaveLength(4);
    expect(story.types()).not.toContain('VmsCreated');
    story.cloud.bootFailures.clear();
    await story.request(of('ClusterRetryRequested'));
    expect(story.last('VmsCreated').machines).toHaveLength(5);
    expect(story.cloud.creations.get(`machine ${worker(1)}`)).toBe(1);
    expect(story.cloud.creations.get(`machine ${worker(2)}`)).toBe(2);
    expect(story.types().filter((type) => type === 'VmCreated')).toHaveLength(5);
  });

  it.each([
    ['ConnectionUnusable', 'verify connection'],
    ['ConnectionUnusable', 'list specs'],
    ['ConnectionUnusable', 'resolve region'],
    ['MachineLookupFailed', 'describe machines'],
    ['NetworkFailed', 'ensure network'],
    ['FirewallFailed', 'ensure firewall'],
    ['SSHKeyFailed', 'ensure SSH key'],
    ['ImageUnavailable', 'resolve image'],
    ['MachineTypeUnavailable', 'resolve spec'],
    ['MachineCreationFailed', 'create machines'],
    ['LoadBalancerFailed', 'ensure load balancer'],
  ] as const)(
    'fail with %s and its cause if "%s" fails, and are created by a retry [CB-Ladybug 25]',
    async (reason, operation) => {
      story = new Story();
      Object.assign(story, { outage: 'the provider says no', outageOf: operation });
      await story.begin();
      await story.request(requested());
      const cause = { operation, message: 'the provider says no' };
      expect(story.last('InfrastructureFailed')).toMatchObject({ reason, cause });
      story.outage = undefined;
      await story.request(of('ClusterRetryRequested'));
      expect(story.last('VmsCreated').machines).toHaveLength(5);
    },
  );

  it('fail at once, without retries, if there is no capacity for them', async () => {
    story.cloud.machinesMax = 2;
    await story.request(requested());
    expect(story.last('InfrastructureFailed').cause.message).toBe('Quota exceeded: at most 2 machines');
    expect(story.types().filter((type) => type === 'InfrastructureStepFailed')).toHaveLength(1);
  });

  it.each([
    ['multi', 'public'],
    ['single', 'private'],
  ] as const)(
    'of a %s-cloud cluster fail if one of them has no %s address [CB-Ladybug 12, CB-Ladybug 25]',
    async (serviceType, kind) => {
      (kind === 'public' ? story.cloud.withoutPublicIp : story.cloud.withoutPrivateIp).add(worker(1));
      await story.request(requested(clusterSpec({ serviceType })));
      expect(story.last('InfrastructureFailed')).toMatchObject({
        reason: 'MachineAddressMissing',
        cause: { operation: 'use machine', target: worker(1), message: `the machine runs but has no ${kind} address` },
      });
    },
  );

  it('fail if the provider reports two of them under one ID: the second one is refused until it has its own [Cluster API 8]', async () => {
    story.cloud.reportedAs.set(worker(2), `m-${worker(1)}`);
    await story.request(requested());
    expect(story.last('InfrastructureFailed').cause).toMatchObject({
      operation: 'create machines',
      target: worker(2),
      message: `the provider reports it as lab://m-${worker(1)}, which is machine ${worker(1)}`,
    });
    expect(story.types().filter((type) => type === 'VmCreated')).toHaveLength(4);
    story.cloud.reportedAs.clear();
    await story.request(of('ClusterRetryRequested'));
    expect(new Set(story.last('VmsCreated').machines.map(({ providerId }) => providerId)).size).toBe(5);
  });

  it('of a single-cloud cluster need no public address', async () => {
    story.cloud.withoutPublicIp.add(worker(1));
    await story.request(requested(clusterSpec({ serviceType: 'single' })));
    expect(story.types()).not.toContain('InfrastructureFailed');
    expect(story.last('VmsCreated').machines).toHaveLength(5);
  });

  it('are created on every connection of a multi-cloud cluster, with the resources of each', async () => {
    const other = 'other' as ConnectionName;
    await story.log.say(CONNECTIONS_STREAM, registered({ name: other }));
    await story.request(requested(clusterSpec({ workers: [nodeSet(1, { connection: other })] })));
    expect(story.last('VmsCreated').machines.map(({ connection }) => connection)).toEqual(['lab', 'lab', 'lab', other]);
    expect([...story.cloud.networks.keys()]).toEqual(['lab-vpc', 'other-vpc']);
    await dismantle();
    expect(story.cloud.machines.size).toBe(0);
  });

  it('are extended by requested ones, which are announced without the others', async () => {
    await story.request(requested());
    await story.request({ type: 'NodesRequested', data: { uid: UID, requestId: 'r1', workers: [nodeSet(2)] } });
    expect(story.last('VmsPlanned')).toMatchObject({ requestId: 'r1' });
    expect(story.last('VmsCreated').machines.map(({ name }) => name)).toEqual([worker(3), worker(4)]);
    expect(story.types().filter((type) => type === 'LoadBalancerReady')).toHaveLength(1);
  });

  it('are not extended by workers that the provider does not offer', async () => {
    await story.request(requested());
    const workers = [nodeSet(1, { spec: 'lab.none' })];
    await story.request({ type: 'NodesRequested', data: { uid: UID, requestId: 'r1', workers } });
    expect(story.last('NodesRejected')).toMatchObject({ requestId: 'r1', code: 'cluster.spec-unknown' });
    expect(story.cloud.machines.size).toBe(5);
    expect(story.types()).not.toContain('InfrastructureFailed');
  });

  it('exclude one whose node was removed, also as a target of the load balancer [CB-Ladybug 31]', async () => {
    await story.request(requested());
    await story.log.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node: controlPlane(3) } });
    await story.log.say(bootstrapStream, { type: 'NodeRemoved', data: { uid: UID, node: worker(1) } });
    await story.settle();
    expect(story.types().filter((type) => type === 'VmDeleted')).toHaveLength(2);
    expect([...story.cloud.machines.keys()].sort()).toEqual([controlPlane(1), controlPlane(2), worker(2)].sort());
    const [balancer] = [...story.cloud.balancers.values()];
    expect(balancer?.targets).toEqual([`m-${controlPlane(1)}`, `m-${controlPlane(2)}`]);
  });

  it('are load balancer targets until they are drained, and new ones once they run', async () => {
    const names = [controlPlane(1), controlPlane(2), controlPlane(3)];
    await story.request(requested());
    await story.log.say(bootstrapStream, {
      type: 'NodeDrained',
      data: { uid: UID, node: controlPlane(2), evictedPods: 0, dead: false },
    });
    await story.settle();
    expect(story.last('LoadBalancerUpdated').targets).toEqual(names.filter((name) => name !== controlPlane(2)));
    expect(story.cloud.machines.has(controlPlane(2))).toBe(true);
    const more = { uid: UID, requestId: 'r1', workers: [], controlPlane: nodeSet(1) };
    await story.request({ type: 'NodesRequested', data: more });
    const added = machineName('demo', UID, 'control-plane', 4);
    expect(story.last('VmsCreated').machines).toMatchObject([
      { name: added, role: 'control-plane', pool: 'control-plane', leader: false },
    ]);
    const [balancer] = [...story.cloud.balancers.values()];
    expect([...(balancer?.targets ?? [])].sort()).toEqual(
      [controlPlane(1), controlPlane(3), added].map((name) => `m-${name}`).sort(),
    );
  });

  it('are deleted with their cluster after its load balancer, all planned ones are stated as gone, and its name is free [CB-Ladybug 32]', async () => {
    await story.request(requested());
    await dismantle();
    expect(typesOf(story.log, UID).slice(-7)).toEqual([
      'LoadBalancerDeleted',
      ...Array<string>(5).fill('VmDeleted'),
      'ClusterDeleted',
    ]);
    expect(story.cloud.machines.size + story.cloud.balancers.size).toBe(0);
    await story.request(requested(clusterSpec(), LATER_UID));
    expect(typesOf(story.log, LATER_UID)).toContain('VmsCreated');
  });

  it('exist until their cluster is dismantled, whatever is requested in the meantime', async () => {
    await story.request(requested());
    await story.request(of('ClusterDeletionRequested'), of('ClusterRetryRequested'));
    expect(story.cloud.machines.size).toBe(5);
    expect(story.types()).not.toContain('VmDeleted');
  });

  it('are deleted even if the creation failed half-way [CB-Ladybug 27]', async () => {
    story.cloud.bootFailures.set(worker(2), 'no luck');
    await story.request(requested());
    await dismantle();
    expect(story.cloud.machines.size).toBe(0);
    expect(typesOf(story.log, UID).filter((type) => type === 'VmDeleted')).toHaveLength(5);
    expect(typesOf(story.log, UID).at(-1)).toBe('ClusterDeleted');
  });

  it('that were never planned need no deletion: a rejected cluster is deleted at once', async () => {
    await story.request(requested(clusterSpec({ workers: [nodeSet(1, { spec: 'lab.none' })] })));
    await dismantle();
    expect(typesOf(story.log, UID).slice(-2)).toEqual(['ClusterDismantled', 'ClusterDeleted']);
  });

  it('are deleted even if their connection is no longer offered', async () => {
    await story.request(requested());
    await story.log.say(CONNECTIONS_STREAM, { type: 'ConnectionRemoved', data: { name: 'lab' as ConnectionName } });
    await dismantle();
    expect(story.cloud.machines.size).toBe(0);
  });

  it('are never stated as gone because their provider does not respond', async () => {
    await story.request(requested());
    story.outage = 'no route to host';
    await dismantle();
    expect(story.types()).not.toContain('VmDeleted');
    expect(story.last('VmDeletionFailed')).toMatchObject({ reason: 'MachineDeletionFailed', attempt: 1 });
    story.outage = undefined;
    await story.request(of('ClusterRetryRequested'));
    expect(typesOf(story.log, UID).at(-1)).toBe('ClusterDeleted');
  });

  it('that the provider still lists after the deadline are named [CB-Ladybug 32]', async () => {
    await story.request(requested());
    story.cloud.undeletable.add(worker(1));
    await dismantle();
    expect(story.last('VmDeletionFailed')).toMatchObject({
      machines: [worker(1)],
      cause: { operation: 'delete machines', target: worker(1) },
    });
    expect(story.types().filter((type) => type === 'VmDeleted')).toHaveLength(4);
    story.cloud.undeletable.clear();
    await story.request(of('ClusterRetryRequested'));
    expect(typesOf(story.log, UID).filter((type) => type === 'VmDeleted')).toHaveLength(5);
  });

  it('that the provider does not delete are deleted by the next attempt, without a request [CB-Ladybug 32]', async () => {
    await story.request(requested());
    story.cloud.undeletable.add(worker(1));
    await dismantle();
    await story.wait();
    expect(story.last('VmDeletionFailed')).toMatchObject({ machines: [worker(1)], attempt: 2 });
    story.cloud.undeletable.clear();
    await story.wait();
    expect(typesOf(story.log, UID).at(-1)).toBe('ClusterDeleted');
  });
});
