/** Clocks of nodes against our own. */
export interface NodeClocks {
  /** Positive: the node is ahead. null: no heartbeat of it is known. */
  skewMs(at: { readonly namespace: string; readonly cluster: string; readonly node: string }): Promise<number | null>;
}
