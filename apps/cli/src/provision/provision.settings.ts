export interface KeysSettings {
  readonly dataDir: string;
  readonly natsHost: string;
  readonly natsPort: number;
  readonly monitorPort: number;
  /** As NATS sees it, which may be in a container of its own. */
  readonly storeDir: string;
}

export interface StoresSettings {
  readonly dataDir: string;
  readonly nats: string;
  readonly postgres: string;
  /** For each server. */
  readonly timeoutMs: number;
}
