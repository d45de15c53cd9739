import type { KubeletSettings, SourceLook } from '@fairlead/contracts';

/** What the last heartbeat of a node says beside that it lives. */
export interface HeartbeatReport {
  /** Of the node's clock against our own; positive: the node is ahead. */
  readonly skewMs: number;
  /** Where its software comes from, as it saw that last; null: it has not looked. */
  readonly source: SourceLook | null;
  /** What is set for the kubelet on the node itself; null: nothing. */
  readonly kubelet: KubeletSettings | null;
}

export interface NodeHeartbeats {
  /** null: none of it is known. */
  last(at: {
    readonly namespace: string;
    readonly cluster: string;
    readonly node: string;
  }): Promise<HeartbeatReport | null>;
}
