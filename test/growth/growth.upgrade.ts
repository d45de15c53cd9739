import type { EventData, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { SOFTWARE, UID } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import type { EtcdFacts } from '../../apps/upgrade-svc/src/rules/cluster.facts.js';
import { c8MayLeave, removalQuorumOf } from '../../apps/upgrade-svc/src/rules/control-plane.rules.js';
import type { ServiceWorld } from './growth.parts.js';

/** The reactions of upgrade-svc and the agents to an event. */
export const played = (world: ServiceWorld, event: StoredEvent): void => {
  watchEtcd(world, event);
  if (event.type === 'ControlPlaneRemovalStarted') lookAtEtcd(world, event.data);
  if (event.type === 'ControlPlaneChangeStarted')
    world.say({ type: 'EtcdSnapshotTaken', data: { uid: UID, snapshot: 's', requestId: 'r' } } as unknown as Fact);
  if (event.type === 'VmsCreated') {
    for (const { name: node } of event.data.machines)
      world.say({
        type: 'DesiredVersionsSet',
        data: { uid: UID, node, revision: 1, software: SOFTWARE, changesAllowed: true },
      });
  }
  if (event.type === 'AgentStarted') agentSays(world, 'NodeInitialized', event.data.node);
  if (
    event.type === 'ControlPlaneInitialized' ||
    event.type === 'ControlPlaneJoined' ||
    event.type === 'WorkerJoined'
  ) {
    const { node } = event.data;
    world.kubernetes.add(node);
    if (event.type !== 'WorkerJoined') world.etcd.add(node);
    agentSays(world, 'NodeReady', node);
  }
  if (event.type === 'BootstrapStepFailed' && event.data.step === 'PlaceSnapshot')
    world.say({
      type: 'EtcdRestoreFailed',
      data: { uid: UID, requestId: 'e1', snapshot: 's', cause: event.data.cause },
    } as unknown as Fact);
  if (event.type === 'ClusterDeleted') {
    world.kubernetes.clear();
    world.etcd.clear();
    world.down.clear();
  }
};

export const agentSays = (
  world: ServiceWorld,
  type: 'NodeInitialized' | 'NodeReady' | 'NodeNotReady',
  node: NodeName,
): void => {
  const data = {
    uid: UID,
    node,
    revision: 1,
    software: SOFTWARE,
    os: 'Debian 12',
    kernel: '6.1',
    bootId: 'b',
    changed: [],
    ...(type === 'NodeNotReady' ? { reason: 'KubernetesNotReady', message: 'no' } : {}),
  };
  world.say({ type, data } as unknown as Fact);
};

/** upgrade-svc's check of the current etcd. */
const etcdFacts = (world: ServiceWorld): EtcdFacts => {
  const members = [...world.etcd].map((name) => ({
    name,
    started: true,
    healthy: !world.down.has(name),
    learner: false,
  }));
  return { members } as unknown as EtcdFacts;
};

const lookAtEtcd = (world: ServiceWorld, { uid, node, attempt }: EventData<'ControlPlaneRemovalStarted'>): void => {
  const facts = etcdFacts(world);
  const about = { uid, node, attempt, quorum: removalQuorumOf(facts, node) };
  if (c8MayLeave(facts, node))
    return world.say({ type: 'ControlPlaneRemovalPrepared', data: { ...about, snapshot: 's', leader: null } });
  const cause = { operation: 'remove a control plane', target: node, message: 'etcd would have no quorum' };
  return world.say({ type: 'ControlPlaneRemovalBlocked', data: { ...about, cause } });
};

/** upgrade-svc checks blocked control planes again, and reports when etcd no longer needs them. */
const watchEtcd = (world: ServiceWorld, event: StoredEvent): void => {
  if (event.type === 'ControlPlaneRemovalBlocked') world.blocked.set(event.data.node, event.data.attempt);
  if (event.type === 'ControlPlaneRemovalStarted') world.blocked.delete(event.data.node);
  if (event.type === 'VmDeleted') world.blocked.delete(event.data.name);
  if (event.type === 'ClusterDeletionRequested') world.blocked.clear();
  for (const [node, attempt] of world.blocked) {
    if (!c8MayLeave(etcdFacts(world), node)) continue;
    world.blocked.delete(node);
    world.say({ type: 'ControlPlaneRemovalUnblocked', data: { uid: UID, node, attempt } });
  }
};
