import { NATS } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { LastHeartbeat, type ReadHeartbeat, type SeenNode } from './last.heartbeat.js';

interface Heard {
  /** On the clock of performance.now(). */
  atMs: number;
  /** The state of the Node object in the last heartbeat. */
  node: SeenNode;
  readonly last: LastHeartbeat;
}

/**
 * Receives every heartbeat and keeps its time and bytes in memory, without parsing and without rows, so that their rate
 * does not matter. Each replica receives all of them, so that one that takes over has the same state.
 */
@Injectable()
export class HeartbeatListener {
  private readonly heard = new Map<string, Heard>();
  private subscription: Subscription | undefined;
  private since: number | undefined;
  private total = 0;
  private onNodeChange: (subject: string) => void = () => undefined;

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  start(): void {
    this.subscription = this.nats.subscribe('hb.>', {
      callback: (error, message) => {
        if (error !== null) return;
        this.total += 1;
        const { subject, data } = message;
        const heard = this.heard.get(subject) ?? { atMs: 0, node: 'absent', last: new LastHeartbeat() };
        const isFirst = heard.atMs === 0;
        if (isFirst) this.heard.set(subject, heard);
        heard.atMs = performance.now();
        heard.last.keep(data);
        const { node } = heard.last;
        if (node !== heard.node && !isFirst) this.onNodeChange(subject);
        heard.node = node;
      },
    });
    this.since = performance.now();
    void this.followConnection();
  }

  stop(): void {
    this.subscription?.unsubscribe();
    this.since = undefined;
  }

  /**
   * `callback`: an agent sees its Node object become Ready or not, appear or vanish; with the subject of its
   * heartbeats.
   */
  whenNodeChanges(callback: (subject: string) => void): void {
    this.onNodeChange = callback;
  }

  /** On the clock of performance.now(); undefined: nothing on this subject since the start. */
  heardAt(subject: string): number | undefined {
    return this.heard.get(subject)?.atMs;
  }

  /** The last heartbeat; undefined: none that can be parsed. */
  lastOf(subject: string): ReadHeartbeat | undefined {
    const heard = this.heard.get(subject);
    return heard?.last.read(this.wallClockAt(heard.atMs));
  }

  /** Since when everything that was sent has been received; undefined: NATS is away. */
  get sinceMs(): number | undefined {
    return this.since;
  }

  /** How many arrived since the start. */
  get count(): number {
    return this.total;
  }

  /** Called after this process was suspended: missing heartbeats mean nothing. */
  stoodStill(): void {
    if (this.since !== undefined) this.since = performance.now();
  }

  forgetSilentFor(limitMs: number): void {
    const oldest = performance.now() - limitMs;
    for (const [subject, { atMs }] of this.heard) if (atMs < oldest) this.heard.delete(subject);
  }

  /** The wall clock time of the last heartbeat; undefined: nothing on this subject since the start. */
  timeHeard(subject: string): string | undefined {
    const atMs = this.heardAt(subject);
    return atMs === undefined ? undefined : new Date(this.wallClockAt(atMs)).toISOString();
  }

  /** The wall clock time. */
  now(): string {
    return this.clock.now().toISOString();
  }

  private wallClockAt(atMs: number): number {
    return this.clock.now().getTime() - (performance.now() - atMs);
  }

  private async followConnection(): Promise<void> {
    for await (const status of this.nats.status()) {
      if (status.type === 'disconnect') this.since = undefined;
      if (status.type === 'reconnect') this.since = performance.now();
    }
  }
}
