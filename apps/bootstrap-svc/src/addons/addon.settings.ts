/** What the manifests of a network depend on besides its version. */
export interface NetworkSettings {
  readonly podCidr: string;
  /** True where all nodes share one network segment: packets then need no tunnel. */
  readonly oneSegment: boolean;
  /** True where kube-proxy uses nftables. */
  readonly nftables: boolean;
  /** The API server's balanced address. */
  readonly endpoint: { readonly host: string; readonly port: number };
}

export interface NfsExport {
  readonly server: string;
  readonly path: string;
}
