import { clusterFilter, type StoredEvent } from '@fairlead/contracts';
import { POSITIONS, TAIL, type Positions, type Tail } from '@fairlead/event-sourcing/jetstream';
import { deadlineAfter } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { shownSoon, untilShown } from './answers.js';

export interface Awaited {
  readonly namespace: string;
  readonly cluster: string;
  readonly afterSeq: number;
  readonly isOver: (event: StoredEvent) => boolean;
}

/** How long a caller wants to wait, and whether it is still there. */
export interface Patience {
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** Waits for what comes in the log, whichever replica it becomes known to first. */
@Injectable()
export class LogFollower {
  constructor(
    @Inject(TAIL) private readonly tail: Tail,
    @Inject(POSITIONS) private readonly positions: Positions,
  ) {}

  /** Until this replica's answers show the sequence; refused, naming the parameter that has it, when that takes too long. */
  shown(seq: number, parameter?: string): Promise<void> {
    return untilShown(this.positions, seq, parameter);
  }

  /** What a recorded command is answered with: from this replica's rows, or, when they are late, from the log. */
  async afterRecord<View>(seq: number, rows: () => Promise<View>, log: () => Promise<View>): Promise<View> {
    return (await shownSoon(this.positions, seq)) ? rows() : log();
  }

  /** The event that ended it, once our own rows show it, unless they are late; undefined when the time was over or the caller has gone. */
  async wait(awaited: Awaited, { waitMs, signal: gone }: Patience): Promise<StoredEvent | undefined> {
    if (waitMs === 0) return undefined;
    const late = deadlineAfter(waitMs);
    const signal = AbortSignal.any([gone, late.signal]);
    const filter = clusterFilter(awaited.namespace, awaited.cluster);
    try {
      for await (const event of this.tail(filter, awaited.afterSeq, signal)) {
        if (!awaited.isOver(event)) continue;
        await shownSoon(this.positions, event.meta.seq);
        return event;
      }
      return undefined;
    } finally {
      late.clear();
    }
  }
}
