/** A connection of a node that NATS has accepted. */
export interface NodeConnection {
  /** Public id of the server that it is connected to. */
  readonly server: string;
  /** Unique at that server, and larger than those of all earlier connections. */
  readonly id: number;
  /** Public key of the user in its claims, which the server has verified; the client can state any other name. */
  readonly user: string;
  /** `<namespace>/<cluster>/<node>`, from the same claims. */
  readonly node: string;
}

/** What a server reports about the nodes' account. */
export type ConnectionReport =
  | { readonly kind: 'opened'; readonly connection: NodeConnection }
  | { readonly kind: 'closed'; readonly connection: Pick<NodeConnection, 'server' | 'id'> };

/** The connections of the nodes' account. */
export interface AccountConnections {
  /** All that are open now. */
  list(): Promise<readonly NodeConnection[]>;
  /** Calls back for each one that opens or closes. */
  follow(onReport: (report: ConnectionReport) => void): void;
  /** Has the server close it, if it is still open; does not wait for that. */
  close(connection: NodeConnection): void;
}
