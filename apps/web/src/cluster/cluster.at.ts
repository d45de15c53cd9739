/** Where a cluster is. */
export interface ClusterAt {
  readonly namespace: string;
  readonly cluster: string;
}
