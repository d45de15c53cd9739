import type { AgentOutput, NodeAddress, StoredEvent } from '@fairlead/contracts';

/** A message from an agent. It belongs to this replica until `done` or `later` is called. */
export interface AgentMessage {
  readonly subject: string;
  readonly bytes: Uint8Array;
  done(): void;
  /** Redelivers it to a replica after this time. */
  later(delayMs: number): void;
}

/** The connection between services and agents. */
export interface AgentChannel {
  /** Calls `take` for each fact from an agent, with limited concurrency; every fact is delivered to one replica. */
  facts(take: (message: AgentMessage) => Promise<void>, atOnceMax: number): void;
  /** Calls back for each request of an agent for its state; each is delivered to one replica. */
  syncs(take: (subject: string, bytes: Uint8Array) => Promise<void>): void;
  /** Sends to the agent of that node, wherever it is connected; lost while it is away. */
  send(address: NodeAddress, output: AgentOutput, message: unknown): void;
  /**
   * The newest event on each matching subject, oldest first. Rejects with ExternalFailure while the log is unavailable.
   */
  newest(filters: readonly string[]): Promise<readonly StoredEvent[]>;
  stop(): Promise<void>;
}
