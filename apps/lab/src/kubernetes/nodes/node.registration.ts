import type { Taint } from '../objects/core.types.js';

export type NodeRole = 'control-plane' | 'worker';

/** What a kubelet reports about its machine at the join. */
export interface NodeRegistration {
  readonly name: string;
  readonly role: NodeRole;
  readonly internalIP: string;
  readonly kubeletVersion: string;
  /** For example `containerd://1.7.22`. */
  readonly containerRuntimeVersion: string;
  readonly osImage: string;
  readonly kernelVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** If absent, kubeadm's: the control-plane taint for control planes, none for workers. */
  readonly taints?: readonly Taint[] | undefined;
  readonly providerID?: string;
  readonly cpu: number | string;
  /** A Kubernetes quantity, such as `4Gi`. */
  readonly memory: string;
}
