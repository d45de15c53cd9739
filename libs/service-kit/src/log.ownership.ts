import {
  epochOf,
  FIRST_EPOCH,
  handoverWords,
  holdsLog,
  isSource,
  LOG_CHANGED,
  WorldFailure,
  wordsOf,
} from '@fairlead/contracts';
import { readLogState, untilShared, WakeSignal, type LogState } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

/** How long an installation whose log is closed may still act where NATS does not say that it was closed: to a credential of an earlier release. */
const LOOK_EVERY_MS = 2_000;
/** Where NATS says so: for a message that was lost. */
const NOTIFIED_LOOK_EVERY_MS = 10_000;

type Seen = Pick<LogState, 'record' | 'sealed'>;

const NEVER: Seen = { record: undefined, sealed: false };

export type MayServe = (state: Seen) => boolean;

/** A service acts only in the installation that holds the log. */
export const whileHeld: MayServe = ({ record, sealed }) => holdsLog(record) && !sealed;

/** What only answers, and refuses commands, also does so in an installation that was handed over: its history is there. */
export const whileReadable: MayServe = ({ record }) => holdsLog(record) || isSource(record);

/** Who holds the log, as far as this service has seen: followed all the time, because a handover begins while services run. */
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

  /** Of the installation: steps on hosts carry it. */
  get epoch(): number {
    return this.record === undefined ? FIRST_EPOCH : epochOf(this.record);
  }

  /** Throws, with the reason, while this service may not run. */
  async require(): Promise<void> {
    this.seen = await readLogState(this.nc);
    if (this.mayServe(this.seen)) return;
    const { record } = this.seen;
    throw new WorldFailure({
      operation: 'use the event log',
      target: 'this installation',
      message: record === undefined ? 'the log is sealed' : handoverWords(record),
    });
  }

  /** Resolves with the reason when this service may no longer run; not after a stop. */
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
        // NATS may be away: then nothing can be written either.
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
        if (error !== null) this.lookEveryMs = LOOK_EVERY_MS;
        this.changed.ring();
      },
    });
    void this.lookOnReconnect();
    this.changed.ring(); // It may have been closed since the start looked.
  }

  private async lookOnReconnect(): Promise<void> {
    for await (const { type } of this.nc.status()) if (type === 'reconnect') this.changed.ring();
  }
}
