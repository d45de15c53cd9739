import type { KeyPair } from '../certificates/certificate.authority.js';
import type { Clock } from '../clock/clock.js';
import type { Taint } from '../objects/core.types.js';
import type { ClusterSnapshot } from './cluster.snapshot.js';

/** How long simulated things take. */
export interface SimulationDelays {
  /** From a pod's arrival on its node until it is ready. */
  readonly podStartMs: number;
  /** From a pod's deletion until its containers have stopped; never longer than its grace period. */
  readonly podStopMs: number;
  /** How long a Job's pod runs before it succeeds. */
  readonly jobRunMs: number;
  /** How long a node may be silent before it counts as lost (kube-controller-manager's --node-monitor-grace-period). */
  readonly nodeMonitorGraceMs: number;
}

export const DEFAULT_DELAYS: SimulationDelays = {
  podStartMs: 300,
  podStopMs: 200,
  jobRunMs: 1_000,
  nodeMonitorGraceMs: 40_000,
};

export interface SimulatedClusterOptions {
  readonly name: string;
  /** `v1.34.4` */
  readonly version: string;
  readonly podCidr: string;
  readonly serviceCidr: string;
  readonly clock?: Clock;
  readonly ca?: KeyPair;
  readonly delays?: Partial<SimulationDelays>;
  /** The administrator's first client certificate counts as made so long ago. */
  readonly certificateAgeMs?: number;
  /** How many changes are remembered for watches that resume (2,000 when not given); older versions are answered with 410 Gone. */
  readonly watchHistoryMax?: number;
  /** `host:port` that kubeadm's ConfigMaps name as the control plane's endpoint. */
  readonly controlPlaneEndpoint?: string;
  /** Where an etcd answers that kubeadm does not run; absent: it is kubeadm's. */
  readonly etcdEndpoints?: readonly string[];
  /** The cluster continues from here; name, version, networks and authority are then the snapshot's. */
  readonly state?: ClusterSnapshot;
}

export type NodeRole = 'control-plane' | 'worker';

/** What a kubelet tells about its machine when it joins. */
export interface NodeRegistration {
  readonly name: string;
  readonly role: NodeRole;
  readonly internalIP: string;
  readonly kubeletVersion: string;
  /** `containerd://1.7.22` */
  readonly containerRuntimeVersion: string;
  readonly osImage: string;
  readonly kernelVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Instead of kubeadm's: the control-plane taint for control planes, none for workers. */
  readonly taints?: readonly Taint[];
  readonly providerID?: string;
  readonly cpu: number | string;
  /** A Kubernetes quantity, such as `4Gi`. */
  readonly memory: string;
}
