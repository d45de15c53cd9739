import { ExternalFailure, type NodeName } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config.js';
import { SETTINGS } from '../tokens.js';

/**
 * A task that begins after its deadline still makes one attempt, because the machines may have responded in the
 * meantime.
 */
const GRACE_MS = 30_000;
/**
 * Each attempt may cost money: beginning one minute after the machines were planned, the delay doubles up to an hour.
 */
const AGAIN_FIRST_MS = 60_000;
const AGAIN_MAX_MS = 3_600_000;

export interface Deadline {
  /** Aborts with a ExternalFailure that names the machines that did not respond. */
  readonly signal: AbortSignal;
  clear(): void;
}

/** How long a provider may take to create machines. */
@Injectable()
export class AnswerDeadline {
  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The delay before the next attempt at failed machines. */
  againInMs(desiredSince: string): number {
    return Math.min(Math.max(this.clock.now().getTime() - Date.parse(desiredSince), AGAIN_FIRST_MS), AGAIN_MAX_MS);
  }

  /** `desiredSince`: RFC 3339; undefined: now. `unanswered` is read when the deadline passes. */
  of(desiredSince: string | undefined, unanswered: ReadonlySet<NodeName>): Deadline {
    const { machinesTimeoutMs } = this.settings;
    const passed = desiredSince === undefined ? 0 : this.clock.now().getTime() - Date.parse(desiredSince);
    const left = machinesTimeoutMs - passed;
    const late = new AbortController();
    const giveUp = (): void => {
      const target = [...unanswered].join(', ');
      const message = `no answer within ${Math.round(machinesTimeoutMs / 1000)} s`;
      late.abort(new ExternalFailure({ operation: 'create machines', target, message, retryable: false }));
    };
    const timer = setTimeout(giveUp, Math.max(left, GRACE_MS));
    return { signal: late.signal, clear: () => clearTimeout(timer) };
  }
}
