import type { NodeCondition, NodePressure, PublishAnnotation } from '@fairlead/contracts';
import type { KubernetesAccess } from './kubernetes.clients.js';

export interface Resources {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

/** One Node object: a later one of the same name has another uid. */
export interface NodeRegistered {
  readonly uid: string;
  /** By the clock of the API server. */
  readonly atMs: number;
}

export interface NodeView {
  readonly name: string;
  readonly registered: NodeRegistered;
  /** As its kubelet registered it: `<provider>://<the provider's id>`; null: none. */
  readonly providerId: string | null;
  readonly controlPlane: boolean;
  /** The first one reported by its kubelet; null: none. */
  readonly internalIp: string | null;
  readonly ready: boolean;
  /** Message of the Ready condition. */
  readonly message: string;
  /** Conditions besides Ready that keep pods away from it. */
  readonly pressures: readonly NodePressure[];
  /** All other conditions except Ready, in order. Absent: none. */
  readonly conditions?: readonly NodeCondition[];
  /** As reported by the kubelet: `v1.34.4`. */
  readonly kubeletVersion: string;
  /** `containerd://1.7.24` */
  readonly containerRuntime: string;
  readonly unschedulable: boolean;
  /** The mark with which `cordon` cordoned it; null: not cordoned, or not by `cordon`. */
  readonly cordonedBy: string | null;
  readonly allocatable: Resources;
  /** Names and sizes of its images, as far as its kubelet lists them. */
  readonly images: readonly { readonly names: readonly string[]; readonly bytes: number }[];
}

/** A Service that asks to be published. */
export interface ServiceView {
  readonly namespace: string;
  readonly name: string;
  /** By the clock of the API server. */
  readonly createdMs: number;
  readonly type: string;
  /** Its address in the cluster; empty, or `None`: it has none. */
  readonly address: string;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
  /** What its annotations say of the publication; one that is too long is cut, and still too long. */
  readonly annotations: Readonly<Partial<Record<PublishAnnotation, string>>>;
}

export interface PodView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Empty: not scheduled yet. */
  readonly node: string;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly ready: boolean;
  readonly deleting: boolean;
  /** By the clock of the API server, in whole seconds. */
  readonly createdMs: number;
  /** It tolerates the taint of cordoned nodes: the scheduler places it there anyway. */
  readonly toleratesCordon: boolean;
  /** The first of them; the pod exists until they are removed. */
  readonly finalizers: readonly string[];
  /** The mirror pod of a static pod. */
  readonly mirror: boolean;
  /** Kind and name of its controller; null: nothing would recreate it. */
  readonly controller: { readonly kind: string; readonly name: string } | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Only Fairlead's: `fairlead.dev/...`. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly image: string;
  /** Command and arguments of the first container of a static pod; empty for others. */
  readonly args: readonly string[];
  /** Names of the volumes and of the further containers of a static pod; empty for others. */
  readonly volumes: readonly string[];
  readonly sidecars: readonly string[];
  /** Names of the environment variables of the first container of a static pod; empty for others. */
  readonly environment: readonly string[];
  readonly requests: Resources;
  readonly limits: Resources;
  /** It has data in an emptyDir, which is deleted with it. */
  readonly emptyDir: boolean;
  /** Names of the PersistentVolumeClaims that it mounts. */
  readonly claims: readonly string[];
}

/** Exactly one pod: a later one of the same name has another uid. */
export type PodIdentity = Pick<PodView, 'namespace' | 'name' | 'uid'>;

export interface BudgetView {
  readonly namespace: string;
  readonly name: string;
  readonly disruptionsAllowed: number;
  covers(pod: PodView): boolean;
}

export interface WebhookView {
  /** configuration/webhook */
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly timeoutSeconds: number;
  /** It intercepts nodes, pods or leases in kube-system. */
  readonly matchesKubeSystem: boolean;
}

export interface WorkloadView {
  readonly kind: 'DaemonSet' | 'Deployment';
  readonly namespace: string;
  readonly name: string;
  readonly desired: number;
  readonly ready: number;
  /** Pods of the newest template. */
  readonly updated: number;
  /** Remaining pods of earlier templates. */
  readonly former: number;
  /** The controller has observed the newest template. */
  readonly observed: boolean;
  /** The tag of its first image; `unknown` for an image without one. */
  readonly version: string;
}

/**
 * The pod template of a workload, each part as texts for comparison: `--conf`, `nodeSelector disk=ssd`,
 * `limits.memory=1Gi`. Only the names of environment variables and volumes, because values may be secret.
 */
export interface TemplateView {
  /** Of the first container. */
  readonly image: string;
  readonly args: readonly string[];
  readonly environment: readonly string[];
  readonly resources: readonly string[];
  /** Init containers, and containers after the first. */
  readonly containers: readonly string[];
  /** Files that a volume takes from a ConfigMap follow its name: `config-volume/Corefile`. */
  readonly volumes: readonly string[];
  readonly nodeSelector: readonly string[];
  readonly tolerations: readonly string[];
  /** Kinds of affinity, and topology spread constraints by key. */
  readonly placement: readonly string[];
}

export interface LeaseView {
  readonly name: string;
  readonly holder: string;
  /** RFC 3339. */
  readonly renewedAt: string;
}

export interface DeprecatedApiView {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Such as `1.35`; null: no release has been announced. */
  readonly removedIn: string | null;
}

/** The result of an eviction. */
export type EvictionAnswer =
  | { readonly answer: 'evicted' }
  /** The pod no longer exists, or another pod now has its name. */
  | { readonly answer: 'gone' }
  /** `budget`: namespace/name of the PodDisruptionBudget that refuses, if Kubernetes names one. */
  | {
      readonly answer: 'refused';
      readonly budget: string | null;
      readonly message: string;
      /** Minimum delay before a retry, if the API server sets one. */
      readonly retryAfterMs?: number;
    };

export interface ProgramEnd {
  /** null: the container has no such program. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly pod: string;
  readonly namespace: string;
  readonly container: string;
  readonly command: readonly string[];
  readonly signal: AbortSignal;
  /** Receives its output in chunks; the program is paused until the promise of the previous chunk resolves. */
  readonly onOutput?: (chunk: Buffer) => void | Promise<void>;
}

export type JobState = 'absent' | 'running' | 'succeeded' | 'failed';

/** Any Kubernetes object, as plain JSON. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** A certificates.k8s.io/v1 request for a client certificate. */
export interface SigningRequest {
  /** Name of the CertificateSigningRequest; unique within the cluster. */
  readonly name: string;
  /** PKCS#10, PEM. */
  readonly csr: string;
  readonly ttlSeconds: number;
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: string;
}

/** Labels and taints that a node must have, and those that it must no longer have. Others are unchanged. */
export interface NodeMetadataChange {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly NodeTaint[];
  readonly obsoleteLabels: readonly string[];
  /** `key:effect` */
  readonly obsoleteTaints: readonly string[];
}

export interface CordonOptions {
  /** The node is being removed: it leaves external load balancers even if someone else cordoned it before. */
  readonly leaving?: boolean;
}

/**
 * The API of one cluster. Each call has a timeout and rejects with ExternalFailure and the API's message. Every change is
 * idempotent. Services declare the part that they use (their own `kubernetes.ports.ts`).
 */
export interface ClusterApi {
  /** Failing checks of `/readyz?verbose` at the load-balanced address; empty: ready. */
  failingChecks(): Promise<readonly string[]>;
  /**
   * The same for the API server of this control plane, queried at the node's own address through the load-balanced one.
   */
  failingChecksOn(controlPlane: string): Promise<readonly string[]>;
  nodes(): Promise<readonly NodeView[]>;
  node(name: string): Promise<NodeView | undefined>;
  /** Services that ask to be published by their label, whoever wrote it. */
  publishedServices(): Promise<readonly ServiceView[]>;
  pods(): Promise<readonly PodView[]>;
  podsOn(node: string): Promise<readonly PodView[]>;
  /** Mirror pods of the static pods of all control planes. */
  staticPods(): Promise<readonly PodView[]>;
  /** Addresses that API servers registered for themselves in the service `kubernetes`. */
  apiServerAddresses(): Promise<readonly string[]>;
  budgets(): Promise<readonly BudgetView[]>;
  webhooks(): Promise<readonly WebhookView[]>;
  /** DaemonSets and Deployments of a namespace. */
  workloads(namespace: string): Promise<readonly WorkloadView[]>;
  workload(kind: WorkloadView['kind'], namespace: string, name: string): Promise<WorkloadView | undefined>;
  template(kind: WorkloadView['kind'], namespace: string, name: string): Promise<TemplateView | undefined>;
  /** The data of a ConfigMap, texts of at most 256 KiB; undefined: not found. */
  configMap(namespace: string, name: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** Lease of a control plane component, in kube-system. */
  lease(name: string): Promise<LeaseView | undefined>;
  /** Requests for deprecated APIs, as counted by API servers since their start. */
  deprecatedApis(): Promise<readonly DeprecatedApiView[]>;
  /** Bytes free for images and pods' data, as reported by the node's kubelet. */
  freeDisk(node: string): Promise<number>;
  /** Volumes attached to a node, by the name of their PersistentVolume. */
  attachedVolumes(node: string): Promise<readonly string[]>;
  /** The PersistentVolume of a claim; undefined: none. */
  volumeOf(namespace: string, claim: string): Promise<string | undefined>;
  run(program: Program): Promise<ProgramEnd>;
  /** Adds labels to an existing node. */
  label(node: string, labels: Readonly<Record<string, string>>): Promise<void>;
  /** Sets and removes labels and taints of a node in one write; false: no such node. */
  setNodeMetadata(node: string, change: NodeMetadataChange): Promise<boolean>;
  /**
   * Makes the node unschedulable with a mark, and removes it from external load balancers. True: cordoned with this
   * mark; false: someone else cordoned it before; undefined: no such node.
   */
  cordon(node: string, mark: string, options?: CordonOptions): Promise<boolean | undefined>;
  /** Reverts what `cordon` did with this mark; leaves what others did. */
  uncordon(node: string, mark: string): Promise<void>;
  /**
   * When the drain with this mark began, in milliseconds by the clock of the API server. The first call records it on
   * the node, where it remains until `uncordon` with the same mark or the next drain with another one; undefined: no
   * such node.
   */
  beginDrain(node: string, mark: string): Promise<number | undefined>;
  /** Skips missing nodes; returns those that now have the taint. */
  taint(nodes: readonly string[], key: string): Promise<readonly string[]>;
  untaint(nodes: readonly string[], key: string): Promise<void>;
  /**
   * Rejects with ExternalFailure if the eviction is denied or fails for a reason other than a budget or too many requests.
   */
  evict(pod: PodIdentity): Promise<EvictionAnswer>;
  /** Deletes without respecting budgets. */
  deletePod(pod: PodIdentity): Promise<void>;
  /** Deletes the Node object; a missing node is not an error. */
  deleteNode(node: string): Promise<void>;
  /**
   * Deletes services with load balancers outside the cluster, and claims whose volumes are deleted with them, together
   * with the pods that use them. Returns what was found: the controllers of the cluster release it asynchronously.
   */
  releaseOutside(): Promise<readonly string[]>;
  /** State of a Job. */
  job(namespace: string, name: string): Promise<JobState>;
  createJob(manifest: Manifest): Promise<void>;
  deleteJob(namespace: string, name: string): Promise<void>;
  /**
   * Server-side apply of each object as field manager `fairlead`, in this order. A custom resource whose definition is
   * among them is applied once the API serves it, within 20 s.
   */
  apply(manifests: readonly Manifest[]): Promise<void>;
  /**
   * Objects with the namespace in which the API places them: for namespaced kinds their own, or this one; none for
   * others.
   */
  placed(manifests: readonly Manifest[], namespace: string): Promise<readonly Manifest[]>;
  /** Objects that are missing, or that applying them would change, with the first changed field, without values. */
  differences(manifests: readonly Manifest[]): Promise<readonly string[]>;
  /** Deletes objects and their dependents, in this order, and waits up to 60 s until they are gone. */
  deleteObjects(manifests: readonly Manifest[]): Promise<void>;
  /**
   * Creates the request for the signer `kubernetes.io/kube-apiserver-client`, approves it, waits up to 10 s for the
   * certificate and deletes the request. Returns the certificate as received: PEM in base64, not verified.
   */
  signClientCertificate(request: SigningRequest, signal: AbortSignal): Promise<string>;
}

/** Opens the APIs of clusters. */
export interface ClusterApis<Cluster = ClusterApi> {
  of(access: KubernetesAccess): Promise<Cluster>;
  /** Closes the connections to that cluster. */
  forget(uid: string): void;
  close(): void;
}
