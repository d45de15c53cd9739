import { ExternalFailure } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Writes } from './writes.rules.js';

/** How long a read waits for our rows, and how long no read waits for a partition whose rows did not come in that time. */
const WAIT_MS = 5_000;
/** How long a read waits for the log's answer, and how long no read asks a log that did not answer. */
const ASK_MS = 1_000;

/** undefined: the log did not answer in time. */
const orSilent = async <T>(work: Promise<T>): Promise<T | undefined> => {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ASK_MS);
  });
  const answer = work.catch((error: unknown) => {
    if (error instanceof ExternalFailure) return undefined;
    throw error;
  });
  return Promise.race([answer, silence]).finally(() => clearTimeout(timer));
};

/**
 * Read your writes. A read asks the log for commands that our rows may not show yet, and waits for those that it finds: so it
 * sees every command that was answered before, at whichever replica. Where there is nothing to wait for, it costs one
 * request to the log; where log or rows are late, the read is answered with the rows as they are.
 */
@Injectable()
export class OwnWrites {
  /** Up to where the rows of a partition are known to show the log. */
  private readonly shownUpTo = new Map<number, number>();
  private readonly lateUntilMs = new Map<number, number>();
  private silentUntilMs = 0;

  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async shown(writes: readonly Writes[]): Promise<void> {
    if (this.nowMs() < this.silentUntilMs) return;
    await Promise.all(writes.map((one) => this.shownOf(one)));
  }

  private async shownOf({ partition, filter }: Writes): Promise<void> {
    const after = this.shownUpTo.get(partition) ?? (await this.reach(partition, 0, 0));
    const found = await orSilent(this.store.read(filter, after));
    if (found === undefined) {
      this.silentUntilMs = this.nowMs() + ASK_MS;
      return;
    }
    const seq = found.at(-1)?.event.meta.seq;
    if (seq === undefined) return;
    const isLate = this.nowMs() < (this.lateUntilMs.get(partition) ?? 0);
    const reached = await this.reach(partition, seq, isLate ? 0 : WAIT_MS);
    if (reached < seq && !isLate) this.lateUntilMs.set(partition, this.nowMs() + WAIT_MS);
  }

  private async reach(partition: number, seq: number, waitMs: number): Promise<number> {
    const reached = await this.positions.reach(partition, seq, waitMs);
    this.shownUpTo.set(partition, Math.max(reached, this.shownUpTo.get(partition) ?? 0));
    return reached;
  }

  private nowMs(): number {
    return this.clock.now().getTime();
  }
}
