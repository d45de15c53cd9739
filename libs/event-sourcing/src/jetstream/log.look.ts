import { wordsOf } from '@fairlead/contracts';
import type { PartitionConsumer } from './partition.consumer.js';

export interface LogLookOptions {
  /** The newest message that was pushed. */
  readonly lastPushed: () => number;
  readonly partitions: () => readonly Pick<PartitionConsumer, 'look' | 'lookIfAhead' | 'position'>[];
  /** The sequence of the first message of the log after one; undefined: there is none. */
  readonly nextAfter: (seq: number) => Promise<number | undefined>;
  /** The log is known to go on up to here. */
  readonly onKnown: (seq: number) => void;
  readonly warn: (message: string) => void;
}

/**
 * What is pushed can be lost without anything after it that shows it. One read for all partitions finds that; each of them reads only if
 * there is anything after what was pushed, or it has not come so far.
 */
export class LogLook {
  /** Up to here, every partition has looked since the event could be read. */
  private lookedUpTo = 0;
  private isOwed = false;

  constructor(private readonly options: LogLookOptions) {}

  /**
   * Partitions have just looked for what was not pushed. A replica of the stream may have answered them that is behind, so they look once
   * more: the sequence that they must find is not known.
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
      // One that was on its way when the log was asked has come before the answer.
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
