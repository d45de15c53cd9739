import type { StoredEvent } from '@fairlead/contracts';

/** Where the log was read to. */
export interface LogPage {
  readonly events: readonly StoredEvent<'AgentCredentialsRevoked'>[];
  /** Sequence of the last message that was read; undefined: there was none. */
  readonly lastSeq: number | undefined;
  /** Nothing follows it yet. */
  readonly isLast: boolean;
}

/** The event log, as far as it says who is revoked. */
export interface RevocationLog {
  /** The next events after a sequence, or from a time on. */
  read(after: number | Date): Promise<LogPage>;
}

/** The nodes' account at the NATS server. */
export interface NodesAccount {
  /** The claims that the server has. */
  current(): Promise<string>;
  /** Resolves when the server has them, and has ended the connections of users that they revoke. */
  replace(jwt: string): Promise<void>;
}
