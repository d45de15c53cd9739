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
 * The services, as one node's credential reaches them: messages to and from this node, and nothing else. Requests reject with
 * WorldFailure when no answer comes in time.
 */
export interface Platform {
  /** Calls back at once when connected, and again after every reconnect. */
  onConnected(callback: () => void): void;
  isConnected(): boolean;
  /** Resolves when the fact is in the log (`rejected` null), or to why it never will be. */
  state(type: EventType, fact: AgentFactMessage): Promise<AgentFactAnswer>;
  /** What is desired of the node, which listeners get as well, and, to recover lost state, what it stated last. */
  sync(recover: boolean): Promise<AgentStateMessage>;
  /** An answer to `sync` came over the connection that there is: what is decided since is received, or will be. */
  isSynced(): boolean;
  /** What is desired of the node, as soon as it is decided, also what came before; missing some while away is possible. */
  onDesired(callback: (desired: AgentDesiredMessage) => void): void;
  /** Dropped while away. */
  sendHeartbeat(heartbeat: Heartbeat): void;
  /** Called with each heartbeat, and in its place: now and then it asks whether the services can still be reached. */
  ping(): void;
  /** Claims for the user with this public key. */
  renew(user: string): Promise<AgentCredentialsMessage>;
  /** From the next connect on. */
  useCredentials(text: string): void;
  /** From the next connect on these authorities (PEM) count; rejects, and changes nothing, when NATS cannot be reached with them. */
  useAuthorities(pem: string): Promise<void>;
  close(): Promise<void>;
}

/** What Kubernetes says about the node. */
export interface NodeView {
  readonly ready: boolean;
  /** Why, in Kubernetes' words. */
  readonly message: string;
  readonly kubeletVersion: string;
}

/** What the agent writes to its Node object. */
export interface NodeMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The node's own Node object, through the kubelet's credentials. */
export interface NodeWatch {
  /** Writes what `metadata` returns now, if the Node object differs; at the latest when the API answers again. */
  metadataChanged(): void;
  stop(): void;
}

export interface NodeWatchListener {
  /** undefined: Kubernetes cannot be asked, or has no such Node. */
  onView(view: NodeView | undefined): void;
  metadata(): NodeMetadata;
}

export type WatchNode = (listener: NodeWatchListener) => NodeWatch;
