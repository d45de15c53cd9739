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
  planSeat,
  plusCounts,
  reportStatus,
  seatCounts,
  targetOf,
  type SeatCounts,
  type SeatWorld,
} from '../workloads/daemonset.planner.js';
import type { Controller } from './controller.js';
import { byKey, concerns, controlled, keysOf, keysOfOwnerOrSelf, type World } from './world.js';

/** Between the key of a DaemonSet and the name of a node; no name has it. */
const SEAT = '@';

/** The pods of each DaemonSet by the node that they are for, also while they wait for the scheduler. */
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

/** What each node adds to the status of a DaemonSet of one generation. */
class Tally {
  private readonly seats = new Map<string, SeatCounts>();
  sum = NO_COUNTS;

  constructor(readonly generation: number | undefined) {}

  put(node: string, counts: SeatCounts): void {
    this.sum = plusCounts(plusCounts(this.sum, this.seats.get(node) ?? NO_COUNTS, -1), counts);
    if (counts === NO_COUNTS) this.seats.delete(node);
    else this.seats.set(node, counts);
  }
}

/**
 * DaemonSets have a pod on each node. A change of a node or of a pod concerns one node only: its key names the node, so that one more node
 * costs the same however many there are. While pods are replaced, and where time counts, all of them are looked at.
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
      tally.put(name, seatCounts({ daemonSet, node, pods: placed.get(name) ?? [], nowMs }));
    }
    tallies.set(daemonSet.metadata.uid, tally);
    const revisions = controlled(store, CONTROLLER_REVISIONS, daemonSet);
    return planDaemonSet({ daemonSet, nodes, pods: owned, revisions, nowMs });
  };

  const planOne = (daemonSet: DaemonSet, name: string): readonly Operation[] => {
    const { uid, generation } = daemonSet.metadata;
    const tally = tallies.get(uid);
    if (tally === undefined || tally.generation !== generation) return planAll(daemonSet);
    const seat: SeatWorld = {
      daemonSet,
      node: store.get(NODES, undefined, name),
      pods: pods.of(uid, name),
      nowMs: clock.now(),
    };
    tally.put(name, seatCounts(seat));
    return [...planSeat(seat), reportStatus(daemonSet, tally.sum)];
  };

  return {
    name: 'daemonset-controller',
    keysFor: (change) => {
      if (concerns(change, NODES))
        return keysOf(store, DAEMON_SETS).map((key) => seatKey(key, change.object.metadata.name));
      if (concerns(change, PODS)) {
        pods.follow(change);
        const [owner] = keysOfOwnerOrSelf(change, DAEMON_SETS, [PODS]);
        return owner === undefined ? [] : [seatKey(owner, targetOf(change.object as Pod))];
      }
      if (concerns(change, DAEMON_SETS) && change.type === 'DELETED') tallies.delete(change.object.metadata.uid);
      return isOwnReport(change) ? [] : keysOfOwnerOrSelf(change, DAEMON_SETS, [CONTROLLER_REVISIONS]);
    },
    allKeys: () => keysOf(store, DAEMON_SETS),
    plan: (key) => {
      const [owner = '', node] = key.split(SEAT);
      const daemonSet = byKey(store, DAEMON_SETS, owner);
      if (daemonSet === undefined || daemonSet.metadata.deletionTimestamp !== undefined) return [];
      const { sum } = tallies.get(daemonSet.metadata.uid) ?? { sum: NO_COUNTS };
      const changing = sum.updated < sum.scheduled || (daemonSet.spec.minReadySeconds ?? 0) > 0;
      return node === undefined || changing ? planAll(daemonSet) : planOne(daemonSet, node);
    },
  };
};

const seatKey = (daemonSet: string, node: string): string => `${daemonSet}${SEAT}${node}`;

/** A change of the status: its pods have been counted. */
const isOwnReport = ({ resource, type, object, previous }: Change): boolean =>
  resource.kind === DAEMON_SETS.kind &&
  type === 'MODIFIED' &&
  object.metadata.generation === previous?.metadata.generation;
