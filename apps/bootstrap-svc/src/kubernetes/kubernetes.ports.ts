import type { KubernetesAccess } from '@fairlead/kubernetes';

/** Any Kubernetes object, as plain JSON. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface NodeView {
  readonly name: string;
  readonly ready: boolean;
  /** Of the Ready condition, for people. */
  readonly message: string;
  readonly kubeletVersion: string;
  readonly unschedulable: boolean;
}

export interface StaticPodView {
  readonly node: string;
  /** kube-apiserver, kube-controller-manager, kube-scheduler or etcd. */
  readonly component: string;
  /** The kubelet's own probe of it on the node's own address succeeds. */
  readonly ready: boolean;
}

export interface WorkloadView {
  readonly kind: 'Deployment' | 'DaemonSet';
  readonly name: string;
  /** The image's tag; `unknown` for an image without one. */
  readonly version: string;
  /** Pods that shall run, and those of them that do and are ready. */
  readonly wantedPods: number;
  readonly readyPods: number;
}

export interface Evicted {
  readonly evictedPods: number;
  /** The node stopped being Ready before its pods were gone: they are not waited for. */
  readonly dead: boolean;
}

/**
 * One cluster's API. Each call takes at most a bounded time and rejects with WorldFailure. Every change may be made again.
 */
export interface KubernetesCluster {
  /** `/readyz?verbose` through the balanced address: the checks that fail; empty: it is ready. */
  failingChecks(): Promise<readonly string[]>;
  nodes(): Promise<readonly NodeView[]>;
  staticPods(): Promise<readonly StaticPodView[]>;
  /** Addresses that API servers registered for themselves in the service `kubernetes`. */
  apiServerAddresses(): Promise<readonly string[]>;
  /** Applies each object on the server as field manager `fairlead`, in this order. */
  apply(manifests: readonly Manifest[]): Promise<void>;
  /** Adds labels to a node that exists. */
  label(node: string, labels: Readonly<Record<string, string>>): Promise<void>;
  workload(kind: WorkloadView['kind'], namespace: string, name: string): Promise<WorkloadView | undefined>;
  /** False when there is no such node. */
  cordon(node: string): Promise<boolean>;
  /**
   * Evicts every pod of the node but those of DaemonSets and static ones, through the eviction API, and waits until they are
   * gone. A refusal by a disruption budget is tried again until the deadline; then it fails, naming pod and budget.
   */
  drain(node: string, options: { readonly deadlineMs: number; readonly signal: AbortSignal }): Promise<Evicted>;
  /** Removes the Node object; no such node is as good. */
  deleteNode(node: string): Promise<void>;
  /** Removes services that hold load balancers outside the cluster. Answers how many there were. */
  releaseLoadBalancers(): Promise<number>;
}

export interface KubernetesApi {
  of(access: KubernetesAccess): Promise<KubernetesCluster>;
  /** Closes what is open to that cluster. */
  forget(uid: string): void;
  close(): void;
}
