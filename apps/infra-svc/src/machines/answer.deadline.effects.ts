import { WorldFailure, type NodeName } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config.js';
import { SETTINGS } from '../tokens.js';

/** A task that begins after its deadline still asks once: the machines may have answered meanwhile. */
const GRACE_MS = 30_000;

export interface Deadline {
  /** Aborts with the WorldFailure that says who did not answer. */
  readonly signal: AbortSignal;
  clear(): void;
}

/** How long a provider may take to make machines. */
@Injectable()
export class AnswerDeadline {
  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** `desiredSince`: RFC 3339. `unanswered` is read when the time is over. */
  of(desiredSince: string, unanswered: ReadonlySet<NodeName>): Deadline {
    const { machinesTimeoutMs } = this.settings;
    const left = Date.parse(desiredSince) + machinesTimeoutMs - this.clock.now().getTime();
    const late = new AbortController();
    const giveUp = (): void => {
      const target = [...unanswered].join(', ');
      const message = `no answer within ${Math.round(machinesTimeoutMs / 1000)} s`;
      late.abort(new WorldFailure({ operation: 'create machines', target, message, retryable: false }));
    };
    const timer = setTimeout(giveUp, Math.max(left, GRACE_MS));
    return { signal: late.signal, clear: () => clearTimeout(timer) };
  }
}
