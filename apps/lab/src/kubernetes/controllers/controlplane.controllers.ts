import { microTimestamp } from '../clock/clock.js';
import { roleOf } from '../nodes/node.planner.js';
import { LEADER_LEASES, planLeaders } from '../controlplane/leader.planner.js';
import { isMirrorPod, planStaticPods } from '../controlplane/static.pods.planner.js';
import type { Node, Pod } from '../objects/core.types.js';
import { LEASES, NODES, PODS } from '../resources/builtin.resources.js';
import type { Controller } from './controller.js';
import { concerns, type World } from './world.js';

export const STATIC_PODS = 'static-pods';
export const LEADER_ELECTION = 'leader-election';

/**
 * Identified by their static pods, not by the role label: a Node that its kubelet registers again has no such label.
 */
const controlPlanesOf = ({ store, controlPlaneVersions }: World): readonly Node[] =>
  [...controlPlaneVersions.keys()].flatMap((name) => store.get(NODES, undefined, name) ?? []);

/** The static pods of each control plane whose kubelet runs. Keys are node names. */
export const staticPodsController = (world: World): Controller => ({
  name: STATIC_PODS,
  keysFor: (change) => {
    if (concerns(change, NODES)) return change.type === 'ADDED' ? [change.object.metadata.name] : [];
    if (!concerns(change, PODS) || change.type !== 'DELETED' || !isMirrorPod(change.object as Pod)) return [];
    return [(change.object as Pod).spec.nodeName ?? ''];
  },
  allKeys: () => controlPlanesOf(world).map(({ metadata }) => metadata.name),
  plan: (name) => {
    const { store, pods, kubelets, externalEtcd } = world;
    const node = store.get(NODES, undefined, name);
    const version = world.controlPlaneVersions.get(name);
    if (node === undefined || version === undefined || kubelets.stoppedMs(name) !== undefined) return [];
    return planStaticPods({
      node,
      version,
      flags: world.controlPlaneFlags.get(name) ?? {},
      pods: pods.onNode(name),
      externalEtcd,
      etcdctl: world.etcdctlImages.get(name),
    });
  },
});

/** Which control plane holds the leases of controller-manager and scheduler. */
export const leaderController = (world: World): Controller => ({
  name: LEADER_ELECTION,
  keysFor: (change) =>
    concerns(change, NODES) &&
    change.type !== 'MODIFIED' &&
    (roleOf(change.object as Node) === 'control-plane' || world.controlPlaneVersions.has(change.object.metadata.name))
      ? ['all']
      : [],
  allKeys: () => ['all'],
  plan: () =>
    planLeaders({
      controlPlanes: controlPlanesOf(world).map(({ metadata: { name } }) => ({
        name,
        running: world.kubelets.stoppedMs(name) === undefined,
      })),
      leases: LEADER_LEASES.flatMap((name) => world.store.get(LEASES, 'kube-system', name) ?? []),
      now: microTimestamp(world.clock.now()),
    }),
});
