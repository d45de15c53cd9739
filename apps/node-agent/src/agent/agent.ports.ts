import type {
  AgentCredentialsMessage,
  AgentDesiredMessage,
  AgentFactAnswer,
  AgentFactMessage,
  AgentStateMessage,
  EventType,
  Heartbeat,
} from '@fairlead/contracts';

/**
 * The services, as reachable with one node's credential: only messages to and from this node. Requests reject with
 * ExternalFailure if no reply arrives in time.
 */
export interface Platform {
  /** Calls back at once if connected, and again after every reconnect. */
  onConnected(callback: () => void): void;
  isConnected(): boolean;
  /** Resolves once the fact is in the log (`rejected` is null), or with the reason why it never will be. */
  state(type: EventType, fact: AgentFactMessage): Promise<AgentFactAnswer>;
  /**
   * Requests the desired state of the node, which listeners also receive, and for recovery the last facts that it
   * stated.
   */
  sync(recover: boolean): Promise<AgentStateMessage>;
  /** Whether a reply to `sync` arrived over the current connection: later decisions are received or on their way. */
  isSynced(): boolean;
  /**
   * Called with the desired state of the node when it is decided, and with earlier ones. Those decided while
   * disconnected may be missed.
   */
  onDesired(callback: (desired: AgentDesiredMessage) => void): void;
  /** Dropped while disconnected. */
  sendHeartbeat(heartbeat: Heartbeat): void;
  /** Called together with each heartbeat, or instead of it; sends a ping from time to time to check the connection. */
  ping(): void;
  /** Requests claims for the user with this public key. */
  renew(user: string): Promise<AgentCredentialsMessage>;
  /** Applies from the next connect on. */
  useCredentials(text: string): void;
  /**
   * Trusts these CAs (PEM) from the next connect on. Rejects and changes nothing if NATS cannot be reached with them.
   */
  useAuthorities(pem: string): Promise<void>;
  close(): Promise<void>;
}

/** The state of the node in Kubernetes. */
export interface NodeView {
  readonly ready: boolean;
  /** The reason, as reported by Kubernetes. */
  readonly message: string;
  readonly kubeletVersion: string;
}

/** The metadata that the agent writes to its Node object. */
export interface NodeMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A watch of the node's own Node object, with the kubelet's credentials. */
export interface NodeWatch {
  /** Writes the current result of `metadata` if the Node object differs, at the latest when the API responds again. */
  metadataChanged(): void;
  /** Tries at once instead of at the end of its backoff: an API server of this host may just have started. */
  hostChanged(): void;
  stop(): void;
}

export interface NodeWatchListener {
  /** undefined: Kubernetes cannot be reached, or has no such Node. */
  onView(view: NodeView | undefined): void;
  metadata(): NodeMetadata;
}

export type WatchNode = (listener: NodeWatchListener) => NodeWatch;
