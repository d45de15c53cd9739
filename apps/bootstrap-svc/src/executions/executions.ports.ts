import type { LogAsk, LogLines } from '@fairlead/contracts';

/** The gateway that follows a log for a reader. What goes either way may be lost, and is stored nowhere. */
export interface LogReader {
  /** What it asked for last, and has not been taken; undefined: nothing came within that time. Rejects with the reason of the signal. */
  next(withinMs: number, signal: AbortSignal): Promise<LogAsk | undefined>;
  send(lines: LogLines): void;
  close(): void;
}

export interface LogReaders {
  of(requestId: string): LogReader;
}
