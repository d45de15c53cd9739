import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';

/** How long a waiting command retries an unreachable server, like the event stream. */
const OUTAGE_MAX_MS = 300_000;

/** One failure may be a connection that a proxy has closed; only the second one in a row is reported. */
const SAID_AFTER = 2;

/**
 * Tracks how long the server has been unreachable for a waiting command. Reports the outage once, and its end once. A
 * server that has never answered this command is not retried.
 */
export class Outage {
  private hasAnswered = false;
  private failures = 0;
  private since = { time: '', ms: 0 };

  constructor(
    private readonly io: Pick<Io, 'err' | 'now'>,
    /** Whether the command waits for a result. */
    readonly isPatient: () => boolean,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  answered(): void {
    const { failures, since } = this;
    this.hasAnswered = true;
    this.failures = 0;
    if (failures < SAID_AFTER) return;
    this.io.err(`The gateway answers again after ${formatDuration(this.clock() - since.ms)}.\n`);
  }

  /** Records a failed request; returns whether to retry. */
  failed(words: string): boolean {
    if (!this.hasAnswered || !this.isPatient()) return false;
    this.failures += 1;
    if (this.failures === 1) this.since = { time: new Date(this.io.now()).toISOString(), ms: this.clock() };
    if (this.failures === SAID_AFTER)
      this.io.err(
        `The gateway has not answered since ${this.since.time} (${words}); reconnecting for up to ${formatDuration(OUTAGE_MAX_MS)} ...\n`,
      );
    return this.clock() - this.since.ms < OUTAGE_MAX_MS;
  }
}
