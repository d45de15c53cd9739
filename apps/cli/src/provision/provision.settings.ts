export interface KeysSettings {
  readonly dataDir: string;
  /** Contains a folder per holder of secrets, with copies of its files. */
  readonly secretsDir: string;
  readonly natsHost: string;
  readonly natsPort: number;
  /** undefined: NATS does not listen for websockets. */
  readonly natsWebsocketPort?: number;
  /** Names and addresses for services and agents to connect to NATS; they are in its certificate. */
  readonly natsNames: readonly string[];
  /** Addresses of the servers of a cluster; empty for a single server. */
  readonly natsCluster: readonly string[];
  readonly natsClusterPort: number;
  readonly monitorHost: string;
  readonly monitorPort: number;
  /** As NATS sees it, possibly inside a container. */
  readonly storeDir: string;
  /** Whether the administrator's token is created too, for a gateway that cannot write its file. */
  readonly administratorToken: boolean;
}

export interface SecretsSettings {
  readonly secretsDir: string;
  /** Begins the name of each Secret. */
  readonly prefix: string;
  /** URL of the Kubernetes API. */
  readonly server: string;
  /** Has the files "namespace" and "token" of a service account. */
  readonly serviceAccountDir: string;
}

export interface StoresSettings {
  readonly dataDir: string;
  readonly secretsDir: string;
  readonly nats: string;
  /** The authority of its certificate; undefined: for a tls:// address, the one that "provision keys" created. */
  readonly natsCa: string | undefined;
  readonly postgres: string;
  /** The number of NATS servers that store each stream; undefined: unchanged. */
  readonly replicas: number | undefined;
  /** The timeout for each server. */
  readonly timeoutMs: number;
}
