import type { Finding, KubeletSettings, NodeName, NodeRole, SoftwareVersions, SourceLook } from '@fairlead/contracts';
import type { TemplateView } from '@fairlead/kubernetes';

/**
 * What is true of a cluster at one moment, as it was read from Kubernetes, etcd and the agents. Gatherers fill it, rules
 * read it. Nothing in here is guessed: what could not be read stands in `unread`, and the rules that need it refuse.
 */
export interface ClusterFacts {
  /** RFC 3339: when reading began. */
  readonly at: string;
  /** What could not be read, so that silence is not taken for health. */
  readonly unread: readonly Unread[];
  readonly nodes: readonly NodeFacts[];
  /** null: could not be read, or etcd is not ours. */
  readonly etcd: EtcdFacts | null;
  /** What runs in kube-system for everyone: DaemonSets and Deployments. */
  readonly system: readonly WorkloadFacts[];
  readonly budgets: readonly BudgetFacts[];
  /** Pods that would have to move: no DaemonSet, static or finished pods. */
  readonly pods: readonly PodFacts[];
  readonly webhooks: readonly WebhookFacts[];
  /** Uses of APIs that a later version removes, of the last 30 days as far as API servers remember. */
  readonly deprecatedApis: readonly DeprecatedApiFacts[];
  /** What the cluster's own objects set for components of Kubernetes; the nodes have theirs. */
  readonly settings: readonly ComponentSettings[];
  /** Of CoreDNS; null: it could not be read, or there is none. */
  readonly corefile: string | null;
  /** What kubeadm adds to its own manifests; null: it could not be read. */
  readonly kubeadm: KubeadmExtras | null;
  /** What kubeadm installed for the whole cluster, and writes again with each upgrade; null: it could not be read. */
  readonly installed: InstalledFacts | null;
  /** What kubeadm of the target says of the upgrade in a dry run; null: it was not asked. */
  readonly dryRun: DryRunFacts | null;
  /** The newest snapshot of etcd that lies off its node and whose status was read. */
  readonly snapshot: { readonly at: string; readonly name: string } | null;
  /** How often in a row, ten seconds apart, the cluster was found healthy just now; B2 wants two. */
  readonly healthyPasses: number;
}

export type Component =
  'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubelet' | 'kube-proxy' | 'etcd';

/** Flags of a component as one place sets them, feature gates of a configuration among them. */
export interface ComponentSettings {
  readonly component: Component;
  /** For people: `ConfigMap kube-system/kubelet-config`. */
  readonly where: string;
  /** `--flag=value` */
  readonly args: readonly string[];
}

/** What kubeadm-config adds to the static pods that kubeadm makes, by component. */
export interface KubeadmExtras {
  /** Flags without dashes. */
  readonly extraArgs: Readonly<Partial<Record<Component, readonly string[]>>>;
  /** Names of volumes. */
  readonly extraVolumes: Readonly<Partial<Record<Component, readonly string[]>>>;
  /** Names of variables, since v1beta4 of kubeadm's API. */
  readonly extraEnvs: Readonly<Partial<Record<Component, readonly string[]>>>;
}

export type KubeadmAddon = 'coredns' | 'kube-proxy';

/** What kubeadm-config says of what kubeadm installs beside static pods. */
export interface KubeadmInstalls {
  readonly imageRepository: string;
  readonly dns: { readonly imageRepository: string; readonly imageTag: string | null };
  /** kubeadm leaves them alone, since v1beta4 of its API. */
  readonly disabled: readonly KubeadmAddon[];
  /** host or host:port; null: it has none. */
  readonly controlPlaneEndpoint: string | null;
  /** Feature gates of kubeadm itself. */
  readonly featureGates: Readonly<Record<string, boolean>>;
}

export interface InstalledFacts {
  readonly config: KubeadmInstalls;
  /** null: there is no such workload. */
  readonly templates: Readonly<Record<KubeadmAddon, TemplateView | null>>;
  /** The ConfigMap of kube-proxy: its keys, and the API server of its kubeconfig; null: there is none. */
  readonly kubeProxyConfig: { readonly keys: readonly string[]; readonly server: string | null } | null;
  /** Digests of the fields of kubelet-config; null: there is none. */
  readonly kubeletFields: Readonly<Record<string, string>> | null;
}

/** kubeadm ran on this node without changing anything. */
export interface DryRunFacts {
  readonly node: NodeName;
  /** Of kubeadm, with v. */
  readonly version: string;
  /** null: it objects to nothing. */
  readonly refusal: {
    /** Preflight checks that failed, as kubeadm names them; empty: it failed elsewhere. */
    readonly checks: readonly string[];
    /** Reasons in kubeadm's own words. */
    readonly words: readonly string[];
  } | null;
}

export interface Unread {
  /** The field of ClusterFacts (e.g. "etcd", "nodes.demo-cp-1.clockSkewMs"). */
  readonly what: string;
  readonly rule: Finding['rule'];
  /** The world's own words. */
  readonly message: string;
}

export interface NodeFacts {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly pool: string;
  readonly ready: boolean;
  /** Why it is not Ready, in Kubernetes' or the agent's words. */
  readonly notReadyBecause: string | null;
  /** Cordoned, by whomever. */
  readonly unschedulable: boolean;
  /** status.nodeInfo.kubeletVersion, without the leading v: `1.34.4`. */
  readonly kubelet: string;
  /** Version of the kube-proxy image of its pod on this node, without v; null: it has none. */
  readonly kubeProxy: string | null;
  /** Of the container runtime, e.g. `1.7.24`. */
  readonly containerRuntime: string;
  /** What its agent reported last. */
  readonly software: SoftwareVersions;
  /** No heartbeat of its agent comes. */
  readonly lost: boolean;
  /** Of control planes; empty elsewhere. */
  readonly staticPods: readonly StaticPodFacts[];
  /** Of control planes; null: not reported. */
  readonly certificates: readonly { readonly name: string; readonly expiresAt: string }[] | null;
  /** Against our own clock; positive: the node is ahead. null: not known. */
  readonly clockSkewMs: number | null;
  readonly disk: {
    /** Free where images and etcd lie. null: not known. */
    readonly freeBytes: number;
    /** What the change needs: image sizes, and twice the data of etcd on control planes. */
    readonly neededBytes: number;
  } | null;
  /** The source of its files and images, as the node itself saw it last; null: it has not looked. */
  readonly source: SourceLook | null;
  /** What is set for its kubelet on the node itself; null: nothing. */
  readonly kubeletSettings: KubeletSettings | null;
  /** Whether the kubelet's own kubeconfig names the local API server (ControlPlaneKubeletLocalMode). null: not known. */
  readonly kubeletTalksToLocalApi: boolean | null;
  readonly allocatable: Capacity;
}

/** A mirror of a static pod of a control plane. */
export interface StaticPodFacts {
  readonly component: 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'etcd';
  /** Of its image, without v: `1.34.4`, `3.6.8`. */
  readonly version: string;
  readonly image: string;
  readonly ready: boolean;
  /** The command line, flag by flag. */
  readonly args: readonly string[];
  readonly volumes: readonly string[];
  /** Containers beside its own. */
  readonly sidecars: readonly string[];
  /** Names of variables, without their values. */
  readonly environment: readonly string[];
  /** Of all its containers; 0: none. */
  readonly requests: Capacity;
  readonly limits: Capacity;
}

export interface EtcdFacts {
  readonly members: readonly EtcdMemberFacts[];
  /** NOSPACE, CORRUPT, as etcd names them. */
  readonly alarms: readonly { readonly member: string; readonly alarm: string }[];
  readonly quotaBytes: number;
}

export interface EtcdMemberFacts {
  readonly id: string;
  /** Its name in etcd, which kubeadm makes that of the node. */
  readonly name: string;
  readonly node: NodeName | null;
  readonly started: boolean;
  readonly healthy: boolean;
  readonly learner: boolean;
  readonly leader: boolean;
  readonly version: string;
  readonly dbBytes: number;
  /** How far it is behind the leader, in log entries. */
  readonly behind: number;
  /** `etcdutl check v2store` (needed before 3.6): null: not asked. */
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
  /** namespace/name of the pods that it covers. */
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
  /** No controller would make it again. */
  readonly bare: boolean;
  /** It has data in an emptyDir that goes with it. */
  readonly emptyDir: boolean;
}

export interface WebhookFacts {
  /** configuration/webhook */
  readonly name: string;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly timeoutSeconds: number;
  /** It is asked about nodes, pods or leases in kube-system. */
  readonly matchesKubeSystem: boolean;
}

export interface DeprecatedApiFacts {
  /** resource.version.group, as kubectl names them. */
  readonly api: string;
  /** The first minor without it, such as `1.35`; null: it is deprecated, and its removal is not announced yet. */
  readonly removedIn: string | null;
  readonly requests: number;
  /** When it was last used; null: the API servers do not say. */
  readonly lastUsedAt: string | null;
}
