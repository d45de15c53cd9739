import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';

/** How long a command that waits bears with a server that does not answer, like the stream of events. */
const OUTAGE_MAX_MS = 300_000;

/** One failure may be a connection that a proxy has cut: the second one in a row is worth a line. */
const SAID_AFTER = 2;

/**
 * The time in which the server does not answer a command that waits. Says once that it does not, and once that it does again. A server that has
 * never answered this command is none to wait for.
 */
export class Outage {
  private hasAnswered = false;
  private failures = 0;
  private since = { time: '', ms: 0 };

  constructor(
    private readonly io: Pick<Io, 'err' | 'now'>,
    /** Whether the command waits for something. */
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

  /** No answer; whether another one is worth trying. */
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
