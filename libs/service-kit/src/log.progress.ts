import type { Partitions, Stall } from '@fairlead/event-sourcing/jetstream';

const ERROR_LENGTH_MAX = 300;

const sentenceOf = ({ partition, seq, error, forMs }: Stall): string => {
  const at = seq === null ? '' : ` at event ${seq}`;
  const why = error === '' ? 'the step under way does not end' : error.slice(0, ERROR_LENGTH_MAX);
  return `partition ${partition} has not moved for ${Math.round(forMs / 1_000)} s${at}: ${why}`;
};

/** Whether the partitions of this replica make progress. */
export class LogProgress {
  constructor(
    private readonly partitions: Pick<Partitions, 'stalls'>,
    private readonly stallAfterMs: number,
  ) {}

  /** `ok`, or which partitions are stalled, at which events, and why. */
  report(): string {
    const stalled = this.partitions.stalls().filter(({ forMs }) => forMs >= this.stallAfterMs);
    return stalled.length === 0 ? 'ok' : stalled.map(sentenceOf).join('; ');
  }
}
