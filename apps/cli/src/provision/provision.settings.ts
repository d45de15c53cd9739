export interface KeysSettings {
  readonly dataDir: string;
  /** Has a folder per holder of secrets, with copies of what that holder needs. */
  readonly secretsDir: string;
  readonly natsHost: string;
  readonly natsPort: number;
  /** undefined: NATS does not listen for websockets. */
  readonly natsWebsocketPort?: number;
  /** Names and addresses by which services and agents call NATS; they stand in its certificate. */
  readonly natsNames: readonly string[];
  /** Servers of a cluster, by which they reach each other; none: a single server. */
  readonly natsCluster: readonly string[];
  readonly natsClusterPort: number;
  readonly monitorHost: string;
  readonly monitorPort: number;
  /** As NATS sees it, which may be in a container of its own. */
  readonly storeDir: string;
}

export interface StoresSettings {
  readonly dataDir: string;
  readonly secretsDir: string;
  readonly nats: string;
  /** The authority of its certificate; undefined: the one that "provision keys" made, for a tls:// address. */
  readonly natsCa: string | undefined;
  readonly postgres: string;
  /** On how many NATS servers each store is kept; undefined: as before. */
  readonly replicas: number | undefined;
  /** For each server. */
  readonly timeoutMs: number;
}
