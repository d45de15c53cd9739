import type { Pod } from '../objects/core.types.js';
import { controllerOf, objectKey } from '../objects/kube.object.js';
import type { DaemonSet } from '../objects/workload.types.js';
import { CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS } from '../resources/builtin.resources.js';
import type { Change, ObjectStore } from '../store/object.store.js';
import type { Operation } from '../operations/operation.js';
import {
  byTarget,
  NO_COUNTS,
  planDaemonSet,
  planNodePod,
  plusCounts,
  reportStatus,
  nodeCounts,
  targetOf,
  type NodeCounts,
  type DaemonNodeWorld,
} from '../workloads/daemonset.planner.js';
import type { Controller } from './controller.js';
import { byKey, concerns, controlled, keysOf, keysOfOwnerOrSelf, type World } from './world.js';

/** Separates the key of a DaemonSet from the name of a node. No name contains it. */
const NODE_SEPARATOR = '@';

/** The pods of each DaemonSet by target node, including those that are not scheduled yet. */
class DaemonPods {
  private readonly byOwner = new Map<string, Map<string, Map<string, Pod>>>();

  constructor(store: ObjectStore) {
    for (const pod of store.list(PODS)) this.put(pod);
  }

  of(uid: string, node: string): readonly Pod[] {
    return [...(this.byOwner.get(uid)?.get(node)?.values() ?? [])];
  }

  follow({ type, object, previous }: Change): void {
    if (previous !== undefined) this.drop(previous as Pod);
    if (type !== 'DELETED') this.put(object as Pod);
  }

  private put(pod: Pod): void {
    const owner = controllerOf(pod);
    if (owner?.kind !== DAEMON_SETS.kind) return;
    const nodes = this.byOwner.get(owner.uid) ?? new Map<string, Map<string, Pod>>();
    const pods = nodes.get(targetOf(pod)) ?? new Map<string, Pod>();
    this.byOwner.set(owner.uid, nodes.set(targetOf(pod), pods.set(objectKey(pod), pod)));
  }

  private drop(pod: Pod): void {
    const { uid = '' } = controllerOf(pod) ?? {};
    const [nodes, target] = [this.byOwner.get(uid), targetOf(pod)];
    const pods = nodes?.get(target);
    pods?.delete(objectKey(pod));
    if (pods?.size === 0) nodes?.delete(target);
    if (nodes?.size === 0) this.byOwner.delete(uid);
  }
}

/** The share of each node in the status of a DaemonSet of one generation. */
class Tally {
  private readonly byNode = new Map<string, NodeCounts>();
  sum = NO_COUNTS;

  constructor(readonly generation: number | undefined) {}

  put(node: string, counts: NodeCounts): void {
    this.sum = plusCounts(plusCounts(this.sum, this.byNode.get(node) ?? NO_COUNTS, -1), counts);
    if (counts === NO_COUNTS) this.byNode.delete(node);
    else this.byNode.set(node, counts);
  }
}

/**
 * A change of a node or of a pod affects only one node of a DaemonSet, which the key names, so the cost per node does
 * not depend on their number. While pods are replaced, and where time matters, all nodes are planned.
 */
export const daemonSetController = ({ store, clock }: World): Controller => {
  const pods = new DaemonPods(store);
  const tallies = new Map<string, Tally>();

  const planAll = (daemonSet: DaemonSet): readonly Operation[] => {
    const [nodes, owned, nowMs] = [store.list(NODES), controlled(store, PODS, daemonSet), clock.now()];
    const placed = byTarget(owned);
    const tally = new Tally(daemonSet.metadata.generation);
    for (const node of nodes) {
      const { name } = node.metadata;
      tally.put(name, nodeCounts({ daemonSet, node, pods: placed.get(name) ?? [], nowMs }));
    }
    tallies.set(daemonSet.metadata.uid, tally);
    const revisions = controlled(store, CONTROLLER_REVISIONS, daemonSet);
    return planDaemonSet({ daemonSet, nodes, pods: owned, revisions, nowMs });
  };

  const planOne = (daemonSet: DaemonSet, name: string): readonly Operation[] => {
    const { uid, generation } = daemonSet.metadata;
    const tally = tallies.get(uid);
    if (tally === undefined || tally.generation !== generation) return planAll(daemonSet);
    const world: DaemonNodeWorld = {
      daemonSet,
      node: store.get(NODES, undefined, name),
      pods: pods.of(uid, name),
      nowMs: clock.now(),
    };
    tally.put(name, nodeCounts(world));
    return [...planNodePod(world), reportStatus(daemonSet, tally.sum)];
  };

  return {
    name: 'daemonset-controller',
    keysFor: (change) => {
      if (concerns(change, NODES))
        return keysOf(store, DAEMON_SETS).map((key) => nodeKey(key, change.object.metadata.name));
      if (concerns(change, PODS)) {
        pods.follow(change);
        const [owner] = keysOfOwnerOrSelf(change, DAEMON_SETS, [PODS]);
        return owner === undefined ? [] : [nodeKey(owner, targetOf(change.object as Pod))];
      }
      if (concerns(change, DAEMON_SETS) && change.type === 'DELETED') tallies.delete(change.object.metadata.uid);
      return isOwnReport(change) ? [] : keysOfOwnerOrSelf(change, DAEMON_SETS, [CONTROLLER_REVISIONS]);
    },
    allKeys: () => keysOf(store, DAEMON_SETS),
    plan: (key) => {
      const [owner = '', node] = key.split(NODE_SEPARATOR);
      const daemonSet = byKey(store, DAEMON_SETS, owner);
      if (daemonSet === undefined || daemonSet.metadata.deletionTimestamp !== undefined) return [];
      const { sum } = tallies.get(daemonSet.metadata.uid) ?? { sum: NO_COUNTS };
      const changing = sum.updated < sum.scheduled || (daemonSet.spec.minReadySeconds ?? 0) > 0;
      return node === undefined || changing ? planAll(daemonSet) : planOne(daemonSet, node);
    },
  };
};

const nodeKey = (daemonSet: string, node: string): string => `${daemonSet}${NODE_SEPARATOR}${node}`;

/** Whether the change is this controller's own status update. */
const isOwnReport = ({ resource, type, object, previous }: Change): boolean =>
  resource.kind === DAEMON_SETS.kind &&
  type === 'MODIFIED' &&
  object.metadata.generation === previous?.metadata.generation;
