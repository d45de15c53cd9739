/** The inputs of a network's manifests, apart from its version. */
export interface NetworkSettings {
  readonly podCidr: string;
  /** True if all nodes share one network segment: packets then need no tunnel. */
  readonly oneSegment: boolean;
  /** True if kube-proxy uses nftables. */
  readonly nftables: boolean;
  /** The load-balanced address of the API server. */
  readonly endpoint: { readonly host: string; readonly port: number };
}

export interface NfsExport {
  readonly server: string;
  readonly path: string;
}
