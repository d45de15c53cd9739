import { EVERY_EVENT, partitionInSubject, storedSubject } from '@fairlead/contracts';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { RawEvent } from './direct.reader.js';
import { headOf } from './message.head.js';

export interface LogFeedOptions {
  readonly nc: Pick<NatsConnection, 'subscribe'>;
  /** A message of a partition. Everything stored from `from` up to it was pushed. */
  readonly onMessage: (partition: number, message: RawEvent, from: number) => void;
  /** Messages before this one were not pushed. */
  readonly onGap: () => void;
}

const rawOf = (message: Pick<Msg, 'headers' | 'data'>): RawEvent => {
  const { subject, seq } = headOf(message);
  return { subject, seq, bytes: message.data };
};

/**
 * Messages that nats-server publishes right after storing them, in the order of the log. Delivery is at most once, so a
 * reader must detect gaps: the log's sequences have none.
 */
export class LogFeed {
  private subscription: Subscription | undefined;
  private lastTaken = 0;
  private from = 0;

  constructor(private readonly options: LogFeedOptions) {}

  /** The newest pushed message; 0: none. Readers got every earlier one or know of the gap. */
  get last(): number {
    return this.lastTaken;
  }

  /** A reader that starts now gets everything stored from this sequence on. */
  get next(): number {
    return this.lastTaken + 1;
  }

  start(): void {
    this.subscription = this.options.nc.subscribe(storedSubject(EVERY_EVENT), {
      callback: (error, message) => {
        if (error === null) this.take(rawOf(message));
      },
    });
  }

  stop(): void {
    this.subscription?.unsubscribe();
  }

  private take(message: RawEvent): void {
    const { onGap, onMessage } = this.options;
    const isGap = message.seq > this.next;
    if (message.seq <= this.lastTaken) return;
    if (isGap) this.from = message.seq;
    this.lastTaken = message.seq;
    const partition = partitionInSubject(message.subject);
    if (partition !== undefined) onMessage(partition, message, this.from);
    if (isGap) onGap();
  }
}
