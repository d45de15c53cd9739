import { microTimestamp } from '../clock/clock.js';
import { roleOf } from '../nodes/node.planner.js';
import { LEADER_LEASES, planLeaders } from '../controlplane/leader.planner.js';
import { isMirrorPod, planStaticPods } from '../controlplane/static.pods.planner.js';
import type { Node, Pod } from '../objects/core.types.js';
import { LEASES, NODES, PODS } from '../resources/builtin.resources.js';
import type { ObjectStore } from '../store/object.store.js';
import type { Controller } from './controller.js';
import { concerns, type World } from './world.js';

export const STATIC_PODS = 'static-pods';
export const LEADER_ELECTION = 'leader-election';

const controlPlanesOf = (store: ObjectStore): readonly Node[] =>
  store.list(NODES).filter((node) => roleOf(node) === 'control-plane');

/** The static pods of each control plane whose kubelet runs. Keys are node names. */
export const staticPodsController = ({
  store,
  pods,
  kubelets,
  controlPlaneVersions,
  controlPlaneFlags,
  externalEtcd,
  etcdctlImages,
}: World): Controller => ({
  name: STATIC_PODS,
  keysFor: (change) => {
    if (concerns(change, NODES)) return change.type === 'ADDED' ? [change.object.metadata.name] : [];
    if (!concerns(change, PODS) || change.type !== 'DELETED' || !isMirrorPod(change.object as Pod)) return [];
    return [(change.object as Pod).spec.nodeName ?? ''];
  },
  allKeys: () => controlPlanesOf(store).map(({ metadata }) => metadata.name),
  plan: (name) => {
    const node = store.get(NODES, undefined, name);
    const version = controlPlaneVersions.get(name);
    if (node === undefined || version === undefined || roleOf(node) !== 'control-plane') return [];
    if (kubelets.stoppedMs(name) !== undefined) return [];
    const flags = controlPlaneFlags.get(name) ?? {};
    return planStaticPods({
      node,
      version,
      flags,
      pods: pods.onNode(name),
      externalEtcd,
      etcdctl: etcdctlImages.get(name),
    });
  },
});

/** Which control plane's controller-manager and scheduler lead. */
export const leaderController = ({ store, kubelets, clock }: World): Controller => ({
  name: LEADER_ELECTION,
  keysFor: (change) =>
    concerns(change, NODES) && change.type !== 'MODIFIED' && roleOf(change.object as Node) === 'control-plane'
      ? ['all']
      : [],
  allKeys: () => ['all'],
  plan: () =>
    planLeaders({
      controlPlanes: controlPlanesOf(store).map(({ metadata: { name } }) => ({
        name,
        running: kubelets.stoppedMs(name) === undefined,
      })),
      leases: LEADER_LEASES.flatMap((name) => store.get(LEASES, 'kube-system', name) ?? []),
      now: microTimestamp(clock.now()),
    }),
});
