import { microTimestamp, timestamp, type Clock } from '../clock/clock.js';
import type { Heartbeats } from '../api/present.js';
import type { ObjectApi } from '../api/object.api.js';
import type { Kubelets } from '../nodes/kubelets.js';
import { freeNodeCidr, type PodNetwork } from '../nodes/pod.network.js';
import type { Lease, Node } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { LEASES, NODES } from '../resources/builtin.resources.js';
import type { ObjectStore } from '../store/object.store.js';
import type { NodeRegistration } from '../nodes/node.registration.js';
import { LEADER_LEASES } from '../controlplane/leader.planner.js';
import { planNode, readyCondition } from '../nodes/node.planner.js';

const NODE_LEASES = 'kube-node-lease';
const KUBE_SYSTEM = 'kube-system';
/** Kubelets renew their lease every ten seconds and report their status every five minutes (kubelet's defaults). */
const LEASE_INTERVAL_MS = 10_000;
const STATUS_INTERVAL_MS = 5 * 60_000;
/** Leader election of controller-manager and scheduler (--leader-elect-retry-period). */
const LEADER_INTERVAL_MS = 2_000;

export interface FleetOptions {
  readonly store: ObjectStore;
  readonly api: ObjectApi;
  readonly kubelets: Kubelets;
  readonly clock: Clock;
  readonly podNetwork: PodNetwork;
  readonly hasQuorum: () => boolean;
}

/** The nodes of the cluster as shown by its API: Node objects, leases, static pods. */
export class NodeFleet implements Heartbeats {
  constructor(private readonly options: FleetOptions) {}

  /** Registers a kubelet: creates its Node object and its lease, or updates an existing node. */
  register(request: NodeRegistration): void {
    const { store, api, clock, kubelets, podNetwork } = this.options;
    kubelets.setRunning(request.name, true, clock.now());
    const now = timestamp(clock.now());
    const nodes = store.list(NODES);
    const existing = nodes.find(({ metadata }) => metadata.name === request.name);
    const cidr = existing?.spec.podCIDR ?? freeNodeCidr(podNetwork, nodes);
    const draft = planNode(request, { now, podCidr: cidr, networkReady: kubelets.hasNetwork(request.name) });
    if (existing === undefined) api.create(NODES, draft);
    else store.replace(NODES, rejoined(existing, draft, now));
    const node = this.node(request.name);
    if (store.get(LEASES, NODE_LEASES, request.name) === undefined)
      api.create(LEASES, nodeLease(node, microTimestamp(clock.now())));
  }

  setKubeletVersion(nodeName: string, version: string): void {
    const node = this.node(nodeName);
    const nodeInfo = { ...node.status?.nodeInfo, kubeletVersion: version };
    this.options.store.replace(NODES, { ...node, status: { ...node.status, nodeInfo } });
  }

  /** Stores the last heartbeat of a kubelet that stops. */
  keepLastHeartbeat(nodeName: string): void {
    const { store, clock } = this.options;
    const lease = store.get(LEASES, NODE_LEASES, nodeName);
    if (lease !== undefined)
      store.replace(LEASES, { ...lease, spec: { ...lease.spec, renewTime: microTimestamp(clock.now()) } });
    const node = store.get(NODES, undefined, nodeName);
    const conditions = node?.status?.conditions?.map((condition) => ({
      ...condition,
      lastHeartbeatTime: timestamp(clock.now()),
    }));
    if (node !== undefined && conditions !== undefined)
      store.replace(NODES, { ...node, status: { ...node.status, conditions } });
  }

  /** Deletes the Node object; garbage collection removes its lease and its pods. */
  remove(nodeName: string): void {
    const { store, kubelets } = this.options;
    kubelets.forget(nodeName);
    const node = store.get(NODES, undefined, nodeName);
    if (node !== undefined) store.remove(NODES, node);
  }

  leaseRenewal(lease: Lease): string | undefined {
    const { kubelets, store, hasQuorum } = this.options;
    const { name, namespace } = lease.metadata;
    if (namespace === KUBE_SYSTEM && LEADER_LEASES.some((leader) => leader === name))
      return hasQuorum() ? this.beat(LEADER_INTERVAL_MS) : undefined;
    if (namespace !== NODE_LEASES || store.get(NODES, undefined, name) === undefined) return undefined;
    return kubelets.stoppedMs(name) === undefined ? this.beat(LEASE_INTERVAL_MS) : undefined;
  }

  nodeHeartbeat(node: Node): string | undefined {
    const { kubelets, clock } = this.options;
    if (kubelets.stoppedMs(node.metadata.name) !== undefined) return undefined;
    return timestamp(Math.floor(clock.now() / STATUS_INTERVAL_MS) * STATUS_INTERVAL_MS);
  }

  /** Rounded down to a multiple of the interval, so that the result is stable between two heartbeats. */
  private beat(intervalMs: number): string {
    return microTimestamp(Math.floor(this.options.clock.now() / intervalMs) * intervalMs);
  }

  private node(name: string): Node {
    const node = this.options.store.get(NODES, undefined, name);
    if (node === undefined) throw new Error(`node ${name} is not registered in this simulated cluster`);
    return node;
  }
}

const nodeLease = ({ metadata: { name, uid } }: Node, now: string): Draft<Lease> => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, namespace: NODE_LEASES, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
  spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: now },
});

/** A kubelet that registers again keeps what others have written to the Node (labels, annotations, cordon). */
const rejoined = (existing: Node, draft: Draft<Node>, now: string): Node => {
  const { metadata, status } = draft;
  const reported = status as Node['status'];
  const ready = reported?.conditions?.find(({ type }) => type === 'Ready') ?? readyCondition('network', now);
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: { ...existing.metadata.labels, ...metadata.labels },
      annotations: { ...existing.metadata.annotations, ...metadata.annotations },
    },
    status: {
      ...reported,
      conditions: [...(existing.status?.conditions ?? []).filter(({ type }) => type !== 'Ready'), ready],
    },
  };
};
