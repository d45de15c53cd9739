import {
  Envelope,
  eventSubject,
  streamSubject,
  WorldFailure,
  type AgentConfig,
  type StreamId,
} from '@fairlead/contracts';
import { createHash, randomUUID } from 'node:crypto';
import { backoffMs } from '../time/backoff.js';
import type { Metronome } from '../time/metronome.js';
import { evolve, isOwnEvent, NOTHING_REPORTED, OWN_EVENTS, type AgentFact, type Reported } from './agent.decider.js';
import type { AgentClock, AgentLog, EventLog, HostPort } from './agent.ports.js';
import {
  EMPTY_STREAM,
  type AgentState,
  type Because,
  type Desired,
  type Pending,
  type Position,
} from './agent.state.js';
import { envelopeOf } from './envelope.js';
import { saveState } from './state.store.js';

/** A node that is away for weeks still says how it came to be as it is, but not every flap. */
export const OUTBOX_LENGTH_MAX = 200;
const RETRY = { firstMs: 250, maxMs: 15_000 };
/** More than one is only possible while two agents run for one node. */
const CONFLICTS_MAX = 5;

export interface JournalOptions {
  readonly config: AgentConfig;
  readonly host: HostPort;
  readonly events: EventLog;
  readonly metronome: Metronome;
  readonly clock: AgentClock;
  readonly random: () => number;
  readonly log: AgentLog;
  /** The outbox has become empty. */
  readonly onDrained: () => void;
}

interface Found {
  readonly position: Position;
  readonly id: string;
  readonly uid: unknown;
  readonly fact: AgentFact;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * What the agent has said. A fact is in the local state first; then it is published with the position that the stream
 * must have, one at a time, until the log has it: once, in order, however often the agent or NATS goes away between.
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
    options.events.onConnected(() => this.nudge());
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

  /** Everything that was decided is in the log. */
  get isDrained(): boolean {
    return this.state.outbox.length === 0;
  }

  async record(facts: readonly AgentFact[], because: Because | null): Promise<void> {
    const time = this.options.clock.now().toISOString();
    const pending = facts.map((fact): Pending => ({
      id: randomUUID(),
      time,
      type: fact.type,
      data: fact.data,
      because,
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

  /** Remembered over a restart, so that NodeInitialized names everything that was changed. */
  addChanged(changed: readonly string[]): Promise<void> {
    return this.save({ ...this.state, changed: [...new Set([...this.state.changed, ...changed])] });
  }

  /** Asks the log what this node said last, when the local state was lost. Rejects while the log is away. */
  async recover(): Promise<void> {
    const found = await this.lastFacts();
    const ours = found.filter(({ uid }) => uid === this.options.config.uid);
    await this.save({
      ...this.state,
      reported: ours.map(({ fact }) => fact).reduce(evolve, NOTHING_REPORTED),
      position: found.at(-1)?.position ?? EMPTY_STREAM,
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.cancelRetry();
    await this.draining;
    await this.saving;
  }

  private get stream(): StreamId {
    const { namespace, cluster, node } = this.options.config;
    return { namespace, cluster, context: `node-${node}` };
  }

  private bounded(outbox: Pending[]): Pending[] {
    const surplus = outbox.length - OUTBOX_LENGTH_MAX;
    if (surplus <= 0) return outbox;
    this.options.log('warn', 'the log was away for so long that facts are dropped', { dropped: surplus });
    // The head may be in the log already under its id, so it stays.
    return [...outbox.slice(0, 1), ...outbox.slice(1 + surplus)];
  }

  /** One write after the other, the newest state last. */
  private save(state: AgentState): Promise<void> {
    this.state = state;
    this.saving = this.saving.then(
      () => saveState(this.options.host, state),
      () => saveState(this.options.host, state),
    );
    return this.saving;
  }

  private nudge(): void {
    if (this.closed || this.isDrained || this.draining !== undefined || !this.options.events.isConnected()) return;
    this.cancelRetry();
    this.draining = this.drain().finally(() => {
      this.draining = undefined;
    });
  }

  private async drain(): Promise<void> {
    let conflicts = 0;
    try {
      while (!this.closed && this.state.outbox.length > 0) {
        conflicts = (await this.publishHead()) ? 0 : conflicts + 1;
        if (conflicts > CONFLICTS_MAX) throw new Error('somebody else writes to the stream of this node');
      }
      this.attempt = 0;
    } catch (error) {
      this.attempt += 1;
      const cause = error instanceof WorldFailure ? error.message : String(error);
      this.options.log('warn', 'facts wait for the log', { waiting: this.state.outbox.length, cause });
      const delayMs = backoffMs(RETRY, this.attempt, this.options.random);
      this.cancelRetry = this.options.metronome.after(delayMs, () => this.nudge());
    }
    if (this.isDrained) this.options.onDrained();
  }

  /** False: the stream does not end where we thought; it does now. */
  private async publishHead(): Promise<boolean> {
    const [head] = this.state.outbox;
    if (head === undefined) return true;
    const position = this.state.position ?? (await this.findPosition(head));
    // findPosition may have found that the log has it already.
    if (this.state.outbox[0] !== head) return true;
    const bytes = new TextEncoder().encode(JSON.stringify(envelopeOf(this.options.config, head, position)));
    const appended = await this.options.events.append(eventSubject(this.stream, head.type), bytes, {
      id: head.id,
      expectedSeq: position.seq,
      filter: `${streamSubject(this.stream)}.>`,
    });
    if (appended.kind === 'conflict') {
      this.state = { ...this.state, position: null };
      return false;
    }
    await this.save({
      ...this.state,
      position: { seq: appended.seq, streamVersion: position.streamVersion + 1, hash: sha256(bytes) },
      outbox: this.state.outbox.filter((pending) => pending !== head),
    });
    return true;
  }

  /** Where the stream ends; drops the head of the outbox when the log turns out to have it. */
  private async findPosition(head: Pending): Promise<Position> {
    const found = await this.lastFacts();
    const position = found.at(-1)?.position ?? EMPTY_STREAM;
    const isStored = found.some(({ id }) => id === head.id);
    const outbox = isStored ? this.state.outbox.filter((pending) => pending !== head) : this.state.outbox;
    await this.save({ ...this.state, position, outbox });
    return position;
  }

  /** The newest fact of each type, oldest first: enough to know how the node stands and where the stream ends. */
  private async lastFacts(): Promise<readonly Found[]> {
    const found = await Promise.all(OWN_EVENTS.map((type) => this.lastFact(type)));
    return found.filter((fact) => fact !== undefined).sort((a, b) => a.position.seq - b.position.seq);
  }

  private async lastFact(type: (typeof OWN_EVENTS)[number]): Promise<Found | undefined> {
    const message = await this.options.events.last(eventSubject(this.stream, type));
    if (message === undefined) return undefined;
    const envelope = Envelope.strip().parse(JSON.parse(new TextDecoder().decode(message.bytes)));
    const stated = envelope.type.split('.')[0] ?? '';
    if (!isOwnEvent(stated)) throw new Error(`${stated} is no event of an agent`);
    return {
      position: { seq: message.seq, streamVersion: envelope.streamversion, hash: sha256(message.bytes) },
      id: envelope.id,
      uid: envelope.data['uid'],
      fact: { type: stated, data: envelope.data } as AgentFact,
    };
  }
}
