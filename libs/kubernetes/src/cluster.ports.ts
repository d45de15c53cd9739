import type { NodeCondition, NodePressure } from '@fairlead/contracts';
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
  /** As its kubelet registered it: `<provider>://<the provider's id>`; null: it has none. */
  readonly providerId: string | null;
  readonly controlPlane: boolean;
  /** The first, as its kubelet reports it; null: none. */
  readonly internalIp: string | null;
  readonly ready: boolean;
  /** Of the Ready condition, for people. */
  readonly message: string;
  /** Conditions beside Ready that keep pods away from it. */
  readonly pressures: readonly NodePressure[];
  /** The others, in order, but for Ready. Absent: there are none. */
  readonly conditions?: readonly NodeCondition[];
  /** As the kubelet reports it: `v1.34.4`. */
  readonly kubeletVersion: string;
  /** `containerd://1.7.24` */
  readonly containerRuntime: string;
  readonly unschedulable: boolean;
  /** The mark under which `cordon` cordoned it; null: it is not cordoned, or not through `cordon`. */
  readonly cordonedBy: string | null;
  readonly allocatable: Resources;
  /** Names and sizes of the images on it, as far as its kubelet lists them. */
  readonly images: readonly { readonly names: readonly string[]; readonly bytes: number }[];
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
  /** It tolerates the taint of cordoned nodes: the scheduler places it there nevertheless. */
  readonly toleratesCordon: boolean;
  /** The first of them; the pod is not gone before they are removed. */
  readonly finalizers: readonly string[];
  /** A static pod's mirror. */
  readonly mirror: boolean;
  /** Kind and name of its controller; null: nothing would recreate it. */
  readonly controller: { readonly kind: string; readonly name: string } | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Only those of Fairlead: `fairlead.dev/...`. */
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
  /** It has data in an emptyDir that goes with it. */
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
  /** It is asked about nodes, pods or leases in kube-system. */
  readonly matchesKubeSystem: boolean;
}

export interface WorkloadView {
  readonly kind: 'DaemonSet' | 'Deployment';
  readonly namespace: string;
  readonly name: string;
  readonly desired: number;
  readonly ready: number;
  /** Of the newest template. */
  readonly updated: number;
  /** Pods of former templates that are still there. */
  readonly former: number;
  /** The controller has seen the newest template. */
  readonly observed: boolean;
  /** The tag of its first image; `unknown` for an image without one. */
  readonly version: string;
}

/**
 * What the pods of a workload are made from, each part as texts that can be compared: `--conf`, `nodeSelector disk=ssd`, `limits.memory=1Gi`.
 * Of environment variables and volumes the names; values may be secret.
 */
export interface TemplateView {
  /** Of the first container. */
  readonly image: string;
  readonly args: readonly string[];
  readonly environment: readonly string[];
  readonly resources: readonly string[];
  /** Init containers, and those after the first. */
  readonly containers: readonly string[];
  /** Files that a volume takes from a ConfigMap stand behind its name: `config-volume/Corefile`. */
  readonly volumes: readonly string[];
  readonly nodeSelector: readonly string[];
  readonly tolerations: readonly string[];
  /** Kinds of affinity, and topology spread constraints by their key. */
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
  /** Such as `1.35`; null: no release has been named. */
  readonly removedIn: string | null;
}

/** The answer to an eviction. */
export type EvictionAnswer =
  | { readonly answer: 'evicted' }
  /** The pod no longer exists, or another pod has its name now. */
  | { readonly answer: 'gone' }
  /** `budget`: namespace/name of the PodDisruptionBudget that refuses, if Kubernetes names one. */
  | {
      readonly answer: 'refused';
      readonly budget: string | null;
      readonly message: string;
      /** How long not to ask again, if the API server says so. */
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
  /** Where its output goes, piece by piece; the program is held back until the promise of the piece before is done. */
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

/** A request of certificates.k8s.io/v1 for a client certificate. */
export interface SigningRequest {
  /** Of the CertificateSigningRequest; unique within the cluster. */
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

/** Labels and taints that a node must have, and those that it must not have any longer. What is not named stays. */
export interface NodeMetadataChange {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly NodeTaint[];
  readonly obsoleteLabels: readonly string[];
  /** `key:effect` */
  readonly obsoleteTaints: readonly string[];
}

export interface CordonOptions {
  /** The node does not come back: it leaves external load balancers even if someone else cordoned it before. */
  readonly leaving?: boolean;
}

/**
 * One cluster's API. Each call takes a bounded time and rejects with WorldFailure in the API's words. Every change may be
 * repeated. Services declare the part that they use (their own `kubernetes.ports.ts`).
 */
export interface ClusterApi {
  /** `/readyz?verbose` at the balanced address: the checks that fail; empty: it is ready. */
  failingChecks(): Promise<readonly string[]>;
  /** The same of the API server on this control plane, asked on the node's own address: the balanced one passes it on. */
  failingChecksOn(controlPlane: string): Promise<readonly string[]>;
  nodes(): Promise<readonly NodeView[]>;
  node(name: string): Promise<NodeView | undefined>;
  pods(): Promise<readonly PodView[]>;
  podsOn(node: string): Promise<readonly PodView[]>;
  /** Mirrors of the static pods of all control planes. */
  staticPods(): Promise<readonly PodView[]>;
  /** Addresses that API servers registered for themselves in the service `kubernetes`. */
  apiServerAddresses(): Promise<readonly string[]>;
  budgets(): Promise<readonly BudgetView[]>;
  webhooks(): Promise<readonly WebhookView[]>;
  /** DaemonSets and Deployments of a namespace. */
  workloads(namespace: string): Promise<readonly WorkloadView[]>;
  workload(kind: WorkloadView['kind'], namespace: string, name: string): Promise<WorkloadView | undefined>;
  template(kind: WorkloadView['kind'], namespace: string, name: string): Promise<TemplateView | undefined>;
  /** The data of a ConfigMap, texts of at most 256 KiB; undefined: there is no such ConfigMap. */
  configMap(namespace: string, name: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** Of a component of the control plane, in kube-system. */
  lease(name: string): Promise<LeaseView | undefined>;
  /** What API servers remember since their start of requests for APIs that are deprecated. */
  deprecatedApis(): Promise<readonly DeprecatedApiView[]>;
  /** Bytes free where images and pods' data are, as the node's kubelet reports. */
  freeDisk(node: string): Promise<number>;
  /** Volumes that are attached to a node, by the name of their PersistentVolume. */
  attachedVolumes(node: string): Promise<readonly string[]>;
  /** The PersistentVolume behind a claim; undefined: none. */
  volumeOf(namespace: string, claim: string): Promise<string | undefined>;
  run(program: Program): Promise<ProgramEnd>;
  /** Adds labels to a node that exists. */
  label(node: string, labels: Readonly<Record<string, string>>): Promise<void>;
  /** Sets and removes labels and taints of a node in one write; false: there is no such node. */
  setNodeMetadata(node: string, change: NodeMetadataChange): Promise<boolean>;
  /**
   * Makes the node unschedulable under a mark, and takes it out of external load balancers. True: it is cordoned under this
   * mark; false: someone else cordoned it before; undefined: there is no such node.
   */
  cordon(node: string, mark: string, options?: CordonOptions): Promise<boolean | undefined>;
  /** Undoes what `cordon` did under this mark; leaves what others did. */
  uncordon(node: string, mark: string): Promise<void>;
  /**
   * When the drain under this mark began, in milliseconds by the clock of the API server. The first call records it on the node, where it stays
   * until `uncordon` with the same mark or the next drain under another one; undefined: there is no such node.
   */
  beginDrain(node: string, mark: string): Promise<number | undefined>;
  /** Skips nodes that are gone; answers with those that have the taint now. */
  taint(nodes: readonly string[], key: string): Promise<readonly string[]>;
  untaint(nodes: readonly string[], key: string): Promise<void>;
  /** Rejects with WorldFailure when the eviction is denied or fails for another reason than a budget or too many requests. */
  evict(pod: PodIdentity): Promise<EvictionAnswer>;
  /** Deletes without asking budgets. */
  deletePod(pod: PodIdentity): Promise<void>;
  /** Removes the Node object; a node that does not exist is not an error. */
  deleteNode(node: string): Promise<void>;
  /**
   * Deletes services that hold load balancers outside the cluster, and the claims of volumes that are deleted with their claims, with the pods
   * that use them. Returns what was there: the controllers of the cluster take their time to release it.
   */
  releaseOutside(): Promise<readonly string[]>;
  /** State of a Job. */
  job(namespace: string, name: string): Promise<JobState>;
  createJob(manifest: Manifest): Promise<void>;
  deleteJob(namespace: string, name: string): Promise<void>;
  /**
   * Applies each object on the server as field manager `fairlead`, in this order. A custom resource whose definition is among
   * them is applied when the API serves it, within 20 s.
   */
  apply(manifests: readonly Manifest[]): Promise<void>;
  /** Objects as the API places them: those of namespaced kinds have their own namespace, or this one; others have none. */
  placed(manifests: readonly Manifest[], namespace: string): Promise<readonly Manifest[]>;
  /** Objects that do not exist, or that applying them would change, with the first field of it. Values are not in it. */
  differences(manifests: readonly Manifest[]): Promise<readonly string[]>;
  /** Deletes objects with everything that belongs to them, in this order, and waits up to 60 s until they are gone. */
  deleteObjects(manifests: readonly Manifest[]): Promise<void>;
  /**
   * Creates the request for the signer `kubernetes.io/kube-apiserver-client`, approves it, waits up to 10 s for the certificate and deletes the
   * request. Returns the certificate as the API has it: PEM in base64, unchecked.
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
