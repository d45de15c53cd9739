import {
  epochOf,
  FIRST_EPOCH,
  handoverWords,
  holdsLog,
  isSource,
  LOG_CHANGED,
  ExternalFailure,
  wordsOf,
} from '@fairlead/contracts';
import { readLogState, untilShared, WakeSignal, type LogState } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

/**
 * Poll interval without notifications, for a credential of an earlier release: how long an installation with a closed
 * log may still act.
 */
const POLL_INTERVAL_MS = 2_000;
/** Poll interval with notifications, in case one was lost. */
const NOTIFIED_LOOK_EVERY_MS = 10_000;

type Seen = Pick<LogState, 'record' | 'sealed'>;

const NEVER: Seen = { record: undefined, sealed: false };

export type MayServe = (state: Seen) => boolean;

/** A service acts only in the installation that holds the log. */
export const whileHeld: MayServe = ({ record, sealed }) => holdsLog(record) && !sealed;

/**
 * A service that only answers reads, and refuses commands, also runs in an installation that was handed over, for its
 * history.
 */
export const whileReadable: MayServe = ({ record }) => holdsLog(record) || isSource(record);

/**
 * Who holds the log, as last seen by this service. Followed continuously, because a handover begins while services run.
 */
export class LogOwnership {
  private seen: Seen = NEVER;
  private readonly stopping = new AbortController();
  private readonly changed = new WakeSignal();
  private lookEveryMs = NOTIFIED_LOOK_EVERY_MS;

  constructor(
    private readonly nc: NatsConnection,
    private readonly mayServe: MayServe,
  ) {}

  get record(): LogState['record'] {
    return this.seen.record;
  }

  /** The installation's epoch, which is part of every step on a host. */
  get epoch(): number {
    return this.record === undefined ? FIRST_EPOCH : epochOf(this.record);
  }

  /** Throws with the reason while this service may not run. */
  async require(): Promise<void> {
    this.seen = await readLogState(this.nc);
    if (this.mayServe(this.seen)) return;
    const { record } = this.seen;
    throw new ExternalFailure({
      operation: 'use the event log',
      target: 'this installation',
      message: record === undefined ? 'the log is sealed' : handoverWords(record),
    });
  }

  /** Resolves with the reason when this service may no longer run; never after a stop. */
  async lost(): Promise<string | undefined> {
    const { signal } = this.stopping;
    this.follow();
    while (!signal.aborted) {
      if (!this.changed.isSet) await this.changed.pause(untilShared(this.lookEveryMs));
      this.changed.reset();
      if (signal.aborted) break;
      try {
        await this.require();
      } catch (error) {
        // While NATS is unreachable, nothing can be written either.
        if (!this.mayServe(this.seen)) return wordsOf(error);
      }
    }
    return undefined;
  }

  stop(): void {
    this.stopping.abort();
    this.changed.ring();
  }

  private follow(): void {
    if (this.nc.isClosed()) return;
    this.nc.subscribe(LOG_CHANGED, {
      callback: (error) => {
        if (error !== null) this.lookEveryMs = POLL_INTERVAL_MS;
        this.changed.ring();
      },
    });
    void this.lookOnReconnect();
    this.changed.ring(); // The log may have been closed since the check at startup.
  }

  private async lookOnReconnect(): Promise<void> {
    for await (const { type } of this.nc.status()) if (type === 'reconnect') this.changed.ring();
  }
}
