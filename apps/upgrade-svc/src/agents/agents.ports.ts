import type { AgentOutput, NodeAddress, StoredEvent } from '@fairlead/contracts';

/** A message that an agent sent. Until `done` or `later` was called it belongs to this replica. */
export interface AgentMessage {
  readonly subject: string;
  readonly bytes: Uint8Array;
  done(): void;
  /** Some replica gets it again after this time. */
  later(delayMs: number): void;
}

/** What lies between services and agents. */
export interface AgentChannel {
  /** Calls `take` for each fact that an agent sends, at most so many at once; every fact goes to one replica. */
  facts(take: (message: AgentMessage) => Promise<void>, atOnceMax: number): void;
  /** Calls back for each request of an agent for its state; each goes to one replica. */
  syncs(take: (subject: string, bytes: Uint8Array) => Promise<void>): void;
  /** To the agent of that node, wherever it is connected; lost while it is away. */
  send(address: NodeAddress, output: AgentOutput, message: unknown): void;
  /** The newest event on each subject that matches, oldest first. Rejects with WorldFailure while the log cannot be reached. */
  newest(filters: readonly string[]): Promise<readonly StoredEvent[]>;
  stop(): Promise<void>;
}
