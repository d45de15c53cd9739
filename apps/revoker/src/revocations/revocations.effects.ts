import { AGENT_CREDENTIAL_LIFETIME_MAX_S, ExternalFailure, wordsOf } from '@fairlead/contracts';
import { accountStateIn, signAccount, type AccountSigning } from '@fairlead/embedded/credentials';
import { WakeSignal } from '@fairlead/event-sourcing/reader';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodesAccount, RevocationLog } from './revocations.ports.js';
import { RENEWED_LATE_S, revocationsAt, withEvent, withoutEnded, type Revoked } from './revocations.rules.js';

/** Whatever was revoked before is of no use to anybody any more. */
const READ_BACK_MS = (AGENT_CREDENTIAL_LIFETIME_MAX_S + 2 * RENEWED_LATE_S) * 1_000;
/** A wake-up can come a moment before its message can be read. */
const LOOKS_AGAIN_MS = [2, 4, 8, 16, 32, 64, 128, 256] as const;
const LOOK_MS = 30_000;
/** For each change the server checks every connected agent's claims: many removals at once are few changes. */
const CHANGES_APART_MS = 200;
const RETRY_MS = 500;

export interface RevokerParts {
  readonly log: RevocationLog;
  readonly account: NodesAccount;
  readonly signing: AccountSigning;
  /** How many connections the account has to allow, given how many it allows now. */
  readonly accountLimit: (allowed: number | undefined) => number | undefined;
  readonly now: () => Date;
  /** A question that is asked meanwhile would wait for an answer that never comes. */
  readonly isUp: () => boolean;
  readonly say: (level: 'log' | 'warn' | 'error', sentence: string) => void;
}

/** What the revoker has brought about so far. */
export interface RevokerState {
  readonly users: number;
  readonly leftOut: number;
  /** How often the server was given other claims. */
  readonly updates: number;
  /** Connections that nodes may have; undefined: any number, or not known. */
  readonly connectionsMax: number | undefined;
  /** When the server was last seen to have what the log says; undefined: not yet. */
  readonly seenAt: Date | undefined;
}

/**
 * Makes the claims of the nodes' account say what the log says. It remembers nothing: at its start it reads what may still count, and it
 * compares with the server's claims before and after any change, so a crash of either costs no more than the next look.
 */
export class Revoker {
  private readonly wakeSignal = new WakeSignal();
  private revoked: Revoked = new Map();
  private lastSeq: number | undefined;
  private stopped = false;
  private isLate = false;
  /** Counts what made a look that is under way worthless. */
  private turn = 0;
  private abandon: () => void = () => undefined;
  private current: RevokerState = { users: 0, leftOut: 0, updates: 0, connectionsMax: undefined, seenAt: undefined };

  constructor(private readonly parts: RevokerParts) {}

  get state(): RevokerState {
    return this.current;
  }

  /** There may be something new. */
  wake(): void {
    this.wakeSignal.ring();
  }

  /** The server was away: it may have other claims than it was given, and a question to it may never be answered. */
  compareAgain(): void {
    this.turn += 1;
    this.abandon();
    this.current = { ...this.current, seenAt: undefined };
    this.wakeSignal.ring();
  }

  /** A question to a server that is gone may never be answered. */
  stop(): void {
    this.stopped = true;
    this.abandon();
    this.wakeSignal.ring();
  }

  /** Until `stop`. */
  async run(): Promise<void> {
    let looks = 0;
    while (!this.stopped) {
      const abandoned = new Promise<number>((resolve) => {
        this.abandon = () => resolve(0);
      });
      const looked = this.look(looks > 0 ? 'if-new' : 'always').then(
        () => LOOKS_AGAIN_MS[LOOKS_AGAIN_MS.length - looks] ?? LOOK_MS,
        (error: unknown) => this.tryAgainAfter(error),
      );
      const delayMs = await Promise.race([looked, abandoned]);
      if (!this.wakeSignal.isSet) await this.wakeSignal.pause(delayMs);
      looks = this.wakeSignal.isSet ? LOOKS_AGAIN_MS.length : Math.max(0, looks - 1);
      this.wakeSignal.reset();
    }
  }

  /** Said once for each outage, however often it is tried. */
  private tryAgainAfter(error: unknown): number {
    if (!this.isLate && !this.stopped) this.parts.say('warn', `revocations are late: ${wordsOf(error)}; trying again`);
    this.isLate = true;
    return RETRY_MS;
  }

  /** Reads what is new, and sees to it that the server has it; `if-new` asks the server only if there is something. */
  async look(compare: 'always' | 'if-new' = 'always'): Promise<void> {
    const { turn } = this;
    const { updates } = this.current;
    if (!this.parts.isUp())
      throw new ExternalFailure({ operation: 'ask NATS', target: 'the server', message: 'the connection is down' });
    await this.readLog();
    if (compare === 'if-new' && this.current.seenAt !== undefined) return;
    await this.bringClaims(turn);
    if (this.current.updates > updates && !this.stopped) await sleep(CHANGES_APART_MS);
  }

  /** To its end: claims without what was not read yet would let revoked users in again. */
  private async readLog(): Promise<void> {
    for (;;) {
      const after = this.lastSeq ?? new Date(this.parts.now().getTime() - READ_BACK_MS);
      const { events, lastSeq, isLast } = await this.parts.log.read(after);
      this.revoked = events.reduce(withEvent, this.revoked);
      this.lastSeq = lastSeq ?? this.lastSeq;
      // Until it is given them, the server is not known to have what was read.
      if (events.length > 0) this.current = { ...this.current, seenAt: undefined };
      if (isLast) return;
    }
  }

  private async bringClaims(turn: number): Promise<void> {
    const { account, signing, now, say } = this.parts;
    const nowSeconds = Math.floor(now().getTime() / 1_000);
    this.revoked = withoutEnded(this.revoked, nowSeconds);
    const { byUser, leftOut } = revocationsAt(this.revoked, nowSeconds);
    const there = await account.current();
    // The next look has begun, and may know more.
    if (turn !== this.turn) return;
    const { issuedAtSeconds, connectionsMax: allowed } = accountStateIn(there);
    const state = { revocations: byUser, connectionsMax: this.parts.accountLimit(allowed) };
    const users = Object.keys(byUser).length;
    let { updates } = this.current;
    if (there.trim() !== signAccount(signing, state, issuedAtSeconds)) {
      // A server keeps what it has where that was issued later, by a clock that was ahead.
      await account.replace(signAccount(signing, state, Math.max(nowSeconds, issuedAtSeconds)));
      updates += 1;
      say(
        'log',
        `the server refuses ${users} users, and takes up to ${state.connectionsMax ?? 'any number of'} connections of nodes`,
      );
    }
    if (leftOut > 0) say('error', `${leftOut} users are not refused: no more than ${users} fit into the claims`);
    this.current = { users, leftOut, updates, connectionsMax: state.connectionsMax, seenAt: now() };
    this.isLate = false;
  }
}
