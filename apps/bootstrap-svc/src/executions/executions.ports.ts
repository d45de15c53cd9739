import type { LogAsk, LogLines } from '@fairlead/contracts';

/** The gateway that follows a log for a reader. Messages in both directions may be lost, and are never stored. */
export interface LogReader {
  /**
   * The latest request that was not taken yet; undefined: none arrived within that time. Rejects with the reason of the
   * signal.
   */
  next(withinMs: number, signal: AbortSignal): Promise<LogAsk | undefined>;
  send(lines: LogLines): void;
  close(): void;
}

export interface LogReaders {
  of(requestId: string): LogReader;
}
