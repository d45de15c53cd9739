import type { CgroupV1, KubeletSettings, SourceLook } from '@fairlead/contracts';

/** The contents of a node's last heartbeat besides its liveness. */
export interface HeartbeatReport {
  /** The offset of the node's clock; positive: the node is ahead. */
  readonly skewMs: number;
  /** The software source, as last checked by the node; null: not checked. */
  readonly source: SourceLook | null;
  /** Kubelet settings on the node itself; null: none. */
  readonly kubelet: KubeletSettings | null;
  /** null: its host has cgroup v2, or it is unknown. */
  readonly cgroupV1: CgroupV1 | null;
}

export interface NodeHeartbeats {
  /** null: nothing is known. */
  last(at: {
    readonly namespace: string;
    readonly cluster: string;
    readonly node: string;
  }): Promise<HeartbeatReport | null>;
}
