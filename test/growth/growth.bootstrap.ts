import type { ClusterUid, Fact, NodeName } from '@fairlead/contracts';
import { majorityOf } from '@fairlead/domain';
import type { Task } from '@fairlead/event-sourcing';
import { bootstrap } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.decider.js';
import type { TaskData } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.reconciler.js';
import { hostsOf, isBehindBalancer, isControlPlane } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.state.js';
import { desiredMetadata } from '../../apps/bootstrap-svc/src/bootstrap/metadata.evolve.js';
import type { Failed, ServiceWorld } from './growth.parts.js';

/** A task of bootstrap-svc. The hosts and Kubernetes are played. */
export const bootstrapTask = (world: ServiceWorld, { type, data }: Task): Failed => {
  if (world.boot.status === 'absent') return undefined;
  const { node } = data as TaskData;
  // Of a host that is down; it is retried until it is up, and nothing is recorded.
  if (type === 'RenewCredential') return undefined;
  if (failsAt(world, type, node))
    return { cause: { operation: type, target: node ?? 'demo', message: 'no' }, attempt: 3 };
  stepDone(world, type, world.boot.cluster.uid, node as NodeName);
  return undefined;
};

/** Control planes of a running cluster do not fail; faults affect workers, or what a restore needs. */
const failsAt = (world: ServiceWorld, step: string, node: NodeName | undefined): boolean => {
  if (step === 'RemoveNode' && node !== undefined)
    return (world.has('drain') && world.kubernetes.has(node)) || (!isServing(world, node) && costsQuorum(world, node));
  if (step === 'PlaceSnapshot') return world.has('unreachable');
  if (step === 'JoinWorker') return world.has('join') || world.has('unreachable');
  if (step === 'JoinControlPlane' || step === 'AddEtcdMember') return world.has('join');
  return world.has('unreachable') && (step === 'BootstrapHost' || step === 'VerifyNode');
};

/** The step on the host that removes a member checks etcd itself: hosts may have failed since upgrade-svc's check. */
const costsQuorum = (world: ServiceWorld, node: NodeName): boolean => {
  const others = [...world.etcd].filter((name) => name !== node);
  const healthy = others.filter((name) => !world.down.has(name)).length;
  return world.etcd.has(node) && healthy < majorityOf(others.length);
};

const record = (world: ServiceWorld, fact: Fact): void => {
  world.decide(bootstrap, world.boot, fact as never);
};

const setUpEtcd = (world: ServiceWorld, uid: ClusterUid): void => {
  if (world.boot.status === 'absent') return;
  const nodes = hostsOf(world.boot.cluster).filter(isControlPlane);
  const members = nodes.map(({ machine }) => ({ node: machine.name, address: machine.privateIp }));
  for (const { node } of members) world.etcd.add(node);
  record(world, { type: 'EtcdReady', data: { uid, version: '3.6.5', members, caRef: 'c' as never } });
};

const stepDone = (world: ServiceWorld, step: string, uid: ClusterUid, node: NodeName): void => {
  switch (step) {
    case 'BootstrapHost':
      record(world, { type: 'HostReached', data: { uid, node, hostKey: 'k', attempts: 1 } });
      return record(world, { type: 'AgentStarted', data: { uid, node, agentVersion: '0.1.0', sha256: 'ab' } });
    case 'VerifyNode':
      return record(world, { type: 'NodeBootstrapped', data: { uid, node } });
    case 'InitControlPlane':
      return record(world, {
        type: 'ControlPlaneInitialized',
        data: { uid, node, endpoint: 'https://198.18.7.1:6443', kubeconfigRef: 'k' as never, caCertHash: 'c' },
      });
    case 'InstallNetwork':
      return record(world, { type: 'NetworkReady', data: { uid, cni: 'flannel', version: '1' } });
    case 'SetupExternalEtcd':
      return setUpEtcd(world, uid);
    case 'AddEtcdMember':
      world.etcd.add(node);
      return record(world, {
        type: 'EtcdMemberAdded',
        data: { uid, node, address: '10.0.0.9', members: world.etcd.size },
      });
    case 'JoinControlPlane':
      return record(world, { type: 'ControlPlaneJoined', data: { uid, node } });
    case 'JoinWorker':
      return record(world, { type: 'WorkerJoined', data: { uid, node } });
    case 'SetNodeLabels': {
      if (world.boot.status === 'absent') return undefined;
      const { cluster } = world.boot;
      const host = cluster.hosts[node];
      if (host === undefined) return undefined;
      return record(world, { type: 'NodeLabelsSet', data: { uid, node, ...desiredMetadata(cluster, host) } });
    }
    case 'VerifyControlPlane':
      return record(world, { type: 'ControlPlaneReady', data: { uid, nodes: [...world.etcd] as NodeName[] } });
    case 'InstallAddons':
      world.decide(bootstrap, world.boot, { type: 'FinishCluster', data: { uid, addons: {} } });
      return;
    case 'InstallStorage':
      return record(world, { type: 'AddonInstalled', data: { uid, addon: 'nfs-storage', version: 'v1' } });
    case 'RemoveNode':
      record(world, { type: 'NodeDrained', data: { uid, node, evictedPods: 0, dead: !world.kubernetes.has(node) } });
      if (isServing(world, node)) return undefined;
      world.kubernetes.delete(node);
      world.etcd.delete(node);
      world.down.delete(node);
      return record(world, { type: 'NodeRemoved', data: { uid, node } });
    case 'DismantleCluster':
      return record(world, { type: 'ClusterDismantled', data: { uid } });
    case 'PlaceSnapshot':
      return record(world, {
        type: 'EtcdSnapshotPlaced',
        data: { uid, node, requestId: 'e1', snapshot: 's', sha256: 'x' },
      });
    case 'RemoveSnapshot':
      return record(world, { type: 'EtcdSnapshotRemoved', data: { uid, node, requestId: 'e1' } });
    default:
      throw new Error(`no such step: ${step}`);
  }
};

const isServing = (world: ServiceWorld, node: NodeName): boolean => {
  if (world.boot.status === 'absent') return false;
  const host = world.boot.cluster.hosts[node];
  return host !== undefined && isControlPlane(host) && isBehindBalancer(world.boot.cluster, host);
};
