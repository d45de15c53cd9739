import { ExternalFailure, type AgentConfig } from '@fairlead/contracts';
import { randomUUID } from 'node:crypto';
import { backoffMs } from '../time/backoff.js';
import type { Metronome } from '../time/metronome.js';
import { evolve, NOTHING_REPORTED, type Reported } from './agent.decider.js';
import { isOwnEvent, type AgentFact } from '../node/agent.facts.js';
import type { AgentClock, AgentLog, HostPort } from '../node/host.ports.js';
import type { Platform } from './agent.ports.js';
import type { AgentState, Pending } from './agent.state.js';
import type { Desired } from '../node/desired.state.js';
import { saveState } from './state.store.js';

/** A node that is away for weeks still states how it reached its state, but not every flap. */
export const OUTBOX_LENGTH_MAX = 200;
const RETRY = { firstMs: 250, maxMs: 15_000 };

export interface JournalOptions {
  readonly config: AgentConfig;
  readonly host: HostPort;
  readonly platform: Platform;
  readonly metronome: Metronome;
  readonly clock: AgentClock;
  readonly random: () => number;
  readonly log: AgentLog;
  /** Called when the outbox becomes empty. */
  readonly onDrained: () => void;
}

/**
 * The facts that the agent has stated. A fact is first stored in the local state, then sent, one at a time, until it is
 * acknowledged: it is in the log once and in order, however often the agent or NATS fails in between.
 */
export class Journal {
  private draining: Promise<void> | undefined;
  private attempt = 0;
  private closed = false;
  private cancelRetry = (): void => undefined;
  private saving: Promise<void> = Promise.resolve();

  constructor(
    private state: AgentState,
    private readonly options: JournalOptions,
  ) {
    options.platform.onConnected(() => this.nudge());
  }

  get reported(): Reported {
    return this.state.reported;
  }

  get desired(): Desired | null {
    return this.state.desired;
  }

  get changed(): readonly string[] {
    return this.state.changed;
  }

  /** Whether every decided fact is in the log. */
  get isDrained(): boolean {
    return this.state.outbox.length === 0;
  }

  /** Whether the last stated boot is in the log. */
  get isBootRecorded(): boolean {
    return !this.state.outbox.some(({ type }) => type === 'NodeRebooted');
  }

  /** `desired`: the ID of the event that requested it. */
  async record(facts: readonly AgentFact[], desired: string | null): Promise<void> {
    const time = this.options.clock.now().toISOString();
    const pending = facts.map((fact): Pending => ({
      id: randomUUID(),
      time,
      type: fact.type,
      data: fact.data,
      desired,
    }));
    const isReached = facts.some(({ type }) => type === 'NodeInitialized');
    await this.save({
      ...this.state,
      reported: facts.reduce(evolve, this.state.reported),
      outbox: this.bounded([...this.state.outbox, ...pending]),
      changed: isReached ? [] : this.state.changed,
    });
    this.nudge();
  }

  setDesired(desired: Desired): Promise<void> {
    return this.save({ ...this.state, desired });
  }

  /** Kept across a restart, so that NodeInitialized lists every change. */
  addChanged(changed: readonly string[]): Promise<void> {
    return this.save({ ...this.state, changed: [...new Set([...this.state.changed, ...changed])] });
  }

  /** Requests the last facts of this node after the local state was lost. Rejects while there is no reply. */
  async recover(): Promise<void> {
    const { last } = await this.options.platform.sync(true);
    const facts = (last ?? []).filter(({ type }) => isOwnEvent(type)) as unknown as readonly AgentFact[];
    await this.save({ ...this.state, reported: facts.reduce(evolve, NOTHING_REPORTED) });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.cancelRetry();
    await this.draining;
    await this.saving;
  }

  private bounded(outbox: Pending[]): Pending[] {
    const surplus = outbox.length - OUTBOX_LENGTH_MAX;
    if (surplus <= 0) return outbox;
    this.options.log('warn', 'the log was away for so long that facts are dropped', { dropped: surplus });
    // The head may already be in the log under its ID, so it is kept.
    return [...outbox.slice(0, 1), ...outbox.slice(1 + surplus)];
  }

  /** Writes are sequential, and the newest state is last. */
  private save(state: AgentState): Promise<void> {
    this.state = state;
    this.saving = this.saving.then(
      () => saveState(this.options.host, state),
      () => saveState(this.options.host, state),
    );
    return this.saving;
  }

  private nudge(): void {
    if (this.closed || this.isDrained || this.draining !== undefined || !this.options.platform.isConnected()) return;
    this.cancelRetry();
    this.draining = this.drain().finally(() => {
      this.draining = undefined;
    });
  }

  private async drain(): Promise<void> {
    try {
      while (!this.closed && this.state.outbox.length > 0) await this.sendHead();
      this.attempt = 0;
    } catch (error) {
      this.attempt += 1;
      const cause = error instanceof ExternalFailure ? error.message : String(error);
      this.options.log('warn', 'facts wait for the log', { waiting: this.state.outbox.length, cause });
      const delayMs = backoffMs(RETRY, this.attempt, this.options.random);
      this.cancelRetry = this.options.metronome.after(delayMs, () => this.nudge());
    }
    if (this.isDrained) this.options.onDrained();
  }

  private async sendHead(): Promise<void> {
    const [head] = this.state.outbox;
    if (head === undefined) return;
    const { id, time, type, desired, data } = head;
    const { rejected } = await this.options.platform.state(type, { id, time, desired, data });
    // Dropped: it would be rejected again and again, and block later facts.
    if (rejected !== null) this.options.log('error', 'a fact was rejected', { type, cause: rejected });
    await this.save({ ...this.state, outbox: this.state.outbox.filter((pending) => pending !== head) });
  }
}
