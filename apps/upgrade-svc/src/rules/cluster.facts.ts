import type {
  CgroupV1,
  Finding,
  KubeletSettings,
  NodeName,
  NodeRole,
  SoftwareVersions,
  SourceLook,
} from '@fairlead/contracts';
import type { TemplateView } from '@fairlead/kubernetes';

/**
 * Facts about a cluster at one time, as read from Kubernetes, etcd and the agents. The survey fills them, rules read
 * them. Nothing is assumed: unreadable fields are listed in `unread`, and the rules that need them reject the upgrade.
 */
export interface ClusterFacts {
  /** RFC 3339: the start of the survey. */
  readonly at: string;
  /** Fields that could not be read, so that a missing value is not taken as healthy. */
  readonly unread: readonly Unread[];
  readonly nodes: readonly NodeFacts[];
  /** null: could not be read, or etcd is external. */
  readonly etcd: EtcdFacts | null;
  /** Cluster-wide workloads in kube-system: DaemonSets and Deployments. */
  readonly system: readonly WorkloadFacts[];
  readonly budgets: readonly BudgetFacts[];
  /** Pods that a drain would evict: without DaemonSet, static and finished pods. */
  readonly pods: readonly PodFacts[];
  readonly webhooks: readonly WebhookFacts[];
  /** Uses of APIs that a later version removes, in the last 30 days as far as API servers record them. */
  readonly deprecatedApis: readonly DeprecatedApiFacts[];
  /** Component settings in the cluster's own objects; those of nodes are in NodeFacts. */
  readonly settings: readonly ComponentSettings[];
  /** The Corefile of CoreDNS; null: unreadable or none. */
  readonly corefile: string | null;
  /** Settings that kubeadm adds to its own manifests; null: unreadable. */
  readonly kubeadm: KubeadmExtras | null;
  /** Objects that kubeadm installed for the whole cluster, and rewrites with each upgrade; null: unreadable. */
  readonly installed: InstalledFacts | null;
  /** The result of a dry run with the target's kubeadm; null: it did not run. */
  readonly dryRun: DryRunFacts | null;
  /** The newest etcd snapshot that is stored outside its node and was verified. */
  readonly snapshot: { readonly at: string; readonly name: string } | null;
  /** The number of successful health checks in a row, ten seconds apart; B2 requires two. */
  readonly healthyPasses: number;
}

export type Component =
  'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubelet' | 'kube-proxy' | 'etcd';

/** The flags of a component in one place, including feature gates of a configuration. */
export interface ComponentSettings {
  readonly component: Component;
  /** Display name: `ConfigMap kube-system/kubelet-config`. */
  readonly where: string;
  /** `--flag=value` */
  readonly args: readonly string[];
}

/** Additions of kubeadm-config to kubeadm's static pods, by component. */
export interface KubeadmExtras {
  /** Flags without dashes. */
  readonly extraArgs: Readonly<Partial<Record<Component, readonly string[]>>>;
  /** Names of volumes. */
  readonly extraVolumes: Readonly<Partial<Record<Component, readonly string[]>>>;
  /** Names of variables, since v1beta4 of kubeadm's API. */
  readonly extraEnvs: Readonly<Partial<Record<Component, readonly string[]>>>;
}

export type KubeadmAddon = 'coredns' | 'kube-proxy';

/** The settings in kubeadm-config for the addons that kubeadm installs. */
export interface KubeadmInstalls {
  readonly imageRepository: string;
  readonly dns: { readonly imageRepository: string; readonly imageTag: string | null };
  /** kubeadm does not manage them; since v1beta4 of its API. */
  readonly disabled: readonly KubeadmAddon[];
  /** host or host:port; null: none. */
  readonly controlPlaneEndpoint: string | null;
  /** Feature gates of kubeadm itself. */
  readonly featureGates: Readonly<Record<string, boolean>>;
}

export interface InstalledFacts {
  readonly config: KubeadmInstalls;
  /** null: no such workload. */
  readonly templates: Readonly<Record<KubeadmAddon, TemplateView | null>>;
  /** The ConfigMap of kube-proxy: its keys, and the API server of its kubeconfig; null: none. */
  readonly kubeProxyConfig: { readonly keys: readonly string[]; readonly server: string | null } | null;
  /** Digests of the fields of kubelet-config; null: none. */
  readonly kubeletFields: Readonly<Record<string, string>> | null;
}

/** kubeadm ran on this node in dry-run mode. */
export interface DryRunFacts {
  readonly node: NodeName;
  /** The kubeadm version, with v. */
  readonly version: string;
  /** null: no error. */
  readonly refusal: {
    /** Names of the failed preflight checks; empty: it failed elsewhere. */
    readonly checks: readonly string[];
    /** The error messages of kubeadm. */
    readonly words: readonly string[];
  } | null;
}

export interface Unread {
  /** The field of ClusterFacts (e.g. "etcd", "nodes.demo-cp-1.clockSkewMs"). */
  readonly what: string;
  readonly rule: Finding['rule'];
  /** The original error message. */
  readonly message: string;
}

export interface NodeFacts {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  readonly ready: boolean;
  /** Why it is not Ready, as reported by Kubernetes or the agent. */
  readonly notReadyBecause: string | null;
  /** Cordoned by anyone. */
  readonly unschedulable: boolean;
  /** status.nodeInfo.kubeletVersion, without the leading v: `1.34.4`. */
  readonly kubelet: string;
  /** The kube-proxy version of the image of its pod on this node, without v; null: none. */
  readonly kubeProxy: string | null;
  /** The version of the container runtime, e.g. `1.7.24`. */
  readonly containerRuntime: string;
  /** As last reported by its agent. */
  readonly software: SoftwareVersions;
  /** The agent sends no heartbeats. */
  readonly lost: boolean;
  /** Only for control planes; otherwise empty. */
  readonly staticPods: readonly StaticPodFacts[];
  /** Only for control planes; null: not reported. */
  readonly certificates: readonly { readonly name: string; readonly expiresAt: string }[] | null;
  /** Relative to the local clock; positive: the node's clock is ahead. null: unknown. */
  readonly clockSkewMs: number | null;
  readonly disk: {
    /** Free space on the disk of images and etcd. null: unknown. */
    readonly freeBytes: number;
    /** Required by the change: image sizes, and twice the etcd data on control planes. */
    readonly neededBytes: number;
  } | null;
  /** The state of the source of its files and images, as the node last reported it; null: not checked yet. */
  readonly source: SourceLook | null;
  /** Settings of its kubelet on the node itself; null: none. */
  readonly kubeletSettings: KubeletSettings | null;
  /** null: its host has cgroup v2, or it is unknown. */
  readonly cgroupV1: CgroupV1 | null;
  /** Whether the kubelet's kubeconfig points to the local API server (ControlPlaneKubeletLocalMode). null: unknown. */
  readonly kubeletTalksToLocalApi: boolean | null;
  readonly allocatable: Capacity;
}

/** The mirror pod of a control plane's static pod. */
export interface StaticPodFacts {
  readonly component: 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'etcd';
  /** The version of its image, without v: `1.34.4`, `3.6.8`. */
  readonly version: string;
  readonly image: string;
  readonly ready: boolean;
  /** The command line, one flag per entry. */
  readonly args: readonly string[];
  readonly volumes: readonly string[];
  /** Containers other than the component's own. */
  readonly sidecars: readonly string[];
  /** Names of variables, without values. */
  readonly environment: readonly string[];
  /** The sum over all its containers; 0: none. */
  readonly requests: Capacity;
  readonly limits: Capacity;
}

export interface EtcdFacts {
  readonly members: readonly EtcdMemberFacts[];
  /** etcd's names: NOSPACE, CORRUPT. */
  readonly alarms: readonly { readonly member: string; readonly alarm: string }[];
  readonly quotaBytes: number;
}

export interface EtcdMemberFacts {
  readonly id: string;
  /** Its name in etcd; kubeadm uses the name of the node. */
  readonly name: string;
  readonly node: NodeName | null;
  readonly started: boolean;
  readonly healthy: boolean;
  readonly learner: boolean;
  readonly leader: boolean;
  readonly version: string;
  readonly dbBytes: number;
  /** Number of log entries behind the leader. */
  readonly behind: number;
  /** The result of `etcdutl check v2store` (required before 3.6); null: not run. */
  readonly v2StoreClean: boolean | null;
}

export interface WorkloadFacts {
  readonly kind: 'DaemonSet' | 'Deployment';
  readonly name: string;
  readonly desired: number;
  readonly ready: number;
}

export interface BudgetFacts {
  /** namespace/name */
  readonly name: string;
  readonly disruptionsAllowed: number;
  /** Covered pods, as namespace/name. */
  readonly pods: readonly string[];
}

export interface Capacity {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

export interface PodFacts {
  /** namespace/name */
  readonly name: string;
  readonly node: NodeName;
  readonly requests: Capacity;
  /** No controller would recreate it. */
  readonly bare: boolean;
  /** Its emptyDir data is deleted with it. */
  readonly emptyDir: boolean;
}

export interface WebhookFacts {
  /** configuration/webhook */
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly timeoutSeconds: number;
  /** It is called for nodes, pods or leases in kube-system. */
  readonly matchesKubeSystem: boolean;
}

export interface DeprecatedApiFacts {
  /** resource.version.group, as in kubectl. */
  readonly api: string;
  /** The first minor without it, such as `1.35`; null: deprecated without an announced removal. */
  readonly removedIn: string | null;
  readonly requests: number;
  /** The last use; null: unknown to the API servers. */
  readonly lastUsedAt: string | null;
}
