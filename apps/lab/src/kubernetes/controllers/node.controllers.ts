import { timestamp } from '../clock/clock.js';
import { internalAddress } from '../nodes/node.planner.js';
import { planPod } from '../kubelet/pod.planner.js';
import { planNodeLifecycle } from '../nodes/node.lifecycle.planner.js';
import { freePodAddress, isNetworkPlugin, runsNetworkPlugin } from '../nodes/pod.network.js';
import { isReady, type Node, type Pod } from '../objects/core.types.js';
import { objectKey } from '../objects/kube.object.js';
import { NODES, PODS } from '../resources/builtin.resources.js';
import { isUnscheduled, planScheduling } from '../scheduling/scheduler.planner.js';
import type { Change } from '../store/object.store.js';
import type { Controller } from './controller.js';
import { remove, type Operation } from '../operations/operation.js';
import { byKey, concerns, keysOf, type World } from './world.js';

export const NODE_CONTROLLER = 'node-controller';
export const KUBELET = 'kubelet';

/** A node's conditions, taints and evictions, and the pods of a deleted node. */
export const nodeController = ({ store, pods, kubelets, clock, delays }: World): Controller => ({
  name: NODE_CONTROLLER,
  keysFor: (change) => {
    if (concerns(change, NODES)) return [change.object.metadata.name];
    return concerns(change, PODS)
      ? nodeOfPod(change, store.get(NODES, undefined, (change.object as Pod).spec.nodeName ?? ''))
      : [];
  },
  allKeys: () => [...new Set([...store.list(NODES).map(({ metadata }) => metadata.name), ...pods.nodeNames()])],
  plan: (name) => {
    const node = store.get(NODES, undefined, name);
    const placed = pods.onNode(name);
    if (node === undefined) return orphans(placed);
    // Network plugins wait until the node has a pod CIDR, as flannel does.
    if (runsNetworkPlugin(placed) && node.spec.podCIDR !== undefined) kubelets.networkCame(name);
    const nowMs = clock.now();
    return planNodeLifecycle({
      node,
      pods: placed,
      stoppedMs: kubelets.stoppedMs(name),
      networkReady: kubelets.hasNetwork(name),
      runtimeHangs: kubelets.runtimeHangs(name),
      runtimeStoppedMs: kubelets.runtimeStoppedMs(name),
      diskFull: kubelets.isDiskFull(name),
      monitorGraceMs: delays.nodeMonitorGraceMs,
      now: timestamp(nowMs),
      nowMs,
    });
  },
});

/**
 * A pod affects the state of its node if it provides the network, arrives where pods are being evicted, or has no
 * existing node.
 */
const nodeOfPod = ({ object }: Change, node: Node | undefined): readonly string[] => {
  const pod = object as Pod;
  if (pod.spec.nodeName === undefined || pod.spec.nodeName === '') return [];
  const evicting = node?.spec.taints?.some(({ effect }) => effect === 'NoExecute') ?? true;
  return evicting || isNetworkPlugin(pod) ? [pod.spec.nodeName] : [];
};

/** Kubernetes' pod garbage collector. */
const orphans = (pods: readonly Pod[]): readonly Operation[] =>
  pods.map((pod) => remove(PODS, pod, 'its node is gone', 0));

/** All kubelets of the cluster. Keys are pods on nodes whose kubelet runs. */
export const kubeletController = ({ store, pods, kubelets, clock, delays }: World): Controller => ({
  name: KUBELET,
  keysFor: (change) => {
    if (concerns(change, NODES))
      return becameReady(change) ? pods.onNode(change.object.metadata.name).map(objectKey) : [];
    if (!concerns(change, PODS) || ((change.object as Pod).spec.nodeName ?? '') === '') return [];
    if (change.type !== 'DELETED') return [objectKey(change.object)];
    kubelets.forgetSeen(`${change.object.metadata.uid} arrival`);
    kubelets.forgetSeen(`${change.object.metadata.uid} deletion`);
    return [];
  },
  allKeys: () =>
    store
      .list(PODS)
      .filter(({ spec }) => (spec.nodeName ?? '') !== '')
      .map(objectKey),
  plan: (key) => {
    const pod = byKey(store, PODS, key);
    const node = pod === undefined ? undefined : store.get(NODES, undefined, pod.spec.nodeName ?? '');
    if (pod === undefined || node === undefined) return [];
    const { name } = node.metadata;
    if (kubelets.stoppedMs(name) !== undefined || kubelets.runtimeStoppedMs(name) !== undefined) return [];
    const nowMs = clock.now();
    const placed = pods.onNode(node.metadata.name);
    const { uid, deletionTimestamp } = pod.metadata;
    return planPod({
      pod,
      nodeAddress: internalAddress(node),
      networkReady: kubelets.hasNetwork(node.metadata.name),
      freeAddress: () =>
        node.spec.podCIDR === undefined ? internalAddress(node) : freePodAddress(node.spec.podCIDR, placed),
      now: timestamp(nowMs),
      nowMs,
      seenMs: kubelets.firstSeenMs(`${uid} arrival`, nowMs),
      deletionSeenMs: deletionTimestamp === undefined ? undefined : kubelets.firstSeenMs(`${uid} deletion`, nowMs),
      ...delays,
    });
  },
});

/** Pods that waited for the node's network can start once it is Ready. */
const becameReady = ({ object, previous }: Change): boolean =>
  isReady(object as Node) && (previous === undefined || !isReady(previous as Node));

/** One key for the whole cluster, because scheduling is one decision. */
export const schedulerController = ({ store, clock }: World): Controller => {
  const waiting = new Set<string>();
  const note = (pod: Pod, gone: boolean): boolean => {
    const waits = !gone && isUnscheduled(pod);
    if (waits) waiting.add(objectKey(pod));
    else waiting.delete(objectKey(pod));
    return waits;
  };
  return {
    name: 'default-scheduler',
    keysFor: (change) => {
      if (concerns(change, NODES)) return waiting.size === 0 ? [] : ['all'];
      if (!concerns(change, PODS)) return [];
      const waits = note(change.object as Pod, change.type === 'DELETED');
      // A new pod, or one that ended and freed capacity.
      return (waits && change.type === 'ADDED') || (!waits && waiting.size > 0) ? ['all'] : [];
    },
    allKeys: () => {
      for (const pod of store.list(PODS)) note(pod, false);
      return ['all'];
    },
    plan: () => planScheduling({ pods: store.list(PODS), nodes: store.list(NODES), now: timestamp(clock.now()) }),
  };
};

export const podKeysOnNode = ({ pods }: World, node: string): readonly string[] => pods.onNode(node).map(objectKey);

export const nodeKeys = ({ store }: World): readonly string[] => keysOf(store, NODES);
