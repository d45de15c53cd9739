import { LogAsk, logAskSubject, logLinesSubject, type LogLines } from '@fairlead/contracts';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { LogReader, LogReaders } from '../../executions/executions.ports.js';

const askIn = (message: Msg): LogAsk | undefined => {
  try {
    return LogAsk.safeParse(message.json()).data;
  } catch {
    return undefined; // Not JSON: no schema accepts it.
  }
};

/** Over request subjects: only the gateway may publish on one, and only this service on the other. */
export class NatsLogReaders implements LogReaders {
  constructor(private readonly nc: NatsConnection) {}

  of(requestId: string): LogReader {
    return new NatsLogReader(this.nc, requestId);
  }
}

class NatsLogReader implements LogReader {
  private readonly subscription: Subscription;
  private ask: LogAsk | undefined;
  private awake: () => void = () => undefined;

  constructor(
    private readonly nc: NatsConnection,
    private readonly requestId: string,
  ) {
    this.subscription = nc.subscribe(logAskSubject(requestId), {
      callback: (error, message) => {
        const ask = error === null ? askIn(message) : undefined;
        if (ask === undefined) return;
        // Only the latest request counts.
        this.ask = ask;
        this.awake();
      },
    });
  }

  async next(withinMs: number, signal: AbortSignal): Promise<LogAsk | undefined> {
    if (this.ask === undefined) await this.wait(withinMs, signal);
    signal.throwIfAborted();
    const { ask } = this;
    this.ask = undefined;
    return ask;
  }

  send(lines: LogLines): void {
    this.nc.publish(logLinesSubject(this.requestId), JSON.stringify(lines));
  }

  close(): void {
    this.subscription.unsubscribe();
  }

  private wait(withinMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      signal.addEventListener('abort', done, { once: true });
      this.awake = done;
    });
  }
}
