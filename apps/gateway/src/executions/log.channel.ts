import { logAskSubject, LogLines, logLinesSubject, type LogAsk, type LogPosition } from '@fairlead/contracts';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';

/** A question that was lost is asked again; it also says that the reader is still there. */
const ASK_EVERY_MS = 2_000;

const linesIn = (message: Msg): LogLines | undefined => {
  try {
    return LogLines.safeParse(message.json()).data;
  } catch {
    return undefined; // Not JSON: no schema accepts it.
  }
};

/** How the gateway follows a log: it asks bootstrap-svc for the lines after a position, and gets them, over NATS and past the log of events. */
export class LogChannel {
  private readonly subscription: Subscription;
  private readonly repeated: NodeJS.Timeout;
  private ask: LogAsk = { type: 'wait' };
  private number = 0;
  private answered: (lines: LogLines) => void = () => undefined;

  constructor(
    private readonly nc: NatsConnection,
    private readonly requestId: string,
  ) {
    this.subscription = nc.subscribe(logLinesSubject(requestId), {
      callback: (error, message) => {
        const lines = error === null ? linesIn(message) : undefined;
        // The answer to an earlier question came twice.
        if (lines?.number === this.number) this.answered(lines);
      },
    });
    this.repeated = setInterval(() => this.send(), ASK_EVERY_MS);
  }

  /** The lines after a position; undefined: none came within that time, or the signal has aborted. */
  async read(after: LogPosition | null, withinMs: number, signal: AbortSignal): Promise<LogLines | undefined> {
    this.number += 1;
    this.ask = { type: 'read', number: this.number, after };
    const answer = new Promise<LogLines | undefined>((resolve) => {
      const done = (lines?: LogLines): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', gone);
        resolve(lines);
      };
      const gone = (): void => done();
      const timer = setTimeout(gone, withinMs);
      signal.addEventListener('abort', gone, { once: true });
      this.answered = done;
      if (signal.aborted) gone();
    });
    this.send();
    const lines = await answer;
    this.ask = { type: 'wait' };
    return lines;
  }

  close(): void {
    clearInterval(this.repeated);
    this.subscription.unsubscribe();
    this.ask = { type: 'end' };
    this.send();
  }

  private send(): void {
    if (!this.nc.isClosed()) this.nc.publish(logAskSubject(this.requestId), JSON.stringify(this.ask));
  }
}
