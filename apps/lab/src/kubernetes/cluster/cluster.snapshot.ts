import type { KeyPair } from '../certificates/certificate.authority.js';
import type { ComponentFlags } from '../controlplane/static.pods.planner.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { KubeletsState } from '../nodes/kubelets.js';
import type { EtcdMember } from '../etcd/etcd.members.js';

/** Everything that must survive a restart of the lab, as JSON. It has the private keys of a simulation, and nothing else that is secret. */
export interface ClusterSnapshot {
  readonly format: 1;
  readonly name: string;
  readonly version: string;
  readonly podCidr: string;
  /** Absent: Kubernetes' default. */
  readonly nodeCidrMask?: number | undefined;
  readonly serviceCidr: string;
  readonly ca: KeyPair;
  readonly resourceVersion: number;
  readonly objects: readonly KubeObject[];
  readonly etcd: readonly EtcdMember[];
  /** Its etcd runs beside kubeadm; absent: as static pods. */
  readonly externalEtcd?: boolean;
  /** Of the restore that the etcd came from; absent: it never was restored. */
  readonly etcdToken?: string;
  readonly revisionsSkipped?: number;
  readonly kubelets: KubeletsState;
  /** The version of each control plane's static pods. */
  readonly controlPlanes: Readonly<Record<string, string>>;
  /** Flags of their components beside kubeadm's own; absent: none has any. */
  readonly controlPlaneFlags?: Readonly<Record<string, ComponentFlags>>;
}
