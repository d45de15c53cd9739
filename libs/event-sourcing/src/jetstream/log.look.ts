import { wordsOf } from '@fairlead/contracts';
import type { PartitionConsumer } from './partition.consumer.js';

export interface LogLookOptions {
  /** The newest pushed message. */
  readonly lastPushed: () => number;
  readonly partitions: () => readonly Pick<PartitionConsumer, 'look' | 'lookIfAhead' | 'position'>[];
  /** The sequence of the first message of the log after another; undefined: none. */
  readonly nextAfter: (seq: number) => Promise<number | undefined>;
  /** The log is known to reach up to this sequence. */
  readonly onKnown: (seq: number) => void;
  readonly warn: (message: string) => void;
}

/**
 * A push can be lost without a later one that reveals the gap. One read for all partitions detects that; a partition
 * reads only if there is anything after the pushed messages, or if it has not caught up with them.
 */
export class LogLook {
  /** Every partition has read up to this sequence since the event became readable. */
  private lookedUpTo = 0;
  private isOwed = false;

  constructor(private readonly options: LogLookOptions) {}

  /**
   * Partitions have just read what was not pushed. A lagging replica of the stream may have answered, so they read once
   * more: the sequence they must find is unknown.
   */
  lookOnceMore(): void {
    this.isOwed = true;
  }

  async look(): Promise<void> {
    const { lastPushed, partitions, nextAfter, onKnown, warn } = this.options;
    const { isOwed } = this;
    this.isOwed = false;
    partitions().forEach((consumer) => (isOwed ? consumer.look() : consumer.lookIfAhead()));
    const upTo = Math.max(0, ...partitions().map((consumer) => consumer.position()));
    try {
      const next = await nextAfter(Math.max(this.lookedUpTo, lastPushed()));
      // A message in transit when the log was queried has arrived before the reply.
      if (next === undefined || next <= lastPushed()) return;
      onKnown(next);
      partitions().forEach((consumer) => consumer.look());
      this.lookedUpTo = Math.max(next, upTo);
      this.lookOnceMore();
    } catch (error) {
      warn(`the log was not looked at: ${wordsOf(error)}; trying again`);
    }
  }
}
